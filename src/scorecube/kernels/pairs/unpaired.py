"""Resampling each run on its own: means and spreads, geometric means, area measures, and pairs of them.

Sums are added in the order of the draws, so they do not depend on how the work was cut.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled
from scorecube.kernels.linalg.selection import bracket, count_from, first_equal, gather, nth_largest

EQUAL = 1e-12
"""Relative difference up to which two statistics are a tie."""


@compiled
def resampled_moments(scores: Any, samples: Any, totals: Any, spreads: Any) -> None:
    """Write sum and sum of squared deviations of every run over every sample; exact sums of integers, exactly 0 without spread.

    Parameters
    ----------
    scores
        float64 (run, topic).
    samples
        int32 (trial, half, draw): topic positions.
    totals
        float64 (half, run, trial), written: sum over the sample.
    spreads
        float64 (half, run, trial), written: sum of (x - mean)^2 over the sample.
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
def resampled_areas(scores: Any, order: Any, samples: Any, weights: Any, areas: Any) -> None:
    """Write the weighted mean of the worst scores of every run over every sample.

    Parameters
    ----------
    scores, order
        float64 and int64 (run, topic): scores, and topics by ascending score.
    samples
        int32 (trial, half, draw).
    weights
        float64 (worst,): of the worst, second worst, ... score of a sample.
    areas
        float64 (half, run, trial), written.
    """
    n_topics = scores.shape[1]
    counts = np.empty(n_topics, np.int64)
    for half in range(2):
        for trial in range(samples.shape[0]):
            counts[:] = 0
            for draw in samples[trial, half]:
                counts[draw] += 1
            for run in range(scores.shape[0]):
                used, total, place = 0, 0.0, 0
                while used < weights.shape[0]:
                    topic = order[run, place]
                    for _ in range(min(counts[topic], weights.shape[0] - used)):
                        total += weights[used] * scores[run, topic]
                        used += 1
                    place += 1
                areas[half, run, trial] = total


@compiled
def tail_unpaired(
    values: Any,
    spreads: Any,
    first: Any,
    second: Any,
    edges: Any,
    ranks: Any,
    guesses: Any,
    reached: Any,
    chosen: Any,
    degenerate: Any,
) -> None:
    """Count, for some pairs, the trials whose statistic reaches the observed one; find the K-th largest.

    Parameters
    ----------
    values
        float64 (half, run, trial): the first run is taken from the first half, the second from the second.
    spreads
        float64 (half, run, trial): if it has trials, the statistic is the squared difference over the sum of spreads (Welch),
        else the absolute difference.
    first, second
        int (pair,): runs.
    edges
        float64 (pair,): from which statistic on a trial counts; -infinity for all trials.
    ranks, guesses
        int, float64 (alpha,): K of each level, and where the K-th largest may lie.
    reached
        int32 (pair,), written.
    chosen
        float64 (alpha, pair), written: absolute difference in the trial with the K-th largest statistic, the first drawn of equals.
    degenerate
        int64 (2,), added to: trials with neither difference nor spread, trials with a difference without spread.
    """
    n_trials = values.shape[2]
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
                none = -math.inf if difference == 0.0 else math.inf
                statistic[trial] = difference * difference / spread if spread > 0.0 else none
            infinite = count_from(statistic, math.inf)
            degenerate[0] += n_trials - count_from(statistic, 0.0)
            degenerate[1] += infinite
        reached[pair] = count_from(statistic, edges[pair])
        for level in range(ranks.shape[0]):
            low, high, above = bracket(statistic, ranks[level], guesses[level])
            n = gather(statistic, low, high, kept, places)
            if ranks[level] <= infinite:
                place = 0
                while statistic[place] != math.inf:
                    place += 1
                chosen[level, pair] = abs(x[place] - y[place])
                continue
            rank = ranks[level] - (infinite if high == math.inf else above)
            guesses[level] = nth_largest(kept[:n], rank)
            place = first_equal(kept[:n], places, rank, EQUAL)
            chosen[level, pair] = abs(x[place] - y[place])
