"""Commands of topic set size design: from variances that are given, or from those of a study's scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Optional

import typer

from scorecube.cli import options
from scorecube.cli.completion import metric_names
from scorecube.cli.options import choice, numbers
from scorecube.cli.terminal import say, split, terminal_width
from scorecube.errors import BadPlan

if TYPE_CHECKING:
    import xarray as xr

Study = Annotated[
    Optional[str], typer.Argument(metavar="STUDY", help="Study whose scores give the variances; or --variance.")
]
Variance = Annotated[Optional[str], typer.Option("--variance", help="Within-system variances, separated by commas.")]
Systems = Annotated[str, typer.Option("--systems", help="Number of systems to be compared (ANOVA).")]
Alpha = Annotated[str, typer.Option("--alpha", help="Probability of a type I error; 1 - confidence of intervals.")]
Beta = Annotated[str, typer.Option("--beta", help="Probability of a type II error; power is 1 - beta.")]
Collections = Annotated[
    Optional[str], typer.Option("--collection", help="Collections of the study, separated by commas; all by default.")
]
Metrics = Annotated[
    Optional[str],
    typer.Option("--metrics", help="Metrics of the study; all by default.", autocompletion=metric_names),
]
Gains = Annotated[Optional[str], typer.Option("--gains", help="Gain settings of the study; all by default.")]
Runs = Annotated[Optional[str], typer.Option("--runs", help="Runs of the study; all by default.")]
TopRuns = Annotated[Optional[int], typer.Option("--top-runs", min=1, help="Only the N best runs by mean.")]
By = Annotated[Optional[str], typer.Option("--by", help="Metric for --top-runs; the first by default.")]
Format = options.Format
FigureFile = Annotated[
    Optional[Path], typer.Option("--figure", help="Draw the result into this file, too: .png, .svg or .pdf.")
]


def design(
    study: Study = None,
    variance: Variance = None,
    min_diff: Annotated[
        Optional[str], typer.Option("--min-diff", help="Difference in mean score to be detected; 0.1 by default.")
    ] = None,
    width: Annotated[
        Optional[str], typer.Option("--width", help="Widest confidence interval (--method ci); 0.1 by default.")
    ] = None,
    topics: Annotated[
        Optional[str],
        typer.Option(
            "--topics",
            help="Numbers of topics at hand, e.g. 50 or 25..100:25: asks for the difference they detect, for the power "
            "if --min-diff is given, for the width if --method is ci.",
        ),
    ] = None,
    systems: Systems = "10",
    alpha: Alpha = "0.05",
    beta: Beta = "0.2",
    method: Annotated[
        str,
        typer.Option(
            "--method", help="anova (best and worst of several systems), t (paired t test) or ci (confidence interval)."
        ),
    ] = "anova",
    mode: Annotated[
        str, typer.Option("--mode", help="exact power, or sakai: the sizes that Sakai's spreadsheets give.")
    ] = "exact",
    sided: Annotated[int, typer.Option("--sided", min=1, max=2, help="2, or 1 for a one-sided t test.")] = 2,
    collection: Collections = None,
    metrics: Metrics = None,
    gains: Gains = None,
    runs: Runs = None,
    top_runs: TopRuns = None,
    by: By = None,
    form: Format = "text",
    figure: FigureFile = None,
) -> None:
    """Topic set size design: how many topics does a test collection need?

    Example: scorecube design --variance 0.0441 --min-diff 0.1 --systems 10
    """
    from scorecube.design import METHODS, MODES

    choice("--method", method, METHODS)
    choice("--mode", mode, MODES)
    asked = {
        "min_diff": listed("--min-diff", min_diff), "width": listed("--width", width), "topics": whole("--topics", topics),
        "systems": whole("--systems", systems), "alpha": listed("--alpha", alpha), "beta": listed("--beta", beta),
        "method": method, "mode": mode, "sided": sided,
    }  # fmt: skip
    selection = {"metrics": split(metrics), "gains": split(gains), "runs": split(runs), "top_runs": top_runs, "by": by}
    check_output(form, figure)
    starts = variances_to_use(study, variance, split(collection), selection)
    results = []
    for name, start in starts.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # its text is among the notes
            result = answer(start, asked)
        results.append(result if study is None else result.assign_attrs(collection=name))
    show(results, form, figure)


def wcw(
    study: Study = None,
    variance: Variance = None,
    topics: Annotated[str, typer.Option("--topics", help="Numbers of topics, e.g. 10..200 or 25,50,100.")] = "10..200",
    route: Annotated[
        str,
        typer.Option(
            "--route",
            help="ci: the expected width; anova-tool or anova-exact: the difference that ANOVA detects with so many "
            "topics, as S2 reads it; several are separated by commas.",
        ),
    ] = "ci",
    systems: Systems = "10",
    alpha: Alpha = "0.05",
    beta: Beta = "0.2",
    collection: Collections = None,
    metrics: Metrics = None,
    gains: Gains = None,
    runs: Runs = None,
    top_runs: TopRuns = None,
    by: By = None,
    form: Format = "text",
    figure: FigureFile = None,
) -> None:
    """Worst-case width of confidence intervals by number of topics, to compare measures.

    Example: scorecube wcw --variance 0.0368,0.0824 --topics 10..200 --figure wcw.png
    """
    from scorecube import design as calculators

    numbers_of_topics, routes = whole("--topics", topics), split(route) or []
    how = {
        "route": routes[0] if len(routes) == 1 else routes, "systems": whole("--systems", systems),
        "alpha": listed("--alpha", alpha), "beta": listed("--beta", beta),
    }  # fmt: skip
    selection = {"metrics": split(metrics), "gains": split(gains), "runs": split(runs), "top_runs": top_runs, "by": by}
    check_output(form, figure)
    results = []
    for name, start in variances_to_use(study, variance, split(collection), selection).items():
        result = calculators.wcw(start, numbers_of_topics, **how)
        results.append(result if study is None else result.assign_attrs(collection=name))
    show(results, form, figure)


def answer(variance: Any, asked: dict[str, Any]) -> xr.Dataset:
    """Return the result for what was asked: numbers of topics, or what is left open when they are given."""
    from scorecube.design import achieved_power, detectable_difference, expected_width, topic_set_size

    difference, width, topics = asked["min_diff"], asked["width"], asked["topics"]
    shared = {key: asked[key] for key in ("systems", "alpha", "method", "mode", "sided")}
    if topics is None:
        return topic_set_size(variance, difference, width=width, beta=asked["beta"], **shared)
    if width is not None or (asked["method"] == "ci" and difference is not None):
        given = "--width" if width is not None else "--min-diff"
        raise BadPlan(f"--topics with {given}: numbers of topics answer for the width themselves; leave {given} out")
    if asked["method"] == "ci":
        return expected_width(variance, topics, alpha=asked["alpha"])
    if difference is None:
        return detectable_difference(variance, topics, beta=asked["beta"], **shared)
    return achieved_power(variance, difference, topics, **shared)


def variances_to_use(
    study: str | None, variance: str | None, collections: list[str] | None, selection: dict[str, Any]
) -> dict[str, Any]:
    """Return variances by collection; those that are given have no collection."""
    if (study is None) == (variance is None):
        found = "neither" if study is None else "both"
        raise BadPlan(
            f"give --variance V, or a STUDY whose scores tell the variances; found {found}, expected one of them"
        )
    if study is None:
        unused = [name for name, value in {"collection": collections, **selection}.items() if value is not None]
        if unused:
            raise BadPlan(f"--{unused[0].replace('_', '-')} chooses from a STUDY; with --variance leave it out")
        return {"": listed("--variance", variance)}
    from scorecube.collection.selection import select
    from scorecube.design import design_variances
    from scorecube.errors import BadStudy
    from scorecube.storage import open_study

    opened = open_study(study)
    chosen = list(opened) if collections is None else list(dict.fromkeys(collections))
    if not chosen:
        raise BadStudy(
            f"{study}: no collection to take variances from; add one with scorecube evaluate or scorecube import"
        )
    starts = {}
    for name in chosen:
        cube = select(opened[name].cube, **selection)
        starts[name] = design_variances(cube)
        say(f"{name}: variances of {cube.sizes['run']} runs x {cube.sizes['topic']} topics")
    return starts


def show(results: Sequence[xr.Dataset], form: str, figure: Path | None) -> None:
    """Print the table of results, say what there is to say about them, and draw them if wanted."""
    from scorecube.report.results import table
    from scorecube.report.tables.rows import combine
    from scorecube.report.text_formats import render

    for note in dict.fromkeys(note for result in results for note in result.attrs["notes"]):
        say(f"note: {note}")
    typer.echo(render(combine([table(result) for result in results]), form, terminal_width()))
    if figure is None:
        return
    from scorecube.report.figures.design import size_panels, wcw_of_collections
    from scorecube.report.figures.files import save_figure

    draw = size_panels if results[0].attrs["analysis"] == "design" else wcw_of_collections
    save_figure(draw(results), figure)
    say(f"figure written to {figure}")


def check_output(form: str, figure: Path | None) -> None:
    """Refuse an output that cannot be made before anything is computed."""
    from scorecube.report.text_formats import FORMATS

    choice("--format", form, FORMATS)
    if figure is not None:
        from scorecube.report.figures.files import check_figure_path

        check_figure_path(figure)


def listed(option: str, text: str | None) -> Any:
    """Return the number of a text, or the numbers, if there are several; None for none."""
    if text is None:
        return None
    found = numbers(option, text)
    if not found:
        raise BadPlan(f"{option} {text!r}: no number given")
    return found[0] if len(found) == 1 else list(found)


def whole(option: str, text: str | None) -> Any:
    """Return the whole number of a text like 50, or the numbers of one like 25,50 or 10..200:10; None for none."""
    from scorecube.analyses.topic_samples.base import parse_sizes

    if text is None:
        return None
    try:
        found = parse_sizes(text)
    except BadPlan:
        raise BadPlan(
            f"{option} {text!r} is not whole numbers like 50, or 25,50,100, or 10..200:10, of at most 1,000 each"
        ) from None
    return found[0] if len(found) == 1 else list(found)


COMMANDS = (design, wcw)
