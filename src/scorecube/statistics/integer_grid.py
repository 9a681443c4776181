"""Scores as integers on a binary fraction of the bin width, so that sums, bins and ties are exact.

A score x enters a sample of size c as ``rint(x * 2**bits / (width * c))`` units, kept in float64. The mean of a
sample is then the plain sum of its units: exact in any order and on any machine as long as it stays
below 2**53. A bin is 2**bits units wide, so binning is exact too. Rounding moves a difference of two means by at
most one unit for each of the 2 * c scores in it; `tolerance` is that bound. Differences within it are ties, and
a difference within it of a bin's lower edge has reached the edge. Two unequal means nearer than that (2.3e-13
for 50 topics, scores in [0, 1]) are taken for equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

MANTISSA_BITS = 53
MAX_BITS = 42
"""Finest grid: with it, sort keys of 100 bins and 8,192 runs fit into 62 bits, and rint dominates rounding."""


FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Grid:
    """An integer grid for means of `size` scores, one scale for each cell (metric and gain setting).

    Parameters
    ----------
    size
        Scores in a sample (c).
    width
        Bin width in score units, e.g. Fraction(1, 100).
    bits
        log2 of the number of units in a bin, one per cell.
    """

    size: int
    width: Fraction
    bits: tuple[int, ...]

    @property
    def units_per_bin(self) -> FloatArray:
        """Units in one bin width, powers of two; shape (cell,)."""
        return np.array([float(2**bits) for bits in self.bits])

    @property
    def tolerance(self) -> float:
        """Largest difference of two sums, in units, that rounding alone can cause."""
        return float(2 * self.size)

    def to_units(self, scores: FloatArray) -> FloatArray:
        """Round scores (cell, ...) to integer-valued float64 units."""
        scale = [float(Fraction(2**bits) / (self.width * self.size)) for bits in self.bits]
        units: FloatArray = np.rint(scores * np.array(scale).reshape(-1, *[1] * (scores.ndim - 1)))
        return units

    def to_mean(self, units: FloatArray) -> FloatArray:
        """Return the mean scores whose sums are `units`, shape (cell,)."""
        return units * float(self.width) / self.units_per_bin


def make_grid(size: int, width: Fraction, scores: FloatArray) -> Grid:
    """Return, for each cell of `scores` (cell, ...), the finest grid on which a sum of `size` of them is exact.

    All cells with scores in [-1, 1] have the same grid, so that dropping a cell changes nothing in the others.
    """
    bits = []
    for cell in scores:
        spread = max(float(np.max(np.abs(cell))), 1.0) / float(width)
        bits.append(min(MAX_BITS, MANTISSA_BITS - 2 - math.ceil(math.log2(spread))))
    return Grid(size, width, tuple(bits))
