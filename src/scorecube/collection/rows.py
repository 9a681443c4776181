"""Scores that are read a few runs at a time, so that a stored cube need not fit into memory."""

from __future__ import annotations

from collections.abc import Iterator
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
    at_least = min(together, JOINED_AT_ONCE // max(n_topics, 1))
    step = max(1, AT_ONCE // max(n_topics, 1), at_least)
    for cell in np.ndindex(n_metrics, n_gains):
        for low in range(0, n_runs, step):
            yield scores[(*cell, slice(low, low + step))].values
