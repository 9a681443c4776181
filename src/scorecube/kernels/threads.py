"""Threads for the independent parts of one result.

Blocks of an analysis are distributed by `scorecube.execute` instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

LEAST = 2**20
"""Values from which on threads save more time than they cost."""
Item = TypeVar("Item")
Result = TypeVar("Result")


def on_threads(
    function: Callable[[Item], Result],
    items: Sequence[Item],
    n_values: int,
    n_threads: int | None = None,
) -> list[Result]:
    """Return the function's result for every item, in order.

    Large work is shared by several threads.

    function: It should release the interpreter lock, and must not write to what a call for another item reads.
    n_values: Number of values that all calls together compute.
    n_threads: Most threads; None for as many as numba may use.
    """
    if n_values < LEAST:
        return [function(item) for item in items]
    if n_threads is None:
        import numba

        n_threads = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined]
    n_threads = min(len(items), n_threads)
    if n_threads < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads, thread_name_prefix="finish") as threads:
        return list(threads.map(function, items))
