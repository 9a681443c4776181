"""Boards: one ranking by the weighted mean over several collections."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.along_topics import OTHER_RANGES, in_board_order, join_selected
from scorecube.analyses.differences import least_of
from scorecube.analyses.pairs import check_pairs
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import Groups, Totals
from scorecube.analyses.table import ScoreTable
from scorecube.collection.judgement_sets import NOT_COMMON
from scorecube.collection.schema import label_array, labels_of
from scorecube.collection.selection import standardise as standardised
from scorecube.collection.teams import listed
from scorecube.declare import View, option_field
from scorecube.errors import BadPlan, option
from scorecube.methods.leaderboard.record import Leaderboard
from scorecube.methods.leaderboard.view import RUNS_OF_SEVERAL
from scorecube.statistics.intervals import FEW, mean_limits
from scorecube.statistics.rank_sets import average_ranks, with_equals


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
    view: ClassVar[View] = RUNS_OF_SEVERAL
    in_demo: ClassVar[Mapping[str, Any] | None] = None
    joins: ClassVar[bool] = True
    unused: ClassVar[tuple[str, ...]] = ("top_runs", "by")
    examples = ("--seed 1", "--collections nq,fiqa --weights nq=2 --baseline RUN --seed 1")

    collections: tuple[str, ...] = ()
    weights: tuple[str, ...] = option_field(
        (), "Weights of collections, such as nq=2,fiqa=0.5; 1 for others."
    )
    standardise: Literal["none", "z", "std-AB", "rank"] = option_field(
        "none",
        "Scores of each topic relative to those of all runs: z, std-AB (0.15 z + 0.5, cut at 0 and "
        "1), or rank, the share of other runs with a lower score; or none.",
    )

    def grouped(self, collections: Sequence[str], *, named: bool = True) -> Groups:
        group = in_board_order(collections)
        return Groups(replace(self, collections=tuple(group)), [group])

    def join(
        self,
        cubes: Mapping[str, xr.Dataset],
        rankings: Mapping[str, xr.Dataset],
        selection: Mapping[str, Any],
    ) -> xr.Dataset:
        """Return the selected scores, joined along topic; BadPlan for top runs."""
        return join_selected(cubes, selection, self.name)

    def table(self, cube: xr.Dataset) -> ScoreTable:
        weights = read_weights(self.weights)
        scores = cube
        for name in weights.keys() - set(np.unique(cube.coords.get(names.COLLECTION, ""))):
            raise BadPlan(f"{option('weights')}: no collection {name!r}", option="weights")
        if self.standardise == "rank":
            scores = rank_shares(cube)
        elif self.standardise != "none":
            scores = standardised(cube, self.standardise)
        elif other := cube.attrs.get(OTHER_RANGES):
            raise BadPlan(
                f"the range of {other[0]} differs between collections; average its ranks or "
                f"standardised scores, by {option('standardise', 'rank')}, or declare one range",
                option="standardise",
            )
        table = make_table(scores, weights=weights)
        check_pairs(table, self.name, self.baseline, least_units=1)
        notes = (*cube.attrs.get(NOT_COMMON, []), *small_notes(table), *table.notes)
        return replace(table, notes=notes)

    def values(self, table: ScoreTable, totals: Totals) -> dict[str, Any]:
        means = np.stack([table.means_in(part) for part in table.strata], axis=1)
        limits = np.array(
            [
                [mean_limits([of], ends, 1 - self.alpha) for of in table.samples(scores)]
                for scores, ends in zip(table.scores, table.ranges, strict=True)
            ]
        )
        weights = np.array([part.weight for part in table.strata])
        ranks = np.empty(means.shape)
        for cell, collection in np.ndindex(means.shape[:2]):
            equal = with_equals(means[cell, collection], least_of(table, cell))
            ranks[cell, collection] = average_ranks(-equal if table.higher[cell] else equal)
        return super().values(table, totals) | {
            "collection_mean": means,
            "collection_mean_low": limits[:, :, 0],
            "collection_mean_high": limits[:, :, 1],
            "mean_rank": np.average(ranks, axis=1, weights=weights),
            "weight": weights,
        }

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        labels = [part.name for part in table.strata]
        result = super().result(table, totals).assign_coords(collection=label_array(labels))
        facts = {"weights": list(self.weights), "standardise": self.standardise}
        return result.assign_attrs(collections=labels, **facts)


def small_notes(table: ScoreTable) -> list[str]:
    """Return which collections are small, and what leaves them out."""
    small = [part for part in table.strata if part.size() < FEW]
    if not small or len(small) == len(table.strata):
        return []
    sizes = listed([f"{part.name} ({part.size()})" for part in small])
    single = any(part.size() < 2 for part in small)
    fate = "means over collections have no limits" if single else "limits are wide"
    others = [part.name for part in table.strata if part not in small]
    without = option("collections", others)
    topics = f"fewer than {FEW} {table.nouns.topics} of {sizes}"
    return [f"{topics}: {fate}; {without} leaves {'it' if len(small) == 1 else 'them'} out"]


def rank_shares(cube: xr.Dataset) -> xr.Dataset:
    """Return the share of other runs with a lower score on a topic, in place of scores."""
    scores = cube[names.SCORE]
    labels = labels_of(cube, names.METRIC)
    along = scores.get_axis_num(names.RUN)
    ranks = np.apply_along_axis(average_ranks, along, scores.values)
    about = {
        names.METRIC: label_array([f"rank:{metric}" for metric in labels]),
        names.SCORE_LOW: (names.METRIC, np.zeros(len(labels))),
        names.SCORE_HIGH: (names.METRIC, np.ones(len(labels))),
    }
    shares = (scores.dims, (ranks - 1) / (cube.sizes[names.RUN] - 1))
    return cube.assign({names.SCORE: shares}).assign_coords(about)


def read_weights(words: Sequence[str]) -> dict[str, float]:
    """Return weights of collections from words such as ``nq=2``; BadPlan for others."""
    weights = {}
    for word in words:
        match = re.fullmatch(r"(.+)=(\d*\.?\d+)", word)
        if match is None or float(match[2]) == 0:
            wanted = "expected a collection and a number above 0, such as nq=2"
            raise BadPlan(f"{option('weights', word)}: {wanted}", option="weights")
        weights[match[1]] = float(match[2])
    return weights
