"""Scores as integers, so that sums over any resample are exact whatever the order of addition.

Most published scores are decimals with few digits, or fractions such as k / 10 and 1 / rank: multiplied by the right number they
are integers, and nothing is lost. Others are rounded to the finest binary fraction that leaves room for the sums;
`Units.snap` then says up to which difference two of them are taken for equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
DENOMINATORS = (*(10**k for k in range(10)), 15, 30, 2520, 27_720, 360_360)
"""Of scores with few decimals, of precision at 15 and 30, of reciprocal ranks up to 10, 12 and 15."""
_TRIED = np.array(DENOMINATORS, np.float64)
PROBES = 16
ROOM = 2.0**52
"""Integers up to it can be added and subtracted exactly."""


@dataclass(frozen=True)
class Units:
    """The scores of one cell (metric and gain setting) as integers, centred.

    Parameters
    ----------
    values
        float64 (run, topic): n (x - mean of the run), in units; their sum over any resample of n topics is exact.
    sums
        float64 (run,): sum of the run's scores in units.
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
        """Topics of each run."""
        return int(self.values.shape[1])

    @property
    def uncentred(self) -> FloatArray:
        """The scores in units (run, topic)."""
        return (self.values + self.sums[:, np.newaxis]) / self.n_topics

    @property
    def snap(self) -> float:
        """Difference of two centred values that rounding alone can cause."""
        return 2.0 * self.n_topics if self.rounded else 0.0

    @property
    def snap_sum(self) -> float:
        """Difference of two sums of n centred values that rounding alone can cause."""
        return self.n_topics * self.snap

    @property
    def to_mean(self) -> float:
        """Mean score of a resample whose centred values add up to 1."""
        return 1.0 / (float(self.n_topics) ** 2 * self.per_score)


def centred_units(scores: FloatArray) -> Units:
    """Return the scores (run, topic) of one cell as centred integers."""
    return in_units(*whole_scores(scores))


def in_units(whole: FloatArray, per_score: float, rounded: bool) -> Units:
    """Return some rows and columns of what `whole_scores` returns as centred integers."""
    sums = whole.sum(axis=1)
    return Units(whole * whole.shape[1] - sums[:, np.newaxis], sums, per_score, rounded)


def whole_scores(scores: FloatArray) -> tuple[FloatArray, float, bool]:
    """Return the scores (run, topic) of one cell as integers, how many are a score of 1, and whether they had to be rounded.

    Missing scores (NaN) stay.
    """
    n, known = scores.shape[1], scores[~np.isnan(scores)]
    largest = max(float(np.abs(known).max(initial=0.0)), 1e-300)
    # A run's centred value is at most 2 n largest, a sum of n of them n times that, a difference twice that.
    most = ROOM / (4.0 * n * n * largest)
    per_score = next((d for d in _worth_trying(known) if d <= most and _is_integral(known, d).all()), 0.0)
    rounded = per_score == 0.0
    if rounded:
        per_score = 2.0 ** math.floor(math.log2(most))
    return np.rint(scores * per_score), per_score, rounded


def _worth_trying(scores: FloatArray) -> list[float]:
    # Most scores that are no decimals are known from a few of them.
    few = scores[:: max(1, len(scores) // PROBES), np.newaxis]
    found: list[float] = _TRIED[_is_integral(few, _TRIED).all(axis=0)].tolist()
    return found


def _is_integral(scores: FloatArray, denominator: Any) -> Any:
    # The nearest double of k / denominator is what reading the decimal, or dividing, gives.
    return np.rint(scores * denominator) / denominator == scores
