"""Leaderboards, of one collection and of several: means with limits, ranks with sets, groups, differences from a baseline."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.leaderboard_quantities import BOARD_VARIABLES, VARIABLES
from scorecube.analyses.max_tests import block_bytes, families_of_cells, maxima_block, notes_on_few
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.pairs import check_pairs, pairs_with
from scorecube.analyses.protocol import Part, TableAnalysis, Totals
from scorecube.analyses.step_down import Family, critical_value, observe
from scorecube.analyses.table import Table, make_table
from scorecube.collection.run_pairs import pair_positions
from scorecube.statistics.intervals import Estimate, estimate, few_differ, logit_limits, mean_limits
from scorecube.statistics.multiple_testing import adjusted
from scorecube.statistics.rank_sets import competition_ranks, groups_in_order, rank_limits


@dataclass(frozen=True, kw_only=True)
class Leaderboard(TableAnalysis):
    """Leaderboard: runs, best first, with limits of means, rank sets, and groups.

    Estimands: the mean score of each run over infinitely many topics like these, the rank of that mean, and the pairs of runs whose means differ. Limits of
    means hold for each run by itself, those of the leader for whichever run leads (the largest t of all runs); rank sets hold together (step-down max-T over all
    pairs); runs that share a group are not separated. Against a baseline: differences with simultaneous limits and adjusted p-values.

    Notes
    -----
    The rank set of a run begins after the runs that are found better, and ends before those that are found worse. Runs whose means are equal over
    infinitely many topics share all ranks between them.

    References: Mogstad, Romano, Shaikh and Wilhelm 2024, Review of Economic Studies 91(1); Romano and Wolf 2005, Journal of the American Statistical
    Association 100.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Leaderboard(baseline="team01-run1"), trials=200, seed=1)
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

    def n_compared(self, cube: xr.Dataset) -> int:
        n_runs = cube.sizes[names.RUN]
        return math.comb(n_runs, 2) + (0 if self.baseline is None else n_runs - 1)

    def table(self, cube: xr.Dataset) -> Table:
        return self.checked(make_table(cube))

    def checked(self, table: Table) -> Table:
        """Return a table that can be compared; raise BadPlan or BadName for others."""
        check_pairs(table, self.name, self.baseline)
        return table

    def notes(self, table: Table) -> list[str]:
        return notes_on_few(table)

    def families(self, table: Table, cell: int) -> list[Family]:
        """Return the family of all pairs of a cell, and that of the pairs with the baseline."""
        every = observe(table, cell, pair_positions(len(table.runs)))
        if self.baseline is None:
            return [every]
        pairs = pairs_with(table.runs.index(self.baseline), len(table.runs))
        return [every, observe(table, cell, pairs, every.added)]

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        n_runs = len(table.runs)
        sizes = [math.comb(n_runs, 2), *([] if self.baseline is None else [n_runs - 1])]
        return maxima_block(table, sizes, self.families, start, stop, of_means=True)

    def block_bytes(self, table: Table) -> float:
        return block_bytes(table)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        values = self.values(table, totals)
        facts = {} if self.baseline is None else {"baseline": self.baseline}
        attrs = {"alpha": self.alpha, **facts}
        return table.dataset((*VARIABLES, *BOARD_VARIABLES), values, attrs=attrs)

    def values(self, table: Table, totals: Totals) -> dict[str, Any]:
        """Return all variables, by cell."""
        rows, trials = [], table.trials
        for cell, families in enumerate(families_of_cells(table, self.families)):
            stops = np.cumsum([len(family.first) for family in families])
            reached = np.split(totals["reached"][cell], stops[:-1])
            row = self.means(table, cell, totals["largest_t"][cell])
            row |= self.ranks(table, cell, families[0], families[0].adjusted(reached[0], trials))
            if self.baseline is not None:
                p = families[1].adjusted(reached[1], trials)
                row |= self.differences(table, cell, families[1], p, totals["largest"][cell, 1])
            rows.append(row)
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

    def means(self, table: Table, cell: int, largest: Any) -> dict[str, Any]:
        """Return the means of the runs of a cell with limits, those of leaders over all runs."""
        ends, confidence = table.ranges[cell], 1 - self.alpha
        mean = table.means[cell]
        samples = [table.samples(scores) for scores in table.scores[cell]]
        low, high = np.array([mean_limits(each, ends, confidence) for each in samples]).T
        best = competition_ranks(_directed(table, cell, mean)) == 1
        critical = critical_value(largest, self.alpha)
        for run in np.flatnonzero(best):
            if ends is not None and few_differ(samples[run], ends[1] - ends[0]):
                alone = 1 - self.alpha / len(mean)
                low[run], high[run] = mean_limits(samples[run], ends, alone)
                continue
            found: Estimate = estimate(samples[run])
            if ends is None:
                margin = critical * found.error
                low[run], high[run] = found.mean - margin, found.mean + margin
            else:
                low[run], high[run] = logit_limits(found.mean, found.error, critical, ends)
        return {"mean": mean, "mean_low": low, "mean_high": high, "leads": best}

    def ranks(self, table: Table, cell: int, family: Family, p: Any) -> dict[str, Any]:
        """Return ranks, rank sets and groups of the runs of a cell."""
        n_runs = len(table.runs)
        ahead = _directed(table, cell, family.difference)
        better = np.where(ahead > 0, family.first, family.second)
        worse = np.where(ahead > 0, family.second, family.first)
        decided = (p < self.alpha) & (ahead != 0)
        low, high = rank_limits(better[decided], worse[decided], n_runs)
        values = _directed(table, cell, _exact_means(table, cell))
        order = np.argsort(-values, kind="stable")
        begin, end = groups_in_order(order, better[decided], worse[decided])
        separated = begin[order[1:]] > end[order[:-1]]
        return {
            "rank": competition_ranks(values),
            "rank_low": low,
            "rank_high": high,
            "group_first": begin,
            "group_last": end,
            "separated_neighbours": np.int32(separated.sum()),
            "own_error_pairs": np.int32((self.by_own_errors(table, family) & ~decided).sum()),
        }

    def by_own_errors(self, table: Table, family: Family) -> Any:
        """Return which pairs Student's t, adjusted by Holm, separates: bool (pair,)."""
        from scipy.special import stdtr

        freedom = min(part.size() for part in table.strata) - 1
        with np.errstate(divide="ignore", invalid="ignore"):
            t = np.abs(family.difference) / np.sqrt(family.variance)
        return adjusted(np.where(family.varied, 2 * stdtr(freedom, -t), 1.0), "holm") < self.alpha

    def differences(
        self, table: Table, cell: int, family: Family, p: Any, largest: Any
    ) -> dict[str, Any]:
        """Return the differences of the runs of a cell from the baseline, with simultaneous limits, wins, ties and losses."""
        base, others = family.second[0], family.first
        unit, n_runs = table.grids[cell].unit, len(table.runs)
        critical = np.sqrt(critical_value(largest, self.alpha))
        margin = critical * np.sqrt(family.variance + family.added) * unit
        margin[~family.varied] = np.nan
        difference = table.means[cell] - table.means[cell, base]
        found = {name: np.full(n_runs, np.nan) for name in ("low", "high", "p")}
        found["low"][others] = difference[others] - margin
        found["high"][others] = difference[others] + margin
        found["p"][others] = p
        moved = table.units[cell] - table.units[cell, base]
        better, tied = _directed(table, cell, moved) > 0, np.abs(moved) <= 1
        difference[base] = np.nan
        counts = [(better & ~tied).sum(axis=1), tied.sum(axis=1), (~better & ~tied).sum(axis=1)]
        return {
            "difference": difference,
            "difference_low": found["low"],
            "difference_high": found["high"],
            "p_baseline": found["p"],
            **dict(zip(("wins", "ties", "losses"), np.array(counts, np.int32), strict=True)),
        }


def _directed(table: Table, cell: int, values: Any) -> Any:
    """Return values of which larger ones are better."""
    return values if table.higher[cell] else -values


def _exact_means(table: Table, cell: int) -> Any:
    """Return the means of runs in units of the grid: equal scores have equal means."""
    parts = [
        part.weight * table.units[cell][:, part.units].sum(axis=1) / part.size()
        for part in table.strata
    ]
    return sum(parts)
