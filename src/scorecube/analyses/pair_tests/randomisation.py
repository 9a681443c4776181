"""Paired randomisation test (Fisher).

References: Fisher 1935; Smucker, Allan and Carterette 2007, "A comparison of statistical significance tests
for information retrieval evaluation".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Arrays, Inputs, Prepared
from scorecube.analyses.pair_tests.base import PairTest
from scorecube.analyses.pair_tests.pair_scores import pair_groups, whole_cells
from scorecube.collection import schema
from scorecube.collection.selection import cells
from scorecube.kernels.linalg.panel_product import product_of_columns
from scorecube.kernels.pairs.tail_counts import EQUAL, Levels, tail_differences
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.random.resampling import sign_columns

SIGNS = (
    schema.Variable(
        names.TOPIC_SIGN,
        (names.TRIAL, names.TOPIC),
        "i",
        "1",
        "-1 where a trial exchanges a topic's scores",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Randomisation(PairTest):
    """Paired randomisation (sign-flip) test of all pairs of runs.

    A trial draws a sign for each topic, shared by all metrics, gain settings and pairs; the p-value is the
    share of trials in which the mean difference with these signs is at least as large as the observed one.
    The t statistic gives the same test, because the sum of squares does not change.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), Randomisation(), trials=200, seed=1)["significant"].shape
    (2, 1, 2)
    """

    name: ClassVar[str] = "randomisation"
    bytes_per_draw: ClassVar[float] = 4.0
    seconds_per_draw: ClassVar[float] = 6e-9
    seconds_out_of_cache: ClassVar[float] = 0.0
    seconds_per_score: ClassVar[float] = 6e-11
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --seed 1",)

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        cube, key = prepared.cube, stream_key(seed, names.Purpose.TOPIC_SIGNS)
        return whole_cells(cells(cube)[0]) | self.pair_inputs(cube, trials, key)

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        n_cells, _, n = inputs["whole"].shape
        trials, length = int(inputs["trials"]), stop - start
        signs = sign_columns(inputs["key"], n, 0, trials)
        reached = np.empty((n_cells, length), np.int32)
        kth = np.empty((n_cells, len(self.alphas), length))
        for group in pair_groups(inputs, inputs["first"][start:stop], inputs["second"][start:stop]):
            units, first, second = group.units, group.first, group.second
            sums = product_of_columns(units.whole, signs)
            observed = np.abs(units.totals[first] - units.totals[second])
            # Half a unit for each of 2 n scores; replicate and observed difference have it both.
            rounding = float(units.n_topics) if units.rounded else 0.0
            edges = observed - EQUAL * observed - 2 * rounding
            levels = Levels(inputs["ranks"], np.full(len(self.alphas), 2.0 * sums.std()))
            counts, totals = reached[group.cell], kth[group.cell]
            tail_differences(sums, first, second, edges, rounding, levels, counts, totals)
            totals /= units.n_topics * units.fine_units
        return {"reached": reached, "kth": kth, "degenerate": np.zeros((n_cells, 2), np.int64)}

    def seconds_per_trial(self, n_topics: int) -> float:
        return 2e-9

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sign[trial, topic]``, the signs drawn with this seed."""
        signs = sign_columns(
            stream_key(seed, names.Purpose.TOPIC_SIGNS), cube.sizes[names.TOPIC], 0, trials
        )
        variables = {names.TOPIC_SIGN: (SIGNS[0].dims, signs.T)}
        return schema.annotate(
            xr.Dataset(variables, coords={names.TOPIC: cube[names.TOPIC]}), SIGNS
        )
