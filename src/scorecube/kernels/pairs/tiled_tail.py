"""Studentised tests of all pairs of runs, tile by tile in one call.

Between two compiled calls a thread needs the interpreter lock, which other threads may hold for long.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array2,
    Float64Array3,
    Int32Array1,
    Int64Array1,
)
from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.linalg.panel_product import multiply, room_for_product
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
from scorecube.kernels.pairs.tail_counts import (
    EQUAL,
    INFINITE,
    Comparison,
    Levels,
    ObservedPairs,
    Resamples,
    Tails,
    exact_ratios,
    ratios,
)

UPPER = 0.8
"""Ratios from this share of the previous pair's K-th largest ratio on are kept in an array of their own."""


class Room(NamedTuple):
    """Arrays that are overwritten; numba compiles faster what does not make them.

    squares: (pair, topic): squared differences of the pairs of a tile.
    products: (pair, trial): S2 of the pairs of a tile, known up to `Comparison.guard`; there may be more columns than
        trials.
    padded: (trial,): r of each trial; up to a multiple of `STRIDE` follows -inf.
    kept, places: (trial,), int64 (trial,): chosen values and their trials.
    upper, upper_places: (trial,), int32 (trial,): the largest values and their trials, with `STRIDE` elements more.
    terms: float64 (3, trial): of `exact_ratios`.
    """

    squares: Float64Array2
    products: Float64Array2
    padded: Float64Array1
    kept: Float64Array1
    places: Int64Array1
    upper: Float64Array1
    upper_places: Int32Array1
    terms: Float64Array2


