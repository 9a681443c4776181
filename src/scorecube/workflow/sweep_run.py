"""Run the tasks of a sweep concurrently, on local threads or a cluster."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import xarray as xr

from scorecube.analyses.base import Analysis
from scorecube.errors import BadPlan, kind_of, option
from scorecube.execute.concurrent_runs import (
    MAX_OPEN_RUNS,
    Job,
    ReserveMemory,
    TimedThreadPool,
    run_concurrently,
)
from scorecube.execute.estimate import Estimate
from scorecube.execute.executor import Executor, Progress, default_workers
from scorecube.execute.memory import default_memory
from scorecube.storage import Study, open_study
from scorecube.workflow.estimates import estimate_tasks
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_journal import Journal
from scorecube.workflow.sweep_plan import SweepPlan, plan_sweep
from scorecube.workflow.tasks import Task

if TYPE_CHECKING:
    from distributed import Client

MILLISECONDS = 1000
SWITCH_SECONDS = 5e-4
"""Longest time that a thread keeps Python's global lock while others wait for it."""

SHARED_PART = 0.9
"""Part of the memory that runs may fill together by their estimates: freed pieces stay between them (up to 7 % measured)."""


@dataclass(frozen=True)
class Work:
    """Estimate of remaining work: seconds of one core, bytes of memory, bytes of results before compression."""

    tasks: int
    blocks: int
    seconds: float
    memory: float
    stored: float


class Utilisation(NamedTuple):
    """Shares of the workers' time, 0 .. 1."""

    with_work: float
    on_cores: float


def total_work(estimates: Sequence[Estimate], memory: int | None = None) -> Work:
    """Return the work of several tasks that run concurrently, from their estimates."""
    program = max((each.memory.program for each in estimates), default=0.0)
    working = sorted((each.memory.working(each.block_units) for each in estimates), reverse=True)
    largest = working[0] if working else 0.0
    rest = SHARED_PART * ((memory or default_memory()) - program)
    return Work(
        tasks=len(estimates),
        blocks=sum(each.blocks for each in estimates),
        seconds=sum(each.work for each in estimates),
        memory=program + max(largest, min(rest, sum(working[:MAX_OPEN_RUNS]))),
        stored=sum(each.memory.result for each in estimates),
    )


def run_sweep(
    tasks: Sequence[Task],
    executor: Executor,
    *,
    progress: Progress | None = None,
    journal: Journal | None = None,
) -> Utilisation:
    """Run tasks concurrently.

    tasks: As from `plan_sweep`.
    executor: Where their blocks are computed.
    progress: Called with estimated milliseconds of work: (done, total).
    journal: Takes what starts, ends and fails, and the others go on after a failure; without it, the first failure ends
        the sweep.
    Returns utilisation: Shares of the local workers' time between the first and the last block: with a block to
        compute, and with threads of this process on a core. Both are 1 on a cluster.
    """
    client, count, allowed = executor.client, executor.workers, executor.memory or default_memory()
    expected = estimate_tasks(tasks, count, allowed, executor.program)
    program = max((each.memory.program for each in expected), default=0.0)
    shares = _TotalProgress(progress)
    with (
        _short_switch_interval(),
        TimedThreadPool(count) if client is None else nullcontext() as pool,
    ):
        executor = replace(executor, memory=allowed, program=program, pool=pool)

        def stop() -> None:
            shares.stop()
            if pool is not None:
                pool.abandon()
            if client is not None:
                from scorecube.execute.clients import cancel_open

                cancel_open(client)

        jobs = []
        for task, each in zip(tasks, expected, strict=True):
            run = partial(_run_task, task, executor, shares.add(each.work), journal)
            name = f"{task.collection.name}/{task.plan.analysis.name}/{task.plan.digest}"
            first = each.memory.computing(each.block_units)
            jobs.append(Job(name, each.memory.working(each.block_units), run, first))
        jobs.sort(key=lambda job: -job.bytes)
        start, computing = time.perf_counter(), time.process_time()
        run_concurrently(jobs, SHARED_PART * (allowed - program), on_failure=stop)
    if pool is None:
        return Utilisation(1.0, 1.0)
    on_cores = (time.process_time() - computing) / ((time.perf_counter() - start) * count)
    return Utilisation(pool.busy_share(), min(on_cores, 1.0))


