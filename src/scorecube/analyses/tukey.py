"""Randomised Tukey HSD test of all pairs of runs.

References: Carterette 2012, "Multiple testing in statistical analysis of systems-based information retrieval experiments"; Sakai 2018, "Laboratory experiments
in information retrieval", chapter 5.
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
from scorecube.collection import schema
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.tukey import null_ranges, permutations

PERMUTATIONS = schema.variables(
    *((names.TRIAL, names.TOPIC, names.RUN), "label", "1", "iu"),
    run_permutation="position of the run whose score a run gets",
)


@dataclass(frozen=True, kw_only=True)
class Tukey(OfPairs):
    """Randomised Tukey HSD test, which controls the family-wise error rate.

    A trial permutes the runs within each topic, alike for all metrics and gain settings, and computes the range of the run means. The p-value of a pair is the
    share of trials in which that range is at least the pair's difference. Limits are the difference plus and minus the range that 5 % of the trials exceed.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), Tukey(), trials=200, seed=1)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "tukey"
    joint: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 5000 --alpha 0.05 --seed 1",)

    alphas: tuple[float, ...] = alphas_field(finalize=True, family_wise=True)
    plus_one: bool = plus_one_field()

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        if start == stop:
            return {"range": Concat(np.empty((len(table.scores), 0)), least=0)}
        scores = table.once("by_unit", lambda: np.ascontiguousarray(table.units.transpose(2, 0, 1)))
        key = table.key(names.Purpose.RUN_PERMUTATIONS)
        return {"range": Concat(null_ranges(scores, key, start, stop), least=0)}

    def counts(self, table: Table, totals: Totals) -> Any:
        (first, second), found = self.pairs(table), []
        for units, ranges in zip(table.units, totals["range"], strict=True):
            sums, ordered = units.sum(axis=1), np.sort(ranges)
            # A difference of sums of at most n units is a tie.
            edges = np.abs(sums[first] - sums[second]) - units.shape[1]
            found.append(table.trials - np.searchsorted(ordered, edges, side="left"))
        return np.stack(found)

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        ordered = -np.sort(-totals["range"], axis=1)
        unit = np.array([grid.unit for grid in table.grids])[:, np.newaxis] / table.sizes.size
        levels = [*self.alphas, round(1 - CONFIDENCE, 9)]
        critical = ordered[:, [replicate_rank(alpha, table.trials) - 1 for alpha in levels]] * unit
        difference, margin = values["mean_difference"], critical[:, -1:]
        return {
            "critical_difference": critical[:, :-1],
            "difference_low": difference - margin,
            "difference_high": difference + margin,
        }

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``run_permutation[trial, topic, run]``, positions of runs."""
        key = stream_key(seed, names.Purpose.RUN_PERMUTATIONS)
        drawn = permutations(key, cube.sizes[names.TOPIC], cube.sizes[names.RUN], 0, trials)
        coords = {names.TOPIC: cube[names.TOPIC], names.RUN: cube[names.RUN]}
        dataset = xr.Dataset({names.RUN_PERMUTATION: (PERMUTATIONS[0].dims, drawn)}, coords)
        return schema.annotate(dataset, PERMUTATIONS)