def tail_tiles(
    tile: int,
    weights: Float64Array3,
    resamples: Resamples,
    pairs: ObservedPairs,
    comparison: Comparison,
    levels: Levels,
    tails: Tails,
) -> None:
    """Count the trials that reach the observed r; find S1 where r is the K-th largest.

    There is one matrix product for S2 of each tile.

    tile: Pairs in a tile.
    weights: float64 (panel, topic, trial): `resamples.counts` in panels, see `in_panels`.
    resamples, pairs, comparison, levels: Inputs, except that `levels.guesses` is replaced.
    tails: Written and added to; its differences are S1.
    """
    n, n_trials = len(pairs.first), resamples.counts.shape[1]
    products = room_for_product(tile, weights)
    room = Room(
        np.zeros((len(products), resamples.centred.shape[1])),
        products,
        np.full(-(-n_trials // STRIDE) * STRIDE, -math.inf),
        np.empty(n_trials),
        np.empty(n_trials, np.int64),
        np.empty(n_trials + 2 * STRIDE),
        np.empty(n_trials + 2 * STRIDE, np.int32),
        np.empty((3, n_trials)),
    )
    widest = int(levels.ranks.argmax())
    for low in range(0, n, tile):  # the library's product cannot be called from compiled code
        part, out = _part(pairs, tails, low, min(low + tile, n))
        # A view of some columns is an array of another type, which would be compiled for itself.
        out = out._replace(totals=np.empty(out.totals.shape))
        squared_differences(
            resamples.centred, part.first, part.second, comparison.snap, room.squares
        )
        rows = len(part.first)
        multiply(room.squares[:rows], weights, products[:rows])
        _tail_tiles(resamples, part, comparison, levels, widest, out, room)
        tails.totals[:, low : low + tile] = out.totals


def _part(pairs: ObservedPairs, tails: Tails, low: int, high: int) -> tuple[ObservedPairs, Tails]:
    """Return the pairs low .. high-1 and the arrays of their results."""
    part = ObservedPairs(
        pairs.first[low:high],
        pairs.second[low:high],
        pairs.observed[low:high],
        pairs.exact[low:high],
        pairs.ties[low:high],
    )
    return part, Tails(tails.reached[low:high], tails.totals[:, low:high], tails.degenerate)


@compiled
def _tail_tiles(
    resamples: Resamples,
    pairs: ObservedPairs,
    comparison: Comparison,
    levels: Levels,
    widest: int,
    tails: Tails,
    room: Room,
) -> None:
    """Do what `tail_tiles` does for one tile with its products."""
    (centred, sums, counts), (guard, snap) = resamples, comparison
    first, second, observed, exact, ties = pairs
    (ranks, guesses), (reached, totals, degenerate) = levels, tails
    _, products, padded, kept, places, upper, upper_places, terms = room
    n_topics, values, tie = centred.shape[1], padded[: kept.shape[0]], 2.0 * (guard + EQUAL)
    snap_sum, infinite, ceiling = n_topics * snap, n_topics * (1.0 - tie), 2.0 * n_topics
    for pair in range(first.shape[0]):
        row = pair % products.shape[0]
        x, y = centred[first[pair]], centred[second[pair]]
        sums_x, sums_y = sums[first[pair]], sums[second[pair]]
        edge = observed[pair] - ties[pair] * abs(observed[pair])
        low, high = edge - guard * abs(edge), observed[pair] + guard * abs(observed[pair])
        count, unsure, extreme, undefined = ratios(
            sums_x, sums_y, products[row], snap_sum, low, high, infinite, values
        )
        if unsure > 0:
            n = gather(values, low, high, kept, places)
            decided = exact_ratios(x, y, sums_x, sums_y, counts, places[:n], snap, terms)
            count += count_from(decided, exact[pair] - ties[pair] * abs(exact[pair]))
        reached[pair] = reaching(values, edge, count, undefined)
        degenerate[0] += undefined
        if extreme > undefined:
            some = places[: find_extreme(values, infinite, places)]
            decided = exact_ratios(x, y, sums_x, sums_y, counts, some, snap, terms)
            degenerate[1] += count_from(decided, INFINITE)
        # The few largest ratios serve all levels; the others are not read again.
        floor = UPPER * guesses[widest]
        usable = floor > 0.0 and (extreme == undefined or count_from(values, ceiling) == 0)
        n_upper = keep_from(padded, floor, upper, upper_places) if usable else 0
        few = upper[: (n_upper + STRIDE - 1) // STRIDE * STRIDE]
        for level in range(ranks.shape[0]):
            rank, guess, n, found = ranks[level], guesses[level], 0, n_upper >= ranks[level]
            if found:
                limits = narrow(upper[:n_upper], rank, guess, floor, ceiling)
                value, n, place = candidates(few, rank, guess, limits, tie, kept, places)
                found = value - abs(value) * tie > floor
                for k in range(n):
                    places[k] = upper_places[places[k]]
            if not found:
                limits = bracket(values, rank, guess)
                value, n, place = candidates(values, rank, guess, limits, tie, kept, places)
            guesses[level] = value
            if n > 1:
                decided = exact_ratios(x, y, sums_x, sums_y, counts, places[:n], snap, terms)
                places[0] = first_equal(decided, places, place, EQUAL)
            total = sums_x[places[0]] - sums_y[places[0]] if n > 0 else 0.0
            totals[level, pair] = total if abs(total) > snap_sum else 0.0


@inlined
def find_extreme(values: Float64Array1, infinite: float, places: Int64Array1) -> int:
    """Write the trials with finite |r| of at least `infinite` to `places`; count them."""
    n = 0
    for trial in range(values.shape[0]):
        if infinite <= abs(values[trial]) < math.inf:
            places[n] = trial
            n += 1
    return n


@inlined
def reaching(values: Float64Array1, edge: float, count: int, undefined: int) -> int:
    """Return how many trials reach `edge`: all if it is NaN.

    `count` trials with t reach an edge that is not 0; `undefined` trials have no t, which counts as t* = 0.
    """
    if math.isnan(edge):
        return values.shape[0]
    if edge == 0.0:
        return values.shape[0]
    # Below 0 is the edge of a t that rounding of scores may have made of 0: t* = 0 reaches it.
    return count + undefined if edge < 0.0 else count


@inlined
def candidates(
    values: Float64Array1,
    rank: int,
    guess: float,
    limits: tuple[float, float, int],
    tie: float,
    kept: Float64Array1,
    places: Int64Array1,
) -> tuple[float, int, int]:
    """Find the trials whose exact r may be the rank-th largest, or tie with it.

    values: float64 (trial,): approximate r.
    rank, guess: K, and what to return as the value if the K-th largest replicate has no t.
    limits: Of `bracket`.
    tie: Largest relative distance of two approximate ratios that tie exactly.
    kept, places: (trial,), overwritten: the approximate r and the indices of the trials found come first.
    Returns value, n, rank: The rank-th largest approximate r; number of trials found, 0 if that replicate has no t; the
        rank among them.
    """
    low, high, above = limits
    n = gather(values, low, high, kept, places)
    value = nth_largest(kept[:n], rank - above)
    if value == -math.inf:
        return guess, 0, 0
    width = abs(value) * tie
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
def squared_differences(
    centred: Float64Array2, first: Int32Array1, second: Int32Array1, snap: float, out: Float64Array2
) -> None:
    """Write the squared per-topic differences of the pairs, or of the first that fit.

    centred: float64 (run, topic): centred scores in units.
    first, second: int32 (pair,): rows of `centred`.
    snap: Differences up to this value are zero.
    out: float64 (row, topic), written; rows behind the last pair are left as they are.
    """
    for pair in range(min(first.shape[0], out.shape[0])):
        x, y = centred[first[pair]], centred[second[pair]]
        for topic in range(x.shape[0]):
            difference = x[topic] - y[topic]
            out[pair, topic] = difference * difference if abs(difference) > snap else 0.0
