"""Paired randomisation test (Fisher).

References: Fisher 1935; Smucker, Allan and Carterette 2007, "A comparison of statistical
significance tests for information retrieval evaluation".
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
from scorecube.analyses.units import FloatArray
from scorecube.kernels.random.draws import sign_columns
from scorecube.kernels.tails import absolute, largest


@dataclass(frozen=True, kw_only=True)
class Randomisation(PairTest):
    """Paired randomisation (sign-flip) test of all pairs of runs.

    A trial draws a sign for each topic, shared by all metrics, gain settings and pairs; the p-value
    is the share of trials in which the mean difference with these signs is at least as large as the
    observed one. The t statistic gives the same test, as the sum of squares does not change.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Randomisation(), trials=200, seed=1)
    >>> result["significant"].shape
    (2, 1, 2)
    """

    name: ClassVar[str] = "randomisation"
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --seed 1",)

    def tails(
        self, table: Table, cell: int, pairs: Pairs, ranks: Any, counted_in: tuple[Any, Any]
    ) -> None:
        units, (reached, needed) = table.units[cell], counted_in
        signs = table.once("signs", lambda: drawn_signs(table))
        sums, totals = self.sums(table, cell, signs), units.sum(axis=1)
        room = np.empty((min(TILE, len(reached)), signs.shape[1]))
        for low in range(0, len(reached), TILE):
            place = slice(low, low + TILE)
            tile = pairs[0][place], pairs[1][place]
            # A difference of sums of at most n units is a tie.
            edges = np.abs(totals[tile[0]] - totals[tile[1]]) - units.shape[1]
            statistics = room[: len(edges)]
            absolute(tile, sums, edges, statistics, reached[place])
            # The statistic is the difference.
            np.maximum(needed, largest(statistics, ranks).max(axis=1), out=needed)

    def drawn(self, table: Table) -> xr.Dataset:
        signs = drawn_signs(table).T.astype(np.int8)
        return xr.Dataset({names.TOPIC_SIGN: ((names.TRIAL, "unit"), signs)})


def drawn_signs(table: Table) -> FloatArray:
    """Return the sign of each unit in each trial, float64 (unit, trial)."""
    key = table.key(names.Purpose.TOPIC_SIGNS)
    return sign_columns(key, table.sizes.size, 0, table.trials).astype(float)
