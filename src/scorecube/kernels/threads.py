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
    function: Callable[[Item], Result], items: Sequence[Item], n_values: int
) -> list[Result]:
    """Return the function's result for every item, in order.

    Large work is shared by as many threads as numba may use.

    Parameters
    ----------
    function
        It should release the interpreter lock, and must not write to what a call for another item reads.
    n_values
        Number of values that all calls together compute.
    """
    if n_values < LEAST:
        return [function(item) for item in items]
    import numba

    n_threads = min(len(items), numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if n_threads < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads, thread_name_prefix="finish") as threads:
        return list(threads.map(function, items))
