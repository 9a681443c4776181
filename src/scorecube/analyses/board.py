"""Boards: leaderboards of the weighted mean over collections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.leaderboard import Leaderboard
from scorecube.analyses.leaderboard_rows import collection_rows
from scorecube.analyses.options import option_field
from scorecube.analyses.pairs import check_pairs
from scorecube.analyses.protocol import ALL_COLLECTIONS, Totals
from scorecube.analyses.table import Table, make_table
from scorecube.collection import schema
from scorecube.collection.judgement_sets import NOT_COMMON
from scorecube.collection.many_collections import OTHER_RANGES
from scorecube.collection.selection import standardise as standardised
from scorecube.errors import BadPlan, option


@dataclass(frozen=True, kw_only=True)
class Board(Leaderboard):
    """Board: one ranking from many collections, with limits, rank sets, and groups.

    A leaderboard of the weighted means over collections. Estimand: the weighted mean over these
    collections of each run's mean score over infinitely many topics of each; topics are drawn
    within each collection. Runs that a collection lacks are named, and left out. The mean of a
    run's ranks in the collections (Borda) has no limits, as none are known to hold.

    Examples
    --------
    >>> from scorecube import join_collections
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> web, news = simulate_cube(n_runs=6, seed=3), simulate_cube(n_runs=6, seed=4)
    >>> joined = join_collections({"web": web, "news": news.isel(topic=slice(20))})
    >>> result = analyse(joined, Board(weights=("web=2",)), trials=200, seed=1)
    >>> result["collection_mean"].sizes["collection"], result["weight"].values.round(3).tolist()
    (2, [0.333, 0.667])
    """

    name: ClassVar[str] = "board"
    n_collections: ClassVar[int] = ALL_COLLECTIONS
    examples: ClassVar[tuple[str, ...]] = (
        "--seed 1",
        "--collections nq,fiqa --weights nq=2 --baseline RUN --seed 1",
    )
    changed_options: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "collection": {
            "help": "Collections that are averaged over, separated by commas; all by default."
        }
    }

    collections: tuple[str, ...] = option_field(
        (), "Collections, in their order.", may_be_empty=True, on_command_line=False
    )
    weights: tuple[str, ...] = option_field(
        (),
        "Weights of collections, such as nq=2,fiqa=0.5; 1 for others.",
        detail="Divided by their sum.",
        may_be_empty=True,
    )
    standardise: Literal["none", "z", "std-AB", "rank"] = option_field(
        "none",
        "Scores of each topic relative to those of all runs: z, std-AB (0.15 z + 0.5), or rank, "
        "the share of other runs with a lower score; or none.",
        detail="For collections whose scores have different scales.",
    )

    def table(self, cube: xr.Dataset) -> Table:
        weights = read_weights(self.weights)
        known = sorted(set(np.unique(cube.coords.get(names.COLLECTION, "")).tolist()))
        if unknown := sorted(set(weights) - set(known)):
            raise BadPlan(
                f"{option('weights')}: no collection {unknown[0]!r}; there are {', '.join(known)}",
                option="weights",
            )
        if self.collections and set(self.collections) != set(known):
            raise BadPlan(
                f"the collections of the cube are {', '.join(known)}; "
                f"the plan is for {', '.join(self.collections)}"
            )
        table = make_table(self.standardised(cube), weights=weights)
        check_pairs(table, self.name, self.baseline)
        return replace(table, notes=(*cube.attrs.get(NOT_COMMON, []), *table.notes))

    def standardised(self, cube: xr.Dataset) -> xr.Dataset:
        """Return the scores that are averaged."""
        if self.standardise == "rank":
            return rank_shares(cube)
        if self.standardise != "none":
            return standardised(cube, self.standardise)
        if other := cube.attrs.get(OTHER_RANGES):
            raise BadPlan(
                f"the range of {other[0]} differs between collections; average its ranks or "
                f"standardised scores, by {option('standardise', 'rank')}, or declare one range",
                option="standardise",
            )
        return cube

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        weights = np.array([part.weight for part in table.strata])
        sizes = [table.sizes[part.units].sum() for part in table.strata]
        values = self.values(table, totals) | collection_rows(table, self.alpha)
        values["mean_rank"] = _mean_ranks(table, values["collection_mean"], weights)
        values |= {"weight": weights, "topics": np.array(sizes, np.int64)}
        labels = [part.name for part in table.strata]
        attrs = {"collections": labels, "weights": list(self.weights)}
        coords = {names.COLLECTION: schema.label_array(labels)}
        return self.labelled(table, values, coords, attrs | {"standardise": self.standardise})


def rank_shares(cube: xr.Dataset) -> xr.Dataset:
    """Return the share of other runs with a lower score on a topic, in place of scores."""
    from scipy.stats import rankdata  # takes long to import

    axis, n_metrics = cube[names.SCORE].get_axis_num(names.RUN), cube.sizes[names.METRIC]
    shares = (rankdata(cube[names.SCORE].values, axis=axis) - 1) / (cube.sizes[names.RUN] - 1)
    labels = [f"rank:{metric}" for metric in schema.labels_of(cube, names.METRIC)]
    return cube.assign({names.SCORE: (cube[names.SCORE].dims, shares)}).assign_coords(
        {
            names.METRIC: schema.label_array(labels),
            names.SCORE_LOW: (names.METRIC, np.zeros(n_metrics)),
            names.SCORE_HIGH: (names.METRIC, np.ones(n_metrics)),
        }
    )


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


def _mean_ranks(table: Table, means: Any, weights: Any) -> Any:
    """Return the weighted mean of the ranks in the collections, float64 (cell, run)."""
    from scipy.stats import rankdata

    sign = np.where(table.higher, -1.0, 1.0)[:, np.newaxis, np.newaxis]
    return np.average(rankdata(sign * means, axis=-1), axis=1, weights=weights)
