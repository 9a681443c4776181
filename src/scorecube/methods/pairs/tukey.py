"""Randomised Tukey HSD test of all pairs of runs together.

References: Carterette 2012; Sakai 2018, chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import CONFIDENCE, joint_limits, widths_of
from scorecube.analyses.protocol import Arrays, Concat, Part, Totals
from scorecube.analyses.table import ScoreTable
from scorecube.declare import View
from scorecube.kernels.tukey import null_ranges, permutations
from scorecube.methods.pairs.tests import ResampledTest, replicate_rank
from scorecube.methods.pairs.view import view_of_test
from scorecube.statistics.intervals import difference_limits

VIEW = view_of_test(
    "tukey",
    "Randomised Tukey HSD test",
    "The scores of all runs are shuffled within each topic; the p-value of a pair is the share "
    "of shuffles in which the largest difference of any two means reaches the pair's. Where "
    "runs vary differently it errs more often than alpha (0.05 to 0.12 at 0.05 on real scores, "
    "0.16 where nearly all scores are 1, 0.34 with one erratic run of 30); the max-T test does "
    "not.",
    joint=True,
)


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
    view: ClassVar[View] = VIEW
    references: ClassVar[tuple[str, ...]] = ("carterette2012",)
    joint: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 5000 --alphas 0.05 --seed 1",)

    def block(self, table: ScoreTable, start: int, stop: int) -> dict[str, Part]:
        scores = table.once("by_unit", lambda: np.ascontiguousarray(table.units.transpose(2, 0, 1)))
        ranges = null_ranges(scores, table.key(names.Purpose.RUN_PERMUTATIONS), start, stop)
        return {"range": Concat(ranges)}

    def counts(self, table: ScoreTable, totals: Totals) -> Any:
        first, second = self.pairs(table)
        sums = table.units.sum(axis=2)
        # A difference of sums of at most n units is a tie.
        edges = np.abs(sums[:, first] - sums[:, second]) - table.sizes.size
        cells = zip(np.sort(totals["range"], axis=1), edges, strict=True)
        return table.trials - np.stack([np.searchsorted(*cell) for cell in cells])

    def tested(self, table: ScoreTable, totals: Totals, values: Arrays) -> Arrays:
        rank = replicate_rank(round(1 - CONFIDENCE, 9), table.trials)
        critical = -np.sort(-totals["range"], axis=1)[:, rank - 1 : rank]
        critical *= table.grid_units[:, np.newaxis] / table.sizes.size
        joint = joint_limits(table, values["mean_difference"], critical)
        descending = -np.sort(-totals["range"], axis=1)
        ranks = [replicate_rank(alpha, table.trials) - 1 for alpha in self.alphas]
        needed = descending[:, ranks] * table.grid_units[:, np.newaxis] / table.sizes.size
        tested = super().tested(table, totals, values) | {"estimated_difference": needed}
        return tested | self.guarded(table, joint)

    def guarded(self, table: ScoreTable, joint: Arrays) -> Arrays:
        """Return simultaneous limits, of few differing topics with those of pseudo-topics, too.

        Permutations of scores that differ on few topics, or are 0 and 1, show too small a range.
        Pseudo-topics are those of each pair by itself, at 1 - .05 / pairs (Bonferroni).
        """
        found = self.differences(table)
        n_pairs = found.mean.shape[1]
        low, high = difference_limits(
            found.guarded, widths_of(table), 1 - (1 - CONFIDENCE) / n_pairs
        )
        unknown = np.isnan(low)
        padded = found.has_pseudo_units
        at_least = np.where(padded, np.minimum(joint["joint_low"], low), joint["joint_low"])
        at_most = np.where(padded, np.maximum(joint["joint_high"], high), joint["joint_high"])
        return {
            "joint_low": np.where(unknown, np.nan, at_least),
            "joint_high": np.where(unknown, np.nan, at_most),
        }

    def drawn(self, table: ScoreTable) -> xr.Dataset:
        key = table.key(names.Purpose.RUN_PERMUTATIONS)
        places = permutations(key, table.sizes.size, len(table.runs), 0, table.trials)
        return xr.Dataset({names.RUN_PERMUTATION: ((names.TRIAL, "unit", names.RUN), places)})
