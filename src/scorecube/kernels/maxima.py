"""Largest statistics over pairs of runs, trial by trial: what step-down max-T needs of each block."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array2,
    Float64Array3,
    Int32Array1,
    Int64Array1,
)
from scorecube.kernels.jit import compiled

ROUNDING = 1e-12
"""Share of a sum of squares below which what is left of it is rounding."""


@compiled
def running_maxima(
    runs: tuple[Int32Array1, Int32Array1],
    sums: Float64Array3,
    squares: Float64Array3,
    observed: tuple[Float64Array2, Float64Array1],
    sizes: Float64Array2,
    added: float,
    largest: Float64Array1,
    reached: Int64Array1,
) -> None:
    """Take the statistics of some pairs into the largest ones of trials, pair by pair.

    A statistic is error^2 / (variance + added): the squared error of the mean difference over its
    squared standard error, of the weighted mean over collections.

    runs: int32 (pair,): first and second run.
    sums: float64 (collection, run, trial): sums of the scores of a resample, integers.
    squares: float64 (collection, pair, trial): sums of squared differences, integers.
    observed: Sums of differences, float64 (collection, pair), and the least statistic that reaches
        the observed one, float64 (pair,), in ascending order.
    sizes: float64 (collection, 2): number of units, and weight.
    largest: float64 (trial,): largest statistic so far, changed.
    reached: int64 (pair,): added the trials whose largest statistic so far reaches the observed one.
    """
    (first, second), (totals, edges) = runs, observed
    n_trials = largest.shape[0]
    errors, variances = np.empty(n_trials), np.empty(n_trials)
    for pair in range(first.shape[0]):
        for trial in range(n_trials):
            errors[trial], variances[trial] = 0.0, 0.0
        for k in range(sums.shape[0]):
            x, y, row = sums[k, first[pair]], sums[k, second[pair]], squares[k, pair]
            n, weight, total = sizes[k, 0], sizes[k, 1], totals[k, pair]
            of_sum, of_spread = weight / n, weight * weight / (n * (n - 1.0))
            for trial in range(n_trials):
                drawn = x[trial] - y[trial]
                moved = drawn - total
                # A difference of sums of at most n units is a tie.
                errors[trial] += of_sum * (moved if abs(moved) > n else 0.0)
                spread = row[trial] - drawn * drawn / n
                variances[trial] += of_spread * (spread if spread > ROUNDING * row[trial] else 0.0)
        edge, count = edges[pair], np.int32(0)
        for trial in range(n_trials):
            spread, error = variances[trial] + added, errors[trial]
            value = error * error / spread if spread > 0.0 else 0.0
            above = largest[trial]
            above = value if value > above else above
            largest[trial] = above
            count = np.int32(count + (above >= edge))  # 32 bits let the compiler vectorise the loop
        reached[pair] += count
