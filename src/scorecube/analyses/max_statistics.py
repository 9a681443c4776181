"""Step-down max-T over pairs of systems, on the exact grid, of max-T tests and leaderboards.

The statistic of a pair is the moderated t (Smyth 2004, Statistical Applications in Genetics and
Molecular Biology 3, article 3): its squared standard error is the weighted mean of its own and the
median of all pairs, with weights 1 and 4. Any statistic that the bootstrap repeats gives a valid
family (Romano and Wolf 2005, Algorithm 4.1); this one keeps pairs of near copies, whose own t has
long tails, from deciding what all others must reach. Pairs that differ on fewer than 8 units stay
out of the maximum and are never separated.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.leader import largest_of_means
from scorecube.analyses.pair_results import Pairs, single_p_values
from scorecube.analyses.pairs import binary_notes, drawn_counts
from scorecube.analyses.protocol import Concat, Part, Sum
from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray, IntArray
from scorecube.collection.run_pairs import pair_positions
from scorecube.errors import counted
from scorecube.kernels.maxima import ROUNDING, running_maxima
from scorecube.statistics.intervals import FEW
from scorecube.statistics.multiple_testing import adjusted

MODERATION = 4.0
"""Weight of the median variance of all pairs beside a pair's own. Measured: family-wise error at
most .062 over 36 truths, and the most power."""
TILE, TRIALS_AT_ONCE = 128, 512
"""Pairs that are observed, and trials that are computed together; results do not depend on them."""
FEW_TOPICS = 25
"""Number of topics below which error rates are not known."""


class Ascending(NamedTuple):
    """Pairs that vary, in ascending order of the observed statistic; of equal ones the first first.

    first, second: int32 (pair,): runs.
    totals: float64 (stratum, pair): observed sums of differences, in units of the grid.
    edges: float64 (pair,): the least statistic that reaches the observed one.
    """

    first: NDArray[np.int32]
    second: NDArray[np.int32]
    totals: FloatArray
    edges: FloatArray


@dataclass(frozen=True, eq=False)
class Family:
    """Pairs that are tested together in one cell, with what is observed of them.

    first, second: int32 (pair,): runs.
    totals: float64 (stratum, pair): sums of differences, in units of the grid.
    difference, variance: float64 (pair,): difference of means and its squared standard error, too.
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
    def statistic(self) -> FloatArray:
        """Squared difference over variance with `added`, float64 (pair,); moderated t^2 / 5."""
        with np.errstate(divide="ignore", invalid="ignore"):
            statistic = self.difference**2 / (self.variance + self.added)
        return np.where(self.varied, statistic, 0.0)

    @cached_property
    def order(self) -> IntArray:
        """Positions of the pairs of `ascending`."""
        varied = np.flatnonzero(self.varied)
        return np.asarray(varied[np.argsort(self.statistic[varied], kind="stable")])

    @cached_property
    def ascending(self) -> Ascending:
        """What blocks need of the pairs that vary."""
        totals = np.ascontiguousarray(self.totals[:, self.order])
        edges = self.statistic[self.order] * (1.0 - ROUNDING)
        return Ascending(self.first[self.order], self.second[self.order], totals, edges)

    @cached_property
    def p_single(self) -> FloatArray:
        """P-values of pairs by themselves, by Student's t, float64 (pair,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return single_p_values(self.difference / np.sqrt(self.variance), self.freedom)

    def by_own_errors(self, alpha: float) -> NDArray[np.bool_]:
        """Return which pairs Student's t, adjusted by Holm, separates: bool (pair,)."""
        return adjusted(np.where(self.varied, self.p_single, 1.0), "holm") < alpha

    def errors(self) -> FloatArray:
        """Return moderated standard errors, float64 (pair,); 0 where a pair does not vary."""
        return np.where(self.varied, np.sqrt((self.variance + self.added) / (1 + MODERATION)), 0.0)

    def adjusted_counts(self, reached: IntArray, trials: int) -> IntArray:
        """Return adjusted counts of trials, int64 (pair,); all trials for pairs that hardly vary.

        reached: int64: trials that reach each pair of `order`, then others.
        """
        counts = np.full(len(self.first), trials, np.int64)
        counts[self.order] = np.maximum.accumulate(reached[: len(self.order)][::-1])[::-1]
        return counts


def families_of(table: Table, pair_sets: Sequence[Pairs]) -> list[list[Family]]:
    """Return the families of some sets of pairs in each cell, made once.

    All pairs of runs decide what moderation adds.
    """
    every_pair = pair_positions(len(table.runs))

    def make() -> list[list[Family]]:
        families = []
        for cell in range(len(table.scores)):
            every = observe(table, cell, every_pair)
            families.append(
                [
                    every
                    if np.array_equal(pairs, every_pair)
                    else observe(table, cell, pairs, every.added)
                    for pairs in pair_sets
                ]
            )
        return families

    return table.once("families", make)


