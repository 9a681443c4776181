"""Step-down max-T test of pairs of runs by the bootstrap.

References: Romano and Wolf 2005, "Exact and approximate stepdown methods for multiple hypothesis testing", Journal of the
American Statistical Association 100, Algorithms 3.1 and 4.1; Westfall and Young 1993, "Resampling-based multiple testing".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from scorecube.analyses.max_tests import block_bytes, families_of_cells, maxima_block, notes_on_few
from scorecube.analyses.pair_results import CONFIDENCE, single_p_values
from scorecube.analyses.pairs import (
    OfPairs,
    alphas_field,
    baseline_field,
    pairs_with,
    plus_one_field,
)
from scorecube.analyses.protocol import Part, Totals
from scorecube.analyses.step_down import MODERATION, Family, critical_value, observe
from scorecube.analyses.table import Table
from scorecube.collection.run_pairs import pair_positions
from scorecube.statistics.multiple_testing import adjusted


@dataclass(frozen=True, kw_only=True)
class MaxT(OfPairs):
    """Step-down max-T test of all pairs together, also of runs that vary differently.

    It controls the family-wise error rate without assuming that runs are exchangeable. A trial draws n topics with replacement, shared by all metrics, gain
    settings and pairs; t is moderated, see `scorecube.analyses.step_down`. The adjusted p-value of a pair is the share of trials in which the largest ``|t*|`` over this
    pair and all pairs with a smaller ``|t|`` reaches ``|t|``, or that of a pair with a larger ``|t|`` if it is larger. The estimand is the set of pairs whose means
    over infinitely many topics differ; the probability that any pair without a difference is among the significant ones is at most alpha, for large n.

    Notes
    -----
    Pairs that differ on fewer than 8 topics, groups or bags stay out of the maximum: their p-value is 1, and they have no limits.

    Measured family-wise error rates at alpha = .05: see docs/believe/ranks.md.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), MaxT(), trials=200, seed=1)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "maxt"
    joint: ClassVar[bool] = True
    strata: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --alpha 0.05 --seed 1",)

    alphas: tuple[float, ...] = alphas_field(finalize=True, family_wise=True)
    plus_one: bool = plus_one_field()
    baseline: str | None = baseline_field()

    def notes(self, table: Table) -> list[str]:
        return notes_on_few(table)

    def families(self, table: Table, cell: int) -> list[Family]:
        """Return the family of all pairs that are tested; all pairs of runs decide what moderation adds."""
        every = observe(table, cell, pair_positions(len(table.runs)))
        if self.baseline is None:
            return [every]
        pairs = pairs_with(table.runs.index(self.baseline), len(table.runs))
        return [observe(table, cell, pairs, every.added)]

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        return maxima_block(table, [len(self.pairs(table)[0])], self.families, start, stop)

    def block_bytes(self, table: Table) -> float:
        return block_bytes(table)

    def counts(self, table: Table, totals: Totals) -> Any:
        families = families_of_cells(table, self.families)
        return np.stack(
            [
                family.adjusted_counts(counts, table.trials)
                for (family,), counts in zip(families, totals["reached"], strict=True)
            ]
        )

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        families = [family for (family,) in families_of_cells(table, self.families)]
        units = np.array([grid.unit for grid in table.grids])[:, np.newaxis]
        single, moderated = np.empty_like(values["t"]), np.empty_like(values["t"])
        critical = np.empty((len(families), len(self.alphas) + 1))
        own = np.empty((len(families), len(self.alphas)), np.int64)
        freedom = min(part.size() for part in table.strata) - 1
        for cell, family in enumerate(families):
            with np.errstate(divide="ignore", invalid="ignore"):
                t = np.abs(family.difference) / np.sqrt(family.variance)
            single[cell] = single_p_values(t, freedom)
            moderated[cell] = family.errors()
            levels = [*self.alphas, 1 - CONFIDENCE]
            largest = [critical_value(totals["largest"][cell, 0], alpha) for alpha in levels]
            critical[cell] = np.sqrt((1 + MODERATION) * np.array(largest))
            holm = adjusted(np.where(family.varied, single[cell], 1.0), "holm")
            p = values["p_value"][cell]
            own[cell] = [((holm < a) & ~(p < a)).sum() for a in self.alphas]
        margin = np.where(moderated > 0, critical[:, -1:] * moderated * units, np.nan)
        return {
            "standard_error": np.stack([np.sqrt(each.variance) for each in families]) * units,
            "moderated_error": moderated * units,
            "critical_value": critical[:, :-1],
            "difference_low": values["mean_difference"] - margin,
            "difference_high": values["mean_difference"] + margin,
            "p_single": single,
            "own_error_pairs": own,
        }
