"""The command of sweeps: a file in, everything it asks for done as one stream of work."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scorecube.cli import options
from scorecube.cli.terminal import say, tracking

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scorecube.workflow import SweepPlan
    from scorecube.workflow.tasks import Task

MOST_NAMES = 5
"""Of collections that cannot do something for the same reason."""


def sweep(
    file: Annotated[Path, typer.Argument(metavar="SWEEP.toml", help="Collections, analyses and their options.")],
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with a study that is there, and refuse to begin a new one.")
    ] = False,
    workers: options.Workers = None,
    cluster: options.Cluster = None,
    scheduler: options.Scheduler = None,
    memory: options.Memory = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")] = False,
) -> None:
    """Run many analyses of many collections from one file; what is done already is not done again.

    Example: scorecube sweep sweep.toml --workers 8 --memory 16GB
    """
    from scorecube.errors import BadStudy
    from scorecube.execute.clusters import choose_profile, open_executor
    from scorecube.execute.memory import default_memory, parse_memory
    from scorecube.storage import exists
    from scorecube.workflow import api, bring_in, plan_sweep, read_sweep, run_sweep

    asked = read_sweep(file)
    if resume and not exists(asked.study):
        raise BadStudy(f"{asked.study}: no study there to go on with; leave out --resume to begin one")
    size = memory or asked.memory
    limit = default_memory() if size is None else parse_memory(size)
    study = api.open_study(asked.study, mode="a")
    profile = cluster or (None if asked.cluster is None else Path(asked.cluster))
    with ExitStack() as stack:
        # A dry run starts no cluster; it reads collections, as nothing can be planned without their sizes.
        chosen = choose_profile(None if dry_run else profile, None if dry_run else scheduler, workers or asked.workers)
        executor = stack.enter_context(open_executor(chosen))
        names = bring_in(study, asked.sources, say=say, workers=executor.workers, client=executor.client) or None
        plan = plan_sweep(study, asked.entries, collections=names, impossible=asked.impossible)
        left = [task for task in plan.tasks if not task.is_stored()]
        describe(asked.study, plan, left, executor.workers, limit)
        if dry_run or not left:
            return
        started = time.monotonic()
        with tracking("sweep", None) as progress:
            busy = run_sweep(left, client=executor.client, workers=executor.workers, memory=limit, progress=progress)
    share = (
        ""
        if executor.client is not None
        else f"; the workers had work {busy.with_work:.0%} of it, the cores {busy.on_cores:.0%}"
    )
    say(f"{asked.study}: {len(left)} results in {time.monotonic() - started:,.0f} s{share}")
    say(f"read them with: scorecube show {asked.study} ANALYSIS, or: scorecube report {asked.study}")


def describe(study: str, plan: SweepPlan, left: Sequence[Task], workers: int, memory: int) -> None:
    """Say what a sweep is about to do, by analysis, and what it cannot do."""
    from scorecube.workflow.sweep_run import work

    by_kind: dict[str, list[Any]] = {}
    for task in left:
        by_kind.setdefault(task.plan.analysis.name, []).append(task)
    for line in left_out(plan.skipped):
        say(line)
    done = len(plan.tasks) - len(left)
    say(f"{study}: {len(plan.tasks)} plans, {done} done already, {len(plan.skipped)} left out as impossible")
    for kind, tasks in by_kind.items():
        expected = work(tasks, workers, memory)
        names = len({task.collection.name for task in tasks})
        say(
            f"  {kind:<14}{expected.tasks:>5} plans of {names} collections, {expected.blocks:,} blocks, {expected.seconds / workers:,.1f} s"
        )
    if left:
        whole = work(left, workers, memory)
        say(
            f"about {whole.seconds / workers:,.0f} s on {workers} workers, {whole.blocks:,} blocks, at most {whole.memory / 2**20:,.0f} MiB at a time, "
            f"results of {whole.stored / 2**20:,.0f} MiB before compression"
        )


def left_out(skipped: Sequence[tuple[str, str, str]]) -> list[str]:
    """Return lines on what is impossible, one for each analysis and reason.

    Examples
    --------
    >>> left_out([("a", "swap", "too few topics"), ("b", "swap", "too few topics")])
    ['left out: swap of 2 collections (a, b): too few topics']
    """
    names: dict[tuple[str, str], list[str]] = {}
    for collection, analysis, reason in skipped:
        names.setdefault((analysis, reason), [])
        if collection not in names[analysis, reason]:
            names[analysis, reason].append(collection)
    lines = []
    for (analysis, reason), found in names.items():
        told = ", ".join(found[:MOST_NAMES]) + (", ..." if len(found) > MOST_NAMES else "")
        lines.append(
            f"left out: {analysis} of {told if len(found) == 1 else f'{len(found)} collections ({told})'}: {reason}"
        )
    return lines


COMMANDS = (sweep,)
