"""Resamples that are drawn for each run of a pair separately.

The kernels compute means and spreads, area measures, and the tails of their differences.
Sums are added in the order of the draws, so they do not depend on how the work is divided into blocks.
"""

from __future__ import annotations

import math

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array2,
    Float64Array3,
    Int32Array1,
    Int32Array3,
    Int64Array2,
)
from scorecube.kernels.jit import compiled
from scorecube.kernels.linalg.selection import bracket, count_from, first_equal, gather, nth_largest
from scorecube.kernels.pairs.tail_counts import EQUAL, Levels, Tails


@compiled
def resampled_moments(
    scores: Float64Array2, samples: Int32Array3, totals: Float64Array3, spreads: Float64Array3
) -> None:
    """Write sums and sums of squared deviations of every run over every sample.

    Sums of integers are exact, and the deviations of equal scores are exactly 0.

    scores: float64 (run, topic).
    samples: int32 (trial, half, draw): positions of topics.
    totals: float64 (half, run, trial), written: sum over the sample.
    spreads: float64 (half, run, trial), written: sum of (x - mean)^2 over the sample.
    """
    n = samples.shape[2]
    for half in range(2):
        for run in range(scores.shape[0]):
            row = scores[run]
            for trial in range(samples.shape[0]):
                total, squares = 0.0, 0.0
                drawn = samples[trial, half]
                for draw in range(n):
                    total += row[drawn[draw]]
                mean = total / n
                for draw in range(n):
                    difference = row[drawn[draw]] - mean
                    squares += difference * difference
                totals[half, run, trial], spreads[half, run, trial] = total, squares


@compiled
def resampled_areas(
    scores: Float64Array2,
    order: Int64Array2,
    counts: Float64Array3,
    weights: Float64Array1,
    areas: Float64Array3,
) -> None:
    """Write the weighted mean of the worst scores of every run over every sample.

    scores, order: float64 and int64 (run, topic): scores, and topics by ascending score.
    counts: float64 (half, trial, topic): of `multiplicities`, at least as many as weights in each trial.
    weights: float64 (worst,): weights of the worst, second worst, ... score of a sample.
    areas: float64 (half, run, trial), written.
    """
    for half in range(counts.shape[0]):
        for trial in range(counts.shape[1]):
            drawn = counts[half, trial]
            for run in range(scores.shape[0]):
                used, total, place = 0, 0.0, 0
                while used < weights.shape[0]:
                    topic = order[run, place]
                    for _ in range(min(int(drawn[topic]), weights.shape[0] - used)):
                        total += weights[used] * scores[run, topic]
                        used += 1
                    place += 1
                areas[half, run, trial] = total


@compiled
def tail_unpaired(
    values: Float64Array3,
    spreads: Float64Array3,
    first: Int32Array1,
    second: Int32Array1,
    edges: Float64Array1,
    snap: float,
    levels: Levels,
    tails: Tails,
) -> None:
    """Count the trials that reach the observed statistic; find the K-th largest one.

    values: float64 (half, run, trial): the first run of a pair is taken from the first half, the second run from the
        second half.
    spreads: float64 (half, run, trial): the statistic is the squared difference over the sum of spreads (Welch); with
        zero trials it is the absolute difference.
    first, second: int32 (pair,): runs.
    edges: float64 (pair,): the least statistic of a trial that counts; -infinity for all trials.
    snap: Without spread, differences up to this value are none: rounding of scores alone can cause them.
    levels: Ranks, and guesses that are replaced.
    tails: Written and added to; differences are absolute. Trials with neither difference nor spread have no statistic,
        those with a difference without spread an infinite one.
    """
    n_trials = values.shape[2]
    (ranks, guesses), (reached, chosen, degenerate) = levels, tails
    statistic, kept, places = np.empty(n_trials), np.empty(n_trials), np.empty(n_trials, np.int64)
    welch = spreads.shape[2] > 0
    for pair in range(first.shape[0]):
        infinite = 0
        x, y = values[0, first[pair]], values[1, second[pair]]
        for trial in range(n_trials):
            statistic[trial] = abs(x[trial] - y[trial])
        if welch:
            u, v = spreads[0, first[pair]], spreads[1, second[pair]]
            for trial in range(n_trials):
                spread, difference = u[trial] + v[trial], statistic[trial]
                none = -math.inf if difference <= snap else math.inf
                statistic[trial] = difference * difference / spread if spread > 0.0 else none
            infinite = count_from(statistic, math.inf)
            degenerate[0] += n_trials - count_from(statistic, 0.0)
            degenerate[1] += infinite
        reached[pair] = count_from(statistic, edges[pair])
        for level in range(ranks.shape[0]):
            low, high, above = bracket(statistic, ranks[level], guesses[level])
            n = gather(statistic, low, high, kept, places)
            if ranks[level] <= infinite:
                place = np.int64(0)
                while statistic[place] != math.inf:
                    place += 1
                chosen[level, pair] = abs(x[place] - y[place])
                continue
            rank = ranks[level] - (infinite if high == math.inf else above)
            guesses[level] = nth_largest(kept[:n], rank)
            place = first_equal(kept[:n], places, rank, EQUAL)
            chosen[level, pair] = abs(x[place] - y[place])
