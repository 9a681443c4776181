"""Pairs of runs: the one order in which results have them along the dim `pair`, and their labels."""

from __future__ import annotations

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.kernels.arrays import Int32Array1
from scorecube.kernels.pairs.pair_order import label_order


def pair_positions(n_runs: int) -> tuple[Int32Array1, Int32Array1]:
    """Return the positions of the first and the second run of every pair, in the order of results.

    Parameters
    ----------
    n_runs
        Number of runs.

    Returns
    -------
    first, second
        int32 (pair,), first < second; pairs stand in label order.

    Examples
    --------
    >>> first, second = pair_positions(4)
    >>> list(zip(first.tolist(), second.tolist()))
    [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    """
    return label_order(n_runs)


def pair_labels(runs: xr.Variable | xr.DataArray) -> dict[str, xr.Variable]:
    """Return the coordinates `run_a` and `run_b` of all pairs of runs.

    Parameters
    ----------
    runs
        Labels (run,), sorted.

    Returns
    -------
    coords
        Labels (pair,) of the first and the second run of each pair, in the order of `pair_positions`.

    Examples
    --------
    >>> coords = pair_labels(xr.Variable("run", ["a", "b", "c"]))
    >>> coords["run_a"].values.tolist(), coords["run_b"].values.tolist()
    (['a', 'a', 'b'], ['b', 'c', 'c'])
    """
    labels = np.asarray(runs.values, object)
    first, second = pair_positions(len(labels))
    return {
        names.RUN_A: xr.Variable((names.PAIR,), labels[first]),
        names.RUN_B: xr.Variable((names.PAIR,), labels[second]),
    }
