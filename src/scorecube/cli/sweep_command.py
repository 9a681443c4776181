"""Command sweep: run the analyses of a sweep file concurrently."""

from __future__ import annotations

import dataclasses
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scorecube.cli import options
from scorecube.cli.compilation import COMPILE_SECONDS, announced_compilation
from scorecube.cli.terminal import notify, track_progress
from scorecube.errors import BadStudy, counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorecube.execute.executor import Executor
    from scorecube.workflow.sweep_plan import SweepPlan
    from scorecube.workflow.sweep_run import Utilisation
    from scorecube.workflow.tasks import Task

SweepPath = Annotated[
    Path, typer.Argument(metavar="SWEEP.toml", help="Collections, analyses and their options.")
]
Resume = Annotated[
    bool, typer.Option("--resume", help="Resume an existing study, and refuse to create a new one.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only print the plans and estimates.")]

MAX_NAMES = 5
"""Largest number of collections named in a line on skipped plans."""


def sweep(
    file: SweepPath,
    resume: Resume = False,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    scheduler: options.Scheduler = None,
    memory: options.Memory = None,
    dry_run: DryRun = False,
) -> None:
    """Run many analyses of many collections from one file, except those with stored results.

    Example: scorecube sweep sweep.toml --workers 8 --memory 16GB
    """
    from scorecube.execute.clusters import choose_profile, open_executor
    from scorecube.execute.memory import default_memory, parse_memory
    from scorecube.storage import exists
    from scorecube.workflow import api
    from scorecube.workflow.sweep_file import read_sweep
    from scorecube.workflow.sweep_plan import plan_sweep
    from scorecube.workflow.sweep_sources import add_collections

    settings = read_sweep(file)
    if resume and not exists(settings.study):
        raise BadStudy(
            f"{settings.study}: no study there to resume; leave out --resume to create it"
        )
    size = memory or settings.memory
    limit = default_memory() if size is None else parse_memory(size)
    study = api.open_study(settings.study, mode="a")
    profile = cluster or (None if settings.cluster is None else Path(settings.cluster))
    with ExitStack() as stack:
        # A dry run starts no cluster, but it reads collections, because plans depend on their sizes.
        chosen = choose_profile(
            None if dry_run else profile,
            None if dry_run else scheduler,
            workers or settings.workers,
        )
        executor = stack.enter_context(open_executor(chosen))
        names = add_collections(
            study, settings.sources, notify=notify, workers=executor.workers, client=executor.client
        )
        plan = plan_sweep(
            study, settings.entries, collections=names or None, impossible=settings.impossible
        )
        pending = [task for task in plan.tasks if not task.is_stored()]
        describe(settings.study, plan, pending, dataclasses.replace(executor, memory=limit))
        if not dry_run and pending:
            compute(settings.study, pending, dataclasses.replace(executor, memory=limit))


def compute(study: str, pending: Sequence[Task], executor: Executor) -> None:
    """Run the tasks of a sweep with progress, and print how long they took."""
    from scorecube.workflow.sweep_run import run_sweep

    start = time.monotonic()
    with announced_compilation("sweep", COMPILE_SECONDS), track_progress("sweep", None) as progress:
        utilisation = run_sweep(
            pending,
            client=executor.client,
            workers=executor.workers,
            memory=executor.memory,
            program=executor.program,
            progress=progress,
        )
    seconds = time.monotonic() - start
    known = utilisation if executor.client is None else None
    report_completion(study, len(pending), seconds, known)


def report_completion(
    study: str, n_results: int, seconds: float, utilisation: Utilisation | None
) -> None:
    """Print the duration of a sweep and how to show its results."""
    line = f"{study}: {counted(n_results, 'result')} in {seconds:,.0f} s"
    if utilisation is not None:
        line += f"; utilisation of workers {utilisation.with_work:.0%}, of cores {utilisation.on_cores:.0%}"
    notify(line)
    notify(f"show results with: scorecube show {study} ANALYSIS, or: scorecube report {study}")


def describe(study: str, plan: SweepPlan, pending: Sequence[Task], executor: Executor) -> None:
    """Print the plans of a sweep by analysis, with estimates, and the skipped plans."""
    from scorecube.workflow.sweep_run import estimate_work

    workers = executor.workers

    by_analysis: dict[str, list[Any]] = {}
    for task in pending:
        by_analysis.setdefault(task.plan.analysis.name, []).append(task)
    for line in skipped_lines(plan.skipped):
        notify(line)
    done = len(plan.tasks) - len(pending)
    notify(
        f"{study}: {counted(len(plan.tasks), 'plan')}, {done} done already, {len(plan.skipped)} left out as impossible"
    )
    for name, tasks in by_analysis.items():
        work = estimate_work(tasks, workers, executor.memory, executor.program)
        n_collections = len({task.collection.name for task in tasks})
        notify(
            f"  {name:<14}{counted(work.tasks, 'plan'):>11} of {counted(n_collections, 'collection')}, {work.blocks:,} blocks, "
            f"{work.seconds / workers:,.1f} s"
        )
    if pending:
        work = estimate_work(pending, workers, executor.memory, executor.program)
        notify(
            f"about {work.seconds / workers:,.0f} s on {counted(workers, 'worker')}, {work.blocks:,} blocks, at most "
            f"{work.memory / 2**20:,.0f} MiB of memory, results of {work.stored / 2**20:,.0f} MiB before compression"
        )


def skipped_lines(skipped: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return lines on skipped plans, one per analysis and reason.

    Examples
    --------
    >>> skipped_lines([("a", "swap", "too few topics"), ("b", "swap", "too few topics")])
    ['left out: swap of 2 collections (a, b): too few topics']
    """
    names: dict[tuple[str, str], list[str]] = {}
    for collection, analysis, reason in skipped:
        names.setdefault((analysis, reason), [])
        if collection not in names[analysis, reason]:
            names[analysis, reason].append(collection)
    lines = []
    for (analysis, reason), collections in names.items():
        shown = ", ".join(collections[:MAX_NAMES]) + (
            ", ..." if len(collections) > MAX_NAMES else ""
        )
        subject = shown if len(collections) == 1 else f"{len(collections)} collections ({shown})"
        lines.append(f"left out: {analysis} of {subject}: {reason}")
    return lines


COMMANDS = (sweep,)
