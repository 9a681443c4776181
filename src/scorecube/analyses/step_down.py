"""Step-down max-T over pairs of runs, on the exact grid, of max-T tests and leaderboards.

The statistic is the moderated t (Smyth 2004): its squared standard error is the weighted mean of a
pair's own and the median of all pairs. Any statistic that the bootstrap repeats gives a valid
family (Romano and Wolf 2005, Algorithm 4.1); this one keeps near copies, whose own t has long
tails, from deciding what all others must reach. Pairs that differ on fewer than 8 units are never
separated.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.pairs import fewest_units, pair_positions
from scorecube.analyses.protocol import Concat, Part, Sum
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray, IntArray
from scorecube.kernels.maxima import ROUNDING, running_maxima
from scorecube.kernels.random.draws import bootstrap_samples, multiplicities
from scorecube.statistics.intervals import FEW, few_differ, n_differing
from scorecube.statistics.paired_tests import adjusted

MODERATION = 4.0
"""Weight of the median variance beside the own one: family-wise error at most .062 in 36 truths."""
TILE, TRIALS_AT_ONCE = 128, 512
"""Pairs that are observed, and trials that are computed together; results do not depend on it."""


@dataclass(frozen=True, eq=False)
class Family:
    """Pairs that are tested together in one cell, with what is observed of them.

    first, second: int32 (pair,): runs.
    totals: float64 (stratum, pair): sums of differences, in units of the grid.
    difference, variance: float64 (pair,): difference of means, and its squared standard error.
    varied: bool (pair,): whether at least 8 units have another difference than most.
    added: What moderation adds to all variances.
    freedom: Degrees of freedom of Student's t of a pair.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    totals: FloatArray
    difference: FloatArray
    variance: FloatArray
    varied: NDArray[np.bool_]
    added: float
    freedom: int

    @cached_property
    def ascending(self) -> tuple[IntArray, FloatArray]:
        """Pairs that vary, by ascending moderated t^2 / 5, and the least that reaches each."""
        place = np.flatnonzero(self.varied)
        statistic = self.difference[place] ** 2 / (self.variance[place] + self.added)
        order = np.argsort(statistic, kind="stable")
        return place[order], statistic[order] * (1.0 - ROUNDING)

    @cached_property
    def p_single(self) -> FloatArray:
        """P-values of pairs by themselves, by Student's t, float64 (pair,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return single_p_values(self.difference / np.sqrt(self.variance), self.freedom)

    def own_error_pairs(self, alpha: float, decided: NDArray[np.bool_]) -> int:
        """Return how many pairs that are not decided Student's t, adjusted by Holm, separates."""
        alone = adjusted(np.where(self.varied, self.p_single, 1.0), "holm") < alpha
        return int((alone & ~decided).sum())

    def adjusted_counts(self, reached: IntArray, trials: int) -> IntArray:
        """Return adjusted counts, int64 (pair,), of trials that reach the pairs of `ascending`."""
        counts, (order, _) = np.full(len(self.first), trials, np.int64), self.ascending
        counts[order] = np.maximum.accumulate(reached[: len(order)][::-1])[::-1]
        return counts


def families_of(table: Table, runs: Iterable[str | None]) -> list[list[Family]]:
    """Return the pairs with each of some runs, or all pairs for None, of each cell; made once."""

    def make() -> list[list[Family]]:
        places = [None if run is None else table.runs.index(run) for run in runs]
        every = [observe(table, cell) for cell in range(len(table.scores))]
        return [
            [family if base is None else observe(table, cell, base, family) for base in places]
            for cell, family in enumerate(every)
        ]

    families: list[list[Family]] = table.once("families", make)
    return families


def observe(
    table: Table, cell: int, base: int | None = None, every: Family | None = None
) -> Family:
    """Return the family of all pairs in a cell; or of those with one run, moderated as `every`."""
    (first, second), units = pair_positions(len(table.runs), base), table.units[cell]
    totals = np.empty((len(table.strata), len(first)))
    difference, variance = np.zeros((2, len(first)))
    n_varied = np.zeros(len(first), np.int64)
    for low in range(0, len(first), TILE):
        place = slice(low, low + TILE)
        for k, part in enumerate(table.strata):
            z = units[first[place], part.units] - units[second[place], part.units]
            n, total, squares = part.size(), z.sum(axis=1), (z * z).sum(axis=1)
            totals[k, place] = total
            # A difference of sums of at most n units is a tie.
            moved = np.where(np.abs(total) <= n, 0.0, total)
            difference[place] += part.weight / n * moved
            spread = squares - moved * moved / n
            spread[spread <= ROUNDING * squares] = 0.0
            variance[place] += part.weight**2 / (n * (n - 1)) * spread
            n_varied[place] += n_differing(z, 1.0)
    varied = (n_varied >= FEW) & (variance > 0)
    added = MODERATION * float(np.median(variance[varied])) if varied.any() else 0.0
    added = added if every is None else every.added
    freedom = fewest_units(table) - 1
    return Family(first, second, totals, difference, variance, varied, added, freedom)


