"""The executor of a run: where its blocks are computed, and with how many resources."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scorecube.execute.blas_threads import one_blas_thread

if TYPE_CHECKING:
    from distributed import Client

    from scorecube.analyses.base import Analysis, Arrays

Progress = Callable[[int, int], None]
Interval = tuple[int, int]
OnResult = Callable[[int, Any], None]
"""Takes the position of an item, and what a function returned for it."""


@dataclass(frozen=True)
class Blocks:
    """The function that computes a block of an analysis from its inputs, on any thread or worker."""

    analysis: Analysis
    inputs: Arrays

    def __call__(self, interval: Interval) -> Arrays:
        """Return the outputs of an interval of units."""
        with one_blas_thread():
            return self.analysis.block(self.inputs, *interval)


@dataclass(frozen=True)
class Executor:
    """Where blocks are computed; results are bit-identical on every executor.

    client: Of a cluster; None for local threads.
    workers: Number of blocks at a time.
    memory: Limit of the memory of all work in bytes, see `execute.memory`; None if unknown.
    pool: Local threads that are shared with other runs (see `concurrent_runs.py`); None starts new ones.
    program: Part of `memory` that is in use before the work; None to measure it at the start.
    """

    client: Client | None = None
    workers: int = 1
    memory: int | None = None
    pool: ThreadPoolExecutor | None = None
    program: float | None = None

    def call_each(
        self, function: Callable[[Any], Any], items: Sequence[Any], on_result: OnResult
    ) -> None:
        """Call a function with every item, in any order; `on_result` takes the results as they are there, one at a time.

        dask schedules the calls; one at a time needs no scheduler, whose import takes 0.1 s.
        """
        if self.client is not None:
            from scorecube.execute.clients import call_on_client

            call_on_client(self.client, function, items, on_result)
        elif self.pool is None and 1 in (self.workers, len(items)):
            for position, item in enumerate(items):
                on_result(position, function(item))
        else:
            from scorecube.execute.graph import call_on_threads

            call_on_threads(self, function, items, on_result)

    def call_all(
        self, function: Callable[[Any], Any], items: Sequence[Any], progress: Progress | None = None
    ) -> list[Any]:
        """Return what a function returns for every item, in their order."""
        results: dict[int, Any] = {}

        def keep(position: int, result: Any) -> None:
            results[position] = result
            if progress is not None:
                progress(len(results), len(items))

        if progress is not None:
            progress(0, len(items))
        self.call_each(function, items, keep)
        return [results[position] for position in range(len(items))]

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on the pool, if any, so that it does not compete with blocks."""
        if self.pool is None:
            return function(*arguments)
        return self.pool.submit(function, *arguments).result()


CALLING_THREAD = Executor()
