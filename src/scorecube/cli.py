"""The command line: options in, calls of `scorecube.api`, words out. Heavy imports wait until a command needs them."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from scorecube import __version__
from scorecube.console import say, split, tracking
from scorecube.errors import BadPlan, ScorecubeError

if TYPE_CHECKING:
    from scorecube.analyses import Analysis

app = typer.Typer(
    help="Resampling analyses for information-retrieval meta-evaluation.",
    no_args_is_help=True, add_completion=True, rich_markup_mode=None, pretty_exceptions_enable=False,
)  # fmt: skip

StudyPath = Annotated[str, typer.Argument(metavar="STUDY", help="Study: a directory (zarr store).")]
Name = Annotated[str, typer.Option("--name", help="Name of the collection in the study.")]
Teams = Annotated[Optional[Path], typer.Option("--teams", help="CSV file with the columns run,team.")]
Replace = Annotated[bool, typer.Option("--replace", help="Start the collection over.")]
Strings = Optional[list[str]]


def main() -> None:
    """Run the command line; a user's error is one message and exit status 1."""
    words = sys.argv[1:]
    try:
        app(repeat_option(words, "--runs") if words[:1] == ["evaluate"] else words, prog_name="scorecube")
    except ScorecubeError as error:
        say(f"error: {error}")
        sys.exit(1)
    except BrokenPipeError:
        sys.exit(0)


