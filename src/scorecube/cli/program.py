"""The command line: its entry point and its main commands, which call `scorecube.workflow.api`.

Commands import what they need when they run, so that help and completion are fast.
"""

from __future__ import annotations

import gc
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from scorecube.analyses import registry
from scorecube.cli import (
    design_commands,
    failures,
    fetch_command,
    gate_command,
    import_command,
    interrupts,
    list_commands,
    options,
    report_commands,
    show_command,
    study_commands,
    sweep_command,
    terminal,
)
from scorecube.cli.analysis_commands import analysis_command
from scorecube.cli.completion import Commands, CommandSource
from scorecube.cli.flags import flags_of
from scorecube.cli.import_command import describe
from scorecube.cli.options import check_choice, flag
from scorecube.cli.terminal import discard_stdout, echo, notify, track_progress, wrap_lines
from scorecube.errors import CorruptStudy, ScorecubeError, counted
from scorecube.ingest.options import EVALUATE
from scorecube.names import N_JUDGED, N_RETRIEVED, TOPIC
from scorecube.workflow.plugins import load_plugins

CHUNK_DAMAGED = "decompression error"
"""Message of the decompressor for damaged bytes of a large result, which is read chunk by chunk."""


class Program(Commands):
    """All commands: those of this package, and one per analysis."""

    def find_sources(self) -> dict[str, CommandSource]:
        for problem in load_plugins():
            notify(f"note: {problem}")
        analyses = {
            entry.name: CommandSource(entry.summary, partial(analysis_command, entry.name))
            for entry in registry.entries()
        }
        own = {
            function.__name__.rstrip("_").replace("_", "-"): CommandSource(
                (function.__doc__ or "").partition("\n\n")[0],
                partial(lambda loaded: loaded, function),
            )
            for function in COMMANDS
        }
        return own | analyses


