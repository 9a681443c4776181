"""Step-down max-T over pairs of runs, on the exact grid, of max-T tests and leaderboards.

The statistic is the moderated t (Smyth 2004): its squared standard error is the weighted mean of a
pair's own and the median of all pairs. Any statistic that the bootstrap repeats gives a valid
family (Romano and Wolf 2005, Algorithm 4.1); this one keeps near copies, whose own t has long
tails, from deciding what all others must reach. Pairs that differ on fewer than 8 units are never
separated.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.pairs import fewest_units, pairs_of
from scorecube.analyses.protocol import Concat, Part, Sum
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray, IntArray
from scorecube.kernels.maxima import ROUNDING, Collections, ObservedPairs, running_maxima
from scorecube.kernels.random.draws import bootstrap_samples, multiplicities
from scorecube.statistics.intervals import FEW, n_differing
from scorecube.statistics.paired_tests import holm

MODERATION = 4.0
"""Weight of the median variance beside the own one: family-wise error at most .062 in 36 truths."""
TILE = 128
TRIALS_AT_ONCE = 512
"""Pairs that are observed, and trials that are computed together; results do not depend on it."""


@dataclass(frozen=True, eq=False)
class Family:
    """Pairs that are tested together in one cell, with what is observed of them.

    first, second: int32 (pair,): runs.
    difference, variance: float64 (pair,): difference of means, and its squared standard error.
    varied: bool (pair,): whether at least 8 units have another difference than most.
    alone: float64 (pair,): p-values of pairs by themselves, by Student's t.
    added: What moderation adds to all variances.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    difference: FloatArray
    variance: FloatArray
    varied: NDArray[np.bool_]
    alone: FloatArray
    added: float

    @cached_property
    def ascending(self) -> tuple[IntArray, FloatArray]:
        """Pairs that vary, by ascending moderated t^2 / 5, and the least that reaches each."""
        place = np.flatnonzero(self.varied)
        statistic = self.difference[place] ** 2 / (self.variance[place] + self.added)
        order = np.argsort(statistic, kind="stable")
        return place[order], statistic[order] * (1.0 - ROUNDING)

    def margins(self, critical: float) -> FloatArray:
        """Return half the widths of limits of differences, (pair,); NaN where few units differ."""
        margins = np.sqrt(critical) * np.sqrt(self.variance + self.added)
        return np.where(self.varied, margins, np.nan)

    def own_error_pairs(self, alpha: float, decided: NDArray[np.bool_]) -> int:
        """Return how many pairs that are not decided Student's t, adjusted by Holm, separates."""
        alone = holm(np.where(self.varied, self.alone, 1.0)) < alpha
        return int((alone & ~decided).sum())

    def adjusted_counts(self, reached: IntArray, trials: int) -> IntArray:
        """Return adjusted counts, int64 (pair,), of trials that reach the pairs of `ascending`."""
        counts = np.full(len(self.first), trials, np.int64)
        order, _ = self.ascending
        counts[order] = np.maximum.accumulate(reached[: len(order)][::-1])[::-1]
        return counts


def bytes_of_families(table: ScoreTable, threads: int) -> int:
    """Return the bytes of what `families_of` and `maxima_block` make, beside parts of blocks."""
    n_runs = len(table.runs)
    n_pairs = n_runs * (n_runs - 1) // 2
    # A family has three numbers, two runs, a flag, and an order with its edges, of each pair; while
    # one cell is observed or ranked there are some twenty arrays more.
    families = n_pairs * (50 * len(table.scores) + 160)
    of_thread = TRIALS_AT_ONCE * 8 * (2 * n_runs + 3 * table.sizes.size)
    return families + threads * of_thread


def families_of(table: ScoreTable, runs: Iterable[str | None]) -> list[list[Family]]:
    """Return the pairs with each of some runs, or all pairs for None, of each cell; made once."""
    families = []
    for cell in range(len(table.scores)):
        every = table.once(f"pairs {cell}", partial(observe, table, cell))
        of_runs = {run: partial(observe, table, cell, run, every.added) for run in runs if run}
        others = {run: table.once(f"pairs {cell} {run}", make) for run, make in of_runs.items()}
        families.append([others[run] if run else every for run in runs])
    return families