def show_version(wanted: bool) -> None:
    """Print the version and leave."""
    if wanted:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Resampling analyses for information-retrieval meta-evaluation."""


def repeat_option(words: list[str], option: str) -> list[str]:
    """Return the words with ``--runs a b c`` written as ``--runs a --runs b --runs c``, as the parser wants it."""
    result: list[str] = []
    inside = False
    for word in words:
        inside = word == option or (inside and not word.startswith("-"))
        if inside and word != option and result[-1] != option:
            result.append(option)
        result.append(word)
    return result


@app.command()
def evaluate(
    study: StudyPath,
    name: Name,
    runs: Annotated[
        list[str], typer.Option("--runs", help="Run files, directories or globs, plain or gzip; several may follow.")
    ],
    qrels: Annotated[Path, typer.Option("--qrels", help="Judgements.")],
    teams: Teams = None,
    metrics: Annotated[
        str, typer.Option("--metrics", help="Metric names, separated by commas.")
    ] = "AP,Q,nDCG@10,nERR@10,P+",
    gains: Annotated[
        str, typer.Option("--gains", help="Gain settings, highest level first, e.g. 3:2:1,1:1:1.")
    ] = "auto",
    order: Annotated[
        str, typer.Option("--order", help="score (as trec_eval), score-docno-asc, score-stable, file or rank.")
    ] = "score",
    precision: Annotated[
        str,
        typer.Option(
            "--score-precision", help="Compare scores as single (trec_eval up to 9) or double (trec_eval 10) floats."
        ),
    ] = "single",
    depth: Annotated[Optional[int], typer.Option("--depth", min=1, help="Ranks kept per topic.")] = None,
    run_name: Annotated[str, typer.Option("--run-name", help="Name runs by tag (last column) or by file.")] = "tag",
    no_relevant: Annotated[
        str, typer.Option("--no-relevant", help="Topics without a relevant document: exclude, or zero (as trec_eval).")
    ] = "exclude",
    missing_topic: Annotated[
        str, typer.Option("--missing-topic", help="A judged topic that a run lacks scores zero or nan.")
    ] = "zero",
    replace: Replace = False,
) -> None:
    """Score run files against judgements and add them to a study.

    Example: scorecube evaluate study.zarr --name covid --runs runs/ --qrels qrels.txt --metrics AP,nDCG@20 --gains 2:1,1:1
    """
    from scorecube import api
    from scorecube.cube import EXCLUDED
    from scorecube.names import TOPIC

    choice("--order", order, ["score", "score-docno-desc", "score-docno-asc", "score-stable", "file", "rank"])
    choice("--score-precision", precision, ["single", "double"])
    choice("--run-name", run_name, ["tag", "file"])
    choice("--no-relevant", no_relevant, ["exclude", "zero"])
    choice("--missing-topic", missing_topic, ["zero", "nan"])
    opened = api.open_study(study, mode="a")
    api.check_names(name, split(metrics) or [])
    with tracking("reading runs", "files") as progress:
        rankings = api.read_rankings(
            runs, qrels, teams, order=order, precision=precision, depth=depth, run_name=run_name, progress=progress
        )
    how = {"no_relevant": no_relevant, "missing_topic": missing_topic}
    with tracking("evaluating", "metrics") as progress:
        cube = api.evaluate_into(
            opened, name, rankings, split(metrics) or [], split(gains) or [], replace=replace, progress=progress, **how
        )
    excluded = cube.attrs.get(EXCLUDED) or []
    say(f"{study}: {name}: {describe(cube)}; ties by {order}, {precision} precision")
    if excluded:
        say(f"{len(excluded)} topics without a relevant document are left out: {', '.join(excluded[:10])}")
    missing = int((rankings["n_retrieved"].sel({TOPIC: cube[TOPIC].values}) == 0).sum())
    if missing:
        say(f"{missing} times a run lacks a judged topic; its score there is {missing_topic}")


@app.command("import")
def import_(
    study: StudyPath,
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="CSV score matrices: topics down, runs across; one file a metric."),
    ],
    name: Name,
    metric: Annotated[
        Optional[str], typer.Option("--metric", help="Metric of the one file; guessed from the file name otherwise.")
    ] = None,
    gain: Annotated[str, typer.Option("--gain", help="Gain setting the scores were made with.")] = "auto",
    layout: Annotated[str, typer.Option("--layout", help="auto or matrix.")] = "auto",
    teams: Teams = None,
    replace: Replace = False,
) -> None:
    """Add per-topic scores that other tools computed.

    Example: scorecube import study.zarr --name adhoc5 ap.csv p10.csv rr.csv
    """
    from scorecube import api

    choice("--layout", layout, ["auto", "matrix"])
    cube = api.import_scores(files, metric=metric, gain=gain, teams=teams)
    opened = api.open_study(study, mode="a")
    opened.add(name, cube=cube, replace=replace)
    say(f"{study}: {name}: {describe(cube)}")


@app.command()
def info(study: StudyPath, form: Annotated[str, typer.Option("--format", help="text or json.")] = "text") -> None:
    """Show what a study holds."""
    import json

    from scorecube.report.overview import overview, overview_text
    from scorecube.storage import open_study

    choice("--format", form, ["text", "json"])
    facts = overview(open_study(study))
    typer.echo(json.dumps(facts, indent=1) if form == "json" else overview_text(facts))


COMMON: dict[str, tuple[Any, Any]] = {
    "study": (StudyPath, inspect.Parameter.empty),
    "collection": (
        Annotated[
            Optional[str], typer.Option("--collection", help="Collections, separated by commas; all by default.")
        ],
        None,
    ),
    "metrics": (
        Annotated[Optional[str], typer.Option("--metrics", help="Metrics, separated by commas; all by default.")],
        None,
    ),
    "gains": (Annotated[Optional[str], typer.Option("--gains", help="Gain settings; all by default.")], None),
    "runs": (Annotated[Optional[str], typer.Option("--runs", help="Runs; all by default.")], None),
    "topics": (Annotated[Optional[str], typer.Option("--topics", help="Topics; all by default.")], None),
    "top_runs": (
        Annotated[Optional[int], typer.Option("--top-runs", min=2, help="Only the N best runs by mean.")],
        None,
    ),
    "by": (Annotated[Optional[str], typer.Option("--by", help="Metric for --top-runs; the first by default.")], None),
    "drop_missing": (
        Annotated[bool, typer.Option("--drop-missing", help="Leave out topics with missing scores.")],
        False,
    ),
    "trials": (
        Annotated[int, typer.Option("--trials", min=1, help="Resampling trials; more trials later extend a result.")],
        1000,
    ),
    "seed": (
        Annotated[
            Optional[int],
            typer.Option("--seed", min=0, help="Seed of the random streams; drawn and shown if not given."),
        ],
        None,
    ),
    "workers": (Annotated[Optional[int], typer.Option("--workers", min=1, help="Cores to use; all by default.")], None),
    "cluster": (
        Annotated[Optional[Path], typer.Option("--cluster", help="Cluster profile, e.g. cluster/processes.yaml.")],
        None,
    ),
    "scheduler": (
        Annotated[Optional[str], typer.Option("--scheduler", help="Address of a running dask scheduler.")],
        None,
    ),
    "block_trials": (
        Annotated[Optional[int], typer.Option("--block-trials", min=1, help="Trials per task; changes no result.")],
        None,
    ),
    "replay": (
        Annotated[Optional[Path], typer.Option("--replay", help="Use the samples in this file instead of drawing.")],
        None,
    ),
    "save_samples": (
        Annotated[Optional[Path], typer.Option("--save-samples", help="Write the samples that are drawn.")],
        None,
    ),
    "out": (Annotated[Optional[str], typer.Option("--out", help="Write results into this study instead.")], None),
    "dry_run": (Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")], False),
}
"""Options that all analyses take: name -> (type, default)."""


def analysis_command(make: Callable[..., Analysis]) -> Callable[..., None]:
    """Make a command of a function that turns an analysis' own options into its record."""
    make.__annotations__.pop("return", None)  # names a type that is only imported for checking
    own = inspect.signature(make, eval_str=True).parameters

    @functools.wraps(make)
    def command(**given: Any) -> None:
        from scorecube.jobs import run_analysis

        run_analysis(make(**{key: given[key] for key in own}), {key: given[key] for key in COMMON})

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shared = [inspect.Parameter(key, kind, default=default, annotation=hint) for key, (hint, default) in COMMON.items()]
    parameters = [shared[0], *own.values(), *shared[1:]]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