app = typer.Typer(
    cls=Program,
    no_args_is_help=True,
    add_completion=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; an error of the user or the machine is one message, with exit status 1.

    A signal ends a command with exit status 130 (Ctrl-C), 143 (SIGTERM) or 129 (SIGHUP), see `interrupts`.
    """
    # A tenth of the time of a short command would go into searching imported objects for cycles.
    gc.set_threshold(50_000)
    # Other processes import nothing from the current directory, either.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    with interrupts.interruptible() as received:
        try:
            run(sys.argv[1:])
        except BaseException as error:
            if not received or (isinstance(error, SystemExit) and not error.code):
                raise
            # A request to the store that an interrupt kept from starting is dropped with its frame.
            warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
        if received:  # while further signals are ignored
            interrupts.exit_after(received[0])


def run(words: list[str]) -> None:
    """Run a command and exit; errors that are expected are printed as one message."""
    commands: Any = typer.main.get_command(app)
    try:
        words = take_message_flags(words)
        if words[:1] == ["evaluate"]:
            words = repeat_option(words, "--runs")
        commands(words, prog_name="scorecube")
        sys.stdout.flush()
    except ScorecubeError as error:
        invoked = next((word for word in words if word in commands.sources), None)
        fail(error.message(flags_of(None if invoked is None else commands.build(invoked))))
    except BrokenPipeError:
        discard_stdout()
        sys.exit(0)
    except (OSError, MemoryError) as error:
        discard_stdout()
        fail(failures.message_of(error))
    except RuntimeError as error:
        if CHUNK_DAMAGED not in str(error):
            raise
        fail(f"a part of the study cannot be read: {error}; run scorecube verify to find it")


def take_message_flags(words: list[str]) -> list[str]:
    """Return the words without ``--quiet``, which stands anywhere; set `MESSAGES`."""
    terminal.MESSAGES = terminal.Messages(quiet="--quiet" in words)
    return [word for word in words if word != "--quiet"]


def fail(message: str) -> NoReturn:
    """Print an error and exit with status 1."""
    notify(f"error: {message}", error=True)
    sys.exit(1)


def show_version(requested: bool) -> None:
    """Print the version and exit, if requested."""
    if requested:
        from importlib.metadata import version

        typer.echo(version("scorecube"))
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool, flag("--version", "Show the version.", callback=show_version, is_eager=True)
    ] = False,
) -> None:
    """Resampling analyses for information-retrieval meta-evaluation.

    Usual steps: scorecube evaluate, then analyses such as leaderboard and swap, then scorecube report. The --help of each command has an
    example. Every command takes --quiet (errors only).

    Example: scorecube demo
    """


def repeat_option(words: list[str], option: str) -> list[str]:
    """Return the words with ``--runs a b c`` expanded to ``--runs a --runs b --runs c``, as the parser expects."""
    result: list[str] = []
    inside = False
    for word in words:
        inside = word == option or (inside and not word.startswith("-"))
        if inside and word != option and result[-1] != option:
            result.append(option)
        result.append(word)
    return result


@options.with_declared(EVALUATE)
def evaluate(
    study: options.StudyPath,
    name: options.Name,
    runs: options.RunFiles,
    qrels: options.QrelsFile,
    *,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    scheduler: options.Scheduler = None,
    **values: Any,
) -> None:
    """Score run files against judgements and add them to a study.

    Example: scorecube evaluate study.zarr --name covid --runs runs/ --qrels qrels.txt --metrics AP,nDCG@20 --gains 2:1,1:1
    """
    from scorecube.execute.cluster_files import choose_cluster
    from scorecube.execute.clusters import open_executor
    from scorecube.workflow import api

    opened = api.open_study(study, mode="a")
    api.check_names(name, values["metrics"])
    reading, scoring = api.arguments_of(values)
    chosen = choose_cluster(cluster, scheduler, workers)
    noted: list[str] = []
    with open_executor(chosen) as executor, track_progress("reading runs", "files") as progress:
        rankings = api.read_rankings(
            runs,
            qrels,
            workers=executor.workers,
            client=executor.client,
            progress=progress,
            notify=noted.append,
            **reading,
        )
    with track_progress("evaluating", "metrics") as progress:
        cube = api.evaluate_into(opened, name, rankings, progress=progress, **scoring)
    ties = f"ties by {values['order']}, {values['precision']} precision"
    say_evaluated(opened[name], rankings, cube, noted, ties)


def say_evaluated(collection: Any, rankings: Any, cube: Any, noted: list[str], ties: str) -> None:
    """Print the size of what was evaluated, what is known of the judgements, and remarks."""
    notify(f"{collection.study.path}: {collection.name}: {describe(cube)}; {ties}")
    lines = remarks(rankings, cube, noted) + outdated_results(collection)
    for line in [describe_judgements(rankings), *lines]:
        notify(line)


def outdated_results(collection: Any) -> list[str]:
    """Return a note on the results of scores that were replaced."""
    from scorecube.report.study_contents import outdated_text

    outdated = collection.contents()["outdated"]
    if not outdated:
        return []
    return [
        f"{collection.name}: outdated, as they are of scores that were replaced: {outdated_text(outdated)}; kept until they are "
        "computed again"
    ]


def info(
    study: options.StudyPath,
    form: Annotated[str, flag("--format", "text or json.")] = "text",
    warnings: Annotated[
        bool, flag("--warnings", "Only what limits or may spoil the numbers.")
    ] = False,
) -> None:
    """Show the collections and results of a study.

    Example: scorecube info study.zarr
    """
    from scorecube.report.study_contents import overview, overview_text
    from scorecube.report.text_layout import as_json
    from scorecube.storage import open_catalogue

    check_choice("--format", form, ["text", "json"])
    opened = open_catalogue(study)
    facts = overview(opened)
    if warnings:
        from scorecube.report.cautions import cautions_of_collection, doubts_of_results

        for each, row in zip(facts["collections"], opened.rows().values(), strict=True):
            for caution in [*cautions_of_collection(each), *doubts_of_results(row)]:
                detail = f" ({caution.detail})" if caution.detail else ""
                echo(f"{caution.collection}: {caution.text}{detail}")
        return
    echo(as_json(facts) if form == "json" else wrap_lines(overview_text(facts)))


def verify(
    study: options.StudyPath,
    repair: Annotated[
        bool, flag("--repair", "Make the index of the study anew, then check.")
    ] = False,
) -> None:
    """Check every recorded block against its digest and read every chunk.

    Example: scorecube verify study.zarr
    """
    from scorecube.storage import open_study
    from scorecube.storage.verify import repair_index, verify_study

    opened = open_study(study, mode="a" if repair else "r")
    if repair:
        rows = repair_index(opened)
        notify(f"{study}: made the index of {counted(rows, 'collection')} anew")
    checked, problems = verify_study(opened)
    if problems:
        raise CorruptStudy(
            f"{study}: {len(problems)} of {checked} parts are damaged:\n  " + "\n  ".join(problems)
        )
    notify(f"{study}: {checked} parts read, all match their checksums")


def demo(
    out: Annotated[Path, flag("--out", "Folder for the simulated study and its report.")] = Path(
        "demo"
    ),
) -> None:
    """Build a simulated study, run analyses on it, write a report.

    Example: scorecube demo --out demo
    """
    from scorecube.cli.demo import run_demo

    echo(run_demo(out))


def describe_judgements(rankings: Any) -> str:
    """Return the numbers of topics, judged and relevant documents and of documents by level as text."""
    judged = rankings[N_JUDGED].values.sum(axis=0).tolist()
    by_level = ", ".join(
        f"{level}: {count}" for level, count in enumerate(judged) if count or not level
    )
    return (
        f"judgements: {counted(rankings.sizes[TOPIC], 'topic')}, {counted(sum(judged), 'judged document')}, {sum(judged[1:])} "
        f"relevant; by level {by_level}"
    )


def remarks(rankings: Any, cube: Any, noted: list[str]) -> list[str]:
    """Return notes on topics left out of an evaluation and on missing topics of runs, those of reading, and doubts, which may be about further runs."""
    from scorecube.collection.doubts import doubts_of
    from scorecube.collection.evaluation import EXCLUDED

    lines = []
    if excluded := cube.attrs.get(EXCLUDED):
        lines.append(
            f"{counted(len(excluded), 'topic')} without a relevant document left out: {', '.join(excluded[:10])}"
        )
    if missing := int((rankings[N_RETRIEVED].sel({TOPIC: cube[TOPIC].values}) == 0).sum()):
        lines.append(
            f"{counted(missing, 'ranking')} missing (a judged topic that a run lacks): score {cube.attrs['missing_topic']}"
        )
    others = [line for line in noted if line not in doubts_of(rankings)]
    return lines + [f"note: {line}" for line in [*others, *doubts_of(cube)]]


COMMANDS: tuple[Callable[..., None], ...] = (
    *(evaluate, info, verify, demo),
    import_command.import_,
    *(design_commands.design, design_commands.wcw),
    sweep_command.sweep,
    *(study_commands.merge, study_commands.unpack),
    fetch_command.fetch,
    *(study_commands.standardise, study_commands.preferences),
    *(report_commands.report, report_commands.figure),
    show_command.show,
    gate_command.compare,
    gate_command.gate,
    list_commands.list_,
)
"""All but those of the analyses, named as their functions; ``import_`` and ``list_`` without the underscore."""
