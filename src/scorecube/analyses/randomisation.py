"""Paired randomisation test (Fisher).

References: Fisher 1935; Smucker, Allan and Carterette 2007, "A comparison of statistical significance tests for information retrieval evaluation".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_results import Pairs
from scorecube.analyses.pairs import TILE, PairTest
from scorecube.analyses.table import Table
from scorecube.collection import schema
from scorecube.kernels.random.draws import sign_columns
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.tails import absolute, largest

SIGNS = schema.variables(
    *((names.TRIAL, names.TOPIC), "label", "1", "i"),
    topic_sign="-1 where a trial exchanges a topic's scores",
)


@dataclass(frozen=True, kw_only=True)
class Randomisation(PairTest):
    """Paired randomisation (sign-flip) test of all pairs of runs.

    A trial draws a sign for each topic, shared by all metrics, gain settings and pairs; the p-value is the share of trials in which the mean difference with
    these signs is at least as large as the observed one. The t statistic gives the same test, because the sum of squares does not change.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), Randomisation(), trials=200, seed=1)["significant"].shape
    (2, 1, 2)
    """

    name: ClassVar[str] = "randomisation"
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --seed 1",)

    def tails(self, table: Table, cell: int, pairs: Pairs, ranks: Any) -> tuple[Any, Any]:
        units, signs = table.units[cell], table.once("signs", lambda: drawn_signs(table))
        sums, totals = self.shared(table, cell, lambda: units @ signs), units.sum(axis=1)
        reached, needed = np.empty(len(pairs[0]), np.int32), np.zeros(len(ranks))
        room = np.empty((min(TILE, len(reached)), signs.shape[1]))
        for low in range(0, len(reached), TILE):
            place = slice(low, low + TILE)
            tile = pairs[0][place], pairs[1][place]
            # A difference of sums of at most n units is a tie.
            edges = np.abs(totals[tile[0]] - totals[tile[1]]) - units.shape[1]
            statistics = room[: len(edges)]
            absolute(tile, sums, edges, statistics, reached[place])
            # The statistic is the difference.
            needed = np.maximum(needed, largest(statistics, ranks).max(axis=1))
        return reached, needed

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sign[trial, topic]``, the signs drawn with this seed."""
        key = stream_key(seed, names.Purpose.TOPIC_SIGNS)
        signs = sign_columns(key, cube.sizes[names.TOPIC], 0, trials)
        found = xr.Dataset(
            {names.TOPIC_SIGN: (SIGNS[0].dims, signs.T)}, {names.TOPIC: cube[names.TOPIC]}
        )
        return schema.annotate(found, SIGNS)


def drawn_signs(table: Table) -> Any:
    """Return the sign of each unit in each trial, float64 (unit, trial)."""
    key = table.key(names.Purpose.TOPIC_SIGNS)
    return sign_columns(key, table.sizes.size, 0, table.trials).astype(float)
