"""Maxima of |t| from the normal approximation of means over topics: no trial costs more where there are more topics.

Errors of the means of all runs are drawn from the normal distribution with their estimated covariance, and standard errors are those of the
scores. For the largest of many means the approximation holds for many topics, even where there are more pairs than topics.

Reference: Chernozhukov, Chetverikov and Kato 2013, "Gaussian approximations and multiplier bootstrap for maxima of sums of high-dimensional
random vectors", Annals of Statistics 41(6), Theorem 2.1 and section 4. Error rates measured here: docs/believe/ranks.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from scorecube.analyses.options import option_field
from scorecube.analyses.pair_tests.base import cell_units
from scorecube.analyses.pair_tests.family import Pairs
from scorecube.analyses.pair_tests.moderated import SquaredT
from scorecube.collection.selection import cells
from scorecube.kernels.linalg.factor import triangular_factor

AUTO, TOPICS, GAUSSIAN = "auto", "topics", "gaussian"
MANY_TOPICS = 10_000
"""Topics from which on errors are drawn by default."""
AT_ONCE = 2048
"""Topics whose products are added in float64: with `BITS` each, sums are exact in any order."""
BITS = 20
"""Bits of a centred score."""


def resampling_field() -> Literal["auto", "topics", "gaussian"]:
    """Declare how trials are made."""
    return option_field(
        "auto",
        f"Resample topics, or draw errors of means by the covariance of runs (gaussian): by default from {MANY_TOPICS:,} topics on.",
        detail="With ``gaussian`` a trial costs the same for any number of topics, see `pair_tests.gaussian`.",
        since="0.3.0",
        before=TOPICS,
    )


def drawn_statistics(cube: Any, moderation: float) -> list[Gaussian]:
    """Return the statistic of each cell of a cube."""
    every = zip(cell_units(cube), cells(cube)[0], strict=True)
    return [Gaussian(units, moderation, scores) for units, scores in every]


@dataclass(frozen=True, eq=False)
class Gaussian(SquaredT):
    """The statistic of pairs, in trials that draw the errors of means.

    scores: float64 (run, topic).
    """

    scores: Any

    @cached_property
    def products(self) -> Any:
        """Sums of products of the centred scores of two runs, in the units of `Units.values`: float64 (run, run)."""
        return self._exact[0]

    @cached_property
    def factor(self) -> Any:
        """What standard normal numbers are multiplied by to be errors of sums of centred scores: float64 (run, number)."""
        return triangular_factor(self.products)

    def sums(self, pairs: Pairs) -> tuple[Any, Any]:
        first, second = pairs
        (products, rounding), sums = self._exact, self.units.sums
        totals, variances = sums[first] - sums[second], np.diag(products)
        squares = variances[first] + variances[second] - 2 * products[first, second]
        # Equal scores have a spread of 0; of others rounding is a part.
        least = np.where(totals == 0, 0.0, rounding)
        return totals, np.where(squares > least, squares, least)

    @cached_property
    def _exact(self) -> tuple[Any, float]:
        """Return `products`, and what rounding of scores adds to the sum of squares of a pair at most, about."""
        scores, n = self.scores, self.units.n_topics
        mean = scores.mean(axis=1, keepdims=True)
        largest = max(abs(float(end)) for end in (scores.min(), scores.max())) or 1.0
        scale = 2.0**BITS / (2 * largest)
        total, sums = (
            np.zeros((len(scores), len(scores)), np.int64),
            np.zeros(len(scores), np.int64),
        )
        for low in range(0, n, AT_ONCE):
            part = np.rint((scores[:, low : low + AT_ONCE] - mean) * scale)
            total += (part @ part.T).astype(np.int64)
            sums += part.sum(axis=1).astype(np.int64)
        per_square = (n * self.units.per_score / scale) ** 2
        return (total - np.outer(sums, sums) / n) * per_square, n * per_square / 6
