"""Step-down maxima over pairs of runs: the largest statistic of each trial over all pairs that are not larger in the scores themselves.

Statistics are r = S1^2 / (S2 + a), with S1 and S2 of `tail_counts` and the same a for all pairs: without a they increase with |t*|,
with it with |t*| that is moderated, see `scorecube.analyses.pair_tests.step_down`.
"""

from __future__ import annotations

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
from scorecube.kernels.pairs.tiled_tail import squared_differences
from scorecube.kernels.registers import ROWS

TILE = 128
"""Pairs whose sums of squares are computed in one product."""


class Family(NamedTuple):
    """Hypotheses that are tested together, in ascending order of their observed statistics.

    first, second: int32 (pair,): rows of the scores.
    edges: float64 (pair,): the least r that reaches the observed one.
    """

    first: Int32Array1
    second: Int32Array1
    edges: Float64Array1


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


def resampled(centred: Float64Array2, counts: Float64Array2, snap: float) -> Resampled:
    """Return the trials of one cell; ``counts`` is float64 (topic, trial), for the others see `Resampled`."""
    weights = in_panels(counts, np.float64)
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
    Returns largest: float64 (counted trial,): the largest finite r over all pairs.
    """
    (start, stop), (centred, weights, sums, snap) = trials, scores
    snap_sum = centred.shape[1] * snap
    largest, products = np.zeros(stop - start), room_for_product(TILE, weights)
    squares = np.zeros((len(products), centred.shape[1]))
    for low in range(0, len(family.first), TILE):
        part = slice(low, low + TILE)
        first, second = family.first[part], family.second[part]
        squared_differences(centred, first, second, snap, squares)
        rows = -(-len(first) // ROWS) * ROWS
        multiply(squares[:rows], weights, products[:rows])
        edges, count = family.edges[part], reached[part]
        _add_maxima(
            sums, products, start, first, second, edges, snap_sum, added, infinite, largest, count
        )
    return largest


@compiled
def _add_maxima(
    sums: Float64Array2,
    products: Float64Array2,
    start: int,
    first: Int32Array1,
    second: Int32Array1,
    edges: Float64Array1,
    snap_sum: float,
    added: float,
    infinite: float,
    largest: Float64Array1,
    reached: Int64Array1,
) -> None:
    """Take the pairs of a tile into the running maxima `largest` (trial,), and add to `reached` (pair,)."""
    for pair in range(first.shape[0]):
        x, y = sums[first[pair]][start:], sums[second[pair]][start:]
        squares, edge = products[pair][start:], edges[pair]
        count = np.int32(0)  # 32-bit counters let the compiler vectorise the loop
        for trial in range(largest.shape[0]):
            total = x[trial] - y[trial]
            total = total if abs(total) > snap_sum else 0.0
            ratio = (
                total * total / (squares[trial] + added)
            )  # NaN without a difference: false in all comparisons
            above = largest[trial]
            above = ratio if above < ratio < infinite else above
            largest[trial] = above
            count = np.int32(count + ((above >= edge) | (ratio >= edge)))
        reached[pair] += np.int64(count)
