"""Swap counts by visiting every pair of runs.

Each comparison has a bin for its difference, and is a swap or not.

The innermost loop is over trials or over runs; `sorted_runs` visits no pairs. All kernels return the same counts for
each trial, and `dispatch` chooses one. The innermost loops have two phases: the first computes codes with vector
instructions, the second counts codes.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array3,
    Float64Array4,
    Int32Array1,
    Int32Array3,
    Int64Array1,
    Int64Array2,
    Int64Array4,
)
from scorecube.kernels.jit import compiled, inlined

TRIAL_COUNTS = 2**13
"""Counts held at once if the innermost loop is over trials: 32 KiB."""


@compiled
def count_swaps(
    first: Float64Array3,
    second: Float64Array3,
    units_per_bin: Float64Array1,
    tolerance: float,
    counted: Int32Array3,
) -> None:
    """Add pair comparisons to bin counts (Sakai 2005, Fig. 1; 2007, Fig. 4).

    Differences within the tolerance are zero. Swaps are those of Fig. 1: the two differences have opposite signs, or
    exactly one of them is zero. Fig. 4 also counts the pairs whose differences are zero in both samples; these are all
    in bin 0 and are counted separately, so that one pass serves both rules.

    first, second: float64 (trial, cell, run): sums in grid units over the first and the second topic sample.
    units_per_bin: float64 (cell,), of the grid, see `scorecube.statistics.integer_scores`.
    tolerance: Of the grid.
    counted: int32 (cell, trial, 2 * bin + 1), added to: comparisons without a swap by bin, swaps by bin, and
        comparisons whose differences are zero in both samples, which are not counted elsewhere. The bin is that of the
        absolute difference in the first sample; the last bin has no upper limit.
    """
    n_trials, n_cells, n_runs = first.shape
    n_bins = (counted.shape[2] - 1) // 2
    last = n_bins - 0.5
    codes = np.empty(n_runs, np.int32)
    # Four histograms, so that consecutive increments of the same count do not depend on each other.
    histogram = np.empty((4, 2 * n_bins + 1), np.int32)
    for cell in range(n_cells):
        per_unit = 1.0 / units_per_bin[cell]
        for trial in range(n_trials):
            histogram[:] = 0
            a, b = first[trial, cell], second[trial, cell]
            for x in range(n_runs - 1):
                ax, bx = a[x], b[x]
                for k in range(n_runs - 1 - x):
                    d, e = ax - a[x + 1 + k], bx - b[x + 1 + k]
                    sign_d = np.int32(d > tolerance) - np.int32(d < -tolerance)
                    sign_e = np.int32(e > tolerance) - np.int32(e < -tolerance)
                    place = np.int32(min((abs(d) + tolerance) * per_unit, last))
                    binned = place + np.int32(sign_d != sign_e) * np.int32(n_bins)
                    codes[k] = binned if (sign_d | sign_e) != 0 else np.int32(2 * n_bins)
                for k in range(n_runs - 1 - x):
                    histogram[k & 3, codes[k]] += 1
            for code in range(2 * n_bins + 1):
                for lane in range(4):
                    counted[cell, trial, code] += histogram[lane, code]


@compiled
def count_swaps_by_trial(
    sums: Float64Array4, units_per_bin: Float64Array1, tolerance: float, counted: Int32Array3
) -> None:
    """Do what `count_swaps` does, with the innermost loop over trials: for few runs.

    sums: float64 (cell, run, half, trial).
    units_per_bin, tolerance, counted: As of `count_swaps`.
    """
    n_cells, n_runs, _, n_trials = sums.shape
    width = counted.shape[2]
    n_bins = (width - 1) // 2
    last = n_bins - 0.5
    # The counts of this many trials stay in the first-level cache.
    at_once = min(max(TRIAL_COUNTS // width, 16), n_trials)
    codes = np.empty(at_once, np.int32)
    rows = np.arange(at_once).astype(np.int32) * np.int32(width)
    for cell in range(n_cells):
        per_unit = 1.0 / units_per_bin[cell]
        for low in range(0, n_trials, at_once):
            high = min(low + at_once, n_trials)
            places = counted[cell, low:high].reshape(-1)
            for x in range(n_runs - 1):
                ax, bx = sums[cell, x, 0, low:high], sums[cell, x, 1, low:high]
                for y in range(x + 1, n_runs):
                    ay, by = sums[cell, y, 0, low:high], sums[cell, y, 1, low:high]
                    for k in range(high - low):
                        d, e = ax[k] - ay[k], bx[k] - by[k]
                        sign_d = np.int32(d > tolerance) - np.int32(d < -tolerance)
                        sign_e = np.int32(e > tolerance) - np.int32(e < -tolerance)
                        place = np.int32(min((abs(d) + tolerance) * per_unit, last))
                        code = place + np.int32(sign_d != sign_e) * np.int32(n_bins)
                        codes[k] = rows[k] + (
                            code if (sign_d | sign_e) != 0 else np.int32(2 * n_bins)
                        )
                    for k in range(high - low):
                        places[np.uint32(codes[k])] += 1


def add_counted(
    counted: Int32Array3,
    count: Int64Array2,
    swap: Int64Array2,
    both_zero: Int64Array1,
    products: Int64Array4,
) -> None:
    """Add the counts of trials, their squares and their products to totals.

    Squares and products are for variances over trials.

    counted: Of `count_swaps`.
    count, swap: int64 (cell, bin), added to: comparisons, and swaps by Fig. 1.
    both_zero: int64 (cell,), added to.
    products: int64 (cell, 3, 2, bin + 1), added to: comparisons squared, comparisons times swaps, swaps squared; the
        low 32 bits of each trial's product, and the high bits. The additional last bin is the first one with Fig. 4's
        swaps.
    """
    work = np.empty((2, count.shape[1] + 1), np.int64)
    _add_counted(counted, count, swap, both_zero, products, work)


@compiled
def _add_counted(
    counted: Int32Array3,
    count: Int64Array2,
    swap: Int64Array2,
    both_zero: Int64Array1,
    products: Int64Array4,
    work: Int64Array2,
) -> None:
    """Do what `add_counted` does; `work` is int64 (2, bin + 1)."""
    n_bins = count.shape[1]
    lower, bits = np.int64(2**32 - 1), np.int64(32)
    for cell in range(counted.shape[0]):
        for trial in range(counted.shape[1]):
            tied = np.int64(counted[cell, trial, 2 * n_bins])
            both_zero[cell] += tied
            for place in range(n_bins):
                work[1, place] = counted[cell, trial, n_bins + place]
                work[0, place] = counted[cell, trial, place] + work[1, place]
            work[0, 0] += tied
            work[0, n_bins] = work[0, 0]
            work[1, n_bins] = work[1, 0] + tied
            for place in range(n_bins):
                count[cell, place] += work[0, place]
                swap[cell, place] += work[1, place]
            for k in range(3):
                for place in range(n_bins + 1):
                    product = work[k >> 1, place] * work[(k + 1) >> 1, place]
                    products[cell, k, 0, place] += product & lower
                    products[cell, k, 1, place] += product >> bits


@inlined
def add_comparison(
    d: float, e: float, per_unit: float, tolerance: float, counted: Int32Array1
) -> None:
    """Add one comparison to the counts of a trial.

    d, e: Differences in the first and the second sample, in grid units.
    per_unit: 1 / units per bin.
    tolerance: Of the grid.
    counted: int32 (2 * bin + 1,), added to: see `count_swaps`.
    """
    n_bins = (counted.shape[0] - 1) // 2
    sign_d = np.int64(d > tolerance) - np.int64(d < -tolerance)
    sign_e = np.int64(e > tolerance) - np.int64(e < -tolerance)
    place = np.int64(min((abs(d) + tolerance) * per_unit, n_bins - 0.5))
    if sign_d != sign_e:
        place += n_bins
    elif sign_d == 0:
        place = np.int64(2 * n_bins)
    counted[place] += 1


@compiled
def extremes(
    first: Float64Array3, second: Float64Array3, largest: Int64Array1, widest: Int64Array1
) -> None:
    """Update the largest sum, and the widest range of sums on one sample, per cell.

    first, second: float64 (trial, cell, run), integer-valued.
    largest, widest: int64 (cell,), in grid units, updated.
    """
    n_trials, n_cells, n_runs = first.shape
    for trial in range(n_trials):
        for cell in range(n_cells):
            for half in range(2):
                sums = first[trial, cell] if half == 0 else second[trial, cell]
                # The minimum of integers may be taken in any order, so the compiler vectorises the loop.
                low, high = np.int64(sums[0]), np.int64(sums[0])
                for run in range(n_runs):
                    low, high = min(low, np.int64(sums[run])), max(high, np.int64(sums[run]))
                largest[cell] = max(largest[cell], high)
                widest[cell] = max(widest[cell], high - low)


@compiled
def extremes_by_trial(sums: Float64Array4, largest: Int64Array1, widest: Int64Array1) -> None:
    """Do what `extremes` does for sums of shape (cell, run, half, trial)."""
    n_cells, n_runs, _, n_trials = sums.shape
    low, high = np.empty(n_trials), np.empty(n_trials)
    for cell in range(n_cells):
        for half in range(2):
            for k in range(n_trials):
                low[k] = high[k] = sums[cell, 0, half, k]
            for run in range(1, n_runs):
                row = sums[cell, run, half]
                for k in range(n_trials):
                    low[k] = min(low[k], row[k])
                    high[k] = max(high[k], row[k])
            for k in range(n_trials):
                largest[cell] = max(largest[cell], np.int64(high[k]))
                widest[cell] = max(widest[cell], np.int64(high[k] - low[k]))
