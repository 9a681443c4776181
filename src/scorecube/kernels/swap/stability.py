"""Counts of how often either run of a pair is better, up to a fuzziness."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Float64Array1, Float64Array3, Int32Array3
from scorecube.kernels.jit import compiled


@compiled
def count_orders(
    sums: Float64Array3,
    tolerance: float,
    fuzziness: Float64Array1,
    first_better: Int32Array3,
    second_better: Int32Array3,
) -> None:
    """Count the orders of all pairs of runs (Buckley and Voorhees 2000, section 4).

    Two means are equal if their difference is zero, or less than a share (the fuzziness) of the larger mean.

    sums: float64 (cell, run, trial): sums in grid units over a topic sample.
    tolerance: Of the grid: differences within it are zero, and differences that are smaller than the fuzzy share by no
        more than it count.
    fuzziness: float64 (fuzziness,): shares, 0 to 1.
    first_better, second_better: int32 (fuzziness, cell, pair), added to; pair x < y has the number y * (y - 1) / 2 + x,
        and x is its first run.
    """
    n_cells, n_runs, n_trials = sums.shape
    for cell in range(n_cells):
        for y in range(1, n_runs):
            for x in range(y):
                a, b = sums[cell, x], sums[cell, y]
                pair = y * (y - 1) // 2 + x
                for level in range(fuzziness.shape[0]):
                    part = fuzziness[level]
                    above, under = np.int64(0), np.int64(0)
                    for k in range(n_trials):
                        d = a[k] - b[k]
                        least = max(part * max(a[k], b[k]) - tolerance, tolerance + 0.5)
                        above += np.int64(d >= least)
                        under += np.int64(-d >= least)
                    first_better[level, cell, pair] += above
                    second_better[level, cell, pair] += under
