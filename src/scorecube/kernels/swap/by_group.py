"""Swap counts of a collection without each group of runs: what limits over runs are made of."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Float64Array1, Float64Array4, Int64Array1, Int64Array3
from scorecube.kernels.jit import compiled

CLASSES = 3
"""Comparisons of a bin: both samples agree, they order the runs differently, exactly one is a tie."""


def n_places(n_bins: int) -> int:
    """Return the length of the counts of `count_by_group`."""
    return CLASSES * n_bins + 1


@compiled
def count_by_group(
    sums: Float64Array4,
    groups: Int64Array1,
    units_per_bin: Float64Array1,
    tolerance: float,
    counted: Int64Array3,
) -> None:
    """Add pair comparisons to counts of all runs, and of the pairs with a run of each group.

    sums: float64 (cell, run, half, trial): sums in grid units over both topic samples.
    groups: int64 (run,): group of each run, 0 .. n_groups - 1.
    units_per_bin, tolerance: Of the grid, as in `scorecube.kernels.swap.pairwise.count_swaps`.
    counted: int64 (cell, 1 + group, 3 * bin + 1), added to: all pairs, then the pairs with a run of each group.
        Comparisons on which both samples agree by bin, those that they order differently, and those with a tie on
        exactly one sample; last the ties on both samples. The last bin has no upper limit.
    """
    n_cells, n_runs, _, n_trials = sums.shape
    n_bins = (counted.shape[2] - 1) // 3
    last = n_bins - 0.5
    codes = np.empty(n_trials, np.int32)
    for cell in range(n_cells):
        per_unit = 1.0 / units_per_bin[cell]
        for x in range(n_runs - 1):
            ax, bx = sums[cell, x, 0], sums[cell, x, 1]
            for y in range(x + 1, n_runs):
                ay, by = sums[cell, y, 0], sums[cell, y, 1]
                for k in range(n_trials):
                    d, e = ax[k] - ay[k], bx[k] - by[k]
                    sign_d = np.int32(d > tolerance) - np.int32(d < -tolerance)
                    sign_e = np.int32(e > tolerance) - np.int32(e < -tolerance)
                    place = np.int32(min((abs(d) + tolerance) * per_unit, last))
                    opposite = np.int32(sign_d * sign_e < 0)
                    tied = np.int32((sign_d == 0) | (sign_e == 0))
                    code = place + (opposite + 2 * tied) * np.int32(n_bins)
                    codes[k] = code if (sign_d | sign_e) != 0 else np.int32(3 * n_bins)
                everything = counted[cell, 0]
                one, other = counted[cell, 1 + groups[x]], counted[cell, 1 + groups[y]]
                same = groups[x] == groups[y]
                for k in range(n_trials):
                    code = codes[k]
                    everything[code] += 1
                    one[code] += 1
                    if not same:
                        other[code] += 1
