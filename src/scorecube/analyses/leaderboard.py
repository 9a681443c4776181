"""Leaderboards: means with limits, ranks with sets, groups, differences from a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.few_topics import check_pairs, family_notes
from scorecube.analyses.leaderboard_rows import (
    VARIABLES,
    baseline_rows,
    group_labels,
    mean_rows,
    rank_rows,
)
from scorecube.analyses.maxima import critical_value, maxima_block
from scorecube.analyses.options import option_field
from scorecube.analyses.protocol import Analysis, Part, Totals
from scorecube.analyses.step_down import Family, families_of
from scorecube.analyses.table import Table, make_table
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
    >>> from scorecube import analyse, testing
    >>> result = analyse(testing.simulate_cube(n_runs=6, seed=3), Leaderboard(), trials=200)
    >>> result["rank_low"].dims
    ('metric', 'gain', 'run')
    """

    name: ClassVar[str] = "leaderboard"
    default_trials: ClassVar[int] = 10_000
    examples: ClassVar[tuple[str, ...]] = ("--seed 1", "--baseline RUN --seed 1")

    alpha: float = option_field(0.05, "1 - confidence of rank sets and limits.", above=0, below=1)
    baseline: str | None = option_field(
        None, "Run that all others are compared with; none by default."
    )

    def table(self, cube: xr.Dataset) -> Table:
        table = make_table(cube)
        check_pairs(table, self.name, self.baseline)
        return table

    def notes(self, table: Table) -> list[str]:
        return family_notes(table)

    def families(self, table: Table) -> list[list[Family]]:
        """Return all pairs, and the pairs with the baseline if there is one, of each cell."""
        return families_of(table, [None] if self.baseline is None else [None, self.baseline])

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        return maxima_block(table, self.families(table), start, stop, means=True)

    def result(self, table: Table, totals: Totals) -> xr.Dataset:
        values = self.values(table, totals)
        values["groups"] = group_labels(values["group_first"], values["group_last"])
        attrs: dict[str, Any] = {"alpha": self.alpha}
        attrs |= {} if self.baseline is None else {"baseline": self.baseline}
        coords: dict[str, Any] = {
            names.TEAM: (names.RUN, label_array(table.teams or table.runs)),
            names.COLLECTION: label_array(part.name for part in table.strata),
        }
        if "weight" not in values:
            del coords[names.COLLECTION]
        return table.dataset(VARIABLES, values, coords, attrs)

    def values(self, table: Table, totals: Totals) -> dict[str, Any]:
        """Return all variables, by cell."""
        rows = []
        for cell, (every, *against) in enumerate(self.families(table)):
            reached, n_pairs = totals["reached"][cell], len(every.first)
            p = (every.adjusted_counts(reached[:n_pairs], table.trials) + 1) / (table.trials + 1)
            row = mean_rows(table, cell, totals["largest_t"][cell], self.alpha)
            row |= rank_rows(table, cell, every, p, self.alpha)
            for family in against:
                critical = critical_value(totals["largest"][cell, 1], self.alpha)
                counts = family.adjusted_counts(reached[n_pairs:], table.trials)
                p = (counts + 1) / (table.trials + 1)
                row |= baseline_rows(table, cell, family, critical, p, self.alpha, row["rank"])
            rows.append(row)
        return {name: np.stack([row[name] for row in rows]) for name in rows[0]}
