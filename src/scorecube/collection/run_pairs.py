"""Pairs of runs: their order along the dim `pair` of results, and their labels."""

from __future__ import annotations

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.kernels.arrays import Int32Array1


def pair_positions(n_runs: int) -> tuple[Int32Array1, Int32Array1]:
    """Return the positions of the runs of every pair, int32 (pair,), in label order.

    Examples
    --------
    >>> first, second = pair_positions(4)
    >>> list(zip(first.tolist(), second.tolist()))
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    """
    runs = np.arange(n_runs, dtype=np.int32)
    return np.repeat(runs, n_runs - 1 - runs), np.concatenate([runs[k + 1 :] for k in runs])


def pair_labels(
    runs: xr.Variable | xr.DataArray, pairs: tuple[Int32Array1, Int32Array1] | None = None
) -> dict[str, xr.Variable]:
    """Return the coordinates `run_a` and `run_b` (pair,) of pairs of runs.

    runs: Labels (run,), sorted.
    pairs: Positions of the first and the second runs; None for all pairs.
    """
    labels = np.asarray(runs.values, object)
    first, second = pair_positions(len(labels)) if pairs is None else pairs
    return {
        names.RUN_A: xr.Variable((names.PAIR,), labels[first]),
        names.RUN_B: xr.Variable((names.PAIR,), labels[second]),
    }
