"""Paired randomisation test of each pair of runs by itself.

References: Fisher 1935; Smucker, Allan and Carterette 2007.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import RunPairs
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray
from scorecube.declare import View
from scorecube.kernels.random.draws import sign_columns
from scorecube.methods.pairs.tests import Counts, Resamples, SingleTest
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

    def tail(
        self, units: FloatArray, resamples: Resamples, pairs: RunPairs, needed: FloatArray
    ) -> Counts:
        first, second = pairs
        n_units = len(resamples.drawn)
        of_first, of_second = resamples.room[:2, : len(first)]
        np.take(resamples.sums, first, axis=0, out=of_first, mode="clip")
        np.take(resamples.sums, second, axis=0, out=of_second, mode="clip")
        apart = np.subtract(of_first, of_second, out=of_first)
        distance = np.abs(apart, out=apart)
        observed = np.abs((units[first] - units[second]).sum(axis=1))
        # A difference of sums of at most n units is a tie.
        reached = distance >= (observed - n_units)[:, np.newaxis]
        return np.asarray(np.count_nonzero(reached, axis=1))

    def drawn(self, table: ScoreTable) -> xr.Dataset:
        signs = self.draws(table).T.astype(np.int8)
        return xr.Dataset({names.TOPIC_SIGN: ((names.TRIAL, "unit"), signs)})
