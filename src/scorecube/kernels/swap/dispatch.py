"""From topic samples to swap counts: which kernel is used when, and the matrix product in the layout it wants."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from scorecube.kernels.swap.pairwise import (
    add_counted,
    count_signed_swaps,
    count_swaps,
    count_swaps_by_trial,
    extremes,
    extremes_by_trial,
)
from scorecube.kernels.swap.sorted import count_swaps_sorted, extremes_sorted, fits, sort_keys

Array = np.ndarray[Any, Any]
BY_TRIAL_RUNS = 100
"""Up to as many runs the trials are innermost: at 30 runs 1.7 times faster, at 100 1.1 times (processor time a comparison)."""
SORTED_RUNS, SORTED_RUNS_PER_BIN = 100, 1.2
"""From as many runs, and more for each bin, on sorting wins: at 130 runs and 21 bins it takes 0.7 ns a comparison, pair by pair 0.9."""
HELD_BYTES = 2**20
"""Of sample sums held at once: they stay in the second-level cache."""
LEAST_TRIALS, MOST_TRIALS = 32, 512


class Kernel(StrEnum):
    """Ways to count swaps; all give the same counts, but only `SIGNED` has bins for signed differences."""

    BY_TRIAL = "trials innermost"
    BY_RUN = "runs innermost"
    SORTED = "sorted runs"
    SIGNED = "signed differences"


@dataclass(frozen=True)
class Tally:
    """Counts that trials are added to: int64 arrays.

    Parameters
    ----------
    count, swap, both_zero, products
        Of `kernels.swap.add_counted`; there is a place for each bin.
    largest, widest
        Of `kernels.swap.extremes`.
    """

    count: Array
    swap: Array
    both_zero: Array
    products: Array
    largest: Array
    widest: Array

    @classmethod
    def empty(cls, n_cells: int, n_places: int) -> Tally:
        """Return the tally of no trial."""
        count, swap = np.zeros((2, n_cells, n_places), np.int64)
        products, both_zero = np.zeros((n_cells, 3, 2, n_places + 1), np.int64), np.zeros(n_cells, np.int64)
        lowest = np.full(n_cells, np.iinfo(np.int64).min)
        return cls(count, swap, both_zero, products, lowest, np.zeros(n_cells, np.int64))

    def counted(self, n_trials: int) -> Array:
        """Return room for the counts of so many trials, as the kernels want it."""
        n_cells, n_places = self.count.shape
        return np.zeros((n_cells, n_trials, 2 * n_places + 1), np.int32)

    def add(self, counted: Array, *, signed: bool = False) -> None:
        """Add the counts of some trials."""
        first_place = self.count.shape[1] // 2 if signed else 0
        add_counted(counted, first_place, self.count, self.swap, self.both_zero, self.products)


def choose_kernel(n_runs: int, n_bins: int, largest_sum: float, units_per_bin: Array, tolerance: float) -> Kernel:
    """Return the fastest kernel for absolute differences.

    Parameters
    ----------
    largest_sum
        Bound of the absolute sums, in grid units.
    """
    if n_runs <= BY_TRIAL_RUNS:
        return Kernel.BY_TRIAL
    wanted = n_runs >= SORTED_RUNS + SORTED_RUNS_PER_BIN * n_bins
    return Kernel.SORTED if wanted and fits(n_runs, largest_sum, units_per_bin, tolerance) else Kernel.BY_RUN


def trials_at_once(n_columns: int) -> int:
    """Return how many trials are worked on together; it changes no result."""
    return max(LEAST_TRIALS, min(HELD_BYTES // (16 * n_columns), MOST_TRIALS))


def add_trials(
    kernel: Kernel, counts: Array, units: Array, n_runs: int, units_per_bin: Array, tolerance: float, tally: Tally, *, symmetric: bool,
) -> None:  # fmt: skip
    """Add the comparisons of some trials.

    Parameters
    ----------
    counts
        float64 (half, trial, topic): of `kernels.draws.multiplicities`.
    units
        float64 (topic, cell * run): scores in grid units.
    units_per_bin, tolerance
        Of the grid.
    tally
        Added to.
    symmetric
        Every comparison also with the second sample as the first.
    """
    _, n_trials, n_topics = counts.shape
    n_cells = units.shape[1] // n_runs
    rows = counts.reshape(2 * n_trials, n_topics)
    counted = tally.counted(n_trials)
    directions = (0, 1) if symmetric else (0,)
    if kernel is Kernel.BY_TRIAL:
        sums = (units.T @ rows.T).reshape(n_cells, n_runs, 2, n_trials)
        for half in directions:
            count_swaps_by_trial(sums, half, units_per_bin, tolerance, counted)
        extremes_by_trial(sums, tally.largest, tally.widest)
        tally.add(counted)
        return
    sums = (rows @ units).reshape(2, n_trials, n_cells, n_runs)
    if kernel is Kernel.SORTED:
        keys = sort_keys(sums)
        for half in directions:
            count_swaps_sorted(keys, half, units_per_bin, tolerance, counted)
        extremes_sorted(keys, tally.largest, tally.widest)
        tally.add(counted)
        return
    pairwise = count_signed_swaps if kernel is Kernel.SIGNED else count_swaps
    for half in directions:
        pairwise(sums[half], sums[1 - half], units_per_bin, tolerance, counted)
    extremes(sums[0], sums[1], tally.largest, tally.widest)
    tally.add(counted, signed=kernel is Kernel.SIGNED)
