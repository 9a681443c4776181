"""Largest statistics over pairs of runs, trial by trial, of step-down max-T."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array2,
    Float64Array3,
    Int32Array1,
    Int32Array2,
    Int64Array1,
)
from scorecube.kernels.jit import compiled

ROUNDING = 1e-12
"""Share of a sum of squares below which what is left of it is rounding."""


class ObservedPairs(NamedTuple):
    """Pairs of runs and what is observed of them, in ascending order of their statistics.

    first, second: int32 (pair,): runs.
    totals: float64 (collection, pair): sums of differences.
    edges: float64 (pair,): least statistic that reaches the observed one.
    """

    first: Int32Array1
    second: Int32Array1
    totals: Float64Array2
    edges: Float64Array1


class Collections(NamedTuple):
    """Collections whose units follow each other.

    starts: int64 (collection + 1,): first unit of each, and the end.
    weights: float64 (collection,).
    """

    starts: Int64Array1
    weights: Float64Array1


@compiled
def running_maxima(
    pairs: ObservedPairs,
    units: Float64Array2,
    sums: Float64Array3,
    counts: Int32Array2,
    collections: Collections,
    added: float,
    largest: Float64Array1,
    reached: Int64Array1,
) -> None:
    """Take the statistics of some pairs into the largest ones of trials, pair by pair.

    A statistic is error^2 / (variance + added): the squared error of the mean difference over its
    squared standard error, of the weighted mean over collections. Only where error^2 / added is
    larger than the largest statistic so far, which is rare, the variance is computed.

    units: float64 (run, unit): scores, integers.
    sums: float64 (collection, run, trial): sums of the scores of a resample.
    counts: int32 (trial, unit): how often a resample draws a unit.
    largest: float64 (trial,), changed: the largest statistic of each trial so far.
    reached: int64 (pair,), added to: trials in which it reaches that of a pair.
    """
    starts, weights = collections
    n_trials = sums.shape[2]
    errors = np.empty(n_trials)
    squares = np.empty(units.shape[1], np.int64)
    least = added * (1.0 - ROUNDING)
    for pair in range(pairs.first.shape[0]):
        x = pairs.first[pair]
        y = pairs.second[pair]
        for trial in range(n_trials):
            errors[trial] = 0.0
        for k in range(weights.shape[0]):
            n = starts[k + 1] - starts[k]
            total = pairs.totals[k, pair]
            of_x = sums[k, x]
            of_y = sums[k, y]
            of_sum = weights[k] / n
            tie = float(n)
            for trial in range(n_trials):
                moved = of_x[trial] - of_y[trial] - total
                # A difference of sums of at most n units is a tie.
                errors[trial] += of_sum * (moved if abs(moved) > tie else 0.0)
        candidates = np.int32(0)
        for trial in range(n_trials):
            error = errors[trial]
            candidates = np.int32(candidates + (error * error > largest[trial] * least))
        if candidates > 0:
            for unit in range(units.shape[1]):
                apart = np.int64(units[x, unit] - units[y, unit])
                squares[unit] = apart * apart
            for trial in range(n_trials):
                error = errors[trial]
                if error * error > largest[trial] * least:
                    variance = 0.0
                    for k in range(weights.shape[0]):
                        n = starts[k + 1] - starts[k]
                        drawn = sums[k, x, trial] - sums[k, y, trial]
                        of_spread = weights[k] * weights[k] / (n * (n - 1.0))
                        drawn_counts = counts[trial, starts[k] : starts[k + 1]]
                        of_units = squares[starts[k] : starts[k + 1]]
                        variance += of_spread * spread_of(of_units, drawn_counts, drawn)
                    spread = variance + added
                    value = error * error / spread if spread > 0.0 else 0.0
                    largest[trial] = max(largest[trial], value)
        edge = pairs.edges[pair]
        count = np.int32(0)
        for trial in range(n_trials):
            count = np.int32(count + (largest[trial] >= edge))
        reached[pair] += count


@compiled
def spread_of(squares: Int64Array1, counts: Int32Array1, drawn: float) -> float:
    """Return the sum of squares about the mean of a resample, 0 where it is rounding.

    squares: int64 (unit,): squared differences.
    counts: int32 (unit,): how often a unit is drawn.
    drawn: Sum of the differences.
    """
    total = np.int64(0)
    for unit in range(squares.shape[0]):
        total += squares[unit] * np.int64(counts[unit])
    spread = total - drawn * drawn / squares.shape[0]
    return spread if spread > ROUNDING * total else 0.0
