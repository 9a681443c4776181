"""Leaderboards: means with limits, ranks with sets, groups, differences from a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.leaderboard_quantities import VARIABLES, group_labels
from scorecube.analyses.leaderboard_rows import baseline_rows, mean_rows, rank_rows
from scorecube.analyses.max_statistics import block_bytes, families_of, maxima_block, notes_on_few
from scorecube.analyses.options import level_field, option_field
from scorecube.analyses.pair_results import Pairs
from scorecube.analyses.pairs import check_pairs, pairs_with
from scorecube.analyses.protocol import Analysis, Part, Totals
from scorecube.analyses.table import Table, make_table
from scorecube.collection.run_pairs import pair_positions
from scorecube.collection.schema import label_array


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
        return self.labelled(table, self.values(table, totals), {}, {})

    def labelled(
        self, table: Table, values: Any, coords: dict[str, Any], attrs: dict[str, Any]
    ) -> xr.Dataset:
        """Return a result with teams, and with further coordinates and attributes."""
        teams = {names.TEAM: (names.RUN, label_array(table.teams or table.runs))}
        facts: dict[str, Any] = {"alpha": self.alpha}
        facts |= {} if self.baseline is None else {"baseline": self.baseline}
        return table.dataset(VARIABLES, values, teams | coords, facts | attrs)

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
            row = mean_rows(table, cell, totals["largest_t"][cell], self.alpha)
            row |= rank_rows(table, cell, families[0], p[0], self.alpha)
            if self.baseline is not None:
                largest = totals["largest"][cell, 1]
                row |= baseline_rows(
                    table, cell, families[1], p[1], largest, row["rank"], self.alpha
                )
            rows.append(row)
        values = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        return values | {"groups": group_labels(values["group_first"], values["group_last"])}
