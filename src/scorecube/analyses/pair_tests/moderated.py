"""The moderated statistic of pairs of runs in one cell."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from scorecube.analyses.pair_tests.base import tie_widths
from scorecube.analyses.pair_tests.family import Pairs
from scorecube.kernels.pairs.pair_order import label_order
from scorecube.kernels.pairs.tail_counts import observed_sums
from scorecube.statistics.multiple_testing import adjusted

NEAR = 1e-6
"""Share that is left of sums of squares less twice that of products below which squared differences are added instead."""


@dataclass(frozen=True, eq=False)
class Moderated:
    """The statistic of the pairs of one cell, over topics.

    units: Scores of the cell; `gaussian.RowUnits` where `products` are known.
    moderation: Weight of the median of the pairs' squared standard errors beside a pair's own.
    products: Sums over topics of the products of the centred scores of two runs, float64 (run, run): sums of squared differences follow
        from them; None to add those of each pair.
    """

    units: Any
    moderation: float
    products: Any = field(default=None, kw_only=True)

    @property
    def covariance(self) -> Any:
        """Covariance of the errors of means over topics, as sums of squares: float64 (run, run)."""
        return self.products

    @property
    def residual_variance(self) -> float:
        """As of `pair_tests.base.residual_variances`, of `products`."""
        products, n_runs = self.products, len(self.products)
        squares = products.trace() - products.sum() / n_runs
        return float(squares / (n_runs - 1) * self.units.n_topics / self.per_variance)

    @property
    def levels(self) -> Any:
        """Means of runs in the units of these errors: float64 (run,)."""
        units = self.units
        return units.sums / (units.n_topics * units.per_score) * math.sqrt(self.per_variance)

    @property
    def grids(self) -> tuple[Any, ...]:
        """Scores of the topics: of boards those of each collection, in their order."""
        return (self.units,)

    @cached_property
    def added(self) -> float:
        """What moderation adds to the sums of squares of all pairs."""
        squares = self.sums(label_order(len(self.units.sums)))[1]
        varying = squares[squares > 0]
        return self.moderation * float(np.median(varying)) if len(varying) else 0.0

    @property
    def per_variance(self) -> float:
        """Sum of squares of a squared standard error of 1."""
        n = self.units.n_topics  # centred differences are n times too large
        return float((n * self.units.per_score) ** 2 * n * (n - 1))

    def sums(self, pairs: Pairs) -> tuple[Any, Any]:
        """Return the differences of sums, and the sums of squared differences of centred scores: float64 (pair,) each."""
        units, (totals, squares) = self.units, np.empty((2, len(pairs[0])))
        if self.products is None:
            observed_sums(units.values, units.sums, *pairs, units.snap, totals, squares)
            return totals, squares
        first, second = pairs
        totals = units.sums[first] - units.sums[second]
        totals[np.abs(totals) <= units.snap] = 0.0
        of_runs = self.products.diagonal()[first] + self.products.diagonal()[second]
        squares = of_runs - 2.0 * self.products[first, second]
        both, single = np.arange(2, dtype=np.int32)[:, np.newaxis], np.empty(1)
        for pair in np.flatnonzero(squares <= NEAR * of_runs):
            runs = np.array([first[pair], second[pair]])
            values = units.centred(units.whole_of(runs), runs)
            observed_sums(
                values, units.sums[runs], both[0], both[1], units.snap, single, squares[pair:][:1]
            )
        return totals, squares

    def spread(self, pairs: Pairs, squares: Any) -> Any:
        """Return the squared standard errors of pairs as sums of squares, those of `sums` given; 0 for a constant difference."""
        return squares

    def pooled(self, pairs: Pairs, squares: Any) -> Any:
        """Return the moderated squared standard errors of pairs as sums of squares, those of `sums` given."""
        return (squares + self.added) / (1.0 + self.moderation)

    def statistic(self, pairs: Pairs, totals: Any, squares: Any) -> Any:
        """Return what grows with the moderated |t| of pairs: r of `kernels.pairs.running_maximum`."""
        n = self.units.n_topics
        # With z = (w + total) / n: sum z^2 n^2 = sum w^2 + n total^2.
        return (n * totals) * (n * totals) / (squares + n * totals * totals + self.added)

    def t_of(self, statistic: Any) -> Any:
        """Return the moderated |t| of values of the statistic."""
        n = self.units.n_topics
        return np.sqrt((1.0 + self.moderation) * (n - 1) * statistic / (n - statistic))

    def standard_errors(self, pairs: Pairs) -> Any:
        """Return the standard errors of the differences of means, in units of the score."""
        return np.sqrt(self.spread(pairs, self.sums(pairs)[1])) / math.sqrt(self.per_variance)

    def separated_by_own_errors(self, pairs: Pairs, alpha: float) -> Any:
        """Return which pairs Student's t, adjusted by Holm for their number, separates at a level: bool (pair,); none without spread."""
        from scipy.special import stdtr

        n, (totals, squares) = self.units.n_topics, self.sums(pairs)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(totals) * np.sqrt(n * (n - 1) / squares)
        return adjusted(np.where(squares > 0, 2 * stdtr(n - 1, -t), 1.0), "holm") < alpha

    def moderated_errors(self, pairs: Pairs) -> Any:
        """Return the moderated standard errors, in units of the score; 0 without spread."""
        squares = self.sums(pairs)[1]
        pooled = np.where(self.spread(pairs, squares) > 0, self.pooled(pairs, squares), 0.0)
        return np.sqrt(pooled) / math.sqrt(self.per_variance)

    def ascending(self, pairs: Pairs) -> tuple[Any, Any]:
        """Return the pairs with variance in ascending order of |t|, and the least statistic that reaches each.

        Returns order, edges: int64 and float64 (pair with variance,): positions of pairs; of pairs with equal |t| the
            first stands first.
        """
        totals, squares = self.sums(pairs)
        usable = np.flatnonzero(self.spread(pairs, squares) > 0)
        totals, chosen = totals[usable], (pairs[0][usable], pairs[1][usable])
        observed = self.statistic(chosen, totals, squares[usable])
        order = np.argsort(observed, kind="stable")
        differences = self.units.n_topics * np.abs(totals[order])
        edges = observed[order] * (1.0 - tie_widths(differences, self.units.snap_sum))
        return usable[order], np.maximum(edges, 0.0)

    def adjusted_counts(self, pairs: Pairs, order: Any, counts: Any, trials: int) -> Any:
        """Return the adjusted number of trials that reach each pair, int32 (pair,): never smaller than that of a pair with a larger |t|.

        pairs: A family.
        order: Of `ascending`.
        counts: int64 (pair,): of `kernels.pairs.running_maximum.step_down`, in this order; what follows belongs to no pair of the family.
        trials: Number of trials: the count of pairs with equal scores.
        """
        totals, squares = self.sums(pairs)
        reached = np.where((totals == 0) & (self.spread(pairs, squares) == 0), trials, 0)
        reached[order] = np.maximum.accumulate(counts[: len(order)][::-1])[::-1]
        return reached.astype(np.int32)
