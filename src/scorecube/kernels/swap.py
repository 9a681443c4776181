"""Swap counting: for every pair of runs and every trial, one difference bin and one agreement bit.

Three kernels visit every pair, with trials, runs or nothing innermost; `swap_sorted` visits none. All give the same counts;
`swap_choice` says which is used when. Compiled loops are in two phases, codes first (vector instructions), then histograms.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, inlined


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
    last = n_bins - 0.5
    codes = np.empty(n_runs, np.int32)
    # Four histograms, so that equal neighbours do not wait for each other's increments.
    histogram = np.zeros((4, 2 * n_bins), np.int64)
    for cell in range(n_cells):
        histogram[:] = 0
        per_unit = 1.0 / units_per_bin[cell]
        for trial in range(n_trials):
            a, b = first[trial, cell], second[trial, cell]
            for x in range(n_runs - 1):
                ax, bx = a[x], b[x]
                zeros = np.int32(0)
                for k in range(n_runs - 1 - x):
                    d, e = ax - a[x + 1 + k], bx - b[x + 1 + k]
                    sign_d = np.int32(d > tolerance) - np.int32(d < -tolerance)
                    sign_e = np.int32(e > tolerance) - np.int32(e < -tolerance)
                    place = np.int32(min((abs(d) + tolerance) * per_unit, last))
                    codes[k] = place + np.int32(sign_d != sign_e) * np.int32(n_bins)
                    zeros += np.int32(sign_d == 0) & np.int32(sign_e == 0)
                both_zero[cell] += zeros
                for k in range(n_runs - 1 - x):
                    histogram[k & 3, codes[k]] += 1
        _add_histogram(histogram, count[cell], swap[cell])


@compiled
def count_swaps_by_trial(
    sums: Any, half: int, units_per_bin: Any, tolerance: float, count: Any, swap: Any, both_zero: Any
) -> None:
    """Do what `count_swaps` does with the trials innermost: for few runs.

    Parameters
    ----------
    sums
        float64 of shape (cell, run, half, trial).
    half
        Which half is the first sample, 0 or 1.
    units_per_bin, tolerance, count, swap, both_zero
        As of `count_swaps`.
    """
    n_cells, n_runs, _, n_trials = sums.shape
    n_bins = count.shape[1]
    last = n_bins - 0.5
    codes = np.empty(n_trials, np.uint32)
    histogram = np.zeros((4, 2 * n_bins), np.int64)
    lane0, lane1, lane2, lane3 = histogram[0], histogram[1], histogram[2], histogram[3]
    for cell in range(n_cells):
        histogram[:] = 0
        per_unit = 1.0 / units_per_bin[cell]
        for x in range(n_runs - 1):
            ax, bx = sums[cell, x, half], sums[cell, x, 1 - half]
            for y in range(x + 1, n_runs):
                ay, by = sums[cell, y, half], sums[cell, y, 1 - half]
                zeros = np.int32(0)
                for k in range(n_trials):
                    d, e = ax[k] - ay[k], bx[k] - by[k]
                    sign_d = np.int32(d > tolerance) - np.int32(d < -tolerance)
                    sign_e = np.int32(e > tolerance) - np.int32(e < -tolerance)
                    place = np.int32(min((abs(d) + tolerance) * per_unit, last))
                    codes[k] = place + np.int32(sign_d != sign_e) * np.int32(n_bins)
                    zeros += np.int32(sign_d == 0) & np.int32(sign_e == 0)
                both_zero[cell] += zeros
                for k in range(0, n_trials - 3, 4):
                    lane0[codes[k]] += 1
                    lane1[codes[k + 1]] += 1
                    lane2[codes[k + 2]] += 1
                    lane3[codes[k + 3]] += 1
                for k in range(n_trials - n_trials % 4, n_trials):
                    lane0[codes[k]] += 1
        _add_histogram(histogram, count[cell], swap[cell])


@inlined
def _add_histogram(histogram: Any, count: Any, swap: Any) -> None:
    n_bins = count.shape[0]
    for place in range(n_bins):
        for lane in range(4):
            count[place] += histogram[lane, place] + histogram[lane, n_bins + place]
            swap[place] += histogram[lane, n_bins + place]


@inlined
def add_comparison(
    d: float, e: float, per_unit: float, tolerance: float, signed: bool, count: Any, swap: Any, both_zero: Any
) -> None:
    """Add one comparison with the differences d and e in its two samples.

    Parameters
    ----------
    per_unit
        1 / units per bin.
    signed
        Negative differences have bins of their own, mirror images in front of the others: ``count`` and ``swap`` are
        twice as long as there are bins of absolute differences.
    both_zero
        int64 of shape (1,).
    """
    n_bins = count.shape[0] // 2 if signed else count.shape[0]
    sign_d = np.int64(d > tolerance) - np.int64(d < -tolerance)
    sign_e = np.int64(e > tolerance) - np.int64(e < -tolerance)
    place = np.int64(min((abs(d) + tolerance) * per_unit, n_bins - 0.5))
    if signed:
        place = n_bins - 1 - place if sign_d < 0 else n_bins + place
    count[place] += 1
    swap[place] += sign_d != sign_e
    both_zero[0] += sign_d == 0 and sign_e == 0


@compiled
def count_signed_swaps(
    first: Any, second: Any, units_per_bin: Any, tolerance: float, count: Any, swap: Any, both_zero: Any
) -> None:
    """Do what `count_swaps` does with bins for signed differences, as Sakai 2005, Fig. 1, prints them.

    A difference is that of the run with the smaller position minus the other; see `add_comparison` for the bins.
    """
    n_trials, n_cells, n_runs = first.shape
    for trial in range(n_trials):
        for cell in range(n_cells):
            per_unit = 1.0 / units_per_bin[cell]
            a, b, zeros = first[trial, cell], second[trial, cell], both_zero[cell : cell + 1]
            for x in range(n_runs - 1):
                for y in range(x + 1, n_runs):
                    add_comparison(a[x] - a[y], b[x] - b[y], per_unit, tolerance, True, count[cell], swap[cell], zeros)


@compiled
def extremes(first: Any, second: Any, largest: Any, widest: Any) -> None:
    """Raise `largest` to the largest sum and `widest` to the widest spread of sums on one sample, per cell.

    Parameters
    ----------
    first, second
        float64 of shape (trial, cell, run), integer-valued.
    largest, widest
        int64 of shape (cell,), in grid units, raised in place.
    """
    n_trials, n_cells, n_runs = first.shape
    for trial in range(n_trials):
        for cell in range(n_cells):
            for half in range(2):
                sums = first[trial, cell] if half == 0 else second[trial, cell]
                # As integers: the order of their minimum and maximum is free, so that vector instructions serve.
                low, high = np.int64(sums[0]), np.int64(sums[0])
                for run in range(n_runs):
                    low, high = min(low, np.int64(sums[run])), max(high, np.int64(sums[run]))
                largest[cell] = max(largest[cell], high)
                widest[cell] = max(widest[cell], high - low)


@compiled
def extremes_by_trial(sums: Any, largest: Any, widest: Any) -> None:
    """Do what `extremes` does for sums of shape (cell, run, half, trial)."""
    n_cells, n_runs, _, n_trials = sums.shape
    low, high = np.empty(n_trials), np.empty(n_trials)
    for cell in range(n_cells):
        for half in range(2):
            low[:] = sums[cell, 0, half]
            high[:] = sums[cell, 0, half]
            for run in range(1, n_runs):
                row = sums[cell, run, half]
                for k in range(n_trials):
                    low[k] = min(low[k], row[k])
                    high[k] = max(high[k], row[k])
            for k in range(n_trials):
                largest[cell] = max(largest[cell], np.int64(high[k]))
                widest[cell] = max(widest[cell], np.int64(high[k] - low[k]))
