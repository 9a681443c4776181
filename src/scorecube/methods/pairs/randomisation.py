"""Paired randomisation test of each pair of runs by itself.

References: Fisher 1935; Smucker, Allan and Carterette 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import RunPairs
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray
from scorecube.declare import View
from scorecube.kernels.random.draws import sign_columns
from scorecube.methods.pairs.tests import SingleTest
from scorecube.methods.pairs.view import ONE_BY_ONE, view_of_test

VIEW = view_of_test(
    "randomisation",
    "Randomisation test",
    "The p-value is the share of random exchanges of two runs' scores on topics that make the "
    f"mean difference at least as large as the observed one. {ONE_BY_ONE}",
)


@dataclass(frozen=True, kw_only=True)
class Randomisation(SingleTest):
    """Paired randomisation (sign-flip) test of all pairs of runs.

    A trial draws a sign for each topic, shared by all metrics, gain settings and pairs; the p-value
    is the share of trials in which the mean difference with these signs is at least as large as the
    observed one. The t statistic gives the same test, as the sum of squares does not change.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> cube = testing.simulate_cube(n_runs=6, seed=3)
    >>> analyse(cube, Randomisation(), trials=200)["significant"].shape
    (2, 1, 2)
    """

    name: ClassVar[str] = "randomisation"
    view: ClassVar[View] = VIEW
    references: ClassVar[tuple[str, ...]] = ("fisher1935", "smucker2007")
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --seed 1",)

    def draws(self, table: ScoreTable) -> FloatArray:
        key = table.key(names.Purpose.TOPIC_SIGNS)
        return sign_columns(key, table.sizes.size, 0, table.trials).astype(float)

    def tail(self, units: FloatArray, drawn_in: Any, pairs: RunPairs, needed: FloatArray) -> Any:
        (drawn, sums, room), (first, second) = drawn_in, pairs
        apart, other = room[:2, : len(first)]
        # A difference of sums of at most n units is a tie.
        edges = np.abs((units[first] - units[second]).sum(axis=1)) - len(drawn)
        for runs, of_runs in ((first, apart), (second, other)):
            np.take(sums, runs, axis=0, out=of_runs, mode="clip")
        np.abs(np.subtract(apart, other, out=apart), out=apart)
        return np.count_nonzero(apart >= edges[:, np.newaxis], axis=1)

    def drawn(self, table: ScoreTable) -> xr.Dataset:
        signs = self.draws(table).T.astype(np.int8)
        return xr.Dataset({names.TOPIC_SIGN: ((names.TRIAL, "unit"), signs)})
