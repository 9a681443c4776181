"""Independent pieces of work on several cores, where a result is made and no block of work is left to share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba

LEAST = 2**20
"""Values below which threads cost more than they save."""


def on_threads(function: Callable[[Any], Any], items: Sequence[Any], n_values: int) -> list[Any]:
    """Return the function of every item, in order; on as many threads as numba may use, if there is much to do.

    Parameters
    ----------
    function
        Releases Python's lock while it computes, and writes to nothing that another item's call reads.
    n_values
        That are computed in all.
    """
    n_threads = min(len(items), numba.config.NUMBA_NUM_THREADS)  # type: ignore[attr-defined]
    if n_threads < 2 or n_values < LEAST:
        return [function(item) for item in items]
    with ThreadPoolExecutor(n_threads, thread_name_prefix="finish") as threads:
        return list(threads.map(function, items))