def _run_task(
    task: Task,
    executor: Executor,
    progress: Progress,
    journal: Journal | None,
    reserve: ReserveMemory,
) -> None:
    names = task.collection.name, task.plan.analysis.name
    with nullcontext() if journal is None else journal.noting(*names):
        task.run(executor, progress=progress, before_finalize=reserve)
    progress(1, 1)  # after a failure nothing more will come


@contextmanager
def _short_switch_interval() -> Iterator[None]:
    """Shorten the switch interval, so that computing threads do not wait for threads that plan and store."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


class _TotalProgress:
    """Progress of all tasks together, weighted by their estimated time."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._sum = 0.0
        self._stopped = False
        self._total = 0.0

    def stop(self) -> None:
        """Let all tasks fail when they next report progress."""
        self._stopped = True

    def add(self, seconds: float) -> Progress:
        """Add a task and return the function that takes its progress."""
        weight, before = max(seconds * MILLISECONDS, 1.0), 0.0
        self._total += weight

        def update(done: int, total: int) -> None:
            nonlocal before
            if self._stopped:
                raise CancelledError
            with self._lock:
                now = weight * done / max(total, 1)
                self._sum, before = self._sum + now - before, now
                if self._progress is not None:
                    self._progress(round(self._sum), round(self._total))

        return update


def sweep(
    study: Study | str | os.PathLike[str],
    plans: Iterable[Entry | Analysis],
    *,
    client: Client | None = None,
    workers: int | None = None,
    memory: int | None = None,
    impossible: str = "stop",
    progress: Progress | None = None,
) -> xr.DataTree:
    """Run many analyses of many collections of a study concurrently.

    Parameters
    ----------
    study
        A study opened for writing, or its path.
    plans
        Analyses, to run on all collections with their usual trials, or entries with their own settings, e.g.
        ``sc.Entry(sc.Swap(size=25), trials=10_000, seed=1, collections=("trec*",), selection={"top_runs": 30})``.
    client
        A `distributed.Client`; None uses local threads.
    workers
        Local threads, by default one per core.
    memory
        Limit in bytes of the resident size of this process; by default four fifths of the machine's memory.
    impossible
        What to do with a plan that is impossible for a collection: ``stop`` raises an error, ``skip`` leaves it out.
    progress
        Called with estimated milliseconds of work: (done, total).

    Returns
    -------
    results
        All results at ``/collection/analysis/digest``, new and stored; values are loaded when they are used.

    Raises
    ------
    BadPlan
        No plans, or as `plan_sweep`.
    BadName
        As `plan_sweep`.

    Examples
    --------
    >>> import tempfile
    >>> import scorecube as sc
    >>> from scorecube.testing import simulate_cube
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     study = sc.open_study(folder + "/study.zarr", mode="a")
    ...     study.add("one", cube=simulate_cube(n_runs=5, seed=1))
    ...     study.add("two", cube=simulate_cube(n_runs=4, seed=2))
    ...     tree = sc.sweep(study, [sc.Entry(sc.Swap(), trials=50, seed=1), sc.Entry(sc.Tukey(), trials=50, seed=1)])
    ...     [(name, list(node.children)) for name, node in tree.children.items()]
    [('one', ['swap', 'tukey']), ('two', ['swap', 'tukey'])]
    """
    opened = study if isinstance(study, Study) else open_study(study, mode="a")
    if isinstance(plans, Entry | Analysis | str):
        raise BadPlan(f"{option('plans')}: expected a list of plans; found {kind_of(plans)}")
    entries = [plan if isinstance(plan, Entry) else Entry(plan) for plan in plans]
    if not entries:
        raise BadPlan("a sweep needs at least one plan: found none")
    plan = plan_sweep(opened, entries, impossible=impossible)
    executor = Executor(client, workers or default_workers(), memory)
    run_sweep(plan.tasks, executor, progress=progress)
    return results_tree(opened, plan)


def results_tree(study: Study, plan: SweepPlan) -> xr.DataTree:
    """Return the stored results of a sweep as a tree whose values are loaded when they are used."""
    results = {
        f"/{name}/{analysis}/{digest}": study[name].open_result(analysis, digest)
        for name, analysis, digest in plan.stored
    }
    for task in plan.tasks:
        result = task.stored()
        assert result is not None
        results[f"/{task.collection.name}/{task.plan.analysis.name}/{result.attrs['digest']}"] = (
            result
        )
    return xr.DataTree.from_dict(dict(sorted(results.items())))
