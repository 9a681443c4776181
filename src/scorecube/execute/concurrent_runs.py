"""Concurrent runs: the next one starts while the last blocks of another are computed.

Each run has its own loop (`run.py`) on a thread of its own. Their blocks share one pool of worker threads, or one cluster, so no core is idle
at the end of a run or while a result is made and stored. Memory limits how many runs are open at a time.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Future, InvalidStateError, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any

from scorecube.execute.memory import release_memory

MAX_OPEN_RUNS = 4
"""While one run computes, others start, finish and store their results."""
STOP_SECONDS = 10.0
"""Longest time for open runs to write their last blocks and release their locks."""
RELEASED_BYTES = 16 * 2**20
"""Memory of an ended run from which on it is worth returning to the system, which takes a few milliseconds."""
ReserveMemory = Callable[[], None]


class TimedThreadPool(ThreadPoolExecutor):
    """A pool of worker threads that records when they were busy, and whose callers need not wait for the last calls.

    workers: Number of threads.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers, thread_name_prefix="block")
        self.workers = workers
        self.spans: list[tuple[float, float]] = []
        """Start and stop of each call, in seconds of `time.perf_counter`."""
        self._waited_for: set[Future[Any]] = set()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        outcome: Future[Any] = Future()
        self._waited_for.add(outcome)
        outcome.add_done_callback(self._waited_for.discard)

        def timed() -> None:
            start = time.perf_counter()
            with suppress(InvalidStateError):  # abandoned
                try:
                    result = function(*args, **kwargs)
                except BaseException as error:
                    outcome.set_exception(error)
                else:
                    outcome.set_result(result)
                finally:
                    self.spans.append((start, time.perf_counter()))

        super().submit(timed)
        return outcome

    def abandon(self) -> None:
        """Raise CancelledError where the result of a call is waited for; calls that have begun end on their own."""
        self.shutdown(wait=False, cancel_futures=True)
        for outcome in list(self._waited_for):
            with suppress(InvalidStateError):
                outcome.set_exception(CancelledError())

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Wait for all calls; after an error for none."""
        if kind is None:
            self.shutdown()
        else:
            self.abandon()

    def busy_share(self) -> float:
        """Return the busy share of the workers' time from first start to last stop.

        It is 1 without calls.
        """
        if not self.spans:
            return 1.0
        spans = list(self.spans)
        elapsed = max(stop for _, stop in spans) - min(start for start, _ in spans)
        return sum(stop - start for start, stop in spans) / (elapsed * self.workers)


@dataclass(frozen=True)
class Job:
    """One of several concurrent runs.

    name: For progress and error messages; unique.
    bytes: Largest memory of the run while it is open.
    run: Does the whole run. It calls its argument before it needs more than `first_bytes`; that call returns when
        `bytes` are available.
    first_bytes: Memory until then; None for `bytes`.
    """

    name: str
    bytes: float
    run: Callable[[ReserveMemory], None]
    first_bytes: float | None = None


class _Admission:
    """Which jobs are open, with how much memory; shared by their threads.

    At most one open job (`growing`) holds less memory than it will need. It gets the rest when the others, which need no more than they
    hold, have freed enough: so no two jobs wait for each other.
    """

    def __init__(self, jobs: Sequence[Job], memory: float, max_open: int) -> None:
        self._changed = threading.Condition()
        self._waiting = list(jobs)
        self._held: dict[str, float] = {}
        self._growing: str | None = None
        self._failure: BaseException | None = None
        self._memory, self._max_open = memory, max_open

    def open_next(self) -> Job | None:
        """Open the first job that fits beside the open ones, as soon as there is one; None when all have ended.

        Raises BaseException: The first failure of a job.
        """
        with self._changed:
            while self._failure is None and (self._waiting or self._held):
                if (job := self._fitting()) is not None:
                    self._waiting.remove(job)
                    return job
                self._changed.wait()
            if self._failure is not None:
                raise self._failure
            return None

    def _fitting(self) -> Job | None:
        """Return the first job that fits, which holds its memory from now on; if none is open, the first job fits."""
        left = self._memory - sum(self._held.values())
        if len(self._held) >= self._max_open:
            return None
        for job in self._waiting:
            first = job.bytes if job.first_bytes is None else job.first_bytes
            grows = first < job.bytes and self._growing is None
            need = first if grows else job.bytes
            if need > left and self._held:
                continue
            self._held[job.name] = need
            if grows:
                self._growing = job.name
            return job
        return None

    def run(self, job: Job) -> None:
        """Run an open job, on its thread, and free its memory."""
        failure: BaseException | None = None
        try:
            job.run(partial(self._grow, job))
        except BaseException as error:  # raised again in the waiting thread
            failure = error
        if job.bytes > RELEASED_BYTES:
            release_memory()  # glibc would keep much of it, and the next job come on top
        with self._changed:
            del self._held[job.name]
            if self._growing == job.name:
                self._growing = None
            self._failure = self._failure or failure
            self._changed.notify_all()

    def _grow(self, job: Job) -> None:
        """Wait until the rest of a job's memory is free."""

        def is_free() -> bool:
            alone = len(self._held) == 1
            return alone or sum(self._held.values()) <= self._memory or self._failure is not None

        with self._changed:
            if self._growing != job.name:
                return
            self._held[job.name] = job.bytes
            self._changed.wait_for(is_free)
            self._growing = None
        release_memory()


def run_concurrently(
    jobs: Sequence[Job],
    memory: float,
    max_open: int = MAX_OPEN_RUNS,
    on_failure: Callable[[], None] | None = None,
) -> None:
    """Run all jobs, as many at a time as fit into memory.

    Jobs start in their order, except that smaller ones overtake a job that does not fit beside the open ones; sort the largest first.

    jobs: With distinct names.
    memory: Bytes that the open jobs may need together; a job that needs more runs alone.
    max_open: Largest number of open jobs.
    on_failure: Called after a failure or an interruption; it makes the open jobs end, which are waited for to release
        their locks.
    Raises Exception: The first failure of a job; the other open jobs are stopped, and their recorded blocks are kept.
    """
    admission, threads = _Admission(jobs, memory, max_open), list[threading.Thread]()
    try:
        while (job := admission.open_next()) is not None:
            thread = threading.Thread(target=admission.run, args=(job,), name=job.name, daemon=True)
            threads.append(thread)
            thread.start()
    except BaseException:
        if on_failure is not None:
            on_failure()
        end = time.monotonic() + STOP_SECONDS
        for thread in threads:
            with suppress(RuntimeError):
                thread.join(timeout=max(end - time.monotonic(), 0))
        raise
