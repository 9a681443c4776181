"""Pairs of runs, in the order in which blocks take them, and what a tile of pairs is made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled

SIDE = 64
"""Runs on each side of a square of pairs: an interval of pairs needs the sums of few runs."""


def pair_order(n_runs: int) -> tuple[np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, np.dtype[np.int32]]]:
    """Return first and second run of all pairs, square by square, row by row.

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


def label_order(n_runs: int) -> tuple[np.ndarray[Any, np.dtype[np.int32]], np.ndarray[Any, np.dtype[np.int32]]]:
    """Return first and second run of all pairs in label order: (0, 1), (0, 2), ..., (1, 2), ..."""
    runs = np.arange(n_runs, dtype=np.int32)
    return np.repeat(runs, n_runs - 1 - runs), np.concatenate([runs[k + 1 :] for k in runs])


def pair_place(
    first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], n_runs: int
) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the place of pairs in label order: (0, 1), (0, 2), ..., (1, 2), ..."""
    x, y = first.astype(np.int64), second.astype(np.int64)
    places: np.ndarray[Any, np.dtype[np.int64]] = x * (2 * n_runs - x - 1) // 2 + y - x - 1
    return places


@compiled
def squared_differences(centred: Any, first: Any, second: Any, snap: float, out: Any) -> None:
    """Write the squared per-topic differences of some pairs.

    Parameters
    ----------
    centred
        float64 (run, topic): centred scores in units.
    first, second
        int (pair,): rows of `centred`.
    snap
        A difference up to this is zero.
    out
        float (pair, topic).
    """
    for pair in range(first.shape[0]):
        x, y = centred[first[pair]], centred[second[pair]]
        for topic in range(x.shape[0]):
            difference = x[topic] - y[topic]
            out[pair, topic] = difference * difference if abs(difference) > snap else 0.0
