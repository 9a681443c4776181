"""Null distributions of pairs of runs: how often the observed statistic is reached, and the K-th largest statistic.

With w the per-topic differences of a pair, centred and in integer units, S1 = sum c w and S2 = sum c w^2 over a resample with
multiplicities c, |t*| is a rising function of r = S1^2 / S2: t^2 = (n - 1) r / (n - r). So neither a root nor a variance is
formed. S1 is exact. S2 comes out of a matrix product whose rounding depends on its shape and precision, so r is known up
to a relative `guard`; what that leaves open is decided by `exact_ratio`, which adds topic by topic. Results are therefore the
same for every tile, library and precision of the product.

r is -inf where S1 = S2 = 0: such a replicate has no t, counts only if t = 0, and comes last. r = n means infinite t.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.order import bracket, count_from, first_equal, gather, nth_largest

EQUAL = 1e-12
"""Relative difference up to which two values of r are a tie: they differ by less where the mathematics says they are equal."""


@inlined
def total_of(sums_x: Any, sums_y: Any, trial: int, snap_sum: float) -> float:
    """S1 of one pair and trial."""
    total = sums_x[trial] - sums_y[trial]
    return float(total) if abs(total) > snap_sum else 0.0


@inlined
def differences(sums_x: Any, sums_y: Any, snap_sum: float, sided: int, values: Any) -> None:
    """Write S1 of every trial, without its sign if two-sided."""
    for trial in range(sums_x.shape[0]):
        total = sums_x[trial] - sums_y[trial]
        total = total if abs(total) > snap_sum else 0.0
        values[trial] = abs(total) if sided == 2 else total


@inlined
def ratios(sums_x: Any, sums_y: Any, squares: Any, snap_sum: float, sided: int, values: Any) -> int:
    """Write r of every trial, with the sign of S1 if one-sided; return how many trials have none."""
    undefined = 0
    for trial in range(sums_x.shape[0]):
        total = sums_x[trial] - sums_y[trial]
        total = total if abs(total) > snap_sum else 0.0
        square = np.float64(squares[trial])
        ratio = total * total / square
        ratio = -ratio if sided == 1 and total < 0.0 else ratio
        none = square == 0.0
        values[trial] = -math.inf if none else ratio
        undefined += none
    return undefined


@inlined
def exact_ratio(x: Any, y: Any, counts: Any, trial: int, total: float, snap: float, sided: int) -> float:
    """R of one pair and trial with S2 added topic by topic; `x`, `y` are the centred scores of the two runs."""
    squares = 0.0
    for topic in range(x.shape[0]):
        difference = x[topic] - y[topic]
        if abs(difference) > snap:
            squares += counts[topic, trial] * (difference * difference)
    if squares == 0.0:
        return -math.inf
    ratio = total * total / squares
    return float(-ratio if sided == 1 and total < 0.0 else ratio)


@compiled
def observed_ratios(centred: Any, sums: Any, first: Any, second: Any, snap: float, sided: int, out: Any) -> None:
    """Write r of the scores themselves, signed if one-sided: 0 for equal means, NaN for equal scores, n for a constant difference.

    Parameters
    ----------
    centred, sums
        float64 (run, topic), (run,): see `kernels.exact.Units`.
    first, second
        int (pair,): rows.
    out
        float64 (pair,).
    """
    n = centred.shape[1]
    for pair in range(first.shape[0]):
        x, y = centred[first[pair]], centred[second[pair]]
        total = sums[first[pair]] - sums[second[pair]]
        total = total if abs(total) > snap else 0.0
        squares = 0.0
        for topic in range(n):
            difference = x[topic] - y[topic]
            if abs(difference) > snap:
                squares += difference * difference
        # With z = (w + total) / n: sum z^2 n^2 = sum w^2 + n total^2.
        ratio = (n * total) * (n * total) / (squares + n * total * total)
        out[pair] = math.nan if total == 0.0 and squares == 0.0 else -ratio if sided == 1 and total < 0.0 else ratio


@compiled
def tail_studentised(
    squares: Any, sums: Any, centred: Any, counts: Any, first: Any, second: Any, observed: Any, ties: Any,
    guard: float, snap: float, sided: int, ranks: Any, guesses: Any, reached: Any, totals: Any, degenerate: Any,
) -> None:  # fmt: skip
    """Count, for some pairs, the trials that reach the observed r; find S1 of the trials with the K-th largest r.

    Parameters
    ----------
    squares
        float32 or float64 (pair, trial): S2, known up to `guard`.
    sums, centred
        float64 (run, trial), (run, topic): sums of centred scores over each resample, and the centred scores.
    counts
        float64 (topic, trial).
    first, second
        int (pair,): rows of `sums` and `centred`.
    observed
        float64 (pair,): as from `observed_ratios`.
    ties
        float64 (pair,): relative difference of r up to which a replicate ties with the observed one.
    guard
        Relative uncertainty of `squares`.
    snap
        Differences up to it are zero, and sums up to n times it.
    sided
        2: |t*| >= |t|; 1: t* >= t.
    ranks
        int (alpha,): K of each level.
    guesses
        float64 (alpha,): of the K-th largest r; replaced by what was found.
    reached
        int32 (pair,), written: trials that count; all for equal scores.
    totals
        float64 (alpha, pair), written: S1 of the trial with the K-th largest r; of equal ones, the first drawn.
    degenerate
        int64 (2,), added to: trials without t, trials with infinite t.
    """
    n_topics, n_trials = counts.shape
    snap_sum, infinite = n_topics * snap, n_topics * (1.0 - 2.0 * (guard + EQUAL))
    values, kept, places = np.empty(n_trials), np.empty(n_trials), np.empty(n_trials, np.int64)
    for pair in range(first.shape[0]):
        x, y, sums_x, sums_y = centred[first[pair]], centred[second[pair]], sums[first[pair]], sums[second[pair]]
        undefined = ratios(sums_x, sums_y, squares[pair], snap_sum, sided, values)
        edge = observed[pair] - ties[pair] * abs(observed[pair])
        low, high = edge - guard * abs(edge), edge + guard * abs(edge)
        count, unsure, extreme = three_counts(values, low, high, infinite)
        if math.isnan(edge):
            count = n_trials
        elif edge == 0.0:
            # t = 0: a replicate without t is as good; others count if they are on the right side.
            count = n_trials if sided == 2 else count_from(values, 0.0) + undefined
        elif unsure > 0:
            for k in range(gather(values, low, high, kept, places)):
                total = total_of(sums_x, sums_y, places[k], snap_sum)
                count += exact_ratio(x, y, counts, places[k], total, snap, sided) >= edge
        reached[pair] = count
        degenerate[0] += undefined
        if extreme > undefined:
            for trial in range(n_trials):
                if infinite <= abs(values[trial]) < math.inf:
                    total = total_of(sums_x, sums_y, trial, snap_sum)
                    degenerate[1] += exact_ratio(x, y, counts, trial, total, snap, 2) >= n_topics * (1.0 - EQUAL)
        for level in range(ranks.shape[0]):
            guess, chosen = choose_trial(
                values, ranks[level], guesses[level], guard, x, y, sums_x, sums_y, counts, snap, sided, kept, places
            )
            guesses[level] = guess
            totals[level, pair] = total_of(sums_x, sums_y, chosen, snap_sum) if chosen >= 0 else 0.0


@inlined
def three_counts(values: Any, low: float, high: float, infinite: float) -> Any:
    """Return how many values reach `high`, lie in [low, high), and are as far from zero as `infinite`."""
    sure, open_, extreme = 0, 0, 0
    for k in range(values.shape[0]):
        sure += values[k] >= high
        open_ += values[k] >= low
        extreme += abs(values[k]) >= infinite
    return sure, open_ - sure, extreme


@inlined
def choose_trial(
    values: Any, rank: int, guess: float, guard: float,
    x: Any, y: Any, sums_x: Any, sums_y: Any, counts: Any, snap: float, sided: int, kept: Any, places: Any,
) -> Any:  # fmt: skip
    """Return the rank-th largest r as it is known, and its trial: the first drawn of equal ones, -1 for one without t."""
    low, high, above = bracket(values, rank, guess)
    n = gather(values, low, high, kept, places)
    value = nth_largest(kept[:n], rank - above)
    if value == -math.inf:
        return guess, -1
    # What lies so near may be the rank-th largest in truth, or tie with it.
    width = abs(value) * 2.0 * (guard + EQUAL)
    if value - width < low or value + width >= high:
        n = gather(values, value - width, math.inf, kept, places)
        above = 0
    near = 0
    for k in range(n):
        if kept[k] > value + width:
            above += 1
        elif kept[k] >= value - width:
            kept[near], places[near] = kept[k], places[k]
            near += 1
    if near > 1:
        for k in range(near):
            total = total_of(sums_x, sums_y, places[k], x.shape[0] * snap)
            kept[k] = exact_ratio(x, y, counts, places[k], total, snap, sided)
        return value, first_equal(kept[:near], places, rank - above, EQUAL)
    return value, places[0]


@compiled
def tail_differences(
    sums: Any, first: Any, second: Any, edges: Any, snap_sum: float, sided: int,
    ranks: Any, guesses: Any, reached: Any, totals: Any,
) -> None:  # fmt: skip
    """The same for the difference itself: everything is exact.

    Parameters
    ----------
    sums
        float64 (run, trial): a sum of each run and trial; a replicate's statistic is the difference of two.
    first, second
        int (pair,): rows of `sums`.
    edges
        float64 (pair,): from which difference on a replicate counts.
    snap_sum
        A difference of sums up to it is zero.
    sided, ranks, guesses, reached, totals
        As in `tail_studentised`; guesses are on the scale of `sums`.
    """
    n_trials = sums.shape[1]
    values, kept, places = np.empty(n_trials), np.empty(n_trials), np.empty(n_trials, np.int64)
    for pair in range(first.shape[0]):
        differences(sums[first[pair]], sums[second[pair]], snap_sum, sided, values)
        reached[pair] = count_from(values, edges[pair])
        for level in range(ranks.shape[0]):
            low, high, above = bracket(values, ranks[level], guesses[level])
            n = gather(values, low, high, kept, places)
            guesses[level] = nth_largest(kept[:n], ranks[level] - above)
            totals[level, pair] = abs(guesses[level])
