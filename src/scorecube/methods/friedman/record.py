"""Friedman: mean ranks of runs over collections or topics, and which of them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal

import numpy as np
import scipy
import xarray as xr

from scorecube import names
from scorecube.analyses.along_topics import in_board_order, join_selected
from scorecube.analyses.differences import RunPairs, least_of
from scorecube.analyses.pairs import check_pairs, pair_labels, pairs_of
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import Analysis, Groups, Totals
from scorecube.analyses.table import ScoreTable, by_cell
from scorecube.analyses.topic_units import FloatArray
from scorecube.collection.judgement_sets import NOT_COMMON
from scorecube.collection.schema import CELL, label_array, labels_of
from scorecube.collection.teams import listed
from scorecube.declare import Variable, View, along, option_field
from scorecube.errors import BadPlan, counted, option
from scorecube.methods.friedman import mean_ranks
from scorecube.methods.friedman.mean_ranks import MOST_SYSTEMS
from scorecube.methods.friedman.view import VIEW
from scorecube.statistics.paired_tests import holm
from scorecube.statistics.rank_sets import competition_ranks, group_names, groups_in_order

COLLECTIONS: Final = "collections"
TOPICS: Final = "topics"
VARIABLES = (
    *along(
        (*CELL, "run"),
        Variable("mean_rank", "estimate", "mean rank over blocks; mid-ranks of ties", form=".2f"),
        Variable("rank", "estimate", "rank of the mean rank, 1 the best", kinds="iu"),
        Variable("mean", "estimate", "mean score of a run over topics", "score", ".3f"),
        Variable("groups", "label", "groups of runs that Nemenyi's test does not separate"),
        Variable("z", "statistic", "mean rank less that of the baseline, in standard errors"),
        Variable(
            "p_baseline",
            "p_value",
            "of the difference from the baseline, two-sided, Holm",
            heading="p (Holm)",
        ),
    ),
    *along(
        (*CELL, "collection", "run"),
        Variable("block_rank", "estimate", "rank in a collection", form=".1f"),
    ),
    *along(
        CELL,
        Variable("chi_squared", "statistic", "Friedman's chi-squared, corrected for ties"),
        Variable("p_chi_squared", "p_value", "p-value of chi-squared"),
        Variable("f", "statistic", "Iman and Davenport's F; missing where all blocks agree"),
        Variable("p_value", "p_value", "p-value of F; where all blocks agree that of agreement"),
        Variable("concordance", "estimate", "Kendall's W: agreement of the blocks", form=".3f"),
        Variable(
            "critical_difference", "estimate", "of mean ranks, at alpha (Nemenyi)", form=".3f"
        ),
        Variable("n_blocks", "count", "blocks", "blocks"),
    ),
    *along(
        (*CELL, "pair"),
        Variable("rank_difference", "estimate", "mean rank less that of the second", form=".2f"),
        Variable("p_nemenyi", "p_value", "of the difference, all pairs together (Nemenyi)"),
        Variable("p_holm", "p_value", "of the difference, two-sided, all pairs together (Holm)"),
    ),
)


@dataclass(frozen=True, kw_only=True)
class Friedman(Analysis):
    """Friedman test of mean ranks over collections or topics, critical differences (Nemenyi).

    Runs are ranked in each block, a collection or a topic. Estimand: the expected rank among these
    runs in other blocks; that all are equal is tested by Friedman's chi-squared and by Iman and
    Davenport's F. Pairs of runs are separated by Nemenyi's test, all together; against a baseline,
    by z with Holm's adjustment, as in Demsar 2006. Of few blocks the tests are rough, and mean
    ranks of two runs depend on the other runs: ``board`` has differences of means over
    collections with limits, ``tukey`` those over topics.

    Examples
    --------
    >>> from scorecube import Friedman, analyse, testing
    >>> result = analyse(testing.simulate_cube(n_runs=5, seed=3), Friedman())
    >>> result["mean_rank"].isel(metric=0, gain=0).sum().item()
    15.0
    """

    name: ClassVar[str] = "friedman"
    view: ClassVar[View] = VIEW
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("demsar2006", "iman1980")
    joins: ClassVar[bool] = True
    resamples: ClassVar[bool] = False
    unused: ClassVar[tuple[str, ...]] = ("bags",)
    examples: ClassVar[tuple[str, ...]] = ("--baseline RUN", "--blocks topics --collection web")

    collections: tuple[str, ...] = ()
    blocks: Literal["auto", "collections", "topics"] = option_field(
        "auto",
        "What runs are ranked in: collections, where there are two or more, or the topics of each.",
    )
    alpha: float = option_field(0.05, "Level of critical differences.", above=0, below=1)
    baseline: str | None = option_field(
        None, "Run that all others are compared with; none by default."
    )

    def grouped(self, collections: Sequence[str], *, named: bool = True) -> Groups:
        several = len(collections) > 1
        if self.blocks == COLLECTIONS and not several:
            text = f"{option('blocks', COLLECTIONS)} takes two or more collections; there is one"
            raise BadPlan(f"{text}: {option('blocks', TOPICS)}", option="blocks")
        if self.blocks == TOPICS or not several:
            return Groups(replace(self, blocks=TOPICS), [[name] for name in collections])
        group = in_board_order(collections)
        return Groups(replace(self, blocks=COLLECTIONS, collections=tuple(group)), [group])

    def join(
        self,
        cubes: Mapping[str, xr.Dataset],
        rankings: Mapping[str, xr.Dataset],
        selection: Mapping[str, Any],
    ) -> xr.Dataset:
        """Return the selected scores; BadPlan for a run that some collection lacks."""
        if len(cubes) == 1:
            return super().join(cubes, rankings, selection)
        known = {name: set(labels_of(cube, names.RUN)) for name, cube in cubes.items()}
        wanted = set.union(*known.values())
        wanted &= set(selection.get("runs") or wanted)
        for name, runs in known.items():
            if wanted > runs & wanted:
                way = f"leave {name} out with {option('collections')}, or name others with "
                lacking = listed(sorted(wanted - runs))
                raise BadPlan(f"{name} has no scores of {lacking}: {way}{option('runs')}")
        return join_selected(cubes, selection, self.name)

    def table(self, cube: xr.Dataset) -> ScoreTable:
        if names.COLLECTION not in cube.coords and self.blocks == COLLECTIONS:
            raise BadPlan(f"{option('blocks', COLLECTIONS)} takes the cubes of several collections")
        table = make_table(cube, bags=False, on_grid=False)
        table = check_pairs(table, self.name, self.baseline, least_units=1)
        n_blocks = len(table.strata) if len(table.strata) > 1 else table.sizes.size
        if n_blocks < 2:
            raise BadPlan(f"{self.name} needs 2 blocks; found {counted(n_blocks, 'topic')}")
        notes = [*cube.attrs.get(NOT_COMMON, []), *table.notes]
        if len(table.runs) > MOST_SYSTEMS:
            notes.append(f"more than {MOST_SYSTEMS} {table.nouns.runs}: without Nemenyi's test")
        return replace(table, notes=tuple(notes))

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        over_collections = len(table.strata) > 1
        pairs = pairs_of(table.runs)
        ranks = [ranks_in(table, cell) for cell in range(len(table.scores))]
        values = self.values(np.stack(ranks), pairs, table.runs)
        labels = pair_labels(table.runs, pairs)
        blocks = COLLECTIONS if over_collections else TOPICS
        facts: dict[str, Any] = {"trials": 0, "alpha": self.alpha, "blocks": blocks}
        if self.baseline is not None:
            facts["baseline"] = self.baseline
        if over_collections:
            collections = [part.name for part in table.strata]
            labels[names.COLLECTION] = label_array(collections)
            facts["collections"] = collections
            values["block_rank"] = np.swapaxes(ranks, 1, 2)
        else:
            values["mean"] = table.means
        return table.dataset(VARIABLES, values, labels, facts)

    def values(self, ranks: FloatArray, pairs: RunPairs, runs: Sequence[str]) -> dict[str, Any]:
        """Return all variables by cell, of ranks (cell, run, block)."""
        first, second = pairs
        _, k, n = ranks.shape
        of_runs = ranks.mean(axis=2)
        apart = of_runs[:, first] - of_runs[:, second]
        p = mean_ranks.nemenyi_p(np.abs(apart), k, n)
        rows = []
        for of_cell, mean, separated in zip(ranks, of_runs, p < self.alpha, strict=True):
            order = np.argsort(mean, kind="stable")
            begin, end = groups_in_order(order, first[separated], second[separated])
            groups = group_names(begin, end) if k <= MOST_SYSTEMS else np.full(k, "", object)
            row = mean_ranks.friedman_test(of_cell)._asdict()
            row |= {"rank": competition_ranks(-mean), "groups": groups, "n_blocks": n}
            if self.baseline is not None:
                row |= against(mean, runs.index(self.baseline), n)
            rows.append(row)
        return by_cell(rows) | {
            "mean_rank": of_runs,
            "critical_difference": np.full(
                len(ranks), mean_ranks.critical_difference(k, n, self.alpha)
            ),
            "rank_difference": apart,
            "p_nemenyi": p,
            "p_holm": holm_p(apart / mean_ranks.rank_error(k, n)),
        }


def ranks_in(table: ScoreTable, cell: int) -> FloatArray:
    """Return the ranks of the runs of a cell in each block, (run, block)."""
    scores = table.scores[cell]
    if len(table.strata) > 1:
        scores = np.stack([table.means_in(part)[cell] for part in table.strata], axis=1)
    return mean_ranks.block_ranks(scores if table.higher[cell] else -scores, least_of(table, cell))


def against(of_runs: FloatArray, base: int, n: int) -> dict[str, FloatArray]:
    """Return z of each run against the baseline, and p-values after Holm; missing of itself."""
    z = (of_runs - of_runs[base]) / mean_ranks.rank_error(len(of_runs), n)
    others = np.delete(z, base)
    return {
        "z": np.insert(others, base, np.nan),
        "p_baseline": np.insert(holm_p(others), base, np.nan),
    }


def holm_p(z: FloatArray) -> FloatArray:
    """Return two-sided p-values of z, (..., test), after Holm's adjustment (Demsar 2006, 3.2.2)."""
    return holm(np.maximum(2 * scipy.special.ndtr(-np.abs(z)), mean_ranks.LEAST_P))
