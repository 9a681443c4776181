"""Scores as integers, so that sums over resamples are exact in any order.

Most published scores are decimals with few digits, or fractions such as k / 10 and 1 / rank: multiplied by a common
denominator they are integers, without any loss. Others are rounded to the finest binary fraction for which sums are
exact; `Units.snap` is then the largest difference of two of them that are treated as equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

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
SMALLEST = 1e-300
"""Size of the largest score if all are zero, so that the number of units in a score of 1 is finite."""


@dataclass(frozen=True)
class Units:
    """The scores of one cell (metric and gain setting) as centred integers.

    Parameters
    ----------
    values
        float64 (run, topic): n (x - mean of the run) for n topics, in units; sums over any resample of n topics are
        exact.
    sums
        float64 (run,): sum of the run's scores, in units.
    per_score
        Units in a score of 1.
    rounded
        Whether scores had to be rounded.
    """

    values: FloatArray
    sums: FloatArray
    per_score: float
    rounded: bool

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.values.shape[1])

    @property
    def uncentred(self) -> FloatArray:
        """The scores in units: float64 (run, topic)."""
        return (self.values + self.sums[:, np.newaxis]) / self.n_topics

    @property
    def snap(self) -> float:
        """Largest difference of two centred values that rounding alone can cause."""
        return SNAP * self.n_topics if self.rounded else 0.0

    @property
    def snap_sum(self) -> float:
        """Largest difference of two sums of n centred values due to rounding alone."""
        return self.n_topics * self.snap

    @property
    def to_mean(self) -> float:
        """Factor that converts a sum of n centred values to a mean score."""
        return 1.0 / (float(self.n_topics) ** 2 * self.per_score)


def centred_units(scores: FloatArray) -> Units:
    """Return the scores (run, topic) of one cell as centred integers.

    Examples
    --------
    >>> units = centred_units(np.array([[0.1, 0.2], [0.5, 0.5]]))
    >>> units.values.tolist(), units.sums.tolist(), units.per_score, units.rounded
    ([[-1.0, 1.0], [0.0, 0.0]], [3.0, 10.0], 10.0, False)
    """
    return in_units(*whole_scores(scores))


def in_units(whole: FloatArray, per_score: float, rounded: bool) -> Units:
    """Return the results of `whole_scores`, or a part of them, as centred integers."""
    sums = whole.sum(axis=1)
    return Units(whole * whole.shape[1] - sums[:, np.newaxis], sums, per_score, rounded)


def whole_scores(scores: FloatArray) -> tuple[FloatArray, float, bool]:
    """Return the scores (run, topic) of one cell as integers.

    Missing scores (NaN) stay missing.

    Returns
    -------
    whole, per_score, rounded
        float64 (run, topic): integers; units in a score of 1; whether scores had to be rounded.
    """
    n, known = scores.shape[1], scores[~np.isnan(scores)]
    largest = max(float(np.abs(known).max(initial=0.0)), SMALLEST)
    # A centred value is at most 2 n largest, a sum of n of them n times that, and a difference of sums twice that.
    most = ROOM / (4.0 * n * n * largest)
    per_score = next(
        (d for d in _worth_trying(known) if d <= most and _is_integral(known, d).all()), 0.0
    )
    rounded = per_score == 0.0
    if rounded:
        per_score = 2.0 ** math.floor(math.log2(most))
    return np.rint(scores * per_score), per_score, rounded


def _worth_trying(scores: FloatArray) -> list[float]:
    # A few scores exclude most of the denominators.
    few = scores[:: max(1, len(scores) // PROBES), np.newaxis]
    found: list[float] = _TRIED[_is_integral(few, _TRIED).all(axis=0)].tolist()
    return found


def _is_integral(scores: FloatArray, denominator: FloatArray | float) -> NDArray[np.bool_]:
    # Both reading a decimal number and dividing give the double nearest to k / denominator.
    return np.asarray(np.rint(scores * denominator) / denominator == scores)
