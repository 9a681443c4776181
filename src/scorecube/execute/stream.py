"""Many runs as one stream of blocks: the next begins while the last blocks of the one before are still computed.

Every run keeps its own loop (`run.py`) on a thread of its own; their blocks go to one pool of workers, or to one cluster, so no core waits for
the last block of a collection, nor while a result is made and stored. How many runs are open at a time is limited by memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

AT_ONCE = 3
"""Runs that are open at the same time: one ends, one computes, one begins."""


class BusyPool(ThreadPoolExecutor):
    """A pool of worker threads that knows when each of them was at work.

    Parameters
    ----------
    workers
        Number of threads.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers, thread_name_prefix="block")
        self.spans: list[tuple[float, float]] = []
        """Start and stop of each piece of work, in seconds of `time.perf_counter`."""

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """See `concurrent.futures.Executor.submit`."""

        def timed() -> Any:
            start = time.perf_counter()
            try:
                return function(*args, **kwargs)
            finally:
                self.spans.append((start, time.perf_counter()))

        return super().submit(timed)

    def busy_share(self) -> float:
        """Return the share of the workers' time at work between the first start and the last stop; 1 for no work."""
        if not self.spans:
            return 1.0
        spans = list(self.spans)
        whole = max(stop for _, stop in spans) - min(start for start, _ in spans)
        return sum(stop - start for start, stop in spans) / (whole * self._max_workers)


@dataclass(frozen=True)
class Job:
    """One run of a stream.

    Parameters
    ----------
    name
        For error texts and progress.
    bytes
        What it needs while it is open.
    run
        Does all of it, its blocks on the given pool (None on a cluster).
    """

    name: str
    bytes: float
    run: Callable[[ThreadPoolExecutor | None], None]


@dataclass
class _State:
    """What the threads of a stream share."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    open: dict[str, float] = field(default_factory=dict)
    failure: BaseException | None = None


def run_stream(jobs: Sequence[Job], memory: float, pool: ThreadPoolExecutor | None, at_once: int = AT_ONCE) -> None:
    """Do all jobs, as many at a time as fit into the memory.

    Jobs are begun in their order, but one that does not fit beside those that are open lets smaller ones go first; so give the largest first.

    Parameters
    ----------
    jobs
        With distinct names.
    memory
        Bytes that the open jobs may need together; a job that needs more runs alone.
    pool
        Workers that all jobs share; None where they run on a cluster.
    at_once
        Most jobs that are open at the same time.

    Raises
    ------
    Exception
        The first failure of a job; jobs that are open then are stopped, and what they recorded stays.
    """
    state, waiting = _State(), list(jobs)
    threads: list[threading.Thread] = []
    try:
        while waiting or state.open:
            with state.changed:
                while (
                    (chosen := _next(waiting, state.open, memory, at_once)) is None and state.open and not state.failure
                ):
                    state.changed.wait()
                if state.failure is not None:
                    raise state.failure
                if chosen is None:
                    break
                state.open[chosen.name] = chosen.bytes
            waiting.remove(chosen)
            threads.append(threading.Thread(target=_drive, args=(chosen, pool, state), name=chosen.name, daemon=True))
            threads[-1].start()
    except BaseException:
        _stop(pool, threads)
        raise


def _next(waiting: Sequence[Job], is_open: Mapping[str, float], memory: float, at_once: int) -> Job | None:
    """Return the first job that fits beside the open ones; the very first if there are none."""
    if len(is_open) >= at_once:
        return None
    left = memory - sum(is_open.values())
    return next((job for job in waiting if not is_open or job.bytes <= left), None)


def _drive(job: Job, pool: ThreadPoolExecutor | None, state: _State) -> None:
    failure: BaseException | None = None
    try:
        job.run(pool)
    except BaseException as error:  # raised again in the thread that waits
        failure = error
    with state.changed:
        del state.open[job.name]
        state.failure = state.failure or failure
        state.changed.notify_all()


def _stop(pool: ThreadPoolExecutor | None, threads: Sequence[threading.Thread]) -> None:
    """Let the open jobs end: blocks that were not begun are dropped, those under way are recorded or lost."""
    if pool is not None:
        pool.shutdown(wait=False, cancel_futures=True)
    for thread in threads:
        with suppress(RuntimeError):
            thread.join(timeout=5)
