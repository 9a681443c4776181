"""Orders of pairs of runs: the order of blocks, and label order, used in results."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Int32Array1, Int64Array1

SIDE = 64
"""Runs on each side of a square of pairs: consecutive pairs need the sums of few runs."""
PAIRS_AT_ONCE = 2**18
"""Number of pairs whose positions are computed at once; bounds memory."""


def pair_order(n_runs: int) -> tuple[Int32Array1, Int32Array1]:
    """Return first and second run of all pairs in the order of blocks.

    Pairs are listed square by square, and row by row within a square.

    Examples
    --------
    >>> first, second = pair_order(3)
    >>> list(zip(first.tolist(), second.tolist()))
    [(0, 1), (0, 2), (1, 2)]
    """
    if n_runs <= SIDE:
        return label_order(n_runs)
    first, second = np.empty((2, n_runs * (n_runs - 1) // 2), np.int32)
    start = 0
    for top in range(0, n_runs, SIDE):
        for left in range(top, n_runs, SIDE):
            rows, columns = np.meshgrid(
                np.arange(top, min(top + SIDE, n_runs), dtype=np.int32),
                np.arange(left, min(left + SIDE, n_runs), dtype=np.int32),
                indexing="ij",
            )
            above = rows < columns
            stop = start + int(np.count_nonzero(above))
            first[start:stop], second[start:stop] = rows[above], columns[above]
            start = stop
    return first, second


def label_order(n_runs: int) -> tuple[Int32Array1, Int32Array1]:
    """Return first and second run of all pairs in label order.

    That is (0, 1), (0, 2), ..., (1, 2), ...
    """
    runs = np.arange(n_runs, dtype=np.int32)
    return np.repeat(runs, n_runs - 1 - runs), np.concatenate([runs[k + 1 :] for k in runs])


def pair_place(first: Int32Array1, second: Int32Array1, n_runs: int) -> Int64Array1:
    """Return the positions of pairs in label order, see `label_order`."""
    places = np.empty(len(first), np.int64)
    for start in range(0, len(first), PAIRS_AT_ONCE):
        part = slice(start, start + PAIRS_AT_ONCE)
        x, y = first[part].astype(np.int64), second[part].astype(np.int64)
        places[part] = x * (2 * n_runs - x - 1) // 2 + y - x - 1
    return places
