"""Differences of the mean scores of pairs of runs, with errors, limits, p-values, effect sizes."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.jackknife import limits
from scorecube.analyses.protocol import Arrays
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray, groups_left_out
from scorecube.kernels.arrays import Int32Array1
from scorecube.statistics.grid import least_difference
from scorecube.statistics.intervals import (
    Estimate,
    difference_limits,
    estimate,
    guarded_estimate,
    two_sided_p,
)

RunPairs = tuple[Int32Array1, Int32Array1]
"""First and second runs of pairs, int32 (pair,) each."""
EVERY = slice(None)
AT_ONCE = 2**21
"""About the most differences that are in memory at a time."""
CONFIDENCE = 0.95
"""Of limits."""


class PairDifferences(NamedTuple):
    """Differences of the means of pairs of runs, (cell, pair): first minus second.

    mean: Differences of means; 0 where these are equal.
    error: Their standard errors; 0 where the difference is the same on every unit.
    guarded: Estimates with pseudo-units, where they are needed: limits and p-values follow from
        them; errors are NaN where there are no limits.
    """

    mean: FloatArray
    error: FloatArray
    guarded: Estimate

    @property
    def has_pseudo_units(self) -> NDArray[np.bool_]:
        """Whether estimates have pseudo-units, (cell, pair)."""
        padded = self.guarded.error
        return np.asarray(np.isfinite(padded) & (padded != self.error), bool)

    def plain(self) -> PairDifferences:
        """Return the differences without pseudo-units, as papers have them."""
        error = np.where(self.error > 0, self.error, np.nan)
        return self._replace(guarded=Estimate(self.mean, error, self.guarded.freedom))


def pair_differences(table: ScoreTable, pairs: RunPairs) -> PairDifferences:
    """Return the differences of pairs of runs in each cell."""
    first, second = pairs
    shape = len(table.scores), len(first)
    found = PairDifferences(
        mean=np.zeros(shape),
        error=np.zeros(shape),
        guarded=Estimate(np.zeros(shape), np.zeros(shape), table.sizes.size - 1.0),
    )
    step = max(1, AT_ONCE // table.sizes.size)
    for cell in range(len(table.scores)):
        for low in range(0, len(first), step):
            place = slice(low, low + step)
            part = difference_in(table, cell, (first[place], second[place]))
            found.mean[cell, place] = part.mean
            found.error[cell, place] = part.error
            found.guarded.mean[cell, place] = part.guarded.mean
            found.guarded.error[cell, place] = part.guarded.error
    return found


def difference_in(table: ScoreTable, cell: int, pairs: RunPairs) -> PairDifferences:
    """Return the differences of some pairs of runs in a cell, (pair,)."""
    first, second = pairs
    scores = table.scores[cell]
    mean = table.means[cell]
    width = width_of(table, cell)
    least = least_of(table, cell)
    of_units = scores[first] - scores[second]
    samples = table.samples(of_units)
    plain = estimate(samples)
    guarded = guarded_estimate(
        samples, width, binary=bool(table.binary[cell]), least=least, plain=plain
    )
    still = ~(plain.error > 2 * least)  # where no unit differs by more, the error is smaller
    still[still] = np.ptp(of_units[still], axis=1) <= least
    return PairDifferences(
        mean=without_rounding(mean[first] - mean[second], least),
        error=np.where(still, 0.0, plain.error),
        guarded=guarded._replace(mean=without_rounding(guarded.mean, least)),
    )


def without_rounding(values: FloatArray, least: float) -> FloatArray:
    """Return values, 0 for those that differ from it by no more than `least`."""
    return np.where(np.abs(values) <= least, 0.0, values)


def described(table: ScoreTable, pairs: RunPairs, found: PairDifferences) -> Arrays:
    """Return means, differences with limits of each pair by itself, and effect sizes, by cell."""
    deviation = residual_deviations(table)[:, np.newaxis]
    n_cells, n_pairs = found.mean.shape
    low, high = difference_limits(found.guarded, widths_of(table), CONFIDENCE)
    t = np.full(found.mean.shape, np.nan)
    np.divide(found.mean, found.error, out=t, where=found.error > 0)
    effect = np.full(found.mean.shape, np.nan)
    np.divide(found.mean, deviation, out=effect, where=deviation > 0)
    effect_low, effect_high = effect_limits(table, pairs, effect)
    return {
        "mean": table.means,
        "mean_difference": found.mean,
        "t": t,
        "difference_low": low,
        "difference_high": high,
        "effect_size": effect,
        "effect_size_low": effect_low,
        "effect_size_high": effect_high,
        "d_z": t / math.sqrt(table.sizes.size * table.in_bag),
        "n_tested": np.full(n_cells, n_pairs),
        "p_single": two_sided_p(found.guarded),
        "limits_reason": np.where(np.isnan(low), table.why_no_limits, "").astype(object),
    }


def residual_deviations(table: ScoreTable) -> FloatArray:
    """Return the residual standard deviations over topics, (cell,); 0 for what is rounding.

    That is the root of V_E2 of the two-way ANOVA without replication (Sakai 2014, SIGIR Forum
    48(1)).
    """
    return np.array([_residual_deviation(table, cell) for cell in range(len(table.scores))])


def _residual_deviation(
    table: ScoreTable, cell: int, kept: NDArray[np.bool_] | slice = EVERY
) -> float:
    """Return the residual standard deviation of a cell over some units."""
    scores = table.values[cell][:, kept]
    n_runs, n_units = scores.shape
    residuals = scores - scores.mean(axis=0)
    residuals -= residuals.mean(axis=1, keepdims=True)
    squares = float((residuals**2).sum())
    deviation = math.sqrt(table.in_bag * squares / ((n_runs - 1) * (n_units - 1)))
    return 0.0 if deviation <= least_of(table, cell) else deviation


def effect_limits(
    table: ScoreTable, pairs: RunPairs, effect: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return limits of effect sizes (cell, pair) over topics: the jackknife of scores.

    A group of topics is left out of both means and of the residual standard deviation.
    """
    first, second = pairs
    group = groups_left_out([part.size() for part in table.strata])
    low, high = np.full((2, *effect.shape), np.nan)
    means = []
    deviations = []
    for k in np.unique(group):
        kept = group != k
        parts = [
            part.weight * table.values[..., part.units][..., kept[part.units]].mean(axis=-1)
            for part in table.strata
        ]
        means.append(np.sum(parts, axis=0))
        each = [_residual_deviation(table, cell, kept) for cell in range(len(effect))]
        deviations.append(np.where(np.array(each) > 0, each, np.nan))
    step = max(1, AT_ONCE // 64)
    for cell in range(len(effect) if means else 0):
        of_runs = np.array([mean[cell] for mean in means])
        spread = np.array([deviation[cell] for deviation in deviations])[:, np.newaxis]
        for start in range(0, len(first), step):
            place = slice(start, start + step)
            without = (of_runs[:, first[place]] - of_runs[:, second[place]]) / spread
            low[cell, place], high[cell, place] = limits(effect[cell, place], without)
    return low, high


def joint_limits(table: ScoreTable, difference: FloatArray, margins: FloatArray) -> Arrays:
    """Return simultaneous limits of differences (cell, pair), within the width of the range."""
    widths = widths_of(table)
    return {
        "joint_low": np.maximum(difference - margins, -widths),
        "joint_high": np.minimum(difference + margins, widths),
    }


def width_of(table: ScoreTable, cell: int) -> float | None:
    """Return the width of the range of a cell's scores; None where it is unknown."""
    ends = table.ranges[cell]
    return None if ends is None else ends[1] - ends[0]


def widths_of(table: ScoreTable) -> FloatArray:
    """Return the widths of the ranges, float64 (cell, 1); infinite where they are unknown."""
    widths = [width_of(table, cell) or np.inf for cell in range(len(table.scores))]
    return np.array(widths)[:, np.newaxis]


def least_of(table: ScoreTable, cell: int) -> float:
    """Return the difference up to which scores and means of a cell are equal."""
    return least_difference(table.scores[cell], width_of(table, cell))
