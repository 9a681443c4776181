"""Run the tasks of a sweep concurrently, on local threads or a cluster."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import xarray as xr

from scorecube.analyses.base import Analysis
from scorecube.errors import BadPlan
from scorecube.execute.concurrent_runs import Job, ReserveMemory, TimedThreadPool, run_concurrently
from scorecube.execute.estimate import default_workers
from scorecube.execute.executor import Executor
from scorecube.execute.memory import default_memory, resident_bytes
from scorecube.storage import Study, open_study
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_plan import plan_sweep
from scorecube.workflow.tasks import Task

if TYPE_CHECKING:
    from distributed import Client

Progress = Callable[[int, int], None]
MILLISECONDS = 1000
SWITCH_SECONDS = 5e-4
"""Longest time that a thread keeps Python's global lock while others wait for it."""


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


def estimate_work(tasks: Sequence[Task], workers: int, memory: int | None = None) -> Work:
    """Return the estimated work of several tasks, with the memory of the largest."""
    estimates = [task.estimate(workers, memory) for task in tasks]
    return Work(
        tasks=len(estimates),
        blocks=sum(estimate.blocks for estimate in estimates),
        seconds=sum(estimate.seconds for estimate in estimates),
        memory=max(
            (max(e.result_bytes, e.computing_bytes(workers)) for e in estimates), default=0.0
        ),
        stored=sum(estimate.result_bytes for estimate in estimates),
    )


def run_sweep(
    tasks: Iterable[Task],
    *,
    client: Client | None = None,
    workers: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> Utilisation:
    """Run tasks concurrently, except those whose results are stored.

    Parameters
    ----------
    tasks
        As from `plan_sweep`.
    client
        A `distributed.Client`; None uses local threads.
    workers
        Local threads, by default one per core.
    memory
        Limit in bytes for all concurrent tasks; by default four fifths of the machine's memory.
    progress
        Called with estimated milliseconds of work: (done, total).

    Returns
    -------
    utilisation
        Shares of the local workers' time between the first and the last block: with a block to compute, and with threads of this
        process on a core. Both are 1 on a cluster.
    """
    count, allowed = workers or default_workers(), memory or default_memory()
    # Libraries and the cubes of all tasks reduce the memory for concurrent tasks; a single task may always run.
    limit = max(allowed - resident_bytes(), allowed // 2)
    pending = [task for task in tasks if not task.is_stored()]
    shares = _TotalProgress(progress)
    jobs = []
    for task in pending:
        expected = task.estimate(count, allowed)
        name = f"{task.collection.name}/{task.plan.analysis.name}/{task.plan.digest}"
        first = expected.computing_bytes(count)
        function = _job_function(task, client, count, allowed, shares.add(name, expected.seconds))
        jobs.append(Job(name, max(first, expected.result_bytes), function, first))
    jobs.sort(key=lambda job: -job.bytes)
    with _short_switch_interval():
        if client is not None:
            run_concurrently(jobs, limit, None)
            return Utilisation(1.0, 1.0)
        start, computing = time.perf_counter(), time.process_time()
        with TimedThreadPool(count) as pool:
            run_concurrently(jobs, limit, pool)
        on_cores = (time.process_time() - computing) / ((time.perf_counter() - start) * count)
        return Utilisation(pool.busy_share(), min(on_cores, 1.0))


@contextmanager
def _short_switch_interval() -> Iterator[None]:
    """Shorten the switch interval, so that computing threads do not wait for threads that plan and store."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


def _job_function(
    task: Task, client: Client | None, workers: int, memory: int, progress: Progress
) -> Callable[[ThreadPoolExecutor | None, ReserveMemory], None]:
    def run_task(pool: ThreadPoolExecutor | None, reserve: ReserveMemory) -> None:
        task.run(
            Executor(client, workers, memory, pool), progress=progress, before_finalize=reserve
        )

    return run_task


class _TotalProgress:
    """Progress of all tasks together, weighted by their estimated time."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._done: dict[str, float] = {}
        self._total = 0.0

    def add(self, name: str, seconds: float) -> Progress:
        """Add a task and return the function that takes its progress."""
        weight = max(seconds * MILLISECONDS, 1.0)
        self._total += weight

        def update(done: int, total: int) -> None:
            with self._lock:
                self._done[name] = weight * done / max(total, 1)
                if self._progress is not None:
                    self._progress(int(sum(self._done.values())), int(self._total))

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
        Analyses, to run on all collections with 1,000 trials, or entries with their own settings, e.g.
        ``sc.Entry(sc.Swap(size=25), trials=10_000, seed=1, collections=("trec*",), selection={"top_runs": 30})``.
    client
        A `distributed.Client`; None uses local threads.
    workers
        Local threads, by default one per core.
    memory
        Limit in bytes for all concurrent tasks; by default four fifths of the machine's memory.
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
    entries = [plan if isinstance(plan, Entry) else Entry(plan) for plan in plans]
    if not entries:
        raise BadPlan("a sweep needs at least one plan: found none")
    tasks = plan_sweep(opened, entries, impossible=impossible).tasks
    run_sweep(tasks, client=client, workers=workers, memory=memory, progress=progress)
    return results_tree(tasks)


def results_tree(tasks: Iterable[Task]) -> xr.DataTree:
    """Return the stored results of tasks as a tree whose values are loaded when they are used."""
    results = {}
    for task in tasks:
        result = task.stored()
        assert result is not None
        results[f"/{task.collection.name}/{task.plan.analysis.name}/{result.attrs['digest']}"] = (
            result
        )
    return xr.DataTree.from_dict(dict(sorted(results.items())))
