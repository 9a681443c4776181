"""Scores as integers, so that sums over resamples are exact in any order.

Most published scores are decimals with few digits, or fractions such as k / 10 and 1 / rank: multiplied by a common
denominator they are integers, without any loss. Others are rounded to the finest binary fraction for which sums are
exact; `Units.snap` is then the largest difference of two of them that are treated as equal.

Scores whose differences are counted by bin are integer multiples of a fraction of the bin width instead. A score x is represented in a sample of size c by ``rint(x * 2**bits /
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
DENOMINATORS = (*(10**k for k in range(10)), 15, 30, 2520, 27_720, 360_360)
"""Denominators of scores with few decimals, of precision at 15 and 30, of reciprocal ranks up to 10, 12 and 15."""
_TRIED = np.array(DENOMINATORS, np.float64)
PROBES = 16
"""Scores that every denominator is tried on first."""
ROOM = 2.0**52
"""Integers up to this bound are added and subtracted exactly."""
SNAP = 2.0
"""Units by which rounding changes a difference of two centred scores at most, for each topic: half a unit for each of two
scores, which are multiplied by n, and as much for the sums of n scores that are subtracted."""
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
SMALLEST = 1e-300
"""Size of the largest score if all are zero, so that the number of units in a score of 1 is finite."""


@dataclass(frozen=True)
class Units:
    """The scores of one cell (metric and gain setting) as centred integers.

    `values`, `sums` and `snap` may be multiplied by any number, and `per_score` with them: analyses use their ratios.

    whole: float64 (run, topic): the scores in `fine_units`, from which a number for each topic may be subtracted.
    rounded: Whether scores had to be rounded.
    fine_units: Units of `whole` in a score of 1.
    values: float64 (run, topic): n (x - mean of the run) for n topics, in units; sums over any resample of n topics are
        exact.
    sums: float64 (run,): sum of the run's scores, in units.
    per_score: Units in a score of 1.
    snap: Largest difference of two values that rounding alone can cause.
    """

    whole: FloatArray
    rounded: bool
    fine_units: float
    values: FloatArray
    sums: FloatArray
    per_score: float
    snap: float

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.values.shape[1])

    @property
    def totals(self) -> FloatArray:
        """Sums of `whole`: float64 (run,)."""
        return np.asarray(self.whole.sum(axis=1))

    @property
    def snap_sum(self) -> float:
        """Largest difference of two sums of n centred values due to rounding alone."""
        return self.n_topics * self.snap

    @property
    def to_mean(self) -> float:
        """Factor that converts a sum of n centred values to a mean score."""
        return 1.0 / (float(self.n_topics) ** 2 * self.per_score)


def in_units(whole: FloatArray, per_score: float, rounded: bool) -> Units:
    """Return the results of `comparable_scores`, or a part of them, as centred integers.

    Where n times as many units would not be exact, the mean of a run is rounded to a unit, and values are not multiplied by n.
    """
    n, totals = whole.shape[1], whole.sum(axis=1)
    if 4.0 * n * n * np.abs(whole).max(initial=0.0) <= 2.0 * ROOM:
        values, snap = whole * n - totals[:, np.newaxis], SNAP * n if rounded else 0.0
        return Units(whole, rounded, per_score, values, totals, per_score, snap)
    means = np.rint(totals / n)
    return Units(
        whole, rounded, per_score, whole - means[:, np.newaxis], means, per_score / n, SNAP + 1.0
    )


def comparable_scores(scores: FloatArray, *, paired: bool = True) -> tuple[FloatArray, float, bool]:
    """Return the scores (run, topic) of one cell as integers, for differences of runs.

    As of `whole_scores`, unless rounding could change a mean by more than `BLIND` of the standard error of a usual difference, as with
    300,000 topics or where one score is a million times as large as most. Then units are as small as sums of n scores allow, after the
    middle score of each topic is subtracted from all of its runs. That changes no difference on a topic, and is left out unless
    runs are compared on each topic (`paired`).

    Raises OverflowError: Rounding still could, as a few differences are too large beside the others.
    """
    whole, per_score, rounded = whole_scores(scores)
    n, usual = scores.shape[1], usual_difference(scores)
    # Whether rounding could change a mean by more than `BLIND`, where units can be smaller.
    coarse = SNAP * math.sqrt(n) > BLIND * usual * per_score and per_score < finest_units(scores)
    if not (rounded and coarse):
        return whole, per_score, rounded
    exact = exact_denominator(scores)
    shifted = np.rint(scores * exact) if exact else scores
    if paired:
        shifted = shifted - middle_scores(shifted)
    per_score = exact or 1.0
    largest = max(float(np.nanmax(np.abs(shifted), initial=0.0)), SMALLEST)
    room, digits = ROOM / (4.0 * n * largest), finest_units(scores) / per_score
    factor = 2.0 ** math.floor(math.log2(min(room, digits)))
    if room < digits and (SNAP + 1.0) * math.sqrt(n) > BLIND * usual * per_score * factor:
        raise OverflowError(cannot_hold(largest / per_score, usual, n))
    return np.rint(shifted * factor), per_score * factor, not (exact and factor >= 1.0)


def cannot_hold(largest: float, usual: float, n: int) -> str:
    """Return why sums over topics cannot hold scores: their largest and usual differences, and the number of topics."""
    return (
        f"some scores differ by up to {largest:.3g} from others of their topic, and most by about {usual:.3g}: sums over "
        f"{n:,} topics cannot hold both. Look for sentinels or another unit, and leave these topics out; the tests of paired compare "
        "topic by topic and need no sums"
    )


def single_scores(scores: FloatArray) -> tuple[FloatArray, float, bool]:
    """Return the scores (run, topic) of one cell for differences topic by topic, which need no sums of scores.

    As of `whole_scores`, unless differences of a usual size could become 0 (`ALIKE`): then as they are, in units that leave out what comes of
    rounding elsewhere.
    """
    whole, per_score, rounded = whole_scores(scores)
    few = ALIKE * usual_difference(scores) * per_score >= SNAP
    if not rounded or few or per_score >= finest_units(scores):
        return whole, per_score, rounded
    per_score = exact_denominator(scores) or 2.0 ** math.floor(math.log2(finest_units(scores)))
    return np.rint(scores * per_score), per_score, not exact_denominator(scores)


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


def exact_denominator(scores: FloatArray) -> float:
    """Return the common denominator of scores (NaN for missing) whose numerators are exact; 0 if there is none."""
    known = scores[~np.isnan(scores)]
    most = ROOM / max(float(np.abs(known).max(initial=0.0)), SMALLEST)
    return next((d for d in _worth_trying(known) if d <= most and is_integral(known, d).all()), 0.0)


def _median_size(numbers: FloatArray) -> float:
    """Return the median size of the numbers that are neither 0 nor missing; 0 without any."""
    sizes = np.abs(numbers[np.isfinite(numbers) & (numbers != 0.0)])
    return float(np.median(sizes)) if len(sizes) else 0.0


def whole_scores(scores: FloatArray) -> tuple[FloatArray, float, bool]:
    """Return the scores (run, topic) of one cell as integers.

    Missing scores (NaN) stay missing.

    Returns whole, per_score, rounded: float64 (run, topic): integers; units in a score of 1; whether scores had to be
        rounded.
    """
    n, known = scores.shape[1], scores[~np.isnan(scores)]
    largest = max(float(np.abs(known).max(initial=0.0)), SMALLEST)
    # A centred value is at most 2 n largest, a sum of n of them n times that, and a difference of sums twice that.
    most = ROOM / (4.0 * n * n * largest)
    per_score = next(
        (d for d in _worth_trying(known) if d <= most and is_integral(known, d).all()), 0.0
    )
    rounded = per_score == 0.0
    if rounded:
        per_score = 2.0 ** math.floor(math.log2(most))
    return np.rint(scores * per_score), per_score, rounded


def _worth_trying(scores: FloatArray) -> list[float]:
    # A few scores exclude most of the denominators.
    few = scores[:: max(1, len(scores) // PROBES), np.newaxis]
    found: list[float] = _TRIED[is_integral(few, _TRIED).all(axis=0)].tolist()
    return found


def is_integral(scores: FloatArray, denominator: FloatArray | float) -> NDArray[np.bool_]:
    """Return which scores have an exact numerator."""
    # Both reading a decimal number and dividing give the double nearest to k / denominator.
    return np.asarray(np.rint(scores * denominator) / denominator == scores)


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
