"""Calls of a function with many items on an executor: dask schedules them, on a cluster or on local threads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from scorecube.execute.executor import Executor, OnResult, Progress


def call_each(
    executor: Executor, function: Callable[[Any], Any], items: Sequence[Any], on_result: OnResult
) -> None:
    """Call a function with every item, in any order; `on_result` takes the results as they are there, one at a time.

    One call at a time needs no scheduler, whose import takes 0.1 s.
    """
    if executor.client is not None:
        from scorecube.execute.clients import call_on_client

        call_on_client(executor.client, function, items, on_result)
    elif executor.pool is None and 1 in (executor.workers, len(items)):
        for position, item in enumerate(items):
            on_result(position, function(item))
    else:
        from scorecube.execute.graph import call_on_threads

        call_on_threads(executor, function, items, on_result)


def call_all(
    executor: Executor,
    function: Callable[[Any], Any],
    items: Sequence[Any],
    progress: Progress | None = None,
) -> list[Any]:
    """Return what a function returns for every item, in their order."""
    results: dict[int, Any] = {}

    def keep(position: int, result: Any) -> None:
        results[position] = result
        if progress is not None:
            progress(len(results), len(items))

    if progress is not None:
        progress(0, len(items))
    call_each(executor, function, items, keep)
    return [results[position] for position in range(len(items))]
