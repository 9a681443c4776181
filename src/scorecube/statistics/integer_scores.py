"""Scores as integers, so that sums over resamples are exact in any order.

Scores whose differences are counted by bin are integer multiples of a fraction of the bin width. A score x is represented in a sample of size c by ``rint(x * 2**bits /
(width * c))`` units, stored as float64. The mean of a sample is then the sum of its units, which is exact in any order
and on any machine below 2**53. A bin is 2**bits units wide, so binning is exact as well. Rounding changes a difference
of two means by at most one unit for each of its 2 * c scores; `Grid.tolerance` is that bound. Differences within it are
ties, and a difference that is below a bin's lower edge by no more than it belongs to the bin. Two unequal means that
are closer than that (2.3e-13 for 50 topics, scores in [0, 1]) are treated as equal. Where that is more than a share `ALIKE` of a
usual difference, units are as fine as sums allow; where it still is more than `BLIND` of its standard error, there is no grid.
"""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BLIND = 1e-2
"""Largest share of the standard error of a usual difference by which rounding may change a mean."""
ALIKE = 1e-7
"""Largest share of a usual difference that may count as none on a topic."""
DIGITS = 2.0**40
"""Most units in a usual score."""
PROBED_TOPICS = 256
"""Topics that show what a usual difference is."""
LEAST_USUAL = 1e-100
"""Least usual score whose digits are kept, so that products of units and scores are finite."""


def middle_scores(scores: FloatArray) -> FloatArray:
    """Return the lower median of the scores that each topic has: float64 (topic,), NaN without scores."""
    n_runs, n = scores.shape
    count = n_runs - np.isnan(scores).sum(axis=0)
    return np.asarray(np.sort(scores, axis=0)[np.maximum(count - 1, 0) // 2, np.arange(n)])


def usual_difference(scores: FloatArray) -> float:
    """Return the median of the differences from the middle score of a topic that are not 0; infinite without any."""
    some = scores[:, :: max(1, scores.shape[1] // PROBED_TOPICS)]
    return _median_size(some - middle_scores(some)) or math.inf


def finest_units(scores: FloatArray) -> float:
    """Return the most units in a score of 1: smaller differences come of rounding in the program that computed the scores."""
    return DIGITS / max(_median_size(scores), LEAST_USUAL)


def _median_size(numbers: FloatArray) -> float:
    """Return the median size of the numbers that are neither 0 nor missing; 0 without any."""
    sizes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0.0)])
    return float(np.median(sizes)) if len(sizes) else 0.0


MANTISSA_BITS = 53
"""Bits of a float64: integers up to 2**53 are exact."""
ROOM_BITS = MANTISSA_BITS - 2
"""Bits of a sum of scores: two sums are subtracted exactly."""
ROUNDING = 1.0
"""Units by which a score may be off: half a unit by `rint`, and less than half by the product that is rounded."""
MAX_BITS = 42
"""Finest grid: sort keys of 100 bins and 8,192 runs fit into 62 bits, and `rint` is the only relevant rounding."""
FINEST_BITS = 49
"""Finest grid of scores so small that `MAX_BITS` would be coarse: a sum below a bin and a run number fit into 62 bits."""


@dataclass(frozen=True)
class Grid:
    """An integer grid for means of scores, with a scale for each cell.

    A cell is a metric with a gain setting.

    size: Scores in a sample (c).
    width: Bin width in score units, e.g. Fraction(1, 100).
    bits: log2 of the number of units in a bin, for each cell.

    Examples
    --------
    >>> grid = Grid(size=2, width=Fraction(1, 100), bits=(10,))
    >>> units = grid.to_units(np.array([[0.5, 0.25]]))
    >>> units.tolist(), grid.to_mean(units.sum(axis=1)).tolist()
    ([[25600.0, 12800.0]], [0.375])
    """

    size: int
    width: Fraction
    bits: tuple[int, ...]

    @property
    def units_per_bin(self) -> FloatArray:
        """Units in a bin, powers of two: float64 (cell,)."""
        return np.array([float(2**bits) for bits in self.bits])

    @property
    def scales(self) -> FloatArray:
        """Units in a score of 1: float64 (cell,)."""
        return np.array(
            [float(Fraction(2) ** bits / (self.width * self.size)) for bits in self.bits]
        )

    @property
    def tolerance(self) -> float:
        """Largest difference of two sums, in units, that rounding alone can cause."""
        return 2 * self.size * ROUNDING

    def to_units(self, scores: FloatArray) -> FloatArray:
        """Round scores (cell, ...) to integer-valued float64 units."""
        return np.asarray(np.rint(scores * self.scales.reshape(-1, *[1] * (scores.ndim - 1))))

    def to_mean(self, units: FloatArray) -> FloatArray:
        """Return the means of samples whose sums are `units` (cell,)."""
        return units * float(self.width) / self.units_per_bin


def make_grid(size: int, width: Fraction, scores: FloatArray, *, binned: bool = True) -> Grid:
    """Return the finest grid on which sums of `size` scores are exact, in each cell.

    All cells with usual scores in [-1, 1] have the same grid, so that the results of a cell do not depend on the other cells.

    size: Scores in a sample, or in the largest of several.
    width: Bin width in score units.
    scores: float64 (cell, ...), topics last.
    binned: Whether differences are counted by bin; else units may be of any size.
    Raises OverflowError: No such grid is fine enough for the differences of the scores.
    """
    return Grid(size, width, tuple(_bits(size, width, cell, binned) for cell in scores))


def for_orders(size: int, width: Fraction, scores: FloatArray) -> FloatArray:
    """Return scores (cell, run, topic) for the order of means: less the middle score of each topic, where the usual grid is coarse.

    That changes no difference of two means over the same topics.
    """
    found = [
        cell - middle_scores(cell) if _usual_bits(size, width, cell)[1] else cell for cell in scores
    ]
    return np.stack(found)


def _usual_bits(size: int, width: Fraction, cell: FloatArray) -> tuple[int, bool]:
    """Return the bits of the usual grid, and whether it is coarse for differences of the scores."""
    largest = float(np.max(np.abs(cell)))
    bits = min(MAX_BITS, ROOM_BITS - math.ceil(math.log2(max(largest, 1.0) / float(width))))
    usual = usual_difference(np.atleast_2d(cell))
    fine = _tolerance(size, width, bits) <= ALIKE * usual or usual * finest_units(cell) < 1.0
    return bits, not fine


def _tolerance(size: int, width: Fraction, bits: int) -> float:
    """Return the largest difference of two sums of `size` scores that rounding can cause, in units of the scores."""
    return 2 * size * ROUNDING * float(width) / 2.0**bits


def _bits(size: int, width: Fraction, cell: FloatArray, binned: bool) -> int:
    bits, coarse = _usual_bits(size, width, cell)
    if not coarse:
        return bits
    largest, usual = float(np.max(np.abs(cell))), usual_difference(np.atleast_2d(cell))
    bits = ROOM_BITS - math.ceil(math.log2(largest / float(width)))
    advice = "choose smaller samples"
    if binned and bits > FINEST_BITS:
        bits, advice = FINEST_BITS, "choose narrower bins"
    needed, tolerance = BLIND * usual / math.sqrt(size), _tolerance(size, width, bits)
    if tolerance > needed:
        raise OverflowError(
            f"scores of up to {largest:.3g} differ by about {usual:.3g} on a topic: means of samples of {size:,} topics hold differences "
            f"down to {tolerance:.1g}, and {needed:.1g} is needed. Look for sentinels and leave these topics out, "
            f"{advice}, or scale the scores; the tests of paired compare topic by topic"
        )
    return bits
