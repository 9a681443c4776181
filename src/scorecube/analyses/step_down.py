"""Step-down max-T over pairs of systems, on the exact grid.

The statistic of a pair is the moderated t (Smyth 2004, Statistical Applications in Genetics and Molecular Biology 3, article 3): its squared standard error
is the weighted mean of its own and the median of all pairs, with weights 1 and 4. Any statistic that the bootstrap repeats gives a valid family (Romano and
Wolf 2005, Algorithm 4.1); this one keeps pairs of near copies, whose own t has long tails, from deciding what all others must reach. Pairs that differ on
fewer than 8 units stay out of the maximum and are never separated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.table import Table
from scorecube.kernels.maxima import ROUNDING, add_errors, running_maxima
from scorecube.statistics.intervals import FEW

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
MODERATION = 4.0
"""Weight of the median variance of all pairs beside a pair's own. Measured: family-wise error at most .062 over 36 truths, and the most power."""
TILE = 128
"""Pairs whose squared differences are in memory at a time."""


@dataclass(frozen=True, eq=False)
class Family:
    """Pairs that are tested together in one cell, with what is observed of them.

    first, second: int32 (pair,): runs.
    difference, variance: float64 (pair,): difference of means and its squared standard error, in units of the grid.
    varied: bool (pair,): whether at least 8 units have another difference than the most frequent one.
    added: What moderation adds to all variances.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    difference: FloatArray
    variance: FloatArray
    varied: NDArray[np.bool_]
    added: float

    @cached_property
    def statistic(self) -> FloatArray:
        """Squared difference over variance with `added`, float64 (pair,); moderated t^2 / 5."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = self.difference**2 / (self.variance + self.added)
        return np.where(self.varied, found, 0.0)

    @cached_property
    def order(self) -> IntArray:
        """Positions of varied pairs in ascending order of the statistic; of equal ones the first stands first."""
        varied = np.flatnonzero(self.varied)
        return np.asarray(varied[np.argsort(self.statistic[varied], kind="stable")])

    def errors(self) -> FloatArray:
        """Return moderated standard errors, float64 (pair,), in units of the grid; 0 where a pair does not vary."""
        return np.where(self.varied, np.sqrt((self.variance + self.added) / (1 + MODERATION)), 0.0)

    def adjusted_counts(self, reached: IntArray, trials: int) -> IntArray:
        """Return adjusted counts of trials, int64 (pair,), of those that reach each pair in `order`; all trials for pairs that hardly vary."""
        counts = np.full(len(self.first), trials, np.int64)
        counts[self.order] = np.maximum.accumulate(reached[: len(self.order)][::-1])[::-1]
        return counts

    def adjusted(self, reached: IntArray, trials: int) -> FloatArray:
        """Return adjusted p-values (count + 1) / (B + 1), float64 (pair,)."""
        return np.asarray((self.adjusted_counts(reached, trials) + 1) / (trials + 1))


def observe(table: Table, cell: int, pairs: Any, added: float | None = None) -> Family:
    """Return the family of some pairs in a cell.

    added: What moderation adds; by default the median variance of these pairs, four times.
    """
    first, second = pairs
    difference, variance = np.zeros((2, len(first)))
    varied = np.zeros(len(first), np.int64)
    units = table.units[cell]
    for low in range(0, len(first), TILE):
        place = slice(low, low + TILE)
        for part in table.strata:
            z = units[first[place], part.units] - units[second[place], part.units]
            n, total, squares = part.size(), z.sum(axis=1), (z * z).sum(axis=1)
            total[np.abs(total) <= n] = 0.0
            difference[place] += part.weight / n * total
            spread = squares - total * total / n
            spread[spread <= ROUNDING * squares] = 0.0
            variance[place] += part.weight**2 / (n * (n - 1)) * spread
            varied[place] += n_varied(z)
    usable = (varied >= FEW) & (variance > 0)
    if added is None:
        added = MODERATION * float(np.median(variance[usable])) if usable.any() else 0.0
    return Family(first, second, difference, variance, usable, added)


def n_varied(z: FloatArray) -> IntArray:
    """Return how many units have another difference than the most frequent one, 8 for more: int64 (pair,).

    z: float64 (pair, unit): differences in units of the grid, which rounding moves by 1.
    """
    ordered, n = np.sort(z, axis=1), z.shape[1]
    found = np.full(len(z), FEW)
    for varied in reversed(range(min(FEW, n))):
        alike = n - varied  # units with the same difference, which follow each other
        same = ordered[:, alike - 1 :] - ordered[:, : varied + 1] <= 1.0
        found[same.any(axis=1)] = varied
    return found


def counted_maxima(
    table_units: FloatArray,
    strata: list[tuple[float, slice]],
    counts: list[FloatArray],
    family: dict[str, Any],
) -> tuple[IntArray, FloatArray]:
    """Return in how many trials the maximum reaches each pair, int64 (pair,), and the largest statistic of each trial, float64 (trial,).

    table_units: float64 (run, unit) of one cell.
    strata: Weight and units of each collection.
    counts: float64 (unit, trial) of each collection: how often a trial draws a unit.
    family: first, second, edges and totals (collection, pair) of the pairs in ascending order, and added.
    """
    first, second, edges = family["first"], family["second"], family["edges"]
    n_trials = counts[0].shape[1]
    sums = [table_units[:, units] @ drawn for (_, units), drawn in zip(strata, counts, strict=True)]
    reached, largest = np.zeros(len(first), np.int64), np.zeros(n_trials)
    for low in range(0, len(first), TILE):
        place = slice(low, low + TILE)
        runs = (first[place], second[place])
        errors, variances = np.zeros((2, len(runs[0]), n_trials))
        for k, (weight, units) in enumerate(strata):
            z = table_units[runs[0], units] - table_units[runs[1], units]
            squares, size = (z * z) @ counts[k], (float(z.shape[1]), weight)
            totals = family["totals"][k, place]
            add_errors(runs, sums[k], squares, totals, size, errors, variances)
        running_maxima(errors, variances, family["added"], edges[place], largest, reached[place])
    return reached, largest


def family_inputs(table: Table, cell: int, family: Family) -> dict[str, Any]:
    """Return what blocks need of a family: its varied pairs in ascending order."""
    first, second = family.first[family.order], family.second[family.order]
    sums = np.stack([table.units[cell][:, part.units].sum(axis=1) for part in table.strata])
    return {
        "first": np.ascontiguousarray(first),
        "second": np.ascontiguousarray(second),
        "edges": family.statistic[family.order] * (1.0 - ROUNDING),
        "totals": sums[:, first] - sums[:, second],
        "added": np.array(family.added),
    }


def critical_value(largest: FloatArray, alpha: float) -> float:
    """Return what the largest statistic of a trial exceeds with probability alpha: the ceil((1 - alpha) (B + 1))-th smallest of B; NaN if B is too small."""
    rank = math.ceil(round((1 - alpha) * (len(largest) + 1), 9))
    return float(np.sort(largest)[rank - 1]) if rank <= len(largest) else math.nan


def trial_groups(start: int, stop: int, length: int) -> Iterator[tuple[int, int]]:
    """Yield the first trial and the one after the last of some that are computed together."""
    for low in range(start, stop, length):
        yield low, min(low + length, stop)
