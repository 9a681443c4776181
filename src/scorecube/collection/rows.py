"""Scores that are read a few runs at a time, so that a stored cube need not fit into memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names

AT_ONCE = 2**20
"""Scores that are read at a time: those of a stored chunk."""
JOINED_AT_ONCE = 2**24
"""Scores that are read at a time at most so that each stored chunk is read once."""
CHUNKS = "chunks"
"""Shape of stored chunks, in the encoding of a variable."""
AHEAD = 2
"""Parts that are read before they are needed."""


def row_parts(n_rows: int, n_values: int, together: int = 1) -> list[slice]:
    """Return slices of rows that hold about `AT_ONCE` values, or of those stored together.

    Examples
    --------
    >>> row_parts(5, 2**19)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    at_least = min(together, JOINED_AT_ONCE // max(n_values, 1))
    step = max(1, AT_ONCE // max(n_values, 1), at_least)
    return [slice(low, min(low + step, n_rows)) for low in range(0, n_rows, step)]


def is_loaded(cube: xr.Dataset) -> bool:
    """Whether the scores of a cube are in memory."""
    return bool(cube.variables[names.SCORE]._in_memory)


def score_blocks(cube: xr.Dataset) -> Iterator[Any]:
    """Yield the scores of a cube: all if they are in memory, else a few runs at a time."""
    scores = cube.variables[names.SCORE]
    if is_loaded(cube):
        yield scores.values
        return
    n_metrics, n_gains, n_runs, n_topics = scores.shape
    chunks = scores.encoding.get(CHUNKS)
    together = chunks[-2] if chunks else max(scores.chunksizes.get(names.RUN, (1,)))
    keys = [
        (*cell, part)
        for cell in np.ndindex(n_metrics, n_gains)
        for part in row_parts(n_runs, n_topics, together)
    ]
    with ThreadPoolExecutor(AHEAD, thread_name_prefix="read") as threads:
        waiting = deque[Any]()
        for key in keys:
            waiting.append(threads.submit(lambda key: scores[key].values, key))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
