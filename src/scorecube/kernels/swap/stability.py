"""How often either of two runs is better, and how often they are as good as equal."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled


@compiled
def count_orders(sums: Any, tolerance: float, fuzziness: Any, first_better: Any, second_better: Any) -> None:
    """Add the orders of all pairs of runs in some trials (Buckley and Voorhees 2000, section 4).

    Two means are equal if they differ by less than a share (the fuzziness) of the larger, or not at all.

    Parameters
    ----------
    sums
        float64 of shape (cell, run, trial): sums in grid units over a topic sample.
    tolerance
        Of the grid: a difference within it is none, a difference within it of the fuzzy share has reached it.
    fuzziness
        float64 of shape (fuzziness,).
    first_better, second_better
        int32 of shape (fuzziness, cell, pair), added to; pair x < y has the number y * (y - 1) / 2 + x, x is its first run.
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
