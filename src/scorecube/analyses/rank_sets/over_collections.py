"""Means over collections, and differences of systems in them: sums over collections that are independent, each with its weight.

theta_j = sum over b of w_b times the mean of system j in collection b; the difference of two systems has the variance sum of w_b^2 s_b^2 / n_b, whose degrees of
freedom are Satterthwaite's (1946).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_tests.family import Pairs
from scorecube.analyses.pair_tests.gaussian import Seen
from scorecube.analyses.pair_tests.moderated import Moderated
from scorecube.analyses.pair_tests.repetitions import OverRepetitions, satterthwaite
from scorecube.analyses.rank_sets.estimates import mean_of_estimates
from scorecube.analyses.rank_sets.leaderboard import OwnMeans
from scorecube.collection import schema
from scorecube.collection.many_collections import FREEDOMS
from scorecube.collection.rows import Rows
from scorecube.collection.teams import listed
from scorecube.errors import BadPlan, option
from scorecube.statistics.integer_scores import Units
from scorecube.statistics.multiple_testing import adjusted

WHOLE = "scores"
"""Name of the only collection of a cube that joins none."""


@dataclass(frozen=True, eq=False)
class Strata:
    """The collections of a cube.

    names: In the order of the topics.
    starts: int64 (collection + 1,): position of the first topic of each, and the number of all.
    weights: float64 (collection,): their sum is 1.
    freedom: float64 (collection,): degrees of freedom of a variance over the topics of each.
    """

    names: tuple[str, ...]
    starts: Any
    weights: Any
    freedom: Any

    def parts(self) -> list[slice]:
        """Return the topics of each collection."""
        return [slice(*ends) for ends in zip(self.starts[:-1], self.starts[1:], strict=True)]


def strata_of(cube: xr.Dataset, weights: Sequence[str]) -> Strata:
    """Return the collections of a cube of `join_collections`; a cube of one collection is its only one.

    weights: Texts ``collection=weight``; 1 for those that are not named.
    Raises BadPlan: A weight that is none, or of a collection that there is not.
    """
    n = cube.sizes[names.TOPIC]
    labels = (
        schema.labels_of(cube, names.COLLECTION) if names.COLLECTION in cube.coords else [WHOLE] * n
    )
    found = list(dict.fromkeys(labels))
    counts = [labels.count(name) for name in found]
    starts = np.cumsum([0, *counts])
    shares = np.array(list(weights_of(weights, found).values()))
    freedom = np.array(cube.attrs.get(FREEDOMS, [n_topics - 1 for n_topics in counts]), float)
    return Strata(tuple(found), starts, shares, freedom)


def weights_of(texts: Sequence[str], known: Sequence[str]) -> dict[str, float]:
    """Return the weight of each collection, of a sum of 1; texts, and errors as of `strata_of`."""
    found: dict[str, float] = {}
    for text in texts:
        name, _, number = text.rpartition("=")
        try:
            weight = float(number)
        except ValueError:
            weight = math.nan
        if name not in known or name in found or not 0 < weight < math.inf:
            raise BadPlan(
                f"{option('weights', text)}: expected a collection, each once, and a number above 0, such as {known[0]}=2; the collections are {listed(known)}",
                option="weights",
            )
        found[name] = weight
    total = math.fsum(found.get(name, 1.0) for name in known)
    return {name: found.get(name, 1.0) / total for name in known}


@dataclass(frozen=True, eq=False)
class OverCollections(OverRepetitions):
    """The squared moderated t of the pairs of systems in one cell, over the topics of all collections, and over repetitions, in units of the score.

    units: The means over collections, as scores of a single topic.
    parts: Scores of each collection, `Units` or `gaussian.RowUnits`; `products` has those of each.
    strata: The collections.
    counts, variances: As of `OverRepetitions`, of the means over collections.
    """

    parts: tuple[Any, ...]
    strata: Strata

    @property
    def grids(self) -> tuple[Any, ...]:
        return self.parts

    @property
    def per_variance(self) -> float:
        return 1.0

    @property
    def of_difference(self) -> Any:
        """What a sum of centred scores of each collection adds to a mean: float64 (collection,)."""
        return self.strata.weights * [part.to_mean for part in self.parts]

    @property
    def of_variance(self) -> Any:
        """What their sum of squares adds to a squared standard error: float64 (collection,)."""
        return self.strata.weights**2 / [Moderated(part, 0.0).per_variance for part in self.parts]

    @property
    def covariance(self) -> Any:
        return np.tensordot(self.of_variance, np.stack(self.products), axes=1)

    def moments(self, pairs: Pairs) -> tuple[Any, Any]:
        """Return what each collection adds to the differences of pairs, and to their squared standard errors: float64 (collection, pair)."""
        every = zip(self.parts, self.products, strict=True)
        sums = [Moderated(part, 0.0, products=each).sums(pairs) for part, each in every]
        totals, squares = (np.array(each) for each in zip(*sums, strict=True))
        per_mean = [part.n_topics * part.per_score for part in self.parts]
        scale = (self.strata.weights / per_mean)[:, np.newaxis]
        return scale * totals, self.of_variance[:, np.newaxis] * squares

    def sums(self, pairs: Pairs) -> tuple[Any, Any]:
        differences, variances = self.moments(pairs)
        return differences.sum(axis=0), variances.sum(axis=0)

    def statistic(self, pairs: Pairs, totals: Any, squares: Any) -> Any:
        return totals * totals / self.pooled(pairs, squares)

    def errors_of_differences(self, pairs: Pairs) -> tuple[Any, Any]:
        first, second = pairs
        freedom = satterthwaite(
            *zip(self.moments(pairs)[1], self.strata.freedom, strict=True),
            (self.own[first], self.counts[first] - 1),
            (self.own[second], self.counts[second] - 1),
        )
        return self.standard_errors(pairs), freedom

    def separated_by_own_errors(self, pairs: Pairs, alpha: float) -> Any:
        from scipy.special import stdtr

        errors, freedom = self.errors_of_differences(pairs)
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(self.sums(pairs)[0]) / errors
        return adjusted(np.where(errors > 0, 2 * stdtr(freedom, -t), 1.0), "holm") < alpha

    def own_means(self, rows: Sequence[Rows], seen: Sequence[Seen]) -> MeansOverCollections:
        """Return the means of runs over collections, and in each.

        rows, seen: Scores of each collection, and what is known of them.
        """
        weights, of_runs = self.strata.weights, self.variances / self.counts
        parts = tuple(
            OwnMeans(own, known, known.mean, known.deviation / math.sqrt(own.n_topics), freedom)
            for own, known, freedom in zip(rows, seen, self.strata.freedom, strict=True)
        )
        variances = (weights[:, np.newaxis] * np.stack([part.error for part in parts])) ** 2
        freedom = satterthwaite(
            *zip(variances, self.strata.freedom, strict=True), (of_runs, self.counts - 1)
        )
        error = np.sqrt(variances.sum(axis=0) + of_runs)
        own = self.units.totals, error, freedom, parts, weights
        return MeansOverCollections(None, None, *own)


def mean_over(means: Any, weights: Any) -> Any:
    """Return weighted sums of means (collection, run), each rounded once, so that they do not depend on the order of collections."""
    return np.array([math.fsum(each) for each in (means * weights[:, np.newaxis]).T])


def means_by_collection(scores: Any, strata: Strata) -> Any:
    """Return the means of runs in each collection: float64 (cell, collection, run), of scores (cell, run, topic)."""
    return np.stack([scores[:, :, part].mean(axis=-1) for part in strata.parts()], axis=1)


def units_of_means(means: Any) -> Units:
    """Return means (run,) as the scores of a single topic."""
    column = np.asarray(means)[:, np.newaxis]
    return Units(column, False, 1.0, np.zeros_like(column), column[:, 0], 1.0, 0.0)


@dataclass(frozen=True, eq=False)
class MeansOverCollections(OwnMeans):
    """The means of runs over collections, each run by itself.

    parts: Those of each collection.
    weights: float64 (collection,): their sum is 1.
    """

    parts: tuple[OwnMeans, ...]
    weights: Any

    @property
    def flat(self) -> Any:
        return np.any([part.flat for part in self.parts], axis=0)

    def of(self, runs: Any) -> MeansOverCollections:
        own = self.mean[runs], self.error[runs], self.freedom[runs]
        parts = tuple(part.of(runs) for part in self.parts)
        return MeansOverCollections(None, None, *own, parts, self.weights)

    def vary(self, bounds: Any) -> Any:
        return np.all([part.vary(bounds) for part in self.parts], axis=0)

    def bounded(self, bounds: Any, error: float, within: Any = False) -> tuple[Any, Any]:
        """Return limits of sums over collections (Zou and Donner 2008) from those of each: by t where a run varies, as of `bounded_limits` elsewhere."""
        limits = self.limits(bounds, error, within)
        means = np.stack([part.mean for part in self.parts])
        return mean_of_estimates(means, *limits, self.weights)[1:]

    def limits(self, bounds: Any, error: float, within: Any = True) -> tuple[Any, Any]:
        """Return limits of the means in each collection: float64 (collection, run) each; NaN of equal scores without bounds.

        bounds: Of scores; None for none.
        error: Of each side.
        within: Of `bounded`.
        """
        from scipy.special import stdtrit

        low, high = np.empty((2, len(self.parts), len(self.mean)))
        for k, part in enumerate(self.parts):
            margin = stdtrit(part.freedom, 1 - error) * part.error
            margin[part.flat] = np.nan
            low[k], high[k] = part.mean - margin, part.mean + margin
            if bounds is None:
                continue
            inside = (low[k] >= bounds[0]) & (high[k] <= bounds[1]) & within
            if (safe := np.flatnonzero(~(part.vary(bounds) & inside))).size:
                low[k][safe], high[k][safe] = part.of(safe).bounded(bounds, error)
        return low, high
