"""Swap counts from topic samples: choice of the kernel, and sums in its layout."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array4,
    Int32Array3,
    Int64Array1,
    Int64Array2,
    Int64Array4,
)
from scorecube.kernels.swap.pairwise import (
    add_counted,
    count_swaps,
    count_swaps_by_trial,
    extremes,
    extremes_by_trial,
)
from scorecube.kernels.swap.sorted_runs import count_swaps_sorted, extremes_sorted, fits, sort_keys

BY_TRIAL_RUNS = 100
"""Runs up to which the innermost loop is over trials: 1.7 times as fast at 30 runs, 1.1 times at 100 (processor time
per comparison)."""
SORTED_RUNS, SORTED_RUNS_PER_BIN = 100, 1.2
"""Runs from which on sorting is faster, a constant and a part per bin: at 130 runs and 21 bins 0.7 instead of 0.9 ns
per comparison."""
HELD_BYTES = 2**20
"""Sample sums held at once, which fit into the second-level cache."""
LEAST_TRIALS, MOST_TRIALS = 32, 512


class Kernel(StrEnum):
    """Kernels that count swaps; all return the same counts."""

    BY_TRIAL = "trials innermost"
    BY_RUN = "runs innermost"
    SORTED = "sorted runs"


@dataclass(frozen=True)
class Tally:
    """Sums of counts over trials.

    count, swap, both_zero, products: Of `add_counted`: int64 (cell, bin), (cell, bin), (cell,), (cell, 3, 2, bin + 1).
    largest, widest: Of `extremes`: int64 (cell,).
    """

    count: Int64Array2
    swap: Int64Array2
    both_zero: Int64Array1
    products: Int64Array4
    largest: Int64Array1
    widest: Int64Array1

    @classmethod
    def empty(cls, n_cells: int, n_bins: int) -> Tally:
        """Return a tally of no trials."""
        count, swap = np.zeros((2, n_cells, n_bins), np.int64)
        products, both_zero = (
            np.zeros((n_cells, 3, 2, n_bins + 1), np.int64),
            np.zeros(n_cells, np.int64),
        )
        lowest = np.full(n_cells, np.iinfo(np.int64).min)
        return cls(count, swap, both_zero, products, lowest, np.zeros(n_cells, np.int64))

    def counted(self, n_trials: int) -> Int32Array3:
        """Return zeros for the counts of trials: (cell, trial, 2 * bin + 1)."""
        n_cells, n_bins = self.count.shape
        return np.zeros((n_cells, n_trials, 2 * n_bins + 1), np.int32)

    def add(self, counted: Int32Array3) -> None:
        """Add the counts of some trials."""
        add_counted(counted, self.count, self.swap, self.both_zero, self.products)


def choose_kernel(
    n_runs: int, n_bins: int, largest_sum: float, units_per_bin: Float64Array1, tolerance: float
) -> Kernel:
    """Return the fastest kernel.

    largest_sum: Bound of the absolute sums, in grid units.
    units_per_bin, tolerance: Of the grid.
    """
    if n_runs <= BY_TRIAL_RUNS:
        return Kernel.BY_TRIAL
    wanted = n_runs >= SORTED_RUNS + SORTED_RUNS_PER_BIN * n_bins
    return (
        Kernel.SORTED
        if wanted and fits(n_runs, largest_sum, units_per_bin, tolerance)
        else Kernel.BY_RUN
    )


def trials_at_once(n_columns: int) -> int:
    """Return the number of trials per kernel call; results do not depend on it."""
    return max(LEAST_TRIALS, min(HELD_BYTES // (16 * n_columns), MOST_TRIALS))


def add_trials(
    kernel: Kernel,
    sums: Float64Array4,
    units_per_bin: Float64Array1,
    tolerance: float,
    tally: Tally,
) -> None:
    """Add the comparisons of some trials to a tally.

    kernel: Of `choose_kernel`.
    sums: float64 (cell, run, half, trial): sums over topic samples in grid units.
    units_per_bin, tolerance: Of the grid.
    tally: Added to.
    """
    counted = tally.counted(sums.shape[-1])
    if kernel is Kernel.BY_TRIAL:
        count_swaps_by_trial(sums, units_per_bin, tolerance, counted)
        extremes_by_trial(sums, tally.largest, tally.widest)
    else:
        sums = np.ascontiguousarray(sums.transpose(2, 3, 0, 1))
        if kernel is Kernel.SORTED:
            keys = sort_keys(sums)
            count_swaps_sorted(keys, units_per_bin, tolerance, counted)
            extremes_sorted(keys, tally.largest, tally.widest)
        else:
            count_swaps(sums[0], sums[1], units_per_bin, tolerance, counted)
            extremes(sums[0], sums[1], tally.largest, tally.widest)
    tally.add(counted)