def observe(table: Table, cell: int, pairs: Pairs, added: float | None = None) -> Family:
    """Return the family of some pairs in a cell.

    added: What moderation adds; by default the median variance of these pairs, four times.
    """
    (first, second), units = pairs, table.units[cell]
    totals = np.empty((len(table.strata), len(first)))
    difference, variance = np.zeros((2, len(first)))
    varied = np.zeros(len(first), np.int64)
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
            varied[place] += n_varied(z)
    usable = (varied >= FEW) & (variance > 0)
    if added is None:
        added = MODERATION * float(np.median(variance[usable])) if usable.any() else 0.0
    freedom = min(part.size() for part in table.strata) - 1
    return Family(first, second, totals, difference, variance, usable, added, freedom)


def n_varied(z: FloatArray) -> IntArray:
    """Return how many units have another difference than most, 8 for more: int64 (pair,).

    z: float64 (pair, unit): differences in units of the grid, which rounding moves by 1.
    """
    ordered, n = np.sort(z, axis=1), z.shape[1]
    counts = np.full(len(z), FEW)
    for varied in reversed(range(min(FEW, n))):
        alike = n - varied  # units with the same difference, which follow each other
        same = ordered[:, alike - 1 :] - ordered[:, : varied + 1] <= 1.0
        counts[same.any(axis=1)] = varied
    return counts


def maxima_block(
    table: Table, pair_sets: Sequence[Pairs], start: int, stop: int, *, of_means: bool = False
) -> dict[str, Part]:
    """Return in how many of some trials the maximum reaches each pair, and the largest statistics.

    of_means: Whether the largest t of the means of runs is computed, too.
    Returns reached: int64 (cell, pair), of a set behind that before it; see `adjusted_counts`.
    Returns largest, largest_t: float64 (cell, set, trial), of pairs, and (cell, trial), of means.
    """
    n_cells, stops = len(table.scores), np.cumsum([len(first) for first, _ in pair_sets])
    reached = np.zeros((n_cells, stops[-1]), np.int64)
    largest = np.zeros((n_cells, len(pair_sets), stop - start))
    largest_t = np.empty((n_cells, stop - start))
    for low in range(start, stop, TRIALS_AT_ONCE):
        high = min(low + TRIALS_AT_ONCE, stop)
        counts, here = drawn_counts(table, low, high), slice(low - start, high - start)
        for cell, families in enumerate(families_of(table, pair_sets)):
            for k, family in enumerate(families):
                of_family = reached[cell, stops[k] - len(family.first) : stops[k]]
                count_maxima(table, cell, counts, family, (largest[cell, k, here], of_family))
            if of_means:
                largest_t[cell, here] = largest_of_means(table, cell, counts)
    parts: dict[str, Part] = {"reached": Sum(reached, most=1), "largest": Concat(largest)}
    return parts | ({"largest_t": Concat(largest_t)} if of_means else {})


def count_maxima(
    table: Table, cell: int, counts: list[FloatArray], family: Family, found: tuple[Any, Any]
) -> None:
    """Take the pairs of a family into the largest statistics of some trials.

    counts: Of `drawn_counts`.
    found: largest, float64 (trial,), changed, and reached, int64 (pair,), added to.
    """
    (first, second, totals, edges), units = family.ascending, table.units[cell]
    parts = zip(table.strata, counts, strict=True)
    sums = np.stack([units[:, part.units] @ drawn for part, drawn in parts])
    by_trial = np.ascontiguousarray(np.concatenate(counts).T, np.int32)
    starts = np.array([0, *(part.units.stop for part in table.strata)])
    weights = np.array([part.weight for part in table.strata])
    observed, of_pairs = (totals, edges), (found[0], found[1][: len(first)])
    collections = starts, weights
    running_maxima(
        (first, second), units, sums, by_trial, observed, collections, family.added, of_pairs
    )


def critical_value(largest: FloatArray, alpha: float) -> float:
    """Return what the largest statistic of a trial exceeds with probability alpha.

    The ceil((1 - alpha) (B + 1))-th smallest of B; NaN if B is too small.
    """
    rank = math.ceil(round((1 - alpha) * (len(largest) + 1), 9))
    return float(np.sort(largest)[rank - 1]) if rank <= len(largest) else math.nan


def notes_on_few(table: Table) -> list[str]:
    """Return the notes of a table, and what is not known with few topics."""
    notes, n_units = [*table.notes, *binary_notes(table)], min(p.size() for p in table.strata)
    if n_units < FEW_TOPICS:
        notes.append(
            f"{counted(n_units, 'topic')}: with fewer than {FEW_TOPICS} the family-wise error rate "
            "is not known to be close to alpha"
        )
    return notes


def block_bytes(table: Table) -> float:
    """Return the memory of a block."""
    n_runs, n_units = len(table.runs), table.sizes.size
    return 8.0 * TRIALS_AT_ONCE * (2 * n_runs + 2 * n_units) + 2.0 * table.nbytes
