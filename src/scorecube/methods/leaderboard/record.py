"""Leaderboards: means of runs with limits, rank sets, groups, a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pairs import binary_notes, check_pairs
from scorecube.analyses.preparation import make_table
from scorecube.analyses.protocol import Analysis, Part, Totals
from scorecube.analyses.rank_sets import OF_RANKS
from scorecube.analyses.step_down import (
    bytes_of_families,
    critical_value,
    families_of,
    maxima_block,
)
from scorecube.analyses.table import ScoreTable, by_cell
from scorecube.collection.schema import label_array
from scorecube.declare import Variable, View, along, limits_of, option_field
from scorecube.methods.leaderboard import rows as rows_of
from scorecube.methods.leaderboard.view import RUNS_OF_ONE

VARIABLES = (
    *along(
        ("metric", "gain", "run"),
        Variable("mean", "estimate", "mean score of a run", "score"),
        limits_of("mean", "limit of the mean, of this run by itself", "score"),
        Variable(
            "limits_reason",
            "label",
            "why the mean has no limits; empty where it has some",
            kinds="O",
        ),
        Variable("leads", "flag", "whether no run has a better mean"),
        *OF_RANKS,
        Variable(
            "groups",
            "label",
            "groups of a run: letters, or numbers where there are more than letters",
        ),
        Variable("difference", "estimate", "mean minus that of the baseline", "score"),
        limits_of(
            "joint",
            "simultaneous limit of the difference, of all runs together",
            "score",
            of="difference",
        ),
        limits_of("difference", "95 % limit of the difference of the run by itself", "score"),
        Variable("p_baseline", "p_value", "adjusted p-value of the difference from the baseline"),
        Variable("better", "flag", "whether a run is significantly better than the baseline"),
        Variable("worse", "flag", "whether a run is significantly worse than the baseline"),
        Variable(
            "mean_rank",
            "estimate",
            "mean of the ranks in the collections (Borda); no limits hold",
            form=".2f",
        ),
    ),
    *along(
        ("metric", "gain"),
        limits_of(
            "leader",
            "limit of the mean of whichever run leads, chosen by its mean",
            "score",
            of="mean",
        ),
        Variable(
            "separated_neighbours",
            "count",
            "neighbours in the order of means that are separated",
            "pairs",
        ),
        Variable(
            "own_error_pairs",
            "count",
            "pairs that only their own errors would separate (t, Holm)",
            "pairs",
        ),
    ),
    *along(
        ("metric", "gain", "collection", "run"),
        Variable("collection_mean", "estimate", "mean score in a collection", "score"),
        limits_of("collection_mean", "limit of the mean in a collection", "score"),
    ),
    *along(("collection",), Variable("weight", "share", "weight of a collection")),
)


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Analysis):
    """Leaderboard: runs, best first, with limits of means, rank sets, and groups.

    Estimands: the mean score of each run over infinitely many topics like these, the rank of that
    mean, and the pairs of runs whose means differ. Limits of means hold for each run by itself;
    ``leader_low`` and ``leader_high`` for whichever run leads (the largest t of all runs). Rank
    sets hold together (step-down max-T over all pairs): a set begins after the runs that are found
    better, and ends before those that are found worse. Runs that share a group are not separated.
    Against a baseline: differences with limits of each and of all together, and adjusted
    p-values.

    References: Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91(1); Romano
    and Wolf 2005, Journal of the American Statistical Association 100.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> result = analyse(testing.simulate_cube(n_runs=6, seed=3), Leaderboard(), trials=200)
    >>> result["rank_low"].dims
    ('metric', 'gain', 'run')
    """

    name: ClassVar[str] = "leaderboard"
    in_demo: ClassVar[Mapping[str, Any] | None] = {}
    view: ClassVar[View] = RUNS_OF_ONE
    variables: ClassVar[tuple[Variable, ...]] = VARIABLES
    references: ClassVar[tuple[str, ...]] = ("mogstad2024",)
    default_trials: ClassVar[int] = 10_000
    examples: ClassVar[tuple[str, ...]] = ("--seed 1", "--baseline RUN --seed 1")

    alpha: float = option_field(0.05, "1 - confidence of rank sets and limits.", above=0, below=1)
    baseline: str | None = option_field(
        None, "Run that all others are compared with; none by default."
    )

    def table(self, cube: xr.Dataset) -> ScoreTable:
        return check_pairs(make_table(cube), self.name, self.baseline, least_units=1)

    def notes(self, table: ScoreTable) -> list[str]:
        # Pairs that differ on fewer than 8 units are never separated: no number is refused.
        return binary_notes(table, refuse=False) + rows_of.few_notes(table)

    def bytes_needed(self, table: ScoreTable, threads: int) -> int:
        return super().bytes_needed(table, threads) + bytes_of_families(table, threads)

    def block(self, table: ScoreTable, start: int, stop: int) -> dict[str, Part]:
        families = families_of(table, dict.fromkeys([None, self.baseline]))
        return maxima_block(table, families, start, stop, rows_of.largest_of_means)

    def result(self, table: ScoreTable, totals: Totals) -> xr.Dataset:
        values = self.values(table, totals)
        attrs = {} if self.baseline is None else {"baseline": self.baseline}
        teams = {names.TEAM: (names.RUN, label_array(table.teams or table.runs))}
        return table.dataset(VARIABLES, values, teams, {"alpha": self.alpha, **attrs})

    def values(self, table: ScoreTable, totals: Totals) -> dict[str, Any]:
        """Return all variables, by cell."""
        rows = []
        families = families_of(table, dict.fromkeys([None, self.baseline]))
        for cell, (every, *against) in enumerate(families):
            reached = totals["reached"][cell]
            n_pairs = len(every.first)
            p = (every.adjusted_counts(reached[:n_pairs], table.trials) + 1) / (table.trials + 1)
            critical = critical_value(totals["largest_t"][cell], self.alpha)
            row = rows_of.means(table, cell, critical, self.alpha)
            # A run whose mean has no limits may have any rank.
            unknown = np.isnan(row["mean_low"])
            p = np.where(unknown[every.first] | unknown[every.second], 1.0, p)
            row |= rows_of.ranks(table, cell, every, p, self.alpha)
            for family in against:
                critical = critical_value(totals["largest"][cell, 1], self.alpha)
                counts = family.adjusted_counts(reached[n_pairs:], table.trials)
                p = (counts + 1) / (table.trials + 1)
                row |= rows_of.baseline(table, cell, family, critical, p, self.alpha)
            rows.append(row)
        return by_cell(rows)
