"""Randomised Tukey HSD test of all pairs of runs.

References: Carterette 2012, "Multiple testing in statistical analysis of systems-based information retrieval
experiments"; Sakai 2018, "Laboratory experiments in information retrieval", chapter 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Analysis, Arrays, Combine, Cost, Inputs, Output, Prepared
from scorecube.analyses.pair_tests.base import (
    alphas_field,
    cell_units,
    check_runs,
    pair_result,
    pair_result_bytes,
    plus_one_field,
    replicate_rank,
)
from scorecube.analyses.pair_tests.family import family_size
from scorecube.analyses.pair_tests.joint_quantities import CRITICAL
from scorecube.collection import schema
from scorecube.collection.schema import Variable
from scorecube.collection.selection import cells, n_cells
from scorecube.kernels.pairs.pair_order import PAIRS_AT_ONCE, label_order
from scorecube.kernels.pairs.tail_counts import EQUAL
from scorecube.kernels.pairs.tukey import null_ranges, permutations
from scorecube.kernels.random.philox import stream_key
from scorecube.statistics.integer_scores import SNAP

_DIMS = (names.TRIAL, names.TOPIC, names.RUN)
PERMUTATIONS = (
    Variable(names.RUN_PERMUTATION, _DIMS, "iu", "1", "position of the run whose score a run gets"),
)


@dataclass(frozen=True, kw_only=True)
class Tukey(Analysis):
    """Randomised Tukey HSD test, which controls the family-wise error rate.

    A trial permutes the runs within each topic, alike for all metrics and gain settings, and computes the
    range of the run means. The p-value of a pair is the share of trials in which that range is at least the
    pair's difference.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), Tukey(), trials=200, seed=1)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "tukey"
    default_trials: ClassVar[int] = 10_000
    examples: ClassVar[tuple[str, ...]] = ("--trials 5000 --alpha 0.05 --seed 1",)

    alphas: tuple[float, ...] = alphas_field(finalize=True, family_wise=True)
    plus_one: bool = plus_one_field()

    def check(self, prepared: Prepared) -> list[str]:
        check_runs(prepared.cube, "the Tukey test")
        return []

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        units = np.stack([cell.whole for cell in cell_units(prepared.cube)])
        return {
            "scores": np.ascontiguousarray(units.transpose(2, 0, 1)),
            "key": stream_key(seed, names.Purpose.RUN_PERMUTATIONS),
        }

    def outputs(self, prepared: Prepared) -> tuple[Output, ...]:
        return (Output("range", (n_cells(prepared.cube),), Combine.CONCAT, "float64", 0),)

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        ranges = np.empty((stop - start, inputs["scores"].shape[1]))
        null_ranges(inputs["scores"], inputs["key"], start, stop, ranges)
        return {"range": np.ascontiguousarray(ranges.T)}

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        reached = self._reached(cube, totals["range"], trials)
        facts = {"trials": trials, "plus_one": int(self.plus_one)}
        critical = self._critical_differences(cube, totals["range"], trials)
        return pair_result(
            cube, reached, {"critical_difference": critical}, self.alphas, facts, more=CRITICAL
        )

    def _critical_differences(self, cube: xr.Dataset, ranges: Any, trials: int) -> Any:
        """Return the smallest range of each level that at most a share alpha of the trials exceed, in scores: (cell, level)."""
        ranks = [min(replicate_rank(alpha, trials), trials) for alpha in self.alphas]
        ordered = -np.sort(-ranges, axis=1)[:, np.array(ranks) - 1]
        per_score = [units.fine_units * units.n_topics for units in cell_units(cube)]
        return ordered / np.array(per_score)[:, np.newaxis]

    def _reached(self, cube: xr.Dataset, ranges: Any, trials: int) -> Any:
        """Return the number of trials with a range of at least each difference, int32 (cell, pair)."""
        first, second = label_order(cube.sizes[names.RUN])
        reached = np.empty((len(ranges), len(first)), np.int32)
        for cell, units in enumerate(cell_units(cube)):
            ordered = np.sort(ranges[cell])
            sums, rounding = units.totals, SNAP * units.n_topics if units.rounded else 0.0
            for start in range(0, len(first), PAIRS_AT_ONCE):
                part = slice(start, start + PAIRS_AT_ONCE)
                difference = np.abs(sums[first[part]] - sums[second[part]])
                edges = difference * (1.0 - EQUAL) - rounding
                reached[cell, part] = trials - np.searchsorted(ordered, edges, side="left")
        return reached

    def cost(self, prepared: Prepared, trials: int) -> Cost:
        cube = prepared.cube
        n_cells, n_runs, n_topics = cells(cube)[0].shape
        n_scores = n_runs * n_topics
        return Cost(
            seconds=n_scores * (1.4e-9 + 0.4e-9 * n_cells),
            bytes=8.0 * n_cells,
            fixed_bytes=4.0 * n_scores,
            result_bytes=8.0 * n_cells * trials
            + pair_result_bytes(cube, 0, family_size(cube, None)),
            input_bytes=16.0 * n_scores * n_cells,
        )

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``run_permutation[trial, topic, run]``, positions of runs."""
        key = stream_key(seed, names.Purpose.RUN_PERMUTATIONS)
        drawn = permutations(key, cube.sizes[names.TOPIC], cube.sizes[names.RUN], 0, trials)
        coords = {names.TOPIC: cube[names.TOPIC], names.RUN: cube[names.RUN]}
        dataset = xr.Dataset({names.RUN_PERMUTATION: (PERMUTATIONS[0].dims, drawn)}, coords=coords)
        return schema.annotate(dataset, PERMUTATIONS)
