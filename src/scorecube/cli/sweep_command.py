"""Command sweep: run the analyses of a sweep file concurrently."""

from __future__ import annotations

import shlex
import time
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Optional

from scorecube.cli import options
from scorecube.cli.options import argument, flag
from scorecube.cli.sweep_status import (
    failure_summary,
    notify_failures,
    repeat_command,
    status_lines,
)
from scorecube.cli.terminal import echo, notify, split, track_progress
from scorecube.errors import BadOutput, SweepFailed, counted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from scorecube.execute.cluster_files import ClusterSpec
    from scorecube.execute.estimate import Estimate
    from scorecube.execute.executor import Executor
    from scorecube.storage import Study
    from scorecube.workflow.sweep_file import SweepFile
    from scorecube.workflow.sweep_journal import Journal
    from scorecube.workflow.sweep_parts import Part
    from scorecube.workflow.sweep_plan import Request, SweepPlan
    from scorecube.workflow.sweep_run import Utilisation
    from scorecube.workflow.tasks import Task

    Run = Callable[..., Utilisation]

SweepPath = Annotated[Path, argument("SWEEP.toml", "Collections, analyses and their options.")]
DryRun = Annotated[bool, flag("--dry-run", "Only print the plans and estimates.")]
PartOption = Annotated[
    Optional[str],
    flag(
        "--part",
        "Sweep one part, e.g. 3/100, into a study of its own: study.part-003-of-100.zarr. scorecube merge joins them.",
        metavar="NUMBER/PARTS",
    ),
]
StudyOption = Annotated[
    Optional[str], flag("--study", "Path or URL of the study instead of the one in the file.")
]
StatusOption = Annotated[
    bool,
    flag(
        "--status",
        "Print what a sweep that runs, or ran, has done; with --part of one part, otherwise also a line for each part.",
    ),
]

MAX_NAMES = 5
"""Largest number of collections named in a line on skipped plans."""


ReplaceOption = Annotated[
    bool,
    flag(
        "--replace",
        "Replace stored scores whose files or study have changed; results of other scores become outdated.",
    ),
]
InitOption = Annotated[bool, flag("--init", "Write an example of the file, sweep.toml by default.")]


def sweep(
    file: SweepPath = Path("sweep.toml"),
    init: InitOption = False,
    part: PartOption = None,
    study: StudyOption = None,
    collection: options.Collections = None,
    status: StatusOption = False,
    anew: ReplaceOption = False,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    scheduler: options.Scheduler = None,
    memory: options.Memory = None,
    dry_run: DryRun = False,
) -> None:
    """Run many analyses of many collections from one file, except those with stored results.

    Example: scorecube sweep --init

    Example: scorecube sweep sweep.toml --workers 8 --memory 16GB
    """
    from scorecube.execute.cluster_files import choose_cluster
    from scorecube.workflow.sweep_file import read_sweep
    from scorecube.workflow.sweep_journal import Journal
    from scorecube.workflow.sweep_parts import narrowed, parse_part

    if init:
        write_example(file)
        return
    settings = read_sweep(file)
    chosen_part = None if part is None else parse_part(part)
    if status:
        for line in status_lines(settings, chosen_part, study):
            echo(line)
        return
    settings = narrowed(settings, part=chosen_part, study=study, collections=split(collection))
    if anew:
        sources = [
            replace(each, settings={**each.settings, "replace": True}) for each in settings.sources
        ]
        settings = replace(settings, sources=tuple(sources))
    for line in part_notes(settings, chosen_part):
        notify(line)
    if chosen_part and not settings.sources:
        return
    given = {"part": part, "study": study, "workers": workers, "cluster": cluster}
    given |= {"scheduler": scheduler, "memory": memory}
    expected = sum(source.kind != "study" for source in settings.sources)
    journal = Journal(repeat_command(file, given), settings.study, part or "", expected)
    named = cluster or (None if settings.cluster is None else Path(settings.cluster))
    # A dry run starts no cluster, but it reads collections, because plans depend on their sizes.
    run_file(
        replace(settings, memory=memory or settings.memory),
        choose_cluster(
            None if dry_run else named, None if dry_run else scheduler, workers or settings.workers
        ),
        journal,
        dry_run=dry_run,
    )


def run_file(settings: SweepFile, cluster: ClusterSpec, journal: Journal, *, dry_run: bool) -> None:
    """Add the collections of a sweep, plan it, print its plans, and run it unless that is a dry run.

    Raises SweepFailed: Collections that failed, with the messages and the commands that repeat them; the others are
        done.
    """
    from scorecube.execute.clusters import open_executor
    from scorecube.execute.memory import default_memory, parse_memory
    from scorecube.workflow import api
    from scorecube.workflow.sweep_journal import published
    from scorecube.workflow.sweep_plan import Request, requests_of
    from scorecube.workflow.sweep_processes import use_processes
    from scorecube.workflow.sweep_sources import add_collections

    limit = default_memory() if settings.memory is None else parse_memory(settings.memory)
    opened = api.open_study(settings.study, mode="a")
    with ExitStack() as stack:
        stack.callback(notify_failures, journal)
        if not dry_run:
            stack.enter_context(published(journal, opened.location))
        executor = replace(stack.enter_context(open_executor(cluster)), memory=limit)
        names = add_collections(
            opened,
            settings.sources,
            notify=notify,
            journal=journal,
            workers=executor.workers,
            client=executor.client,
        )
        requests, rows = list[Request](), opened.rows()
        if not journal.unread or not journal.unread.issuperset(names):
            known = names or list(opened)
            requests = requests_of(settings.entries, known, rows, journal.unread)
        processes = not dry_run and use_processes(rows, requests, executor)
        planned = planned_in_processes if processes else planned_here
        run = planned(opened, requests, settings, executor, journal)
        if run is not None and not dry_run:
            compute(settings.study, run, executor, journal)
    if journal.failures:
        raise SweepFailed(failure_summary(journal))


