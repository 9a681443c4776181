"""Scores at the places of random numbers between cuts: binary searches that begin in a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scorecube.kernels.arrays import Float64Array1, Int32Array1
from scorecube.kernels.jit import compiled, inlined

CELLS = 2**14
"""Of a table; it stays in the processor's cache."""


@dataclass(frozen=True)
class Quantiles:
    """Scores and the cuts between them, with a table of where searches begin.

    cuts: float64 (cut,): ascending; a number above k of them has score k.
    scores: float64 (cut + 1,).
    low, cells_per_unit: Lower end of the table, and cells in a unit of the random numbers.
    starts: int32 (cell + 1,): cuts in the cells before each.
    """

    cuts: NDArray[np.float64]
    scores: NDArray[np.float64]
    low: float
    cells_per_unit: float
    starts: NDArray[np.int32]

    def find(self, numbers: NDArray[np.float64], found: NDArray[np.float64]) -> None:
        """Write the score of each number to `found`: ``scores[numpy.searchsorted(cuts, numbers)]``."""
        _find(numbers, self.cuts, self.scores, self.low, self.cells_per_unit, self.starts, found)


def quantiles(
    cuts: NDArray[np.float64], scores: NDArray[np.float64], low: float, high: float
) -> Quantiles:
    """Return the scores between cuts, with a table.

    cuts: float64 (cut,): ascending, perhaps infinite.
    scores: float64 (cut + 1,).
    low, high: Range of most of the numbers that are sought.
    """
    starts = np.zeros(CELLS + 1, np.int32)
    cells_per_unit = CELLS / (high - low)
    _count_cuts(cuts, low, cells_per_unit, starts)
    np.cumsum(starts, out=starts)
    return Quantiles(cuts, scores, low, cells_per_unit, starts)


@inlined
def _cell(number: np.float64, low: float, cells_per_unit: float) -> np.int64:
    """Return the cell of a number, which increases with it."""
    place = (number - low) * cells_per_unit
    if not place > 0.0:
        return np.int64(0)
    if place >= CELLS - 1:
        return np.int64(CELLS - 1)
    return np.int64(place)


@compiled
def _count_cuts(
    cuts: Float64Array1, low: float, cells_per_unit: float, starts: Int32Array1
) -> None:
    """Add the cuts in each cell to the element after that of the cell."""
    for k in range(cuts.shape[0]):
        starts[_cell(cuts[k], low, cells_per_unit) + 1] += 1


@compiled
def _find(
    numbers: Float64Array1,
    cuts: Float64Array1,
    scores: Float64Array1,
    low: float,
    cells_per_unit: float,
    starts: Int32Array1,
    found: Float64Array1,
) -> None:
    """Write the result of `Quantiles.find`."""
    for k in range(numbers.shape[0]):
        number = numbers[k]
        cell = _cell(number, low, cells_per_unit)
        first, last = np.int64(starts[cell]), np.int64(starts[cell + 1])
        while first < last:
            middle = (first + last) >> 1
            if cuts[middle] < number:
                first = middle + 1
            else:
                last = middle
        found[k] = scores[first]
