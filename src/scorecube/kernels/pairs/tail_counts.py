"""Null distributions of pairs of runs: how often the observed statistic is reached, and the K-th largest statistic.

With w the per-topic differences of a pair, centred and in integer units, S1 = sum c w and S2 = sum c w^2 over a resample with
multiplicities c, |t*| is a rising function of r = S1^2 / S2: t^2 = (n - 1) r / (n - r). So neither a root nor a variance is
formed. S1 is exact. S2 comes out of a matrix product whose rounding depends on its shape and precision, so r is known up
to a relative `guard`; what that leaves open is decided by `exact_ratios`, which add topic by topic. Results are therefore the
same for every tile, library and precision of the product.

r is -inf where S1 = S2 = 0: such a replicate has no t, which counts as t* = 0 where that decides, and comes last. r = n means infinite t.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.linalg.selection import (
    STRIDE,
    bracket,
    count_from,
    first_equal,
    gather,
    keep_from,
    narrow,
    nth_largest,
)

EQUAL = 1e-12
"""Relative difference up to which two statistics are a tie: they differ by less where the mathematics says they are equal."""
INFINITE = 1e300
"""Stands for infinite t among numbers that are compared by their relative difference."""
UPPER = 0.8
"""Of the K-th largest ratio of the pair before: from there on, ratios are looked at one by one."""


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
def ratios(
    sums_x: Any, sums_y: Any, squares: Any, snap_sum: float, sided: int, low: float, high: float, infinite: float, values: Any
) -> Any:  # fmt: skip
    """Write r of every trial, with the sign of S1 if one-sided, in the precision of `squares`.

    Returns
    -------
    sure, unsure, extreme, undefined
        How many reach `high`, lie in [low, high), are as far from zero as `infinite`, and have none.
    """
    kind = squares.dtype.type
    low, high, infinite, none = kind(low), kind(high), kind(infinite), kind(-math.inf)
    # Counters of the width of the values go through vector registers with them.
    sure, open_, extreme, undefined = np.int32(0), np.int32(0), np.int32(0), 0
    for trial in range(sums_x.shape[0]):
        total = sums_x[trial] - sums_y[trial]
        total = kind(total if abs(total) > snap_sum else 0.0)
        ratio = total * total / squares[trial]
        ratio = -ratio if sided == 1 and total < 0 else ratio
        ratio = none if squares[trial] == 0 else ratio
        values[trial] = ratio
        sure = np.int32(sure + (ratio >= high))
        open_ = np.int32(open_ + (ratio >= low))
        extreme = np.int32(extreme + (abs(ratio) >= infinite))
    if extreme > 0:
        for trial in range(values.shape[0]):
            undefined += values[trial] == none
    return np.int64(sure), np.int64(open_ - sure), np.int64(extreme), undefined


@inlined
def exact_ratios(
    x: Any, y: Any, sums_x: Any, sums_y: Any, counts: Any, places: Any, snap: float, sided: int, room: Any
) -> Any:
    """Return q = S1^2 / sum c (n w - S1)^2 of one pair and some trials, added topic by topic, signed if one-sided.

    t^2 = n (n - 1) q, so large t are told apart, as they are not by r, which comes near n. The deviations n w - S1 are exact. It is
    `INFINITE` without any, and -inf without t. `x`, `y` are the centred scores of the two runs; `room` is float64 (3, trial).
    """
    n, n_places = x.shape[0], places.shape[0]
    spreads, squares, totals = room[0, :n_places], room[1, :n_places], room[2, :n_places]
    for k in range(n_places):
        spreads[k], squares[k] = 0.0, 0.0
        totals[k] = total_of(sums_x, sums_y, places[k], n * snap)
    for topic in range(n):
        difference = x[topic] - y[topic]
        difference = difference if abs(difference) > snap else 0.0
        for k in range(n_places):
            count, deviation = counts[topic, places[k]], n * difference - totals[k]
            squares[k] += count * (difference * difference)
            spreads[k] += count * (deviation * deviation)
    for k in range(n_places):
        # Of rounded scores, what is left of equal differences is rounding.
        constant = spreads[k] == 0.0 or (snap > 0.0 and spreads[k] <= EQUAL * n * n * squares[k])
        ratio = INFINITE if constant else totals[k] * totals[k] / spreads[k]
        ratio = -ratio if sided == 1 and totals[k] < 0.0 else ratio
        spreads[k] = ratio if squares[k] > 0.0 else -math.inf
    return spreads


@compiled
def observed_ratios(
    centred: Any, sums: Any, first: Any, second: Any, snap: float, sided: int, out: Any, exact: Any
) -> None:
    """Write r of the scores themselves, signed if one-sided: 0 for equal means, NaN for equal scores, n for a constant difference.

    Parameters
    ----------
    centred, sums
        float64 (run, topic), (run,): see `kernels.exact.Units`.
    first, second
        int (pair,): rows.
    out, exact
        float64 (pair,): r, and q as from `exact_ratios`.
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
        spread = total * total / squares if squares > 0.0 else INFINITE
        exact[pair] = -spread if sided == 1 and total < 0.0 else spread
        out[pair] = math.nan if total == 0.0 and squares == 0.0 else -ratio if sided == 1 and total < 0.0 else ratio


