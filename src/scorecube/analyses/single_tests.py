"""Tests of each pair of runs by itself by resampling, and the paired randomisation test.

References: Fisher 1935; Smucker, Allan and Carterette 2007.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.differences import RunPairs
from scorecube.analyses.pairs import ResampledTest
from scorecube.analyses.protocol import Concat, Max, Part
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.kernels.random.draws import sign_columns

TILE = 24
"""Pairs that are tested together; results do not depend on it."""


@dataclass(frozen=True, kw_only=True)
class SingleTest(ResampledTest):
    """Base of tests of each pair by itself: a unit of a block is a pair with all its trials."""

    unit: ClassVar[str] = "pairs"

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        """Return the trials that reach each pair's statistic, and the largest difference needed."""
        first, second = (runs[start:stop] for runs in self.pairs(table))
        reached = np.zeros((len(table.scores), stop - start), np.int32)
        needed = np.zeros((len(table.scores), len(self.alphas)))
        for cell, units in enumerate(table.units if start < stop else ()):
            drawn = table.once("drawn", lambda: self.draws(table))
            sums = table.once(f"sums {cell}", partial(np.matmul, units, drawn))
            # Workers of dask give freed memory back at once: a new array for each tile takes
            # longer than what is computed in it.
            drawn_in = drawn, sums, np.empty((3, TILE, drawn.shape[1]))
            # Pairs that vary most first: their trials decide what is needed.
            order = np.argsort(-np.var(units[first] - units[second], axis=1), kind="stable")
            for low in range(0, len(order), TILE):
                place = order[low : low + TILE]
                pairs = first[place], second[place]
                reached[cell, place] = self.tail(units, drawn_in, pairs, needed[cell])
        return {"reached": Concat(reached), "needed": Max(needed.astype(np.int64))}

    @abstractmethod
    def draws(self, table: Table) -> FloatArray:
        """Return how often units are drawn in each trial, or their signs, (unit, trial)."""

    @abstractmethod
    def tail(self, units: Any, drawn_in: Any, pairs: RunPairs, needed: FloatArray) -> Any:
        """Return in how many trials each pair reaches its statistic; raise `needed`, (alpha,)."""


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
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --seed 1",)

    def draws(self, table: Table) -> FloatArray:
        key = table.key(names.Purpose.TOPIC_SIGNS)
        return sign_columns(key, table.sizes.size, 0, table.trials).astype(float)

    def tail(self, units: Any, drawn_in: Any, pairs: RunPairs, needed: FloatArray) -> Any:
        (drawn, sums, room), (first, second) = drawn_in, pairs
        apart, other = room[:2, : len(first)]
        # A difference of sums of at most n units is a tie.
        edges = np.abs((units[first] - units[second]).sum(axis=1)) - len(drawn)
        for runs, of_runs in ((first, apart), (second, other)):
            np.take(sums, runs, axis=0, out=of_runs, mode="clip")
        np.abs(np.subtract(apart, other, out=apart), out=apart)
        return np.count_nonzero(apart >= edges[:, np.newaxis], axis=1)

    def drawn(self, table: Table) -> xr.Dataset:
        signs = self.draws(table).T.astype(np.int8)
        return xr.Dataset({names.TOPIC_SIGN: ((names.TRIAL, "unit"), signs)})


def replicate_rank(alpha: float, trials: int) -> int:
    """Return the rank K of a resample: B alpha rounded up, at least 1 (Sakai 2007)."""
    return max(1, math.ceil(round(alpha * trials, 9)))
