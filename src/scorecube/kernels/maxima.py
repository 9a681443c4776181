"""Largest statistics over pairs of runs, trial by trial: what step-down max-T needs of each block."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Float64Array1, Float64Array2, Int32Array1, Int64Array1
from scorecube.kernels.jit import compiled

ROUNDING = 1e-12
"""Share of a sum of squares below which what is left of it is rounding."""


@compiled
def add_errors(
    runs: tuple[Int32Array1, Int32Array1],
    sums: Float64Array2,
    squares: Float64Array2,
    totals: Float64Array1,
    size: tuple[float, float],
    errors: Float64Array2,
    variances: Float64Array2,
) -> None:
    """Add the error of the mean difference of each pair in each trial, and its squared standard error, of the topics of one collection.

    runs: int32 (pair,): first and second run.
    sums: float64 (run, trial): sums of the scores of a resample, integers.
    squares: float64 (pair, trial): sums of the squared differences of a resample, integers.
    totals: float64 (pair,): observed sums of differences.
    size: Number of units n, and weight of the collection.
    errors, variances: float64 (pair, trial), added to.
    """
    (first, second), (n, weight) = runs, size
    of_sum, of_spread = weight / n, weight * weight / (n * (n - 1.0))
    for pair in range(first.shape[0]):
        x, y, total = sums[first[pair]], sums[second[pair]], totals[pair]
        for trial in range(sums.shape[1]):
            drawn = x[trial] - y[trial]
            moved = drawn - total
            # A difference of sums of at most n units is a tie.
            errors[pair, trial] += of_sum * (moved if abs(moved) > n else 0.0)
            spread = squares[pair, trial] - drawn * drawn / n
            spread = spread if spread > ROUNDING * squares[pair, trial] else 0.0
            variances[pair, trial] += of_spread * spread


@compiled
def running_maxima(
    errors: Float64Array2,
    variances: Float64Array2,
    added: float,
    edges: Float64Array1,
    largest: Float64Array1,
    reached: Int64Array1,
) -> None:
    """Take the statistics error^2 / (variance + added) of some pairs, in ascending order of the observed ones, into the maxima of trials.

    edges: float64 (pair,): the least statistic that reaches the observed one.
    largest: float64 (trial,): largest statistic so far, changed.
    reached: int64 (pair,): added the number of trials whose largest statistic so far reaches the observed one.
    """
    for pair in range(errors.shape[0]):
        edge, count = edges[pair], np.int64(0)
        for trial in range(errors.shape[1]):
            spread = variances[pair, trial] + added
            error = errors[pair, trial]
            value = error * error / spread if spread > 0.0 else 0.0
            above = largest[trial]
            above = value if value > above else above
            largest[trial] = above
            count += above >= edge
        reached[pair] += count
