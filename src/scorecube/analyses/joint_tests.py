"""Tests of all pairs of runs together: randomised Tukey HSD, and step-down max-T.

References: Carterette 2012; Sakai 2018, chapter 5; Romano and Wolf 2005, Algorithms 3.1 and 4.1;
Westfall and Young 1993.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import CONFIDENCE, joint_limits, widths_of
from scorecube.analyses.pairs import ResampledTest, binary_notes
from scorecube.analyses.protocol import Arrays, Concat, Part, Totals
from scorecube.analyses.single_tests import replicate_rank
from scorecube.analyses.step_down import critical_value, families_of, maxima_block
from scorecube.analyses.table import Table
from scorecube.kernels.tukey import null_ranges, permutations
from scorecube.statistics.intervals import difference_limits


@dataclass(frozen=True, kw_only=True)
class Tukey(ResampledTest):
    """Randomised Tukey HSD test, which controls the family-wise error rate.

    A trial permutes the runs within each topic, alike for all metrics and gain settings, and
    computes the range of the run means. The p-value of a pair is the share of trials in which that
    range is at least the pair's difference; the estimated difference, that of rank B alpha (Sakai
    2012), is the largest that is not significant. Joint limits are the difference plus and minus
    the range that 5 % of the trials exceed, within the range of the metric; where few topics
    differ, and for scores of 0 and 1, they hold those of a t with pseudo-topics at .05 / pairs,
    too. Runs are taken as exchangeable.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> analyse(testing.simulate_cube(n_runs=6, seed=3), Tukey(), trials=200)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "tukey"
    joint: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 5000 --alpha 0.05 --seed 1",)

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        scores = table.once("by_unit", lambda: np.ascontiguousarray(table.units.transpose(2, 0, 1)))
        ranges = null_ranges(scores, table.key(names.Purpose.RUN_PERMUTATIONS), start, stop)
        return {"range": Concat(ranges)}

    def counts(self, table: Table, totals: Totals) -> Any:
        first, second = self.pairs(table)
        sums = table.units.sum(axis=2)
        # A difference of sums of at most n units is a tie.
        edges = np.abs(sums[:, first] - sums[:, second]) - table.sizes.size
        cells = zip(np.sort(totals["range"], axis=1), edges, strict=True)
        return table.trials - np.stack([np.searchsorted(*cell) for cell in cells])

    def tested(self, table: Table, totals: Totals, values: Arrays) -> Arrays:
        rank = replicate_rank(round(1 - CONFIDENCE, 9), table.trials)
        critical = -np.sort(-totals["range"], axis=1)[:, rank - 1 : rank]
        critical *= table.grid_units[:, np.newaxis] / table.sizes.size
        joint = joint_limits(table, values["mean_difference"], critical)
        descending = -np.sort(-totals["range"], axis=1)
        ranks = [replicate_rank(alpha, table.trials) - 1 for alpha in self.alphas]
        needed = descending[:, ranks] * table.grid_units[:, np.newaxis] / table.sizes.size
        tested = super().tested(table, totals, values) | {"estimated_difference": needed}
        return tested | self.guarded(table, joint)

    def guarded(self, table: Table, joint: Arrays) -> Arrays:
        """Return simultaneous limits, of few differing topics with those of pseudo-topics, too.

        Permutations of scores that differ on few topics, or are 0 and 1, show too small a range.
        Pseudo-topics are those of each pair by itself, at 1 - .05 / pairs (Bonferroni).
        """
        found = self.differences(table)
        n_pairs = found.mean.shape[1]
        low, high = difference_limits(
            found.guarded, widths_of(table), 1 - (1 - CONFIDENCE) / n_pairs
        )
        unknown, padded = np.isnan(low), found.has_pseudo_units
        at_least = np.where(padded, np.minimum(joint["joint_low"], low), joint["joint_low"])
        at_most = np.where(padded, np.maximum(joint["joint_high"], high), joint["joint_high"])
        return {
            "joint_low": np.where(unknown, np.nan, at_least),
            "joint_high": np.where(unknown, np.nan, at_most),
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

    def notes(self, table: Table) -> list[str]:
        return binary_notes(table)

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        return maxima_block(table, families_of(table, [self.baseline]), start, stop)

    def counts(self, table: Table, totals: Totals) -> Any:
        families = zip(families_of(table, [self.baseline]), totals["reached"], strict=True)
        return np.stack([family.adjusted_counts(n, table.trials) for (family,), n in families])

    def tested(self, table: Table, totals: Totals, values: Arrays) -> Arrays:
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
