"""Swap counting: for every pair of runs and every trial, one difference bin and one agreement bit."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled


@compiled
def count_swaps(
    first: Any, second: Any, units_per_bin: Any, tolerance: float, count: Any, swap: Any, both_zero: Any
) -> None:
    """Add the pair comparisons of some trials to bin counts (Sakai 2005, Fig. 1; Sakai 2007, Fig. 4).

    A difference within the tolerance is zero. ``swap`` counts Fig. 1's swaps: the two differences have opposite
    signs, or exactly one of them is zero. Fig. 4 also counts the pairs that are zero in both samples; they all lie
    in bin 0 and are returned apart, so that one pass serves both rules.

    Parameters
    ----------
    first, second
        float64 of shape (trial, cell, run): sums in grid units over the first and the second topic sample.
    units_per_bin
        float64 of shape (cell,), of the grid.
    tolerance
        Of the grid.
    count, swap
        int64 of shape (cell, bin), added to; a pair is binned by its absolute difference in the first sample, the last bin
        takes all that is larger.
    both_zero
        int64 of shape (cell,), added to.
    """
    n_trials, n_cells, n_runs = first.shape
    n_bins = count.shape[1]
    codes = np.empty(n_runs, np.int32)
    # Four histograms, so that equal neighbours do not wait for each other's increments.
    histogram = np.zeros((4, 2 * n_bins), np.int64)
    for cell in range(n_cells):
        histogram[:] = 0
        per_unit = 1.0 / units_per_bin[cell]
        zeros = np.int64(0)
        for trial in range(n_trials):
            a, b = first[trial, cell], second[trial, cell]
            for x in range(n_runs - 1):
                ax, bx = a[x], b[x]
                n = n_runs - 1 - x
                for k in range(n):
                    d, e = ax - a[x + 1 + k], bx - b[x + 1 + k]
                    sign_d = np.int32(d > tolerance) - np.int32(d < -tolerance)
                    sign_e = np.int32(e > tolerance) - np.int32(e < -tolerance)
                    place = min(np.int32(min((abs(d) + tolerance) * per_unit, 1e6)), np.int32(n_bins - 1))
                    codes[k] = place + np.int32(sign_d != sign_e) * np.int32(n_bins)
                    zeros += np.int32(sign_d == 0) & np.int32(sign_e == 0)
                for k in range(n):
                    histogram[k & 3, codes[k]] += 1
        for bin_ in range(n_bins):
            for lane in range(4):
                count[cell, bin_] += histogram[lane, bin_] + histogram[lane, n_bins + bin_]
                swap[cell, bin_] += histogram[lane, n_bins + bin_]
        both_zero[cell] += zeros


@compiled
def extremes(first: Any, second: Any, largest: Any, widest: Any) -> None:
    """Raise `largest` to the largest sum and `widest` to the widest spread of sums, per cell.

    Parameters
    ----------
    first, second
        float64 of shape (trial, cell, run).
    largest, widest
        float64 of shape (cell,), in grid units, raised in place.
    """
    n_trials, n_cells, n_runs = first.shape
    for trial in range(n_trials):
        for cell in range(n_cells):
            for half in range(2):
                sums = first[trial, cell] if half == 0 else second[trial, cell]
                low, high = sums[0], sums[0]
                for run in range(1, n_runs):
                    low, high = min(low, sums[run]), max(high, sums[run])
                largest[cell] = max(largest[cell], high)
                widest[cell] = max(widest[cell], high - low)
