"""Doing a sweep: all its tasks as one stream of blocks, on local cores or a cluster."""

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
TURN_SECONDS = 5e-4


@dataclass(frozen=True)
class Work:
    """What is left to do, for people to read beforehand: seconds of one core, bytes of memory and of the store."""

    tasks: int
    blocks: int
    seconds: float
    memory: float
    stored: float


class Utilisation(NamedTuple):
    """Shares of the workers' time."""

    with_work: float
    on_cores: float


def work(tasks: Sequence[Task], workers: int, memory: int | None = None) -> Work:
    """Estimate tasks together."""
    found = [task.estimate(workers, memory) for task in tasks]
    needs = [max(each.result_bytes, each.computing_bytes(workers)) for each in found]
    return Work(
        len(found), sum(each.blocks for each in found), sum(each.seconds for each in found), max(needs, default=0.0),
        sum(each.result_bytes for each in found),
    )  # fmt: skip


def run_sweep(
    tasks: Iterable[Task],
    *,
    client: Client | None = None,
    workers: int | None = None,
    memory: int | None = None,
    progress: Progress | None = None,
) -> Utilisation:
    """Run tasks as one stream of blocks; what is stored already is left as it is.

    Parameters
    ----------
    tasks
        As from `plan_sweep`.
    client
        A `distributed.Client`; None uses local threads.
    workers
        Local threads, by default one per core.
    memory
        Bytes that all open tasks may need together; by default four fifths of the machine's.
    progress
        Called with estimated milliseconds of work: done, and in all.

    Returns
    -------
    busy
        Of the local workers' time between the first block and the last: the share that they had something to do, and the share that this
        process' threads were on a core. Both 1 on a cluster, which has its own view of that.
    """
    count, allowed = workers or default_workers(), memory or default_memory()
    # What libraries and the cubes of all tasks take is not there for several tasks at a time; one alone may always run.
    limit = max(allowed - resident_bytes(), allowed // 2)
    left = [task for task in tasks if not task.is_stored()]
    shares = _Shares(progress)
    jobs = []
    for task in left:
        expected = task.estimate(count, allowed)
        name = f"{task.collection.name}/{task.plan.analysis.name}/{task.plan.digest}"
        first = expected.computing_bytes(count)
        do = _job(task, client, count, allowed, shares.of(name, expected.seconds))
        jobs.append(Job(name, max(first, expected.result_bytes), do, first))
    jobs.sort(key=lambda job: -job.bytes)
    with _quick_turns():
        if client is not None:
            run_concurrently(jobs, limit, None)
            return Utilisation(1.0, 1.0)
        start, computing = time.perf_counter(), time.process_time()
        with TimedThreadPool(count) as pool:
            run_concurrently(jobs, limit, pool)
        on_cores = (time.process_time() - computing) / ((time.perf_counter() - start) * count)
        return Utilisation(pool.busy_share(), min(on_cores, 1.0))


@contextmanager
def _quick_turns() -> Iterator[None]:
    """Let threads that compute have Python's lock back soon, of which they need little, from those that plan and store."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _job(
    task: Task, client: Client | None, workers: int, memory: int, progress: Progress
) -> Callable[[ThreadPoolExecutor | None, ReserveMemory], None]:
    def do(pool: ThreadPoolExecutor | None, grow: ReserveMemory) -> None:
        task.run(Executor(client, workers, memory, pool), progress=progress, before_finalize=grow)

    return do


class _Shares:
    """Progress of many runs as one, weighted by their estimated time."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._lock = threading.Lock()
        self._done: dict[str, float] = {}
        self._whole = 0.0

    def of(self, name: str, seconds: float) -> Progress:
        """Return the progress of one run."""
        weight = max(seconds * MILLISECONDS, 1.0)
        self._whole += weight

        def told(done: int, total: int) -> None:
            with self._lock:
                self._done[name] = weight * done / max(total, 1)
                if self._progress is not None:
                    self._progress(int(sum(self._done.values())), int(self._whole))

        return told


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
    """Run many analyses of many collections as one stream of blocks.

    Parameters
    ----------
    study
        A study opened for writing, or its path.
    plans
        Analyses, of all collections with 1,000 trials, or entries that say more, e.g.
        ``sc.Entry(sc.Swap(size=25), trials=10_000, seed=1, collections=("trec*",), selection={"top_runs": 30})``.
    client
        A `distributed.Client`; None uses local threads.
    workers
        Local threads, by default one per core.
    memory
        Bytes that all open tasks may need together; by default four fifths of the machine's.
    impossible
        ``stop``: a plan that is impossible for a collection is an error. ``skip``: it is left out.
    progress
        Called with estimated milliseconds of work: done, and in all.

    Returns
    -------
    results
        The results, new and old, at ``/collection/analysis/digest``; values are read when they are used.

    Raises
    ------
    BadPlan, BadName
        See `plan_sweep`.

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
        raise BadPlan("a sweep without plans: nothing to do")
    tasks = plan_sweep(opened, entries, impossible=impossible).tasks
    run_sweep(tasks, client=client, workers=workers, memory=memory, progress=progress)
    return results_tree(tasks)


def results_tree(tasks: Iterable[Task]) -> xr.DataTree:
    """Return the stored results of tasks as a tree, without reading their values."""
    found = {}
    for task in tasks:
        result = task.stored()
        assert result is not None
        found[f"/{task.collection.name}/{task.plan.analysis.name}/{result.attrs['digest']}"] = result
    return xr.DataTree.from_dict(dict(sorted(found.items())))