@app.command()
@analysis_command
def swap(
    sampling: Annotated[str, typer.Option("--sampling", help="disjoint, replacement or independent.")] = "disjoint",
    size: Annotated[
        Optional[int],
        typer.Option("--size", help="Topics in each sample; half of them, with replacement all, by default."),
    ] = None,
    rule: Annotated[str, typer.Option("--rule", help="Two zero differences are no swap (s0) or one (s1).")] = "s0",
    confidence: Annotated[str, typer.Option("--confidence", help="1 - accepted swap rates.")] = "0.95,0.9,0.8",
) -> Analysis:
    """Swap method: how large must a difference be before another topic set would confirm it?

    Example: scorecube swap study.zarr --sampling disjoint --size 25 --trials 1000 --seed 1
    """
    from scorecube.analyses.swap import RULES, SAMPLINGS, Swap

    choice("--sampling", sampling, SAMPLINGS)
    choice("--rule", rule, RULES)
    try:
        levels = tuple(float(text) for text in split(confidence) or [])
    except ValueError:
        raise BadPlan(f"--confidence {confidence!r} is not numbers separated by commas") from None
    return Swap(sampling=sampling, size=size, rule=rule, confidence=levels)


@app.command()
def show(
    study: StudyPath,
    analysis: Annotated[str, typer.Argument(metavar="ANALYSIS", help="scores, swap, ...")],
    table: Annotated[
        Optional[str], typer.Option("--table", help="Table of the analysis; its first by default.")
    ] = None,
    collection: Annotated[Optional[str], typer.Option("--collection", help="Collections, separated by commas.")] = None,
    form: Annotated[str, typer.Option("--format", help="text, csv, json, markdown or latex.")] = "text",
    every: Annotated[
        bool, typer.Option("--all", help="All stored results, not only each collection's latest.")
    ] = False,
) -> None:
    """Print a table of scores or results.

    Example: scorecube show study.zarr swap --table rates --format csv
    """
    from scorecube.report.formats import FORMATS, render
    from scorecube.report.overview import collect_table
    from scorecube.storage import open_study

    choice("--format", form, FORMATS)
    frame = collect_table(open_study(study), analysis, table, split(collection), every)
    typer.echo(render(frame, form))


@app.command()
def report(
    study: StudyPath, out: Annotated[Path, typer.Option("--out", help="HTML file to write.")] = Path("report.html")
) -> None:
    """Write one self-contained page with all results of a study."""
    from scorecube.report.page import write_page
    from scorecube.storage import open_study

    with tracking("drawing", "results") as progress:
        write_page(open_study(study), out, progress=progress)
    say(f"report written to {out} ({out.stat().st_size / 1024:.0f} KiB)")


@app.command()
def verify(study: StudyPath) -> None:
    """Check every recorded block against its digest and read every chunk."""
    from scorecube.errors import CorruptStudy
    from scorecube.storage import open_study
    from scorecube.storage.verify import verify_study

    checked, problems = verify_study(open_study(study))
    if problems:
        raise CorruptStudy(f"{study}: {len(problems)} of {checked} parts are damaged:\n  " + "\n  ".join(problems))
    say(f"{study}: {checked} parts read, all match their checksums")


@app.command()
def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder for the simulated study and its report.")] = Path("demo"),
) -> None:
    """Build a simulated study, run every analysis, write a report."""
    from scorecube.demo import run_demo

    typer.echo(run_demo(out))


@app.command("list")
def list_(what: Annotated[str, typer.Argument(metavar="metrics|analyses", help="What to list.")]) -> None:
    """List metrics or analyses."""
    from scorecube import api
    from scorecube.report.formats import render

    choice("list", what, ["metrics", "analyses"])
    typer.echo(render(api.list_metrics() if what == "metrics" else api.list_analyses(), "text"))


def choice(option: str, value: str, known: Sequence[str]) -> None:
    """Refuse a word that is not among the known ones."""
    if value not in known:
        raise typer.BadParameter(f"{value!r} is not one of {', '.join(known)}", param_hint=option)


def describe(cube: Any) -> str:
    """Return the size of a cube in words."""
    sizes = cube.sizes
    return f"{sizes['run']} runs x {sizes['topic']} topics, {sizes['metric']} metrics x {sizes['gain']} gain settings"
