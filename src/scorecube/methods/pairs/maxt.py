"""Step-down max-T test of all pairs of runs together.

References: Romano and Wolf 2005, Algorithms 3.1 and 4.1; Westfall and Young 1993.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from scorecube.analyses.differences import CONFIDENCE, joint_limits
from scorecube.analyses.pairs import binary_notes
from scorecube.analyses.protocol import Arrays, Part, Totals
from scorecube.analyses.step_down import critical_value, families_of, maxima_block
from scorecube.analyses.table import ScoreTable
from scorecube.declare import View
from scorecube.methods.pairs.tests import ResampledTest
from scorecube.methods.pairs.view import view_of_test

VIEW = view_of_test(
    "maxt",
    "Step-down max-T test",
    "Topics are drawn anew with the differences of every pair centred; the p-value of a pair "
    "is the share of draws in which the largest moderated t of the pairs that are not yet "
    "decided reaches the pair's. Some pair without a difference is significant with "
    "probability alpha (measured at 0.05: 0.05 to 0.11).",
    joint=True,
    card=2,
)


@dataclass(frozen=True, kw_only=True)
class MaxT(ResampledTest):
    """Step-down max-T test of all pairs together, also of runs that vary differently.

    A trial draws n topics with replacement, shared by all metrics, gain settings and pairs; t is
    moderated, see `scorecube.analyses.step_down`. The adjusted p-value of a pair is the share of
    trials in which the largest ``|t*|`` over this pair and all pairs with a smaller ``|t|`` reaches
    ``|t|``, or that of a pair with a larger ``|t|`` if it is larger. Estimand: the pairs whose
    means over infinitely many topics differ; the probability that any pair without a difference is
    among the significant ones is at most alpha, for large n. Pairs that differ on fewer than 8
    topics, groups or bags stay out of the maximum: their p-value is 1, and they have no limits.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> analyse(testing.simulate_cube(n_runs=6, seed=3), MaxT(), trials=200)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "maxt"
    in_demo: ClassVar[Mapping[str, Any] | None] = {}
    view: ClassVar[View] = VIEW
    references: ClassVar[tuple[str, ...]] = ("romano2005",)
    joint: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --alphas 0.05 --seed 1",)

    def notes(self, table: ScoreTable) -> list[str]:
        return binary_notes(table)

    def block(self, table: ScoreTable, start: int, stop: int) -> dict[str, Part]:
        return maxima_block(table, families_of(table, [self.baseline]), start, stop)

    def counts(self, table: ScoreTable, totals: Totals) -> Any:
        families = zip(families_of(table, [self.baseline]), totals["reached"], strict=True)
        return np.stack([family.adjusted_counts(n, table.trials) for (family,), n in families])

    def tested(self, table: ScoreTable, totals: Totals, values: Arrays) -> Arrays:
        tested = super().tested(table, totals, values)
        margins = []
        own_errors = []
        for cell, (family,) in enumerate(families_of(table, [self.baseline])):
            critical = critical_value(totals["largest"][cell, 0], 1 - CONFIDENCE)
            margins.append(family.margins(critical) * table.grids[cell].unit)
            p = tested["p_value"][cell]
            own_errors.append([family.own_error_pairs(alpha, p < alpha) for alpha in self.alphas])
        joint = joint_limits(table, values["mean_difference"], np.stack(margins))
        return tested | joint | {"own_error_pairs": np.array(own_errors)}
