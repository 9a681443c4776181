"""Tests of pairs by resampling: bootstrap, randomisation, and Tukey and max-T of all together.

References: Sakai 2007, section 4.3; Efron and Tibshirani 1993, chapter 16; Fisher 1935; Smucker,
Allan and Carterette 2007; Carterette 2012; Sakai 2018, chapter 5; Romano and Wolf 2005, Algorithms
3.1 and 4.1; Westfall and Young 1993.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.analyses.pairs import CONFIDENCE, ResampledTest, RunPairs, binary_notes, scale_of
from scorecube.analyses.protocol import Concat, Max, Part, Totals
from scorecube.analyses.step_down import (
    MODERATION,
    critical_value,
    drawn_counts,
    families_of,
    maxima_block,
    single_p_values,
)
from scorecube.analyses.table import Table
from scorecube.analyses.two_samples import summaries
from scorecube.analyses.units import FloatArray
from scorecube.errors import BadPlan
from scorecube.kernels.random.draws import (
    Sampling,
    bootstrap_samples,
    sign_columns,
    topic_counts,
    topic_samples,
)
from scorecube.kernels.tails import ROUNDING, differences_at, largest, studentised, widest
from scorecube.kernels.tukey import null_ranges, permutations
from scorecube.statistics.grid import EQUAL

TILE = 24
"""Pairs that are tested together; results do not depend on it."""
WITH_REPLACEMENT = int(Sampling.REPLACEMENT)
OF_MEANS = ("t", "difference_low", "difference_high", "effect_size", "d_z")
"""What geometric means and areas lack."""
UNPAIRED = {
    kind: f"{what} are tested unpaired: each run of a pair draws topics of its own."
    for kind, what in (("geo", "Geometric means"), ("area", "Means of the worst topics"))
}


@dataclass(frozen=True, kw_only=True)
class SingleTest(ResampledTest):
    """Base of tests of each pair by itself: a unit of a block is a pair with all its trials."""

    unit: ClassVar[str] = "pairs"

    def n_units(self, table: Table) -> int:
        return len(self.pairs(table)[0])

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

    def counts(self, table: Table, totals: Totals) -> Any:
        return totals["reached"].astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Bootstrap(SingleTest):
    """Bootstrap test of all pairs of runs, with the estimated required difference.

    A trial draws n topics with replacement, shared by all metrics, gain settings and pairs. With w
    the centred per-topic differences of a pair, t* is the t statistic of w on the drawn topics; the
    achieved significance level (ASL) is the share of trials with ``|t*| >= |t|`` (Sakai 2007,
    Figures 5 and 6). The estimated difference at alpha is the largest, over pairs, of the absolute
    mean difference in the trial with the (B alpha)-th largest ``|t*|`` (Sakai 2007, Figure 7).

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> analyse(testing.simulate_cube(n_runs=6, seed=3), Bootstrap(), trials=200)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "bootstrap"
    examples: ClassVar[tuple[str, ...]] = ("--trials 1000 --alpha 0.05,0.01 --seed 1",)

    summary: Literal["mean", "geo", "area"] = option_field(
        "mean",
        "Of the scores of a run; geometric means and areas (of its worst quarter of topics) are "
        "tested unpaired: each run draws topics of its own.",
    )

    def notes(self, table: Table) -> list[str]:
        if self.summary != "mean" and table.n_topics != table.sizes.size:
            raise BadPlan("only means are defined of topics in groups or bags", option="summary")
        notes = binary_notes(table)
        return notes if self.summary == "mean" else [*notes, UNPAIRED[self.summary]]

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        if self.summary == "mean":
            return super().block(table, start, stop)
        pairs = tuple(runs[start:stop] for runs in self.pairs(table))
        reached = np.zeros((len(table.scores), stop - start), np.int32)
        for cell in range(len(reached) if start < stop else 0):
            reached[cell] = self.unpaired_tail(table, cell, *pairs)
        return {"reached": Concat(reached)}

    def observed(self, table: Table, cell: int) -> FloatArray:
        """Return the geometric mean or area of each run over all topics, float64 (run,)."""
        n = table.sizes.size
        return summaries(self.summary, table.values[cell], np.ones((n, 1)), n)[:, 0]

    def unpaired_tail(self, table: Table, cell: int, first: Any, second: Any) -> Any:
        """Return in how many trials runs moved to one summary differ as much, int (pair,)."""
        n, key = table.sizes.size, table.key(names.Purpose.UNPAIRED_TOPICS)
        draw = partial(topic_counts, key, WITH_REPLACEMENT, n, n, 0, table.trials)
        centres, scores = self.observed(table, cell), table.values[cell]
        moved = [summaries(self.summary, scores, of.T, n) for of in table.once("halves", draw)]
        scales = np.ones(len(centres))
        if self.summary == "geo":
            scales = np.sqrt(centres)
            moved = [values / centres[:, np.newaxis] for values in moved]
        else:
            moved = [values - centres[:, np.newaxis] for values in moved]
        reached = np.empty(len(first), np.int32)
        for low in range(0, len(reached), TILE):
            a, b = first[low : low + TILE], second[low : low + TILE]
            apart = np.abs(moved[0][a] - moved[1][b]) * (scales[a] * scales[b])[:, np.newaxis]
            edges = np.abs(centres[a] - centres[b]) - EQUAL * scale_of(table, cell)
            reached[low : low + TILE] = (apart >= edges[:, np.newaxis]).sum(axis=1)
        return reached

    def draws(self, table: Table) -> FloatArray:
        return drawn_counts(table, 0, table.trials)[0]

    def tail(self, units: Any, drawn_in: Any, pairs: RunPairs, needed: FloatArray) -> Any:
        drawn, sums, room = drawn_in
        z, n = units[pairs[0]] - units[pairs[1]], float(len(drawn))
        totals, squares = z.sum(axis=1), (z * z).sum(axis=1)
        statistics = np.matmul(z * z, drawn, out=room[0, : len(z)])
        spread = squares - totals * totals / n
        spread[spread <= ROUNDING * squares] = 0.0
        # A difference of sums of at most n units is a tie; one without a spread has an infinite t.
        moved = np.where(np.abs(totals) > n, totals, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            edges = np.where(moved != 0.0, moved * moved / spread, 0.0) * (1 - ROUNDING)
        reached, most = np.empty(len(z), np.int32), np.empty(len(z))
        studentised(pairs, sums, (totals, edges), n, statistics, reached)
        widest(pairs, sums, totals, most)
        # In no trial of the other pairs is the difference as large.
        beyond = np.flatnonzero(most > needed.min())
        if len(beyond):
            ranks = np.array([replicate_rank(alpha, sums.shape[1]) for alpha in self.alphas])
            chosen = pairs[0][beyond], pairs[1][beyond]
            apart, (rows, top) = np.empty(len(beyond)), room[1:, : len(beyond)]
            np.take(statistics, beyond, axis=0, out=rows, mode="clip")
            for level, kth in enumerate(largest(rows, ranks, top)):
                differences_at(chosen, sums, totals[beyond], rows, kth, apart)
                needed[level] = max(needed[level], apart.max())
        return reached

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        if self.summary != "mean":
            means = np.stack([self.observed(table, cell) for cell in range(len(table.scores))])
            apart = np.subtract(*(means[:, runs] for runs in self.pairs(table)))
            missing = dict.fromkeys(OF_MEANS, np.full(apart.shape, np.nan))
            return {"mean": means, "mean_difference": apart, **missing}
        unit = table.grid_units / table.sizes.size
        return {"estimated_difference": totals["needed"] * unit[:, np.newaxis]}

    def drawn(self, table: Table) -> xr.Dataset:
        n = table.sizes.size
        if self.summary != "mean":
            key = table.key(names.Purpose.UNPAIRED_TOPICS)
            dims, both = (names.TRIAL, names.HALF, names.DRAW), (WITH_REPLACEMENT, n, n, 0)
            return xr.Dataset({names.TOPIC_SAMPLE: (dims, topic_samples(key, *both, table.trials))})
        key = table.key(names.Purpose.BOOTSTRAP_TOPICS)
        positions = bootstrap_samples(key, n, 0, table.trials)[:, 0]
        return xr.Dataset({names.TOPIC_SAMPLE: ((names.TRIAL, names.DRAW), positions)})


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
        return drawn_signs(table).astype(float)

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
        signs = drawn_signs(table).T.astype(np.int8)
        return xr.Dataset({names.TOPIC_SIGN: ((names.TRIAL, "unit"), signs)})


@dataclass(frozen=True, kw_only=True)
class Tukey(ResampledTest):
    """Randomised Tukey HSD test, which controls the family-wise error rate.

    A trial permutes the runs within each topic, alike for all metrics and gain settings, and
    computes the range of the run means. The p-value of a pair is the share of trials in which that
    range is at least the pair's difference. Limits are the difference plus and minus the range that
    5 % of the trials exceed. Runs are taken as exchangeable.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> analyse(testing.simulate_cube(n_runs=6, seed=3), Tukey(), trials=200)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "tukey"
    joint: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 5000 --alpha 0.05 --seed 1",)

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        if start == stop:
            return {"range": Concat(np.empty((len(table.scores), 0)))}
        scores = table.once("by_unit", lambda: np.ascontiguousarray(table.units.transpose(2, 0, 1)))
        ranges = null_ranges(scores, table.key(names.Purpose.RUN_PERMUTATIONS), start, stop)
        return {"range": Concat(ranges)}

    def counts(self, table: Table, totals: Totals) -> Any:
        (first, second), counts = self.pairs(table), []
        for units, ranges in zip(table.units, totals["range"], strict=True):
            sums = units.sum(axis=1)
            # A difference of sums of at most n units is a tie.
            edges = np.abs(sums[first] - sums[second]) - units.shape[1]
            counts.append(table.trials - np.searchsorted(np.sort(ranges), edges, side="left"))
        return np.stack(counts)

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        n, rank = table.sizes.size, replicate_rank(round(1 - CONFIDENCE, 9), table.trials)
        critical = -np.sort(-totals["range"], axis=1)[:, rank - 1 : rank]
        critical *= table.grid_units[:, np.newaxis] / n
        return {
            "p_single": single_p_values(values["t"], n - 1),
            "difference_low": values["mean_difference"] - critical,
            "difference_high": values["mean_difference"] + critical,
        }

    def drawn(self, table: Table) -> xr.Dataset:
        key = table.key(names.Purpose.RUN_PERMUTATIONS)
        places = permutations(key, table.sizes.size, len(table.runs), 0, table.trials)
        return xr.Dataset({names.RUN_PERMUTATION: ((names.TRIAL, "unit", names.RUN), places)})


@dataclass(frozen=True, kw_only=True)
class MaxT(ResampledTest):
    """Step-down max-T test of all pairs together, also of runs that vary differently.

    A trial draws n topics with replacement, shared by all metrics, gain settings and pairs; t is
    moderated, see `scorecube.analyses.step_down`. The adjusted p-value of a pair is the share of
    trials in which the largest ``|t*|`` over this pair and all pairs with a smaller ``|t|`` reaches
    ``|t|``, or that of a pair with a larger ``|t|`` if it is larger. Estimand: the pairs whose
    means over infinitely many topics differ; the probability that any pair without a difference is
    among the significant ones is at most alpha, for large n. Pairs that differ on fewer than 8
    topics, groups or bags stay out of the maximum: their p-value is 1, and they have no limits.

    Examples
    --------
    >>> from scorecube import analyse, testing
    >>> analyse(testing.simulate_cube(n_runs=6, seed=3), MaxT(), trials=200)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "maxt"
    joint: ClassVar[bool] = True
    examples: ClassVar[tuple[str, ...]] = ("--trials 10000 --alpha 0.05 --seed 1",)

    def notes(self, table: Table) -> list[str]:
        return binary_notes(table)

    def block(self, table: Table, start: int, stop: int) -> dict[str, Part]:
        return maxima_block(table, families_of(table, [self.baseline]), start, stop, means=False)

    def counts(self, table: Table, totals: Totals) -> Any:
        families = zip(families_of(table, [self.baseline]), totals["reached"], strict=True)
        return np.stack([family.adjusted_counts(n, table.trials) for (family,), n in families])

    def more(self, table: Table, totals: Totals, values: Mapping[str, Any]) -> dict[str, Any]:
        margins, own_errors, p_single = [], [], []
        for cell, (family,) in enumerate(families_of(table, [self.baseline])):
            p_single.append(family.p_single)
            exceeded = critical_value(totals["largest"][cell, 0], 1 - CONFIDENCE)
            moderated = np.sqrt((family.variance + family.added) / (1 + MODERATION))
            margin = np.sqrt((1 + MODERATION) * exceeded) * moderated * table.grids[cell].unit
            margins.append(np.where(family.varied, margin, np.nan))
            p = values["p_value"][cell]
            own_errors.append([family.own_error_pairs(alpha, p < alpha) for alpha in self.alphas])
        return {
            "difference_low": values["mean_difference"] - margins,
            "difference_high": values["mean_difference"] + margins,
            "p_single": np.stack(p_single),
            "own_error_pairs": np.array(own_errors),
        }


def drawn_signs(table: Table) -> NDArray[np.int8]:
    """Return the sign of each unit in each trial, (unit, trial)."""
    return sign_columns(table.key(names.Purpose.TOPIC_SIGNS), table.sizes.size, 0, table.trials)


def replicate_rank(alpha: float, trials: int) -> int:
    """Return the rank K of a resample: B alpha rounded up, at least 1 (Sakai 2007)."""
    return max(1, math.ceil(Fraction(str(alpha)) * trials))
