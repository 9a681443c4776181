"""Many runs as one stream of blocks: the next begins while the last blocks of the one before are still computed.

Every run keeps its own loop (`run.py`) on a thread of its own; their blocks go to one pool of workers, or to one cluster, so no core waits for
the last block of a collection, nor while a result is made and stored. How many runs are open at a time is limited by memory.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from scorecube.execute.memory import release_memory

AT_ONCE = 4
"""Runs that are open at the same time: while one computes, others begin, end and are stored."""
Grow = Callable[[], None]


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
        What it needs at most while it is open.
    run
        Does all of it, its blocks on the given pool (None on a cluster). The second argument is to be called when it begins to need more
        than `first_bytes`, and returns when that is free.
    first_bytes
        What it needs until then; None for all of `bytes`.
    """

    name: str
    bytes: float
    run: Callable[[ThreadPoolExecutor | None, Grow], None]
    first_bytes: float | None = None


class _State:
    """What the threads of a stream share: who is open, with how much memory.

    At most one open job holds less than all it will need. It gets the rest when the others, which need no more than they hold, have made
    room: so none waits for another in a circle.
    """

    def __init__(self, memory: float, at_once: int) -> None:
        self.changed = threading.Condition()
        self.held: dict[str, float] = {}
        self.growing: str | None = None
        self.failure: BaseException | None = None
        self._memory, self._at_once = memory, at_once

    def admit(self, waiting: Sequence[Job]) -> Job | None:
        """Open the first job that fits beside the open ones, the very first if there are none; None if none does."""
        left = self._memory - sum(self.held.values())
        if len(self.held) >= self._at_once:
            return None
        for job in waiting:
            first = job.bytes if job.first_bytes is None else job.first_bytes
            grows = first < job.bytes and self.growing is None
            need = first if grows else job.bytes
            if need > left and self.held:
                continue
            self.held[job.name] = need
            if grows:
                self.growing = job.name
            return job
        return None

    def grow(self, job: Job) -> None:
        """Wait until the rest of what a job needs is free."""
        with self.changed:
            if self.growing != job.name:
                return
            self.held[job.name] = job.bytes
            while len(self.held) > 1 and sum(self.held.values()) > self._memory and self.failure is None:
                self.changed.wait()
            self.growing = None
        release_memory()

    def close(self, job: Job, failure: BaseException | None) -> None:
        """Take note that a job has ended."""
        with self.changed:
            del self.held[job.name]
            if self.growing == job.name:
                self.growing = None
            self.failure = self.failure or failure
            self.changed.notify_all()


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
    state, waiting = _State(memory, at_once), list(jobs)
    threads: list[threading.Thread] = []
    try:
        while waiting or state.held:
            with state.changed:
                while (chosen := state.admit(waiting)) is None and state.held and state.failure is None:
                    state.changed.wait()
                if state.failure is not None:
                    raise state.failure
            if chosen is None:
                break
            waiting.remove(chosen)
            threads.append(threading.Thread(target=_drive, args=(chosen, pool, state), name=chosen.name, daemon=True))
            threads[-1].start()
    except BaseException:
        _stop(pool, threads)
        raise


def _drive(job: Job, pool: ThreadPoolExecutor | None, state: _State) -> None:
    failure: BaseException | None = None
    try:
        job.run(pool, lambda: state.grow(job))
    except BaseException as error:  # raised again in the thread that waits
        failure = error
    state.close(job, failure)


def _stop(pool: ThreadPoolExecutor | None, threads: Sequence[threading.Thread]) -> None:
    """Let the open jobs end: blocks that were not begun are dropped, those under way are recorded or lost."""
    if pool is not None:
        pool.shutdown(wait=False, cancel_futures=True)
    for thread in threads:
        with suppress(RuntimeError):
            thread.join(timeout=5)
