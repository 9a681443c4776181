"""Tests of all pairs of runs together: randomised Tukey HSD, and step-down max-T by the bootstrap.

References: Carterette 2012, ACM TOIS 30(1); Sakai 2018, "Laboratory experiments in information
retrieval", chapter 5; Romano and Wolf 2005, Journal of the American Statistical Association 100,
Algorithms 3.1 and 4.1; Westfall and Young 1993, "Resampling-based multiple testing".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pairs import (
    CONFIDENCE,
    ResampledTest,
    alphas_field,
    baseline_field,
    binary_notes,
    plus_one_field,
)
from scorecube.analyses.protocol import Concat, Part, Totals
from scorecube.analyses.resampling import replicate_rank
from scorecube.analyses.step_down import (
    MODERATION,
    Family,
    critical_value,
    families_of,
    maxima_block,
    single_p_values,
)
from scorecube.analyses.table import Table
from scorecube.kernels.tukey import null_ranges, permutations


@dataclass(frozen=True, kw_only=True)
class Tukey(ResampledTest):
    """Randomised Tukey HSD test, which controls the family-wise error rate.

    A trial permutes the runs within each topic, alike for all metrics and gain settings, and
    computes the range of the run means. The p-value of a pair is the share of trials in which that
    range is at least the pair's difference. Limits are the difference plus and minus the range that
    5 % of the trials exceed. Runs are taken as exchangeable.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> analyse(testing.simulate_cube(n_runs=6, seed=3), Tukey(), trials=200)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "tukey"
    joint: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 5000 --alpha 0.05 --seed 1",)

    alphas: tuple[float, ...] = alphas_field()
    plus_one: bool = plus_one_field()

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        if start == stop:
            return {"range": Concat(np.empty((len(table.scores), 0)))}
        scores = table.once("by_unit", lambda: np.ascontiguousarray(table.units.transpose(2, 0, 1)))
        ranges = null_ranges(scores, table.key(names.Purpose.RUN_PERMUTATIONS), start, stop)
        return {"range": Concat(ranges)}

    def counts(self, table: Table, totals: Totals) -> Any:
        (first, second), counts = self.pairs(table), []
        for units, ranges in zip(table.units, totals["range"], strict=True):
            sums = units.sum(axis=1)
            # A difference of sums of at most n units is a tie.
            edges = np.abs(sums[first] - sums[second]) - units.shape[1]
            counts.append(table.trials - np.searchsorted(np.sort(ranges), edges, side="left"))
        return np.stack(counts)

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        n, rank = table.sizes.size, replicate_rank(round(1 - CONFIDENCE, 9), table.trials)
        critical = -np.sort(-totals["range"], axis=1)[:, rank - 1 : rank]
        critical *= table.grid_units[:, np.newaxis] / n
        return {
            "p_single": single_p_values(values["t"], n - 1),
            "difference_low": values["mean_difference"] - critical,
            "difference_high": values["mean_difference"] + critical,
        }

    def drawn(self, table: Table) -> xr.Dataset:
        key = table.key(names.Purpose.RUN_PERMUTATIONS)
        places = permutations(key, table.sizes.size, len(table.runs), 0, table.trials)
        return xr.Dataset({names.RUN_PERMUTATION: ((names.TRIAL, "unit", names.RUN), places)})


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
    joint: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --alpha 0.05 --seed 1",)

    alphas: tuple[float, ...] = alphas_field()
    plus_one: bool = plus_one_field()
    baseline: str | None = baseline_field()

    def notes(self, table: Table) -> list[str]:
        return binary_notes(table)

    def families(self, table: Table) -> list[Family]:
        """Return the pairs of each cell."""
        return [family for (family,) in families_of(table, [self.baseline])]

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        return maxima_block(table, families_of(table, [self.baseline]), start, stop, means=False)

    def counts(self, table: Table, totals: Totals) -> Any:
        families = zip(self.families(table), totals["reached"], strict=True)
        return np.stack([family.adjusted_counts(n, table.trials) for family, n in families])

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        margins, own_errors = [], []
        for cell, family in enumerate(self.families(table)):
            exceeded = critical_value(totals["largest"][cell, 0], 1 - CONFIDENCE)
            moderated = np.sqrt((family.variance + family.added) / (1 + MODERATION))
            margin = np.sqrt((1 + MODERATION) * exceeded) * moderated * table.grids[cell].unit
            margins.append(np.where(family.varied, margin, np.nan))
            p = values["p_value"][cell]
            own_errors.append([family.own_error_pairs(alpha, p < alpha) for alpha in self.alphas])
        return {
            "difference_low": values["mean_difference"] - margins,
            "difference_high": values["mean_difference"] + margins,
            "p_single": np.stack([family.p_single for family in self.families(table)]),
            "own_error_pairs": np.array(own_errors),
        }
