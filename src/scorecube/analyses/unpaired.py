"""Unpaired two-sample bootstrap test, also of geometric means and areas.

References: Sakai 2006, "Evaluating evaluation metrics based on the bootstrap", section 3.2; Sakai
2007, section 4.3, footnote; Efron and Tibshirani 1993, chapter 16.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.analyses.pair_results import CONFIDENCE, Pairs, scale_of
from scorecube.analyses.pairs import TILE, PairTest
from scorecube.analyses.table import Table
from scorecube.analyses.two_samples import LOG_UNITS, area_measures
from scorecube.analyses.units import FloatArray
from scorecube.collection.topic_means import log_scores
from scorecube.kernels.random.draws import Sampling, topic_counts, topic_samples
from scorecube.kernels.tails import ROUNDING, largest
from scorecube.statistics.grid import EQUAL


@dataclass(frozen=True, kw_only=True)
class Unpaired(PairTest):
    """Unpaired bootstrap test of all pairs of runs, also of geometric means and areas.

    The scores of both runs are shifted to a common summary and resampled with separate draws of
    topics. The statistic is Welch's t for means, and the difference for geometric means (shifted on
    the logarithmic scale) and area measures.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> result = analyse(simulate_cube(n_runs=6, seed=3), Unpaired(), trials=200, seed=1)
    >>> result["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "unpaired"
    examples: ClassVar[tuple[str, ...]] = ("--summary geo --seed 1",)

    summary: Literal["mean", "geo", "area"] = option_field(
        "mean",
        "Of the scores of a run: mean, geometric mean (of scores of at least 1e-5), or area, that "
        "of the worst quarter of its topics.",
    )

    def tails(
        self, table: Table, cell: int, pairs: Pairs, ranks: Any, counted_in: tuple[Any, Any]
    ) -> None:
        (reached, needed), of = counted_in, resampled(table, cell, self.summary)
        for low in range(0, len(reached), TILE):
            a, b = (runs[low : low + TILE] for runs in pairs)
            scale = of.scales[a] * of.scales[b]
            moved = np.abs(of.values[0, a] - of.values[1, b]) * scale[:, np.newaxis]
            apart = np.abs(of.centres[a] - of.centres[b])
            if self.summary == "mean":
                n = table.sizes.size
                statistics = squared_t(moved, of.spreads[0, a] + of.spreads[1, b], n)
                edges = squared_t(apart, of.spread[a] + of.spread[b], n) * (1 - ROUNDING)
            else:
                statistics, edges = moved, apart - EQUAL * scale_of(table, cell)
            reached[low : low + TILE] = (edges <= statistics.T).sum(axis=0)
            for level, kth in enumerate(largest(statistics, ranks)):
                trial = (statistics == kth[:, np.newaxis]).argmax(axis=1)
                differences = moved[np.arange(len(a)), trial] * of.unit
                units = np.rint(differences.max() / self.unit_of_needed(table)[cell])
                needed[level] = max(needed[level], units)

    def unit_of_needed(self, table: Table) -> FloatArray:
        return np.array([EQUAL * scale_of(table, cell) for cell in range(len(table.scores))])

    def estimates(self, table: Table, pairs: Pairs) -> dict[str, Any]:
        from scipy.special import stdtrit

        (a, b), found, n = pairs, super().estimates(table, pairs), table.sizes.size
        still, variances = np.ptp(table.values, axis=-1) == 0, np.full(table.means.shape, np.nan)
        if self.summary == "mean":
            variances = np.where(still, 0.0, table.values.var(axis=-1, ddof=1) / n)
        elif self.summary == "geo":
            found["mean"] = np.exp(log_scores(table.values).mean(axis=-1))
        else:
            whole = np.ones((n, 1))
            areas = [area_measures(row, whole, n)[0] for row in table.values.reshape(-1, n)]
            found["mean"] = np.reshape(areas, table.means.shape)
        difference = found["mean"][:, a] - found["mean"][:, b]
        error = np.sqrt(variances[:, a] + variances[:, b])
        margin = stdtrit(n - 1, (1 + CONFIDENCE) / 2) * error
        with np.errstate(divide="ignore", invalid="ignore"):
            t = difference / error
        del found["d_z"]  # is of paired differences
        return found | {
            "mean_difference": difference,
            "standard_error": error,
            "t": t,
            "difference_low": difference - margin,
            "difference_high": difference + margin,
            "effect_size": found["effect_size"] + 0 * margin,
            "constant_pairs": (still[:, a] & still[:, b] & (difference != 0)).sum(axis=1),
        }

    def drawn(self, table: Table) -> xr.Dataset:
        n, key = table.sizes.size, table.key(names.Purpose.UNPAIRED_TOPICS)
        positions = topic_samples(key, int(Sampling.REPLACEMENT), n, n, 0, table.trials)
        dims = names.TRIAL, names.HALF, names.DRAW
        return xr.Dataset({names.TOPIC_SAMPLE: (dims, positions)})


class Resampled(NamedTuple):
    """What resamples of one cell are compared by.

    values: float64 (half, run, trial): summary less the observed one; the first run of a pair has
        that of the first half.
    centres: float64 (run,): observed summary.
    scales: float64 (run,): by those of both runs a difference of values is multiplied.
    unit: Scores in a value of 1.
    spreads, spread: float64 (half, run, trial) and (run,): sums of squares about means, of means.
    """

    values: FloatArray
    centres: FloatArray
    scales: FloatArray
    unit: float
    spreads: FloatArray
    spread: FloatArray


def resampled(table: Table, cell: int, summary: str) -> Resampled:
    """Return the summaries of the runs of a cell in each trial."""
    n, key = table.sizes.size, table.key(names.Purpose.UNPAIRED_TOPICS)
    kind = int(Sampling.REPLACEMENT)
    drawn = table.once("halves", lambda: topic_counts(key, kind, n, n, 0, table.trials))
    counts, scores, units = drawn.swapaxes(1, 2), table.values[cell], table.units[cell]
    one, none = np.ones(len(scores)), np.empty(0)
    if summary == "mean":
        sums, squares, total = units @ counts, (units * units) @ counts, units.sum(axis=1)
        spread = (units * units).sum(axis=1) - total * total / n
        values, spreads = sums - total[:, np.newaxis], squares - sums * sums / n
        return Resampled(values, total, one, table.grids[cell].unit / n, spreads, spread)
    if summary == "geo":
        logs = np.rint(log_scores(scores) * LOG_UNITS)
        total = logs.sum(axis=1)
        values = np.exp((logs @ counts - total[:, np.newaxis]) / (LOG_UNITS * n))
        centres = np.exp(total / (LOG_UNITS * n))
        return Resampled(values, centres, np.sqrt(centres), 1.0, none, none)
    centres = np.array([area_measures(row, np.ones((n, 1)), n)[0] for row in scores])
    areas = [[area_measures(row, half, n) for row in scores] for half in counts]
    return Resampled(np.array(areas) - centres[:, np.newaxis], centres, one, 1.0, none, none)


def squared_t(difference: FloatArray, spread: FloatArray, tie: float) -> FloatArray:
    """Return squared statistics: 0 without a difference, infinite without a spread."""
    moved = np.where(difference > tie, difference, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(moved > 0, moved * moved / np.maximum(spread, 0.0), 0.0)
