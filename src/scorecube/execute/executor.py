"""The executor of a run: where its blocks are computed, and with how many resources."""

from __future__ import annotations

import os
from collections.abc import Callable
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


def default_workers() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@dataclass(frozen=True)
class Blocks:
    """The function that computes a block of an analysis from its inputs, on any thread or worker."""

    analysis: Analysis
    inputs: Arrays

    def __call__(self, interval: Interval) -> Arrays:
        """Return the outputs of an interval of units."""
        with one_blas_thread():
            return self.analysis.compute(self.inputs, *interval)


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

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on the pool, if any, so that it does not compete with blocks."""
        if self.pool is None:
            return function(*arguments)
        return self.pool.submit(function, *arguments).result()


CALLING_THREAD = Executor()