def write_example(path: Path) -> None:
    """Write the example of the file, which must not exist."""
    text = files("scorecube").joinpath("data", "sweep.toml").read_text(encoding="utf-8")
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise BadOutput(f"{path}: exists; choose another name, or remove it") from None
    notify(f"{path}: an example; edit it, then run: scorecube sweep {path}")


def part_notes(sweep: SweepFile, part: Part | None) -> list[str]:
    """Return lines on a part of a sweep, or that it has no collections."""
    if part is None:
        return []
    if not sweep.sources:
        return [f"{sweep.path}: part {part} has no collections; nothing to do"]
    return [f"{sweep.path}: part {part}, into {sweep.study}"]


def planned_in_processes(
    study: Study,
    requests: Sequence[Request],
    settings: SweepFile,
    executor: Executor,
    journal: Journal,
) -> Run:
    """Print what is to be done of many small results, and return what does it in worker processes."""
    from scorecube.workflow.sweep_processes import sweep_in_processes, wanted_entries

    wanted, workers = wanted_entries(requests), executor.workers
    to_run = [request.collections[0] for request in requests if request.stored is None]
    journal.plan([request.collections[0] for request in requests], to_run, 0)
    notify(
        f"{study.path}: {counted(len(requests), 'plan')}, {len(requests) - len(to_run)} done already; "
        f"{counted(len(wanted), 'small collection')} in {f'{workers} processes'}"
    )
    return partial(
        sweep_in_processes, study.path, wanted, workers=workers, impossible=settings.impossible
    )


def planned_here(
    study: Study,
    requests: Sequence[Request],
    settings: SweepFile,
    executor: Executor,
    journal: Journal,
) -> Run | None:
    """Plan a sweep, print its plans, and return what runs them; None if all is done."""
    from scorecube.workflow.sweep_plan import plan_requests
    from scorecube.workflow.sweep_run import run_sweep

    plan = plan_requests(study, requests, impossible=settings.impossible, journal=journal)
    to_run = [task.collection.name for task in plan.tasks]
    there = [name for name, *_ in plan.stored]
    journal.plan([*there, *to_run], to_run, len(plan.skipped))
    describe(study.path, plan, executor)
    if plan.tasks:
        return partial(run_sweep, plan.tasks, executor)
    if there:
        notify_how_to_show(study.path)
    return None


def compute(study: str, run: Run, executor: Executor, journal: Journal) -> None:
    """Run a sweep with progress, and print what turned out to be impossible, how long it took and how to show its results."""
    start = time.monotonic()
    with track_progress("sweep", None, journal.line) as show:

        def progress(done: int, total: int) -> None:
            journal.work(done, total)
            show(done, total)

        utilisation = run(progress=progress, journal=journal)
    left_out = [(each.collection, each.what, each.message) for each in journal.left_out]
    for line in skipped_lines(left_out):
        notify(line)
    line = f"{study}: {counted(journal.n_results, 'result')} in {time.monotonic() - start:,.0f} s"
    if executor.client is None:
        line += f"; utilisation of workers {utilisation.with_work:.0%}, of cores {utilisation.on_cores:.0%}"
    notify(line)
    notify_how_to_show(study)


def notify_how_to_show(study: str) -> None:
    """Print the commands that show results."""
    word = shlex.quote(study)
    notify(f"show results with: scorecube show {word} ANALYSIS, or: scorecube report {word}")


def describe(study: str, plan: SweepPlan, executor: Executor) -> None:
    """Print the plans of a sweep by analysis, with estimates, and the skipped plans."""
    from scorecube.workflow.estimates import estimate_tasks
    from scorecube.workflow.sweep_run import total_work

    workers = executor.workers
    for line in skipped_lines(plan.skipped):
        notify(line)
    done = len(plan.stored)
    notify(
        f"{study}: {counted(len(plan.tasks) + done, 'plan')}, {done} done already, {len(plan.skipped)} left out as impossible"
    )
    estimates = estimate_tasks(plan.tasks, workers, executor.memory, executor.program)
    by_analysis: dict[str, list[tuple[Task, Estimate]]] = {}
    for task, estimate in zip(plan.tasks, estimates, strict=True):
        by_analysis.setdefault(task.plan.analysis.name, []).append((task, estimate))
    for name, pairs in by_analysis.items():
        work = total_work([estimate for _, estimate in pairs], executor.memory)
        n_collections = len({task.collection.name for task, _ in pairs})
        notify(
            f"  {name:<14}{counted(work.tasks, 'plan'):>11} of {counted(n_collections, 'collection')}, {work.blocks:,} blocks, "
            f"{work.seconds / workers:,.1f} s"
        )
    if plan.tasks:
        work = total_work(estimates, executor.memory)
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
