"""Boards: leaderboards of the weighted mean over collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.leaderboard import Leaderboard
from scorecube.analyses.options import option_field
from scorecube.analyses.pairs import check_pairs
from scorecube.analyses.protocol import ALL_COLLECTIONS, Totals
from scorecube.analyses.table import Table, make_table
from scorecube.collection.judgement_sets import NOT_COMMON
from scorecube.collection.many_collections import OTHER_RANGES
from scorecube.collection.schema import label_array, labels_of
from scorecube.collection.selection import standardise as standardised
from scorecube.errors import BadPlan, option
from scorecube.statistics.intervals import mean_limits


@dataclass(frozen=True, kw_only=True)
class Board(Leaderboard):
    """Board: one ranking from many collections, with limits, rank sets, and groups.

    Estimand: the weighted mean over these collections of each run's mean score over infinitely many
    topics of each; topics are drawn within each collection. Runs that a collection lacks are named,
    and left out. The mean of a run's ranks in the collections (Borda) has no limits.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> cubes = {name: testing.simulate_cube(n_runs=6, seed=len(name)) for name in ("web", "news")}
    >>> analyse(cubes, Board(weights=("web=2",)), trials=200)["weight"].values.round(3).tolist()
    [0.333, 0.667]
    """

    name: ClassVar[str] = "board"
    n_collections: ClassVar[int] = ALL_COLLECTIONS
    examples = ("--seed 1", "--collections nq,fiqa --weights nq=2 --baseline RUN --seed 1")
    changed_options: ClassVar = {
        "collection": {
            "help": "Collections that are averaged over, separated by commas; all by default."
        }
    }

    collections: tuple[str, ...] = ()
    weights: tuple[str, ...] = option_field(
        (), "Weights of collections, such as nq=2,fiqa=0.5; 1 for others."
    )
    standardise: Literal["none", "z", "std-AB", "rank"] = option_field(
        "none",
        "Scores of each topic relative to those of all runs: z, std-AB (0.15 z + 0.5), or rank, "
        "the share of other runs with a lower score; or none.",
    )

    def table(self, cube: xr.Dataset) -> Table:
        weights = read_weights(self.weights)
        collections = np.unique(cube.coords.get(names.COLLECTION, "")).tolist()
        for name in sorted(set(weights) - set(collections)):
            raise BadPlan(f"{option('weights')}: no collection {name!r}", option="weights")
        if self.standardise == "none" and (other := cube.attrs.get(OTHER_RANGES)):
            raise BadPlan(
                f"the range of {other[0]} differs between collections; average its ranks or "
                f"standardised scores, by {option('standardise', 'rank')}, or declare one range",
                option="standardise",
            )
        if self.standardise == "rank":
            table = make_table(rank_shares(cube), weights=weights)
        elif self.standardise != "none":
            table = make_table(standardised(cube, self.standardise), weights=weights)
        else:
            table = make_table(cube, weights=weights)
        check_pairs(table, self.name, self.baseline)
        return replace(table, notes=(*cube.attrs.get(NOT_COMMON, []), *table.notes))

    def values(self, table: Table, totals: Totals) -> dict[str, Any]:
        return super().values(table, totals) | collection_values(table, self.alpha)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        facts = {"weights": list(self.weights), "standardise": self.standardise}
        labels = [part.name for part in table.strata]
        result = super().result(table, totals).assign_coords(collection=label_array(labels))
        return result.assign_attrs(collections=labels, **facts)


def collection_values(table: Table, alpha: float) -> dict[str, Any]:
    """Return the means of runs in each collection with limits, by cell; weights and sizes."""
    from scipy.stats import rankdata  # takes long to import

    means = np.stack([table.means_in(part) for part in table.strata], axis=1)
    limits = np.empty((*means.shape, 2))
    for cell, part, run in np.ndindex(means.shape):
        sample = table.samples(table.scores[cell, run])[part]
        limits[cell, part, run] = mean_limits([sample], table.ranges[cell], 1 - alpha)
    weights = np.array([part.weight for part in table.strata])
    ranks = rankdata(np.where(table.higher, -1.0, 1.0)[:, np.newaxis, np.newaxis] * means, axis=-1)
    return {
        "collection_mean": means,
        "collection_mean_low": limits[..., 0],
        "collection_mean_high": limits[..., 1],
        "mean_rank": np.average(ranks, axis=1, weights=weights),
        "weight": weights,
    }


def rank_shares(cube: xr.Dataset) -> xr.Dataset:
    """Return the share of other runs with a lower score on a topic, in place of scores."""
    from scipy.stats import rankdata  # takes long to import

    scores, n_metrics = cube[names.SCORE], cube.sizes[names.METRIC]
    ranks = rankdata(scores.values, axis=scores.get_axis_num(names.RUN))
    labels = [f"rank:{metric}" for metric in labels_of(cube, names.METRIC)]
    about: dict[str, Any] = {names.METRIC: label_array(labels)}
    about[names.SCORE_LOW] = (names.METRIC, np.zeros(n_metrics))
    about[names.SCORE_HIGH] = (names.METRIC, np.ones(n_metrics))
    shares = (scores.dims, (ranks - 1) / (cube.sizes[names.RUN] - 1))
    return cube.assign({names.SCORE: shares}).assign_coords(about)


def read_weights(words: Sequence[str]) -> dict[str, float]:
    """Return weights of collections from words such as ``nq=2``; BadPlan for others."""
    weights: dict[str, float] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            weights[name] = np.nan
        if not (name and 0 < weights[name] < np.inf):
            raise BadPlan(
                f"{option('weights', word)}: expected a collection and a number above 0, "
                "such as nq=2",
                option="weights",
            )
    return weights