def observe(
    table: ScoreTable, cell: int, baseline: str | None = None, added: float | None = None
) -> Family:
    """Return the family of all pairs in a cell; or of those with one run, moderated as all are."""
    from scipy.special import stdtr  # takes long to import

    first, second = pairs_of(table.runs, baseline)
    units = table.units[cell]
    difference, variance, n_varied = np.zeros((3, len(first)))
    for low in range(0, len(first), TILE):
        place = slice(low, low + TILE)
        for part in table.strata:
            z = units[first[place], part.units] - units[second[place], part.units]
            n = part.size()
            total = z.sum(axis=1)
            squares = (z * z).sum(axis=1)
            # A difference of sums of at most n units is a tie.
            moved = np.where(np.abs(total) <= n, 0.0, total)
            difference[place] += part.weight / n * moved
            spread = squares - moved * moved / n
            spread[spread <= ROUNDING * squares] = 0.0
            variance[place] += part.weight**2 / (n * max(n - 1, 1)) * spread
            n_varied[place] += n_differing(z, 1.0)
    # A collection of one unit shows no error.
    varied = (n_varied >= FEW) & (variance > 0) & (fewest_units(table) > 1)
    if added is None:
        added = MODERATION * float(np.median(variance[varied])) if varied.any() else 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(difference) / np.sqrt(variance)
    alone = np.where(np.isnan(t), 1.0, 2 * stdtr(fewest_units(table) - 1, -t))  # NaN: equal scores
    return Family(first, second, difference, variance, varied, alone, added)


def drawn_counts(table: ScoreTable, start: int, stop: int) -> list[FloatArray]:
    """Return how often some trials draw each unit: float64 (unit, trial) of each collection."""
    counts = []
    for stratum, part in enumerate(table.strata):
        key = table.key(names.Purpose.BOOTSTRAP_TOPICS, stratum)
        drawn = bootstrap_samples(key, part.size(), start, stop)
        counts.append(multiplicities(drawn, part.size())[0].T)
    return counts


class Drawn(NamedTuple):
    """What some trials draw.

    counts: float64 (unit, trial) of each collection: how often each unit is drawn.
    by_trial: int32 (trial, unit): the same of all collections.
    """

    counts: list[FloatArray]
    by_trial: NDArray[np.int32]
    collections: Collections


def maxima_block(
    table: ScoreTable,
    families: list[list[Family]],
    start: int,
    stop: int,
    of_means: Callable[..., FloatArray] | None = None,
) -> dict[str, Part]:
    """Return in how many of some trials the maximum reaches each pair, and the largest statistics.

    families: Of each cell.
    of_means: Largest t of means in some trials, of a cell.
    Returns reached: int64 (cell, pair), of a family behind that before it: see `adjusted_counts`.
    Returns largest, largest_t: float64 (cell, family, trial); (cell, trial), of means of runs.
    """
    n_cells = len(families)
    n_pairs = sum(len(family.first) for family in families[0])
    reached = np.zeros((n_cells, n_pairs), np.int64)
    largest = np.zeros((n_cells, len(families[0]), stop - start))
    largest_t = np.empty((n_cells, stop - start))
    starts = np.array([0, *(part.units.stop for part in table.strata)])
    collections = Collections(starts, np.array([part.weight for part in table.strata]))
    for low in range(start, stop, TRIALS_AT_ONCE):
        counts = drawn_counts(table, low, min(low + TRIALS_AT_ONCE, stop))
        by_trial = np.ascontiguousarray(np.concatenate(counts).T, np.int32)
        drawn = Drawn(counts, by_trial, collections)
        here = slice(low - start, low - start + len(by_trial))
        for cell in range(n_cells):
            sums = _sums_of(table, cell, drawn)
            _add_maxima(
                table, cell, families[cell], drawn, sums, reached[cell], largest[cell, :, here]
            )
            if of_means is not None:
                largest_t[cell, here] = of_means(table, cell, counts, sums)
    blocks: dict[str, Part] = {"reached": Sum(reached), "largest": Concat(largest)}
    return blocks if of_means is None else blocks | {"largest_t": Concat(largest_t)}


def _sums_of(table: ScoreTable, cell: int, drawn: Drawn) -> FloatArray:
    """Return the sums of runs over what is drawn, float64 (collection, run, trial)."""
    units = table.units[cell]
    parts = zip(table.strata, drawn.counts, strict=True)
    return np.stack([units[:, part.units] @ counts for part, counts in parts])


def _add_maxima(
    table: ScoreTable,
    cell: int,
    families: list[Family],
    drawn: Drawn,
    sums: FloatArray,
    reached: IntArray,
    largest: FloatArray,
) -> None:
    """Add to `reached` (pair,) of a cell, and raise `largest` (family, trial), by some trials."""
    units = table.units[cell]
    totals = np.stack([units[:, part.units].sum(axis=1) for part in table.strata])
    begin = 0
    for family, of_trials in zip(families, largest, strict=True):
        order, edges = family.ascending
        first = family.first[order]
        second = family.second[order]
        pairs = ObservedPairs(first, second, totals[:, first] - totals[:, second], edges)
        counted = reached[begin : begin + len(order)]
        running_maxima(
            pairs, units, sums, drawn.by_trial, drawn.collections, family.added, of_trials, counted
        )
        begin += len(family.first)


def critical_value(largest: FloatArray, alpha: float) -> float:
    """Return the ceil((1 - alpha) (B + 1))-th smallest of B statistics; NaN if B is too small."""
    rank = math.ceil(round((1 - alpha) * (len(largest) + 1), 9))
    return float(np.sort(largest)[rank - 1]) if rank <= len(largest) else math.nan
