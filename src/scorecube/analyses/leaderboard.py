"""Leaderboards: means with limits, ranks with sets, groups, differences from a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.leaderboard_quantities import VARIABLES, group_labels
from scorecube.analyses.max_statistics import (
    Family,
    block_bytes,
    critical_value,
    families_of,
    maxima_block,
    notes_on_few,
)
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.pair_results import Pairs
from scorecube.analyses.pairs import check_pairs, pairs_with
from scorecube.analyses.protocol import Analysis, Part, Totals
from scorecube.analyses.table import Table, make_table
from scorecube.collection.run_pairs import pair_positions
from scorecube.collection.schema import label_array
from scorecube.statistics.intervals import estimate, few_differ, logit_limits, mean_limits
from scorecube.statistics.rank_sets import competition_ranks, groups_in_order, rank_limits


@dataclass(frozen=True, kw_only=True)
class Leaderboard(Analysis):
    """Leaderboard: runs, best first, with limits of means, rank sets, and groups.

    Estimands: the mean score of each run over infinitely many topics like these, the rank of that
    mean, and the pairs of runs whose means differ. Limits of means hold for each run by itself,
    those of the leader for whichever run leads (the largest t of all runs). Rank sets hold together
    (step-down max-T over all pairs): a set begins after the runs that are found better, and ends
    before those that are found worse. Runs that share a group are not separated. Against a
    baseline: differences with simultaneous limits and adjusted p-values.

    References: Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91(1); Romano
    and Wolf 2005, Journal of the American Statistical Association 100.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> board = Leaderboard(baseline="team01-run1")
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), board, trials=200, seed=1)
    >>> result["rank_low"].dims, bool((result["mean_low"] < result["mean"]).all())
    (('metric', 'gain', 'run'), True)
    """

    name: ClassVar[str] = "leaderboard"
    default_trials: ClassVar[int] = 10_000
    examples: ClassVar[tuple[str, ...]] = ("--seed 1", "--baseline RUN --seed 1")

    alpha: float = level_field(
        names.ALPHA, 0.05, "1 - confidence of rank sets and limits.", finalize=True
    )
    baseline: str | None = option_field(
        None, "Run that all others are compared with; none by default."
    )

    def table(self, cube: xr.Dataset) -> Table:
        table = make_table(cube)
        check_pairs(table, self.name, self.baseline)
        return table

    def notes(self, table: Table) -> list[str]:
        return notes_on_few(table)

    def pair_sets(self, table: Table) -> list[Pairs]:
        """Return all pairs, and the pairs with the baseline if there is one."""
        every = pair_positions(len(table.runs))
        if self.baseline is None:
            return [every]
        return [every, pairs_with(table.runs.index(self.baseline), len(table.runs))]

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        return maxima_block(table, self.pair_sets(table), start, stop, of_means=True)

    def block_bytes(self, table: Table) -> float:
        return block_bytes(table)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        facts = {} if self.baseline is None else {"baseline": self.baseline}
        coords = {names.TEAM: (names.RUN, label_array(table.teams or table.runs))}
        values = self.values(table, totals)
        return table.dataset(VARIABLES, values, coords, {"alpha": self.alpha, **facts})

    def values(self, table: Table, totals: Totals) -> dict[str, Any]:
        """Return all variables, by cell."""
        rows = []
        for cell, families in enumerate(families_of(table, self.pair_sets(table))):
            stops = np.cumsum([len(family.first) for family in families])
            p = [
                (family.adjusted_counts(reached, table.trials) + 1) / (table.trials + 1)
                for family, reached in zip(
                    families, np.split(totals["reached"][cell], stops[:-1]), strict=True
                )
            ]
            row = self.means(table, cell, totals["largest_t"][cell])
            row |= self.ranks(table, cell, families[0], p[0])
            if self.baseline is not None:
                largest = totals["largest"][cell, 1]
                row |= self.differences(table, cell, families[1], p[1], largest, row["rank"])
            rows.append(row)
        values = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        return values | {"groups": group_labels(values["group_first"], values["group_last"])}

    def means(self, table: Table, cell: int, largest: Any) -> dict[str, Any]:
        """Return the means of the runs of a cell with limits, those of leaders over all runs."""
        ends, mean = table.ranges[cell], table.means[cell]
        samples = [table.samples(scores) for scores in table.scores[cell]]
        limits = np.array([mean_limits(sample, ends, 1 - self.alpha) for sample in samples])
        leads = competition_ranks(_directed(table, cell, mean)) == 1
        critical = critical_value(largest, self.alpha)
        for run in np.flatnonzero(leads):
            found = estimate(samples[run])
            if ends is None:
                margin = critical * found.error
                limits[run] = found.mean - margin, found.mean + margin
            elif few_differ(samples[run], ends[1] - ends[0]):
                limits[run] = mean_limits(samples[run], ends, 1 - self.alpha / len(mean))
            else:
                limits[run] = logit_limits(found.mean, found.error, critical, ends)
        return {"mean": mean, "mean_low": limits[:, 0], "mean_high": limits[:, 1], "leads": leads}

    def ranks(self, table: Table, cell: int, family: Family, p: Any) -> dict[str, Any]:
        """Return ranks, rank sets and groups of the runs of a cell."""
        ahead = _directed(table, cell, family.difference)
        decided = (p < self.alpha) & (ahead != 0)
        better = np.where(ahead > 0, family.first, family.second)[decided]
        worse = np.where(ahead > 0, family.second, family.first)[decided]
        low, high = rank_limits(better, worse, len(table.runs))
        # On the grid: equal scores have equal means.
        means = sum(
            part.weight * table.units[cell][:, part.units].sum(axis=1) / part.size()
            for part in table.strata
        )
        values = _directed(table, cell, means)
        order = np.argsort(-values, kind="stable")
        begin, end = groups_in_order(order, better, worse)
        return {
            "rank": competition_ranks(values),
            "rank_low": low,
            "rank_high": high,
            "group_first": begin,
            "group_last": end,
            "separated_neighbours": np.int32((begin[order[1:]] > end[order[:-1]]).sum()),
            "own_error_pairs": np.int32((family.by_own_errors(self.alpha) & ~decided).sum()),
        }

    def differences(
        self, table: Table, cell: int, family: Family, p: Any, largest: Any, rank: Any
    ) -> dict[str, Any]:
        """Return the differences of the runs of a cell from the baseline, with simultaneous limits."""
        base, others = family.second[0], family.first
        critical = np.sqrt(critical_value(largest, self.alpha))
        margin = critical * np.sqrt(family.variance + family.added) * table.grids[cell].unit
        margin = np.where(family.varied, margin, np.nan)
        difference = table.means[cell] - table.means[cell, base]
        difference[base] = np.nan
        low, high, p_baseline = np.full((3, len(table.runs)), np.nan)
        low[others], high[others] = difference[others] - margin, difference[others] + margin
        p_baseline[others] = p
        moved = _directed(table, cell, table.units[cell] - table.units[cell, base])
        with np.errstate(invalid="ignore"):
            significant = p_baseline < self.alpha
        return {
            "difference": difference,
            "difference_low": low,
            "difference_high": high,
            "p_baseline": p_baseline,
            "better": significant & (rank < rank[base]),
            "worse": significant & (rank > rank[base]),
            "wins": np.int32((moved > 1).sum(axis=1)),
            "ties": np.int32((np.abs(moved) <= 1).sum(axis=1)),
            "losses": np.int32((moved < -1).sum(axis=1)),
        }


def _directed(table: Table, cell: int, values: Any) -> Any:
    """Return values of which larger ones are better."""
    return values if table.higher[cell] else -values
