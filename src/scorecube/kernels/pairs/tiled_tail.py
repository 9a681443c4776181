"""Studentised tests of all pairs of runs, tile by tile in one call.

Between two compiled calls a thread needs the interpreter lock, which other threads may hold for long.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Array2, Array3, Float64Array2, FloatArray2, Int32Array1
from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.linalg.panel_product import (
    Element,
    multiply,
    multiply_wide,
    room_for_product,
)
from scorecube.kernels.pairs.tail_counts import (
    Comparison,
    Levels,
    ObservedPairs,
    Resamples,
    Tails,
    tail_studentised,
)
from scorecube.kernels.registers import ROWS, has_wide_registers


def tail_tiles(
    tile: int,
    weights: Array3[Element],
    resamples: Resamples,
    pairs: ObservedPairs,
    comparison: Comparison,
    levels: Levels,
    tails: Tails,
) -> None:
    """Do what `tail_studentised` does, with one matrix product for S2 of each tile.

    Parameters
    ----------
    tile
        Pairs in a tile.
    weights
        float32 or float64 (panel, topic, trial): `resamples.counts` in panels, see `in_panels`; their precision is that
        of S2.
    resamples, pairs, comparison, levels, tails
        As of `tail_studentised`.
    """
    products = room_for_product(tile, weights)
    squares = np.zeros((len(products), resamples.centred.shape[1]), products.dtype)
    if has_wide_registers():
        _tail_tiles(tile, weights, resamples, pairs, comparison, levels, tails, squares, products)
        return
    for low in range(
        0, len(pairs.first), tile
    ):  # the library's product cannot be called from compiled code
        high = min(low + tile, len(pairs.first))
        part, out = _part(pairs, tails, low, high)
        squared_differences(resamples.centred, part.first, part.second, comparison.snap, squares)
        rows = -(-(high - low) // ROWS) * ROWS
        multiply(squares[:rows], weights, products[:rows])
        tail_studentised(products, resamples, part, comparison, levels, out)


@compiled
def _tail_tiles(
    tile: int,
    weights: Array3[Element],
    resamples: Resamples,
    pairs: ObservedPairs,
    comparison: Comparison,
    levels: Levels,
    tails: Tails,
    squares: Array2[Element],
    products: Array2[Element],
) -> None:
    """Do what `tail_tiles` does, with wide registers.

    `squares` (pair, topic) and `products` (pair, trial) are overwritten.
    """
    for low in range(0, len(pairs.first), tile):
        high = min(low + tile, len(pairs.first))
        part, out = _part(pairs, tails, low, high)
        squared_differences(resamples.centred, part.first, part.second, comparison.snap, squares)
        rows = (high - low + ROWS - 1) // ROWS * ROWS
        multiply_wide(squares[:rows], weights, products[:rows])
        tail_studentised(products, resamples, part, comparison, levels, out)


@inlined
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
def squared_differences(
    centred: Float64Array2, first: Int32Array1, second: Int32Array1, snap: float, out: FloatArray2
) -> None:
    """Write the squared per-topic differences of some pairs.

    Parameters
    ----------
    centred
        float64 (run, topic): centred scores in units.
    first, second
        int32 (pair,): rows of `centred`.
    snap
        Differences up to this value are zero.
    out
        float32 or float64 (pair, topic), written.
    """
    for pair in range(first.shape[0]):
        x, y = centred[first[pair]], centred[second[pair]]
        for topic in range(x.shape[0]):
            difference = x[topic] - y[topic]
            out[pair, topic] = difference * difference if abs(difference) > snap else 0.0
