"""Step-down max-T test of pairs of runs by the bootstrap.

References: Romano and Wolf 2005, "Exact and approximate stepdown methods for multiple hypothesis
testing", Journal of the American Statistical Association 100, Algorithms 3.1 and 4.1; Westfall and
Young 1993, "Resampling-based multiple testing".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from scorecube.analyses.max_statistics import (
    MODERATION,
    block_bytes,
    critical_value,
    families_of,
    maxima_block,
    notes_on_few,
)
from scorecube.analyses.pair_results import CONFIDENCE
from scorecube.analyses.pairs import OfPairs, alphas_field, baseline_field, plus_one_field
from scorecube.analyses.protocol import Part, Totals
from scorecube.analyses.table import Table


@dataclass(frozen=True, kw_only=True)
class MaxT(OfPairs):
    """Step-down max-T test of all pairs together, also of runs that vary differently.

    It controls the family-wise error rate without assuming that runs are exchangeable. A trial
    draws n topics with replacement, shared by all metrics, gain settings and pairs; t is moderated,
    see `scorecube.analyses.max_statistics`. The adjusted p-value of a pair is the share of trials
    in which the largest ``|t*|`` over this pair and all pairs with a smaller ``|t|`` reaches
    ``|t|``, or that of a pair with a larger ``|t|`` if it is larger. The estimand is the set of
    pairs whose means over infinitely many topics differ; the probability that any pair without a
    difference is among the significant ones is at most alpha, for large n.

    Pairs that differ on fewer than 8 topics, groups or bags stay out of the maximum: their p-value
    is 1, and they have no limits. Measured error rates: docs/believe/ranks.md.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), MaxT(), trials=200, seed=1)
    >>> result["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "maxt"
    joint: ClassVar[bool] = True
    strata: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --alpha 0.05 --seed 1",)

    alphas: tuple[float, ...] = alphas_field(family_wise=True)
    plus_one: bool = plus_one_field()
    baseline: str | None = baseline_field()

    def notes(self, table: Table) -> list[str]:
        return notes_on_few(table)

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        return maxima_block(table, [self.pairs(table)], start, stop)

    def block_bytes(self, table: Table) -> float:
        return block_bytes(table)

    def counts(self, table: Table, totals: Totals) -> Any:
        families = zip(families_of(table, [self.pairs(table)]), totals["reached"], strict=True)
        return np.stack([family.adjusted_counts(n, table.trials) for (family,), n in families])

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        families = [family for (family,) in families_of(table, [self.pairs(table)])]
        units = table.grid_units[:, np.newaxis]
        levels = [*self.alphas, 1 - CONFIDENCE]
        critical = np.sqrt(
            [
                [(1 + MODERATION) * critical_value(largest, alpha) for alpha in levels]
                for (largest,) in totals["largest"]
            ]
        )
        own_errors = [
            [(family.by_own_errors(a) & ~(p < a)).sum() for a in self.alphas]
            for family, p in zip(families, values["p_value"], strict=True)
        ]
        moderated = np.stack([family.errors() for family in families])
        margin = np.where(moderated > 0, critical[:, -1:] * moderated * units, np.nan)
        return {
            "standard_error": np.sqrt([family.variance for family in families]) * units,
            "moderated_error": moderated * units,
            "critical_value": critical[:, :-1],
            "difference_low": values["mean_difference"] - margin,
            "difference_high": values["mean_difference"] + margin,
            "p_single": np.stack([family.p_single for family in families]),
            "own_error_pairs": np.array(own_errors),
        }
