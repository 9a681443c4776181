"""Tests of each pair of runs by itself, by resampling."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from scorecube.analyses.differences import RunPairs
from scorecube.analyses.pairs import ResampledTest, alphas_field, baseline_field, plus_one_field
from scorecube.analyses.protocol import Concat, Max, Part, Totals
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray

TILE = 24
"""Pairs that are tested together; results do not depend on it."""
KEPT_BYTES = 2**28
"""Most memory of sums that blocks share."""


@dataclass(frozen=True, kw_only=True)
class SingleTest(ResampledTest):
    """Base of tests of each pair by itself: a unit of a block is a pair with all its trials."""

    unit: ClassVar[str] = "pairs"

    alphas: tuple[float, ...] = alphas_field()
    plus_one: bool = plus_one_field()
    baseline: str | None = baseline_field()

    def n_units(self, table: Table) -> int:
        return len(self.pairs(table)[0])

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        """Return the trials that reach the statistic of each pair, and the largest differences.

        Returns reached: int32 (cell, pair).
        Returns needed: int64 (cell, alpha): the largest difference, in units, over pairs in the
            trial with the (B alpha)-th largest statistic.
        """
        first, second = (runs[start:stop] for runs in self.pairs(table))
        reached = np.zeros((len(table.scores), stop - start), np.int32)
        needed = np.zeros((len(table.scores), len(self.alphas)))
        ranks = np.array([replicate_rank(alpha, table.trials) for alpha in self.alphas])
        for cell, units in enumerate(table.units if start < stop else ()):
            resampled = self.resampled(table, cell)
            # Pairs that vary most first: their trials decide what is needed.
            order = np.argsort(-np.var(units[first] - units[second], axis=1), kind="stable")
            for low in range(0, len(order), TILE):
                place = order[low : low + TILE]
                pairs = first[place], second[place]
                reached[cell, place] = self.tail(resampled, pairs, ranks, needed[cell])
        return {"reached": Concat(reached), "needed": Max(needed.astype(np.int64))}

    def sums(self, table: Table, cell: int, drawn: FloatArray) -> FloatArray:
        """Return the sums of scores with how often units are drawn, or their signs, (unit, trial).

        Returns sums: float64 (run, trial), of all blocks if they are few.
        """
        if 8.0 * table.scores.shape[0] * len(table.runs) * table.trials > KEPT_BYTES:
            return np.asarray(table.units[cell] @ drawn)
        return table.once(f"sums {cell}", lambda: np.asarray(table.units[cell] @ drawn))

    @abstractmethod
    def resampled(self, table: Table, cell: int) -> Any:
        """Return what the pairs of a cell are tested with."""

    @abstractmethod
    def tail(self, resampled: Any, pairs: RunPairs, ranks: Any, needed: FloatArray) -> Any:
        """Return in how many trials each of some pairs reaches its statistic, int (pair,).

        needed: float64 (rank,): as of `block`, of the pairs before; changed.
        """

    def counts(self, table: Table, totals: Totals) -> Any:
        return totals["reached"].astype(np.int64)

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        unit = table.grid_units / table.sizes.size
        return {"estimated_difference": totals["needed"] * unit[:, np.newaxis]}


def squared_t(difference: FloatArray, spread: FloatArray, tie: float) -> FloatArray:
    """Return squared statistics: 0 without a difference, infinite without a spread."""
    moved = np.where(np.abs(difference) > tie, difference, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(moved != 0.0, moved * moved / np.maximum(spread, 0.0), 0.0)


def replicate_rank(alpha: float, trials: int) -> int:
    """Return the rank K of a resample: B alpha rounded up, at least 1 (Sakai 2007).

    Examples
    --------
    >>> replicate_rank(0.05, 1000), replicate_rank(0.07, 100), replicate_rank(0.05, 999)
    (50, 7, 50)
    """
    return max(1, math.ceil(Fraction(str(alpha)) * trials))
