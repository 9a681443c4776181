"""Scores as integers on one grid, so that sums over topics are exact in any order.

A score x becomes ``rint((x - low) / (high - low) * 2,520,000)``, where low and high bound the
scores of its metric. 2,520,000 is divisible by 10,000 and by 1 to 10, 12, 14, 15, 16, 20 and 30, so
that printed scores, P@k and reciprocal ranks lose nothing; others move by at most 2e-7 of the
range. For up to 1,400 units even sums of squared differences are below 2**53.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorecube.errors import BadInput

FloatArray = NDArray[np.float64]
Range = tuple[float, float]
UNITS = 2_520_000
"""Units in the range of a metric."""
MOST_TOPICS = 1_400
"""Topics, or other units, whose second moments are exact: 1,400 * 2,520,000**2 < 2**53."""
EQUAL = 1e-9
"""Share of the range within which two scores are equal."""
EQUAL_SIZE = 1e-12
"""Share of the size of scores within which two are equal, where the range is unknown."""
ROUNDING = 2.0**-40
"""Relative difference of the same score, computed in two ways."""
LEAST_SPREAD = 100
"""Fewest units by which runs that are not equal differ somewhere."""


class Grid(NamedTuple):
    """The grid of one metric under one gain setting: scores of 0 and of 2,520,000 units."""

    low: float
    high: float

    @property
    def unit(self) -> float:
        """One unit in scores."""
        return (self.high - self.low) / UNITS

    def to_units(self, scores: FloatArray) -> FloatArray:
        """Return scores as integers, float64 of the same shape; NaN stays NaN."""
        return np.asarray(np.rint((scores - self.low) / (self.high - self.low) * UNITS))


def make_grid(scores: FloatArray, declared: Range | None = None) -> Grid:
    """Return the grid of scores, of the range that is declared or of the tightest one."""
    return Grid(*(declared or tightest_range(scores)))


def tightest_range(scores: FloatArray) -> Range:
    """Return the tightest multiples of a power of ten that hold all scores."""
    least = float(np.nanmin(scores))
    most = float(np.nanmax(scores))
    if least == most:
        return least - 0.5, least + 0.5
    power = math.floor(math.log10(most - least))
    step = 10.0**power
    # Dividing by a power of ten above 1 rounds once; multiplying by 0.1 would round twice.
    low = math.floor(least / step)
    high = math.ceil(most / step)
    return (low * step, high * step) if power >= 0 else (low / 10.0**-power, high / 10.0**-power)


def least_difference(scores: FloatArray, width: float | None) -> float:
    """Return the difference up to which two scores, or two means of them, are equal.

    width: Of the range of the scores; None if unknown.
    """
    if width is not None:
        return EQUAL * width
    return EQUAL_SIZE * float(np.nanmax(np.abs(scores), initial=0.0))


def check_range(scores: FloatArray, low: float, high: float) -> None:
    """Refuse scores outside the range of their metric, with a BadInput that names both."""
    least = float(np.nanmin(scores))
    most = float(np.nanmax(scores))
    room = EQUAL * (high - low)
    if least < low - room or most > high + room:
        raise BadInput(
            f"scores lie between {least:g} and {most:g}, outside the range {low:g} to {high:g}; "
            "declare another range"
        )


def check_differences(scores: FloatArray, declared: Range | None = None) -> None:
    """Refuse scores (run, unit) of runs that differ, beyond rounding, by less than 100 units."""
    grid = Grid(*(declared or (float(scores.min()), float(scores.max()))))
    apart = float(np.ptp(scores, axis=0).max())
    if ROUNDING * float(np.abs(scores).max()) < apart < LEAST_SPREAD * grid.unit:
        raise BadInput(
            f"runs differ by up to {apart:.3g} on a topic, which is too little of the range "
            f"{grid.low:g} to {grid.high:g}; subtract what all runs have in common on a topic, or "
            "declare a narrower range"
        )
