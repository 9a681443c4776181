"""Unpaired two-sample bootstrap test, also of geometric means and areas.

References: Sakai 2006, "Evaluating evaluation metrics based on the bootstrap", section 3.2; Sakai 2007, section 4.3, footnote; Efron and Tibshirani 1993,
chapter 16. Area measure: Voorhees 2005, "The TREC robust retrieval track".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.drawn_samples import labelled_samples
from scorecube.analyses.options import option_field
from scorecube.analyses.pair_results import CONFIDENCE, Pairs, scale_of
from scorecube.analyses.pairs import TILE, PairTest
from scorecube.analyses.table import Table
from scorecube.collection.topic_means import area_weights, log_scores
from scorecube.kernels.random.draws import Sampling, topic_counts, topic_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.kernels.tails import ROUNDING, largest
from scorecube.statistics.grid import EQUAL, make_grid


@dataclass(frozen=True, kw_only=True)
class Unpaired(PairTest):
    """Unpaired bootstrap test of all pairs of runs, also of geometric means and areas.

    The scores of both runs are shifted to a common summary and resampled with separate draws of topics. The statistic is Welch's t for means, and the
    difference for geometric means (shifted on the logarithmic scale) and area measures.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), Unpaired(), trials=200, seed=1)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "unpaired"
    examples: ClassVar[tuple[str, ...]] = ("--summary geo --seed 1",)

    summary: Literal["mean", "geo", "area"] = option_field(
        "mean",
        "Of the scores of a run: mean, geometric mean (of scores of at least 1e-5), or area, that of the worst quarter of its topics.",
    )

    def tails(self, table: Table, cell: int, pairs: Pairs, ranks: Any) -> tuple[Any, Any]:
        of = self.shared(table, cell, lambda: resampled(table, cell, self.summary))
        reached, needed = np.empty(len(pairs[0]), np.int32), np.zeros(len(ranks), np.int64)
        for low in range(0, len(reached), TILE):
            a, b = (runs[low : low + TILE] for runs in pairs)
            moved = np.abs(of.values[0, a] - of.values[1, b])
            statistics = squared_ratio(moved, of.spreads[0, a] + of.spreads[1, b], of.tie)
            shift = np.abs(of.centres[a] - of.centres[b])
            shift = 2 * np.sinh(shift / 2) if self.summary == "geo" else shift
            edges = squared_ratio(np.maximum(shift - of.slack, 0.0), of.own[a] + of.own[b], of.tie)
            reached[low : low + TILE] = (edges * (1 - ROUNDING) <= statistics.T).sum(axis=0)
            scale = np.sqrt(of.scales[a] * of.scales[b]) / (EQUAL * scale_of(table, cell))
            for level, kth in enumerate(largest(statistics, ranks)):
                place = (statistics == kth[:, np.newaxis]).argmax(axis=1)
                differences = np.rint(moved[np.arange(len(a)), place] * scale)
                needed[level] = max(needed[level], int(differences.max()))
        return reached, needed

    def unit_of_needed(self, table: Table) -> Any:
        return np.array([EQUAL * scale_of(table, cell) for cell in range(len(table.scores))])

    def estimates(self, table: Table, pairs: Pairs) -> dict[str, Any]:
        from scipy.special import stdtrit

        (a, b), found, n = pairs, super().estimates(table, pairs), table.sizes.size
        spread = np.ptp(table.values, axis=-1)
        variances = np.where(spread > 0, table.values.var(axis=-1, ddof=1) / n, 0.0)
        if self.summary != "mean":
            found["mean"] = SUMMARIES[self.summary](table.values)
            variances = np.full_like(variances, np.nan)
        difference = found["mean"][:, a] - found["mean"][:, b]
        error = np.sqrt(variances[:, a] + variances[:, b])
        margin = stdtrit(n - 1, (1 + CONFIDENCE) / 2) * error
        still = (spread[:, a] == 0) & (spread[:, b] == 0) & (difference != 0)
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
            "constant_pairs": still.sum(axis=1),
        }

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sample[trial, half, draw]``; halves: first, second run."""
        n, key = cube.sizes[names.TOPIC], stream_key(seed, names.Purpose.UNPAIRED_TOPICS)
        drawn = topic_samples(key, int(Sampling.REPLACEMENT), n, n, 0, trials)
        return labelled_samples(drawn, cube)


class Resampled(NamedTuple):
    """What resamples of one cell are compared by.

    values, spreads: float64 (half, run, trial): summary less the observed one, and its squared error; first runs are taken from the first half.
    centres, own: float64 (run,): observed summary, and its squared error.
    scales: float64 (run,): scores in a value of 1; those of a pair are multiplied, and the root taken.
    tie: Difference of values up to which there is none.
    slack: By how much rounding may make a difference of observed values too large.
    """

    values: Any
    spreads: Any
    centres: Any
    own: Any
    scales: Any
    tie: float = 0.0
    slack: float = 0.0


def resampled(table: Table, cell: int, summary: str) -> Resampled:
    """Return the summaries of the runs of a cell in each trial."""
    counts = table.once("halves", lambda: drawn_halves(table))
    scores, n = table.values[cell], table.sizes.size
    half = np.full((2, len(scores), counts.shape[-1]), 0.5), np.full(len(scores), 0.5)
    if summary == "mean":
        units = table.units[cell]
        sums, squares = units @ counts, (units * units) @ counts
        total, square = units.sum(axis=1), (units * units).sum(axis=1)
        own, scales = square - total * total / n, np.full(len(units), table.grids[cell].unit / n)
        spreads = squares - sums * sums / n
        return Resampled(sums - total[:, np.newaxis], spreads, total, own, scales, float(n))
    centres = SUMMARIES[summary](scores)
    if summary == "geo":
        logs = log_scores(scores)
        grid = make_grid(logs)
        units = grid.to_units(logs)
        step, total = grid.unit / n, units.sum(axis=1)
        values = np.exp((units @ counts - total[:, np.newaxis]) * step)
        return Resampled(values, half[0], total * step, half[1], centres, n * step, EQUAL)
    order, weights = np.argsort(scores, axis=1, kind="stable"), area_weights(n)
    upto, values = np.append(0.0, np.cumsum(weights)), np.empty_like(half[0])
    for run, topics in enumerate(order):
        drawn = np.minimum(np.cumsum(counts[:, topics], axis=1), len(weights)).astype(int)
        share = np.diff(upto[drawn], axis=1, prepend=0.0)
        values[:, run] = (share * scores[run, topics, np.newaxis]).sum(axis=1) - centres[run]
    slack = EQUAL * float(np.abs(scores).max())
    return Resampled(values, half[0], centres, half[1], np.ones(len(scores)), slack, slack)


def squared_ratio(difference: Any, spread: Any, tie: float) -> Any:
    """Return squared statistics: 0 without a difference, infinite without a spread."""
    moved = np.where(difference > tie, difference, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(moved > 0, moved * moved / np.maximum(spread, 0.0), 0.0)


def drawn_halves(table: Table) -> Any:
    """Return how often each trial draws each unit for first and second runs, float64 (half, unit, trial)."""
    n, key = table.sizes.size, table.key(names.Purpose.UNPAIRED_TOPICS)
    drawn = topic_counts(key, int(Sampling.REPLACEMENT), n, n, 0, table.trials)
    return np.ascontiguousarray(drawn.swapaxes(1, 2))


def area(scores: Any) -> Any:
    """Return the area measures of runs, float64 (..., run)."""
    weights = area_weights(scores.shape[-1])
    return (np.sort(scores, axis=-1)[..., : len(weights)] * weights).sum(axis=-1)


def geometric_mean(scores: Any) -> Any:
    """Return the geometric means of runs, float64 (..., run)."""
    return np.exp(log_scores(scores).mean(axis=-1))


SUMMARIES = {"geo": geometric_mean, "area": area}
