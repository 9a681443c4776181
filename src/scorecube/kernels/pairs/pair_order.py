"""Orders of pairs of runs: the order of blocks, and label order, used in results."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Int32Array1, Int64Array1

SIDE = 64
"""Runs on each side of a square of pairs: consecutive pairs need the sums of few runs."""


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
    firsts, seconds = [], []
    for top in range(0, n_runs, SIDE):
        for left in range(top, n_runs, SIDE):
            rows, columns = np.meshgrid(
                np.arange(top, min(top + SIDE, n_runs), dtype=np.int32),
                np.arange(left, min(left + SIDE, n_runs), dtype=np.int32),
                indexing="ij",
            )
            above = rows < columns
            firsts.append(rows[above])
            seconds.append(columns[above])
    return np.concatenate(firsts), np.concatenate(seconds)


def label_order(n_runs: int) -> tuple[Int32Array1, Int32Array1]:
    """Return first and second run of all pairs in label order.

    That is (0, 1), (0, 2), ..., (1, 2), ...
    """
    runs = np.arange(n_runs, dtype=np.int32)
    return np.repeat(runs, n_runs - 1 - runs), np.concatenate([runs[k + 1 :] for k in runs])


def pair_place(first: Int32Array1, second: Int32Array1, n_runs: int) -> Int64Array1:
    """Return the positions of pairs in label order, see `label_order`."""
    x, y = first.astype(np.int64), second.astype(np.int64)
    return x * (2 * n_runs - x - 1) // 2 + y - x - 1