def single_p_values(t: FloatArray, freedom: float) -> FloatArray:
    """Return the two-sided p-values of Student's t; 1 for equal scores, whose t is NaN."""
    from scipy.special import stdtr

    return np.where(np.isnan(t), 1.0, 2 * stdtr(freedom, -np.abs(t)))


def drawn_counts(table: Table, start: int, stop: int) -> list[FloatArray]:
    """Return how often some trials draw each unit: float64 (unit, trial) of each collection."""
    counts = []
    for stratum, part in enumerate(table.strata):
        key, n = table.key(names.Purpose.BOOTSTRAP_TOPICS, stratum), part.size()
        counts.append(multiplicities(bootstrap_samples(key, n, start, stop), n)[0].T)
    return counts


def maxima_block(
    table: Table, families: Sequence[Sequence[Family]], start: int, stop: int, *, means: bool
) -> dict[str, Part]:
    """Return in how many of some trials the maximum reaches each pair, and the largest statistics.

    families: Of each cell.
    Returns reached: int64 (cell, pair), of a family behind that before it: see `adjusted_counts`.
    Returns largest, largest_t: float64 (cell, family, trial); (cell, trial), of means of runs.
    """
    n_pairs = sum(len(family.first) for family in families[0])
    reached = np.zeros((len(families), n_pairs), np.int64)
    largest = np.zeros((len(families), len(families[0]), stop - start))
    largest_t = np.empty((len(families), stop - start))
    starts = np.array([0, *(part.units.stop for part in table.strata)])
    weights = np.array([part.weight for part in table.strata])
    for low in range(start, stop, TRIALS_AT_ONCE):
        counts = drawn_counts(table, low, min(low + TRIALS_AT_ONCE, stop))
        by_trial = np.ascontiguousarray(np.concatenate(counts).T, np.int32)
        here = slice(low - start, low - start + len(by_trial))
        parts = list(zip(table.strata, counts, strict=True))
        for cell, units in enumerate(table.units):
            sums, place = np.stack([units[:, part.units] @ drawn for part, drawn in parts]), 0
            for k, family in enumerate(families[cell]):
                order, edges = family.ascending
                runs, of = (family.first[order], family.second[order]), (starts, weights)
                observed = np.ascontiguousarray(family.totals[:, order]), edges
                of_trials = largest[cell, k, here], reached[cell, place : place + len(order)]
                running_maxima(runs, units, sums, by_trial, observed, of, family.added, of_trials)
                place += len(family.first)
            if means:
                largest_t[cell, here] = largest_of_means(table, cell, counts, sums)
    blocks: dict[str, Part] = {"reached": Sum(reached), "largest": Concat(largest)}
    return blocks | ({"largest_t": Concat(largest_t)} if means else {})


def largest_of_means(
    table: Table, cell: int, counts: Sequence[FloatArray], sums: FloatArray
) -> FloatArray:
    """Return the largest |t| of means over runs, (trial,); logits of scores with a range."""
    varied = table.once(f"varied {cell}", lambda: varied_runs(table, cell))
    units, ends, grid = table.units[cell][varied], table.ranges[cell], table.grids[cell]
    observed = np.zeros((len(units), 1))
    means, variances = np.zeros((2, len(units), sums.shape[-1]))
    for part, drawn, every in zip(table.strata, counts, sums, strict=True):
        scores, total, n, weight = units[:, part.units], every[varied], part.size(), part.weight
        spread = np.maximum((scores * scores) @ drawn - total * total / n, 0.0)
        observed += weight * scores.mean(axis=1, keepdims=True)
        means += weight / n * total
        variances += weight**2 / (n * (n - 1)) * spread
    with np.errstate(divide="ignore", invalid="ignore"):
        if ends is None:
            t = np.abs(means - observed) / np.sqrt(variances)
        else:
            low, high = ((end - grid.low) / grid.unit for end in ends)
            share, centre = ((x - low) / (high - low) for x in (means, observed))
            moved = np.log(share / (1 - share)) - np.log(centre / (1 - centre))
            t = np.abs(moved) * share * (1 - share) / (np.sqrt(variances) / (high - low))
    # A resample without spread says that a run may be anywhere.
    t[~np.isfinite(t)] = np.inf
    return np.asarray(t.max(axis=0, initial=0.0))


def varied_runs(table: Table, cell: int) -> Any:
    """Return of which runs enough units differ, bool (run,); without a range, any units."""
    ends = table.ranges[cell]
    if ends is None:
        return np.ptp(table.scores[cell], axis=1) > 0
    return ~few_differ(table.samples(table.scores[cell]), ends[1] - ends[0])


def critical_value(largest: FloatArray, alpha: float) -> float:
    """Return the ceil((1 - alpha) (B + 1))-th smallest of B statistics; NaN if B is too small."""
    rank = math.ceil(round((1 - alpha) * (len(largest) + 1), 9))
    return float(np.sort(largest)[rank - 1]) if rank <= len(largest) else math.nan
