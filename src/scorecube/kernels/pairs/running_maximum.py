"""Step-down maxima over pairs of runs: the largest statistic of each trial over all pairs that are not larger in the scores themselves.

Statistics are r = S1^2 / (S2 + a), with S1 and S2 of `tail_counts` and the same a for all pairs: without a they increase with |t*|,
with it with |t*| that is moderated, see `scorecube.analyses.pair_tests.step_down`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array2,
    Float64Array3,
    Int32Array1,
    Int64Array1,
)
from scorecube.kernels.jit import compiled
from scorecube.kernels.linalg.panel_product import in_panels, multiply, product, room_for_product
from scorecube.kernels.pairs.tail_counts import EQUAL
from scorecube.kernels.pairs.tiled_tail import squared_differences
from scorecube.kernels.registers import ROWS

TILE = 128
"""Pairs whose sums of squares are computed in one product."""


class Family(NamedTuple):
    """Hypotheses that are tested together, in ascending order of their observed statistics.

    first, second: int32 (pair,): rows of the scores.
    edges: float64 (pair,): the least statistic that reaches the observed one.
    squares: float64 (pair,): S2 of all trials, where no topics are resampled.
    """

    first: Int32Array1
    second: Int32Array1
    edges: Float64Array1
    squares: Float64Array1 | None = None


class Resampled(NamedTuple):
    """Some trials of one cell, for all families of pairs.

    centred: float64 (run, topic): see `scorecube.statistics.integer_scores.Units`.
    weights: How often a trial draws a topic: float64 (topic, trial) in panels.
    sums: float64 (run, trial): sums of the centred scores.
    snap: Differences of scores up to this value are zero.
    """

    centred: Float64Array2
    weights: Float64Array3
    sums: Float64Array2
    snap: float


class Drawn(NamedTuple):
    """Some trials of one cell in which the errors of means are drawn, not topics.

    sums: float64 (run, trial): errors, in place of sums of centred scores.
    """

    sums: Float64Array2


def resampled(centred: Float64Array2, counts: Float64Array2, snap: float) -> Resampled:
    """Return the trials of one cell; ``counts`` is float64 (topic, trial), for the others see `Resampled`."""
    weights = in_panels(counts)
    return Resampled(centred, weights, product(centred, weights), snap)


def step_down(
    scores: Resampled,
    trials: tuple[int, int],
    family: Family,
    added: float,
    infinite: float,
    reached: Int64Array1,
) -> Float64Array1:
    """Count the trials in which the largest statistic of a pair and all before it reaches the pair's observed one.

    scores: See `Resampled`.
    trials: First trial to count, and the one after the last.
    family: See `Family`.
    added: a, added to all sums of squares.
    infinite: r from which on t is infinite; such a replicate counts for its own pair only.
    reached: int64 (pair,), added to.
    Returns largest: float64 (counted trial,): the largest finite statistic over all pairs.
    """
    (start, stop), (centred, _, sums, snap) = trials, scores
    largest, limits = np.zeros(stop - start), (centred.shape[1] * snap, added, infinite)
    for part, products in _tiles(scores, family.first, family.second):
        pairs = (family.first[part], family.second[part], family.edges[part])
        _add_maxima(sums, products, start, pairs, limits, largest, reached[part])
    return largest


def step_down_over_repetitions(
    scores: Resampled | Drawn,
    errors: tuple[Float64Array2, Float64Array2],
    trials: tuple[int, int],
    family: Family,
    moderation: tuple[float, float],
    reached: Int64Array1,
) -> Float64Array1:
    """Do what `step_down` does with scores that are means over repetitions.

    The statistic is (S1 sqrt((n - 1) / n) + e1 - e2)^2 / ((S2 - S1^2 / n + a) / (1 + w) + v1 + v2); n is infinite where S1 is drawn.

    errors: e and v, errors of the means and their variances: float64 (run, trial) each.
    moderation: w and a.
    """
    (start, stop), (shifts, variances), (weight, added) = trials, errors, moderation
    if isinstance(scores, Drawn):
        limits = (0.0, added, 1.0 + weight, math.inf, 1.0)
        assert family.squares is not None
        tiles = _equal_tiles(family.squares, scores.sums.shape[1])
    else:
        n = scores.centred.shape[1]
        limits = (n * scores.snap, added, 1.0 + weight, float(n), math.sqrt((n - 1) / n))
        tiles = _tiles(scores, family.first, family.second)
    largest = np.zeros(stop - start)
    for part, products in tiles:
        pairs = (family.first[part], family.second[part], family.edges[part])
        values = (scores.sums, products, shifts, variances)
        _add_maxima_over_repetitions(values, start, pairs, limits, largest, reached[part])
    return largest


def _tiles(
    scores: Resampled, first: Int32Array1, second: Int32Array1
) -> Iterator[tuple[slice, Float64Array2]]:
    """Yield the places of some pairs, and the sums of their squared differences (pair, trial), which those of the next pairs overwrite."""
    products = room_for_product(TILE, scores.weights)
    squares = np.zeros((len(products), scores.centred.shape[1]))
    for low in range(0, len(first), TILE):
        part = slice(low, low + TILE)
        squared_differences(scores.centred, first[part], second[part], scores.snap, squares)
        rows = -(-len(first[part]) // ROWS) * ROWS
        multiply(squares[:rows], scores.weights, products[:rows])
        yield part, products


def _equal_tiles(squares: Float64Array1, n_trials: int) -> Iterator[tuple[slice, Float64Array2]]:
    """Do what `_tiles` does with sums that all trials share: float64 (pair,)."""
    products = np.empty((TILE, n_trials))
    for low in range(0, len(squares), TILE):
        part = slice(low, low + TILE)
        products[: len(squares[part])] = squares[part, np.newaxis]
        yield part, products


@compiled
def _add_maxima(
    sums: Float64Array2,
    products: Float64Array2,
    start: int,
    pairs: tuple[Int32Array1, Int32Array1, Float64Array1],
    bounds: tuple[float, float, float],
    largest: Float64Array1,
    reached: Int64Array1,
) -> None:
    """Take the pairs of a tile into the running maxima `largest` (trial,), and add to `reached` (pair,)."""
    (first, second, edges), (snap_sum, added, infinite) = pairs, bounds
    for pair in range(first.shape[0]):
        x, y = sums[first[pair]][start:], sums[second[pair]][start:]
        squares, edge = products[pair][start:], edges[pair]
        count = np.int32(0)  # 32-bit counters let the compiler vectorise the loop
        for trial in range(largest.shape[0]):
            total = x[trial] - y[trial]
            total = total if abs(total) > snap_sum else 0.0
            # NaN without a difference: false in all comparisons
            value = total * total / (squares[trial] + added)
            above = largest[trial]
            above = value if above < value < infinite else above
            largest[trial] = above
            count = np.int32(count + ((above >= edge) | (value >= edge)))
        reached[pair] += np.int64(count)


@compiled
def _add_maxima_over_repetitions(
    values: tuple[Float64Array2, Float64Array2, Float64Array2, Float64Array2],
    start: int,
    pairs: tuple[Int32Array1, Int32Array1, Float64Array1],
    limits: tuple[float, float, float, float, float],
    largest: Float64Array1,
    reached: Int64Array1,
) -> None:
    """Do what `_add_maxima` does, of means over repetitions."""
    (sums, products, shifts, variances), (first, second, edges) = values, pairs
    snap_sum, added, divisor, n, scale = limits
    for pair in range(first.shape[0]):
        one, other, edge, squares = first[pair], second[pair], edges[pair], products[pair][start:]
        x, y = sums[one][start:], sums[other][start:]
        shift_x, shift_y = shifts[one][start:], shifts[other][start:]
        variance_x, variance_y = variances[one][start:], variances[other][start:]
        count = np.int32(0)
        for trial in range(largest.shape[0]):
            total = x[trial] - y[trial]
            total = total if abs(total) > snap_sum else 0.0
            spread = squares[trial] - total * total / n
            spread = spread if spread > EQUAL * squares[trial] else 0.0
            difference = total * scale + (shift_x[trial] - shift_y[trial])
            # NaN without a difference and a variance: false in all comparisons
            pooled = (spread + added) / divisor + variance_x[trial] + variance_y[trial]
            value = difference * difference / pooled
            above = largest[trial]
            above = value if above < value < np.inf else above
            largest[trial] = above
            count = np.int32(count + ((above >= edge) | (value >= edge)))
        reached[pair] += np.int64(count)