@compiled
def observed_t(centred: Any, sums: Any, first: Any, second: Any, snap: float, out: Any) -> Any:
    """Write the t statistics of the scores themselves: NaN for equal scores, infinite for a constant difference.

    Parameters
    ----------
    centred, sums, first, second, snap
        As of `observed_ratios`.
    out
        float64 (pair,): t.

    Returns
    -------
    n_equal, n_constant
        Pairs with equal scores, and with the same difference on all topics.
    """
    n, n_equal, n_constant = centred.shape[1], 0, 0
    for pair in range(first.shape[0]):
        x, y = centred[first[pair]], centred[second[pair]]
        total = sums[first[pair]] - sums[second[pair]]
        total = total if abs(total) > snap else 0.0
        squares = 0.0
        for topic in range(n):
            difference = x[topic] - y[topic]
            squares += difference * difference if abs(difference) > snap else 0.0
        # Centred differences are n times too large, so that n total / sqrt(squares) = zbar / s * sqrt(n / (n - 1)).
        out[pair] = total * math.sqrt(n * (n - 1)) / math.sqrt(squares)
        n_equal += squares == 0.0 and total == 0.0
        n_constant += squares == 0.0 and total != 0.0
    return n_equal, n_constant


@compiled
def tail_studentised(
    squares: Any, sums: Any, centred: Any, counts: Any, first: Any, second: Any, observed: Any, exact: Any, ties: Any,
    guard: float, snap: float, sided: int, ranks: Any, guesses: Any, reached: Any, totals: Any, degenerate: Any,
) -> None:  # fmt: skip
    """Count, for some pairs, the trials that reach the observed r; find S1 of the trials with the K-th largest r.

    Parameters
    ----------
    squares
        float32 or float64 (pair, trial): S2, known up to `guard`; there may be more columns than trials.
    sums, centred
        float64 (run, trial), (run, topic): sums of centred scores over each resample, likewise, and the centred scores.
    counts
        Unsigned integers (topic, trial): how often a trial draws a topic.
    first, second
        int (pair,): rows of `sums` and `centred`.
    observed, exact
        float64 (pair,): r and q as from `observed_ratios`.
    ties
        float64 (pair,): relative difference up to which a replicate ties with the observed one.
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
    padded = np.full((n_trials + STRIDE - 1) // STRIDE * STRIDE, -math.inf, squares.dtype)
    values, kept = padded[:n_trials], np.empty(n_trials, squares.dtype)
    room, places = np.empty((3, n_trials)), np.empty(n_trials, np.int64)
    upper, upper_places = (
        np.empty(padded.shape[0] + STRIDE, squares.dtype),
        np.empty(padded.shape[0] + STRIDE, np.int32),
    )
    widest = ranks.argmax()
    for pair in range(first.shape[0]):
        x, y = centred[first[pair]], centred[second[pair]]
        sums_x, sums_y = sums[first[pair]][:n_trials], sums[second[pair]][:n_trials]
        edge = observed[pair] - ties[pair] * abs(observed[pair])
        low, high = edge - guard * abs(edge), observed[pair] + guard * abs(observed[pair])
        count, unsure, extreme, undefined = ratios(
            sums_x, sums_y, squares[pair][:n_trials], snap_sum, sided, low, high, infinite, values
        )
        if math.isnan(edge):
            count = n_trials
        elif edge == 0.0:
            # t = 0: a replicate without t is as good; others count if they are on the right side.
            count = n_trials if sided == 2 else count_from(values, 0.0) + undefined
        elif unsure > 0:
            n = gather(values, low, high, kept, places)
            decided = exact_ratios(x, y, sums_x, sums_y, counts, places[:n], snap, sided, room)
            count += count_from(decided, exact[pair] - ties[pair] * abs(exact[pair]))
        if sided == 1 and edge < 0.0:
            count += undefined  # t* = 0 of a replicate without t is more than t
        reached[pair] = count
        degenerate[0] += undefined
        if extreme > undefined:
            n = gather(np.abs(values), infinite, math.inf, kept, places)
            decided = exact_ratios(x, y, sums_x, sums_y, counts, places[:n], snap, 2, room)
            degenerate[1] += count_from(decided, INFINITE)
        # The largest ratios serve all levels: they are few, and all others are read no more.
        floor, ceiling = float(values.dtype.type(UPPER * guesses[widest])), 2.0 * n_topics
        n_upper = keep_from(padded, floor, upper, upper_places) if floor > 0.0 else 0
        n_upper = 0 if extreme > undefined and count_from(upper[:n_upper], ceiling) > 0 else n_upper
        few = upper[: (n_upper + STRIDE - 1) // STRIDE * STRIDE]
        for level in range(ranks.shape[0]):
            guess, n, rank, found = guesses[level], 0, 0, n_upper >= ranks[level]
            if found:
                low, high, above = narrow(upper[:n_upper], ranks[level], guess, floor, ceiling)
                guesses[level], n, rank = candidates(few, ranks[level], guess, low, high, above, guard, kept, places)
                found = guesses[level] - tie_width(guesses[level], guard) > floor
                for k in range(n):
                    places[k] = upper_places[places[k]]
            if not found:
                low, high, above = bracket(values, ranks[level], guess)
                guesses[level], n, rank = candidates(values, ranks[level], guess, low, high, above, guard, kept, places)
            chosen = places[0]
            if n > 1:
                decided = exact_ratios(x, y, sums_x, sums_y, counts, places[:n], snap, sided, room)
                chosen = first_equal(decided, places, rank, EQUAL)
            totals[level, pair] = total_of(sums_x, sums_y, chosen, snap_sum) if n > 0 else 0.0


@inlined
def tie_width(value: float, guard: float) -> float:
    """How far from each other two ratios as they are known may be, if they tie."""
    return abs(value) * 2.0 * (guard + EQUAL)


@inlined
def candidates(
    values: Any, rank: int, guess: float, low: float, high: float, above: int, guard: float, kept: Any, places: Any
) -> Any:
    """Find the trials that may have the rank-th largest r in truth, or tie with it; `kept` and `places` are written.

    `low`, `high` and `above` are as from `bracket`.

    Returns
    -------
    value, n, rank
        The rank-th largest r as it is known; how many trials, 0 if it is one without t; the rank among them.
    """
    n = gather(values, low, high, kept, places)
    value = nth_largest(kept[:n], rank - above)
    if value == -math.inf:
        return guess, 0, 0
    width = tie_width(value, guard)
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
    return value, near, rank - above


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
