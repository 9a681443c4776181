"""Randomised Tukey HSD test of all pairs of runs.

References: Carterette 2012, "Multiple testing in statistical analysis of systems-based information
retrieval experiments"; Sakai 2018, "Laboratory experiments in information retrieval", chapter 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_results import CONFIDENCE
from scorecube.analyses.pairs import OfPairs, alphas_field, plus_one_field, replicate_rank
from scorecube.analyses.protocol import Concat, Part, Totals
from scorecube.analyses.table import Table
from scorecube.kernels.tukey import null_ranges, permutations


@dataclass(frozen=True, kw_only=True)
class Tukey(OfPairs):
    """Randomised Tukey HSD test, which controls the family-wise error rate.

    A trial permutes the runs within each topic, alike for all metrics and gain settings, and
    computes the range of the run means. The p-value of a pair is the share of trials in which that
    range is at least the pair's difference. Limits are the difference plus and minus the range that
    5 % of the trials exceed. Runs are taken as exchangeable.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Tukey(), trials=200, seed=1)
    >>> result["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "tukey"
    joint: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 5000 --alpha 0.05 --seed 1",)

    alphas: tuple[float, ...] = alphas_field(family_wise=True)
    plus_one: bool = plus_one_field()

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        if start == stop:
            return {"range": Concat(np.empty((len(table.scores), 0)), least=0)}
        scores = table.once("by_unit", lambda: np.ascontiguousarray(table.units.transpose(2, 0, 1)))
        key = table.key(names.Purpose.RUN_PERMUTATIONS)
        return {"range": Concat(null_ranges(scores, key, start, stop), least=0)}

    def counts(self, table: Table, totals: Totals) -> Any:
        (first, second), counts = self.pairs(table), []
        for units, ranges in zip(table.units, totals["range"], strict=True):
            sums = units.sum(axis=1)
            # A difference of sums of at most n units is a tie.
            edges = np.abs(sums[first] - sums[second]) - units.shape[1]
            counts.append(table.trials - np.searchsorted(np.sort(ranges), edges, side="left"))
        return np.stack(counts)

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        levels = [*self.alphas, round(1 - CONFIDENCE, 9)]
        ranks = [replicate_rank(alpha, table.trials) - 1 for alpha in levels]
        unit = table.grid_units[:, np.newaxis] / table.sizes.size
        critical = -np.sort(-totals["range"], axis=1)[:, ranks] * unit
        difference, margin = values["mean_difference"], critical[:, -1:]
        return {
            "critical_difference": critical[:, :-1],
            "difference_low": difference - margin,
            "difference_high": difference + margin,
        }

    def drawn(self, table: Table) -> xr.Dataset:
        key = table.key(names.Purpose.RUN_PERMUTATIONS)
        places = permutations(key, table.sizes.size, len(table.runs), 0, table.trials)
        return xr.Dataset({names.RUN_PERMUTATION: ((names.TRIAL, "unit", names.RUN), places)})
