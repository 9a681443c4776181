"""Step-down max-T test of pairs of runs by the bootstrap.

References: Romano and Wolf 2005, "Exact and approximate stepdown methods for multiple hypothesis testing", Journal of the
American Statistical Association 100, Algorithms 3.1 and 4.1; Westfall and Young 1993, "Resampling-based multiple testing".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube.analyses.base import Inputs, Prepared
from scorecube.analyses.max_tests import MaxStatistics
from scorecube.analyses.pair_tests.base import (
    alphas_field,
    pair_result,
    plus_one_field,
    residual_variances,
)
from scorecube.analyses.pair_tests.family import baseline_field
from scorecube.analyses.pair_tests.joint_quantities import MAXT_VARIABLES
from scorecube.analyses.step_down import (
    MODERATION,
    Family,
    all_pairs,
    critical_value,
    observe,
    pairs_with,
)
from scorecube.analyses.table import Table


@dataclass(frozen=True, kw_only=True)
class MaxT(MaxStatistics):
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
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --alpha 0.05 --seed 1",)

    alphas: tuple[float, ...] = alphas_field(finalize=True, family_wise=True)
    baseline: str | None = baseline_field()
    plus_one: bool = plus_one_field()

    def families_of(self, table: Table, cell: int) -> list[Family]:
        every = observe(table, cell, all_pairs(len(table.runs)))
        if self.baseline is None:
            return [every]
        pairs = pairs_with(table.runs.index(self.baseline), len(table.runs))
        return [observe(table, cell, pairs, every.added)]

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        table: Table = prepared.shared
        families = [family for (family,) in self.families(prepared)]
        reached = [
            family.adjusted_counts(counts, trials)
            for family, counts in zip(families, totals["reached"], strict=True)
        ]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = [family.difference / np.sqrt(family.variance) for family in families]
        flat = [family.variance == 0 for family in families]
        equal = [family.difference == 0 for family in families]
        values = {
            "mean": table.means,
            "residual_variance": table.in_bag * residual_variances(table.values),
            "t": np.array(t),
            "degenerate_pairs": np.array([(a & b).sum() for a, b in zip(flat, equal, strict=True)]),
            "constant_pairs": np.array([(a & ~b).sum() for a, b in zip(flat, equal, strict=True)]),
            **self.errors(table, families, totals["largest"]),
        }
        attrs: dict[str, Any] = {"trials": trials, "plus_one": int(self.plus_one), **table.facts}
        return pair_result(
            table.labels(prepared.cube),
            np.array(reached, np.int32),
            values,
            self.alphas,
            attrs,
            self.baseline,
            MAXT_VARIABLES,
        )

    def errors(self, table: Table, families: list[Family], largest: Any) -> dict[str, Any]:
        """Return the standard errors of pairs, and the critical values of each level, by cell."""
        units = [grid.unit for grid in table.grids]
        return {
            "standard_error": np.array(
                [np.sqrt(each.variance) * u for each, u in zip(families, units, strict=True)]
            ),
            "moderated_error": np.array(
                [each.errors() * u for each, u in zip(families, units, strict=True)]
            ),
            "critical_value": np.array(
                [
                    [np.sqrt((1 + MODERATION) * critical_value(row[0], a)) for a in self.alphas]
                    for row in largest
                ]
            ),
        }
