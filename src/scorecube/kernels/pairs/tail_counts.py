"""Tails of null distributions of pairs of runs.

The kernels count the replicates that reach the observed statistic, and find the K-th largest replicate. Let w be the
per-topic differences of a pair, centred and in integer units, and c the multiplicities of topics in a resample. With S1
= sum c w and S2 = sum c w^2, |t*| is an increasing function of r = S1^2 / S2: t^2 = (n - 1) r / (n - r). So neither a
root nor a variance is computed. S1 is exact. S2 is the result of a matrix product whose rounding depends on its shape
and library, so r is known up to a relative `guard`; comparisons within the guard are decided by `exact_ratios`, which
adds topic by topic. Results are therefore the same for every tile and library.

r is -inf if S1 = S2 = 0: such a replicate has no t. It counts as t* = 0 in comparisons with the observed t, and is
ranked last. r = n means infinite t.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array2,
    Int32Array1,
    Int64Array1,
    IntegerArray1,
    IntegerArray2,
)
from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.linalg.selection import bracket, count_from, gather, nth_largest

EQUAL = 1e-12
"""Relative difference up to which two statistics tie: rounding alone makes mathematically equal ones differ by less.

It allows for 4,000 roundings of 2.2e-16. Replicates that tie with the observed statistic count as reaching it.
"""
INFINITE = 1e300
"""Represents infinite t among numbers that are compared by their relative difference."""


class Resamples(NamedTuple):
    """The resamples of all trials, and the centred scores that they draw from.

    centred: float64 (run, topic): see `scorecube.statistics.integer_scores.Units`.
    sums: float64 (run, trial): sums of the centred scores over each resample; there may be more columns than trials.
    counts: Unsigned integers (topic, trial): how often a trial draws a topic.
    """

    centred: Float64Array2
    sums: Float64Array2
    counts: IntegerArray2


class ObservedPairs(NamedTuple):
    """Pairs of runs and their statistics without resampling.

    first, second: int32 (pair,): rows of `Resamples.centred` and `Resamples.sums`.
    observed, exact: float64 (pair,): r and q, see `observed_ratios`.
    ties: float64 (pair,): relative difference up to which a replicate ties with the observed statistic.
    """

    first: Int32Array1
    second: Int32Array1
    observed: Float64Array1
    exact: Float64Array1
    ties: Float64Array1


class Comparison(NamedTuple):
    """How replicates are compared with observed statistics.

    guard: Relative uncertainty of the sums of squares, S2.
    snap: Differences up to this value are zero, and sums of differences up to n times this value.
    """

    guard: float
    snap: float


class Levels(NamedTuple):
    """Significance levels, by the ranks of the statistics that bound them.

    ranks: int64 (alpha,): K of each level.
    guesses: float64 (alpha,): approximately the K-th largest statistic; replaced by that of each pair in turn.
    """

    ranks: Int64Array1
    guesses: Float64Array1


class Tails(NamedTuple):
    """Results of pairs of runs.

    reached: int32 (pair,), written: trials whose statistic reaches the observed one; all trials if the scores of both
        runs are equal.
    totals: float64 (alpha, pair), written: the difference in the trial with the K-th largest statistic, of equal ones
        the first trial.
    degenerate: int64 (2,), added to: trials without a statistic, trials with an infinite one.
    """

    reached: Int32Array1
    totals: Float64Array2
    degenerate: Int64Array1


@inlined
def differences(
    sums_x: Float64Array1, sums_y: Float64Array1, snap_sum: float, values: Float64Array1
) -> None:
    """Write |S1| of every trial to `values` (trial,)."""
    for trial in range(sums_x.shape[0]):
        total = abs(sums_x[trial] - sums_y[trial])
        values[trial] = total if total > snap_sum else 0.0


@inlined
def ratios(
    sums_x: Float64Array1,
    sums_y: Float64Array1,
    squares: Float64Array1,
    snap_sum: float,
    low: float,
    high: float,
    infinite: float,
    values: Float64Array1,
) -> tuple[int, int, int, int]:
    """Write r of every trial to `values` (trial,).

    Returns sure, unsure, extreme, undefined: Number of trials with r of at least `high`, in [low, high), with |r| of at
        least `infinite`, and without r.
    """
    # 32-bit counters let the compiler vectorise the loop.
    sure, open_, extreme, undefined = np.int32(0), np.int32(0), np.int32(0), 0
    for trial in range(values.shape[0]):
        total = sums_x[trial] - sums_y[trial]
        total = total if abs(total) > snap_sum else 0.0
        ratio = total * total / squares[trial]
        ratio = -math.inf if squares[trial] == 0 else ratio
        values[trial] = ratio
        sure = np.int32(sure + (ratio >= high))
        open_ = np.int32(open_ + (ratio >= low))
        extreme = np.int32(extreme + (abs(ratio) >= infinite))
    if extreme > 0:
        for trial in range(values.shape[0]):
            undefined += values[trial] == -math.inf
    return int(np.int64(sure)), int(np.int64(open_ - sure)), int(np.int64(extreme)), undefined


@inlined
def exact_ratios(
    x: Float64Array1,
    y: Float64Array1,
    sums_x: Float64Array1,
    sums_y: Float64Array1,
    counts: IntegerArray2,
    places: IntegerArray1,
    snap: float,
    room: Float64Array2,
) -> Float64Array1:
    """Return q = S1^2 / sum c (n w - S1)^2 of one pair in some trials.

    Terms are added topic by topic. As t^2 = n (n - 1) q, q distinguishes large t,
    which r does not, as it approaches n. The deviations n w - S1 are exact. q is `INFINITE` if all deviations are 0,
    and -inf if there is no t.

    x, y: float64 (topic,): centred scores of the two runs.
    sums_x, sums_y: float64 (trial,): their sums over each resample; there may be more elements than trials.
    counts: Of `Resamples`.
    places: int64 (chosen trial,).
    snap: Of `Comparison`.
    room: float64 (3, trial), overwritten.
    Returns exact: float64 (chosen trial,), a part of `room`.
    """
    n, n_places = x.shape[0], places.shape[0]
    spreads, squares, totals = room[0, :n_places], room[1], room[2]
    for k in range(n_places):
        spreads[k], squares[k] = 0.0, 0.0
        total = sums_x[places[k]] - sums_y[places[k]]
        totals[k] = total if abs(total) > n * snap else 0.0
    for topic in range(n):
        difference = x[topic] - y[topic]
        difference = difference if abs(difference) > snap else 0.0
        for k in range(n_places):
            count, deviation = counts[topic, places[k]], n * difference - totals[k]
            squares[k] += count * (difference * difference)
            spreads[k] += count * (deviation * deviation)
    for k in range(n_places):
        # Deviations of rounded scores that are as small as this are due to rounding.
        constant = spreads[k] == 0.0 or (snap > 0.0 and spreads[k] <= EQUAL * n * n * squares[k])
        ratio = INFINITE if constant else totals[k] * totals[k] / spreads[k]
        spreads[k] = ratio if squares[k] > 0.0 else -math.inf
    return spreads


@compiled
def observed_sums(
    centred: Float64Array2,
    sums: Float64Array1,
    first: Int32Array1,
    second: Int32Array1,
    snap: float,
    totals: Float64Array1,
    squares: Float64Array1,
) -> None:
    """Write the differences of sums, and the sums of squared differences of topics.

    centred, sums: float64 (run, topic) and (run,): `values` and `sums` of `scorecube.statistics.integer_scores.Units`.
    first, second: int32 (pair,): rows of `centred`.
    snap: Of `Comparison`.
    totals, squares: float64 (pair,), written.
    """
    for pair in range(first.shape[0]):
        x, y = centred[first[pair]], centred[second[pair]]
        total = sums[first[pair]] - sums[second[pair]]
        totals[pair] = total if abs(total) > snap else 0.0
        square = 0.0
        for topic in range(x.shape[0]):
            difference = x[topic] - y[topic]
            square += difference * difference if abs(difference) > snap else 0.0
        squares[pair] = square


def observed_ratios(
    centred: Float64Array2,
    sums: Float64Array1,
    first: Int32Array1,
    second: Int32Array1,
    snap: float,
) -> tuple[Float64Array1, Float64Array1]:
    """Return r and q of the scores without resampling.

    centred, sums, first, second, snap: As of `observed_sums`.
    Returns observed, exact: float64 (pair,): r, which is 0 for equal means, NaN for equal scores and n for a constant
        difference; and q as in `exact_ratios`.
    """
    n, totals, squares = centred.shape[1], np.empty(len(first)), np.empty(len(first))
    observed_sums(centred, sums, first, second, snap, totals, squares)
    with np.errstate(divide="ignore", invalid="ignore"):
        # With z = (w + total) / n: sum z^2 n^2 = sum w^2 + n total^2.
        observed = (n * totals) * (n * totals) / (squares + n * totals * totals)
        exact = totals * totals / squares
    exact[squares == 0.0] = INFINITE
    return observed, exact


def observed_t(
    centred: Float64Array2,
    sums: Float64Array1,
    first: Int32Array1,
    second: Int32Array1,
    snap: float,
    out: Float64Array1,
) -> tuple[int, int]:
    """Write the t statistics of the scores.

    t is NaN for equal scores and infinite for a constant difference.

    centred, sums, first, second, snap: As of `observed_sums`.
    out: float64 (pair,), written: t.
    Returns n_equal, n_constant: Pairs with equal scores, and pairs with the same difference on all topics.
    """
    n, squares = centred.shape[1], np.empty(len(first))
    observed_sums(centred, sums, first, second, snap, out, squares)
    constant = squares == 0.0
    n_constant = int(np.count_nonzero(constant))
    n_equal = n_constant - int(np.count_nonzero(out[constant])) if n_constant else 0
    # Centred differences are n times too large, so that n total / sqrt(squares) = zbar / s * sqrt(n / (n - 1)).
    out *= math.sqrt(n * (n - 1))
    with np.errstate(divide="ignore", invalid="ignore"):
        out /= np.sqrt(squares, out=squares)
    return n_equal, n_constant - n_equal


@compiled
def tail_differences(
    sums: Float64Array2,
    first: Int32Array1,
    second: Int32Array1,
    edges: Float64Array1,
    snap_sum: float,
    levels: Levels,
    reached: Int32Array1,
    totals: Float64Array2,
) -> None:
    """Count the trials that reach the observed absolute difference; find the K-th largest one.

    All numbers are exact.

    sums: float64 (run, trial): a sum for each run and trial; the statistic of a replicate is the difference of two.
    first, second: int32 (pair,): rows of `sums`.
    edges: float64 (pair,): the least difference of a replicate that counts.
    snap_sum: Differences of sums up to this value are zero.
    levels: See `Levels`; guesses are on the scale of `sums`.
    reached, totals: Of `Tails`, written.
    """
    n_trials = sums.shape[1]
    ranks, guesses = levels
    values, kept, places = np.empty(n_trials), np.empty(n_trials), np.empty(n_trials, np.int64)
    for pair in range(first.shape[0]):
        differences(sums[first[pair]], sums[second[pair]], snap_sum, values)
        reached[pair] = count_from(values, edges[pair])
        for level in range(ranks.shape[0]):
            low, high, above = bracket(values, ranks[level], guesses[level])
            n = gather(values, low, high, kept, places)
            guesses[level] = nth_largest(kept[:n], ranks[level] - above)
            totals[level, pair] = guesses[level]
