"""Command sweep: run the analyses of a sweep file."""

from __future__ import annotations

import shlex
import time
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

from scorecube.cli import options
from scorecube.cli.options import argument, flag
from scorecube.cli.terminal import echo, echo_wrapped, notify, span, track_progress
from scorecube.errors import counted, on_command_line

if TYPE_CHECKING:
    from scorecube.workflow.sweep_run import SweepTask

PART = "Share of the collections, e.g. 3/100, for array jobs."


def sweep(
    file: Annotated[Path, argument("SWEEP.toml", "Collections and analyses.")],
    part: Annotated[Optional[str], flag("--part", PART, metavar="K/N")] = None,
    status: Annotated[bool, flag("--status", "Only count what is read and stored.")] = False,
    forecast: Annotated[bool, flag("--forecast", "Only say what it would take.")] = False,
    anew: Annotated[bool, flag("--replace", "Replace scores whose source has changed.")] = False,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Run many analyses of many collections from one file, except those with stored results.

    Example: scorecube sweep sweep.toml --workers 8
    """
    from scorecube.execute.clusters import open_executor
    from scorecube.storage import open_study
    from scorecube.workflow.sweep import status_of, tasks_of
    from scorecube.workflow.sweep_file import read_sweep
    from scorecube.workflow.sweep_run import grouped, run_sweep

    path, sources, entries = read_sweep(file)
    names = sources or dict.fromkeys(open_study(path))
    tasks = tasks_of(entries, names, part, replace=anew)
    count = len({*chain.from_iterable(task.collections for task in tasks)})
    if status:
        echo(f"{path}: {status_of(path, tasks)}")
        return
    if forecast:
        _print_forecast(path, tasks)
        return
    study = open_study(path, mode="a")
    start = time.monotonic()
    with (
        open_executor(cluster, scheduler, workers) as executor,
        track_progress("sweep", "collections") as progress,
    ):
        outcome = run_sweep(study, tasks, executor, notify=notify, progress=progress)
    for line in grouped(outcome.left_out):
        notify(f"left out: {on_command_line(line)}")
    new = sum(result.is_new for result in outcome.stored)
    notify(
        f"{study.path}: {counted(new, 'new result')}, {len(outcome.stored) - new:,} stored before, "
        f"of {counted(count, 'collection')} in {time.monotonic() - start:,.0f} s"
    )
    if outcome.failed:
        raise outcome.failure(count)
    word = shlex.quote(study.path)
    notify(f"show results with: scorecube show {word} ANALYSIS, or: scorecube report {word}")


def _print_forecast(path: str, tasks: Sequence[SweepTask]) -> None:
    """Print what is left of a sweep, from some of its collections."""
    from scorecube.execute.executor import default_workers
    from scorecube.storage import exists, open_study
    from scorecube.workflow.sweep_forecast import forecast_sweep
    from scorecube.workflow.sweep_run import grouped

    of = forecast_sweep(open_study(path) if exists(path) else None, tasks)
    for line in grouped(of.problems):
        notify(f"left out: {on_command_line(line)}")
    if of.joined:
        notify(f"not predicted, as they need all collections: {', '.join(of.joined)}")
    counts = f"{counted(of.collections, 'collection')} to do"
    if not of.timed:
        echo(f"{path}: {counts}")
        return
    cores = default_workers()
    least, most = of.limits
    echo_wrapped(
        f"{path}: {counts}: {span(least, most)} of one core, {span(least / cores, most / cores)} "
        f"on the {cores} here, about {of.n_bytes / 1e9:,.2g} GB of memory a task beside "
        f"its process, {counted(of.n_files, 'new file')} (timed: {', '.join(of.timed)})"
    )
