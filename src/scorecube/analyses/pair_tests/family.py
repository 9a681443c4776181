"""The pairs of runs that are tested together: all, or one run against every other."""

from __future__ import annotations

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.collection.schema import labels_of
from scorecube.errors import BadName, nearest
from scorecube.kernels.arrays import Int32Array1
from scorecube.kernels.pairs.pair_order import label_order, pair_order

Pairs = tuple[Int32Array1, Int32Array1]
"""First and second runs of pairs, int32 (pair,) each."""


def baseline_field() -> str | None:
    """Declare the run that all others are compared with."""
    return option_field(
        None,
        "Compare this run with every other one; all pairs by default.",
        detail="With one, p - 1 pairs are tested.",
    )


def check_baseline(cube: xr.Dataset, baseline: str | None) -> None:
    """Refuse a baseline that is not among the runs.

    baseline: Name of a run; None for all pairs.
    Raises BadName: No run of this name.
    """
    runs = labels_of(cube, names.RUN)
    if baseline is not None and baseline not in runs:
        raise BadName(
            f"no run {baseline!r} in the scores; nearest: {nearest(baseline, runs)}",
            option="baseline",
        )


def family(cube: xr.Dataset, baseline: str | None, *, by_squares: bool = False) -> Pairs:
    """Return the pairs that are tested together.

    baseline: The second run of every pair, p - 1 pairs in the order of the other runs; None for all p (p - 1) / 2
        pairs.
    by_squares: Whether all pairs stand in the order of blocks (`pair_order`) instead of that of labels.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=3, seed=1)
    >>> [runs.tolist() for runs in family(cube, None)], [runs.tolist() for runs in family(cube, "team02-run1")]
    ([[0, 0, 1], [1, 2, 2]], [[0, 2], [1, 1]])
    """
    n_runs = cube.sizes[names.RUN]
    if baseline is None:
        return pair_order(n_runs) if by_squares else label_order(n_runs)
    run = labels_of(cube, names.RUN).index(baseline)
    others = np.delete(np.arange(n_runs, dtype=np.int32), run)
    return others, np.full(len(others), run, np.int32)


def family_size(cube: xr.Dataset, baseline: str | None) -> int:
    """Return the number of pairs that are tested together."""
    n_runs = cube.sizes[names.RUN]
    return n_runs * (n_runs - 1) // 2 if baseline is None else n_runs - 1
