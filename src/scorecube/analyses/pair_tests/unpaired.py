"""Unpaired two-sample bootstrap test, also for geometric means and areas.

References: Sakai 2006, "Evaluating evaluation metrics based on the bootstrap", section 3.2; Sakai 2007,
section 4.3, footnote; Efron and Tibshirani 1993, chapter 16. Area measure: Voorhees 2005, "The TREC robust
retrieval track".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array, Arrays, Inputs, Prepared
from scorecube.analyses.drawn_samples import labelled_samples
from scorecube.analyses.pair_tests.base import PairTest, block_runs, tie_widths
from scorecube.analyses.pair_tests.family import Pairs, family, family_size
from scorecube.analyses.pair_tests.pair_scores import comparable
from scorecube.collection.selection import cell_kinds, cells
from scorecube.collection.topic_means import area_weights, log_scores, summarise
from scorecube.kernels.pairs.tail_counts import EQUAL, Levels, Tails
from scorecube.kernels.pairs.unpaired import resampled_areas, resampled_moments, tail_unpaired
from scorecube.kernels.random.draws import Sampling, multiplicities, topic_samples
from scorecube.kernels.random.philox import stream_key
from scorecube.metrics.registry import GEOMETRIC, MEAN, SUMMARIES
from scorecube.statistics.integer_scores import in_units


@dataclass(frozen=True, kw_only=True)
class Unpaired(PairTest):
    """Unpaired bootstrap test of all pairs of runs, also of geometric means and areas.

    The scores of both runs are shifted to a common summary and resampled with separate draws of topics. The
    statistic is Welch's t for means, and the difference for geometric means (``geo:``, shifted on the
    logarithmic scale) and area measures (``area:``).

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.workflow.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), Unpaired(), trials=200, seed=1)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "unpaired"
    seconds_per_score: ClassVar[float] = 2e-9
    bytes_per_draw: ClassVar[float] = 32.0
    examples: ClassVar[tuple[str, ...]] = ("--metrics geo:AP --seed 1",)
    means_only: ClassVar[bool] = False

    def inputs(self, prepared: Prepared, trials: int, seed: int) -> Arrays:
        cube, key = prepared.cube, stream_key(seed, names.Purpose.UNPAIRED_TOPICS)
        scores, kinds = cells(cube)[0], cell_kinds(cube)
        units = [in_units(*comparable(cell, paired=False)) for cell in scores]
        values = [
            unit.values if kind == MEAN else cell
            for cell, unit, kind in zip(scores, units, kinds, strict=True)
        ]
        return {
            "scores": np.stack(values),
            "sums": np.stack([unit.sums for unit in units]),
            "snap": np.array([unit.snap for unit in units]),
            "to_mean": np.array([unit.to_mean for unit in units]),
            "kinds": np.array([SUMMARIES.index(kind) for kind in kinds]),
            **self.pair_inputs(cube, trials, key),
        }

    def block(self, inputs: Inputs, start: int, stop: int) -> Arrays:
        n_cells, _, n = inputs["scores"].shape
        trials, length = int(inputs["trials"]), stop - start
        samples = topic_samples(inputs["key"], int(Sampling.REPLACEMENT), n, n, 0, trials)
        runs, first, second = block_runs(inputs, start, stop)
        reached, kth = (
            np.empty((n_cells, length), np.int32),
            np.empty((n_cells, len(self.alphas), length)),
        )
        degenerate = np.zeros((n_cells, 2), np.int64)
        for cell in range(n_cells):
            scores, kind = (
                np.ascontiguousarray(inputs["scores"][cell, runs]),
                SUMMARIES[inputs["kinds"][cell]],
            )
            snap = float(inputs["snap"][cell])
            if kind == MEAN:
                sums, scale = inputs["sums"][cell, runs], inputs["to_mean"][cell]
                values, spreads, edges = welch_tables(scores, sums, snap, samples, first, second)
            else:
                tables = geometric_tables if kind == GEOMETRIC else area_tables
                values, edges, scale = tables(scores, samples, first, second)
                spreads = NO_SPREADS
            # Start of the search for the K-th largest t^2 n / (n - 1), or difference; the result does not depend on it.
            guesses = np.full(len(self.alphas), 4.0 if kind == MEAN else 2.0 * values.std())
            levels, tails = (
                Levels(inputs["ranks"], guesses),
                Tails(reached[cell], kth[cell], degenerate[cell]),
            )
            tail_unpaired(values, spreads, first, second, edges, n * snap, levels, tails)
            kth[cell] *= scale
        return {"reached": reached, "kth": kth, "degenerate": degenerate}

    def finalize(self, prepared: Prepared, totals: Inputs, trials: int) -> xr.Dataset:
        cube = prepared.cube
        result = super().finalize(prepared, totals, trials)
        scores, cell_of = cells(cube)
        pairs = family(cube, self.baseline)
        t = np.full((len(scores), family_size(cube, self.baseline)), np.nan)
        constant = np.empty(len(scores), np.int64)
        of_means = np.array([kind == MEAN for kind in cell_kinds(cube)])[cell_of]
        result["residual_variance"] = result["residual_variance"].where(of_means)
        for cell, kind in enumerate(cell_kinds(cube)):
            welch_t, constant[cell] = welch_statistics(scores[cell], pairs)
            if kind == MEAN:
                t[cell] = welch_t
        result["t"].values = t[cell_of]
        result["mean"].values = summarise(cube).values
        result["constant_pairs"].values = constant[cell_of]
        result["constant_pairs"].attrs["long_name"] = (
            "pairs of two different runs with constant scores: p = 0"
        )
        return result

    def seconds_per_trial(self, n_topics: int) -> float:
        return 3e-9 + 1e-10 * n_topics

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sample[trial, half, draw]``; halves: first, second run."""
        n = cube.sizes[names.TOPIC]
        key = stream_key(seed, names.Purpose.UNPAIRED_TOPICS)
        return labelled_samples(
            topic_samples(key, int(Sampling.REPLACEMENT), n, n, 0, trials), cube
        )


NO_SPREADS = np.empty((2, 0, 0))
"""Argument of `tail_unpaired` for statistics other than t."""


def welch_statistics(scores: Array, pairs: Pairs) -> tuple[Array, int]:
    """Return Welch's t of pairs of runs, and the number of infinite ones.

    scores: float64 (run, topic).
    pairs: Positions of runs.
    Returns t: float64 (pair,), first run minus second: NaN for equal constant runs, infinite for different ones.
    Returns n_constant: Number of pairs with infinite t.
    """
    units = in_units(*comparable(scores, paired=False))
    n, (first, second) = scores.shape[1], pairs
    squares = (units.values**2).sum(axis=1)
    total = units.sums[first] - units.sums[second]
    total[np.abs(total) <= units.snap] = 0.0
    spread = squares[first] + squares[second]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Centred values are scaled by n.
        t = total * math.sqrt(n * (n - 1)) / np.sqrt(spread)
    return t, int(((spread == 0.0) & (total != 0.0)).sum())


def welch_tables(
    centred: Array, sums: Array, snap: float, samples: Array, first: Array, second: Array
) -> tuple[Array, Array, Array]:
    """Return sums and spreads (half, run, trial) of shifted scores; edges (pair,).

    A trial counts as extreme if its statistic is at least the edge; for runs whose means are equal, or differ by no more
    than rounding, every trial is.
    """
    n = centred.shape[1]
    values = np.empty((2, len(centred), len(samples)))
    spreads = np.empty_like(values)
    resampled_moments(centred, samples, values, spreads)
    squares = (centred**2).sum(axis=1)
    difference = np.abs(sums[first] - sums[second])
    difference[difference <= snap] = 0.0
    difference *= n
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = difference**2 / (squares[first] + squares[second])
    ties = tie_widths(difference, n * snap)
    edges = np.where(np.isfinite(observed), observed * (1.0 - ties), math.inf)
    # Trials without t count as t* = 0, which ties with a difference that rounding of scores may have made of 0.
    edges[(difference == 0.0) | (ties >= 1.0)] = -math.inf
    return values, spreads, edges


def geometric_tables(
    scores: Array, samples: Array, first: Array, second: Array
) -> tuple[Array, Array, Array]:
    """Return relative geometric means (half, run, trial); edges and scale (pair,)."""
    logs = log_scores(scores)
    values = np.empty((2, len(scores), len(samples)))
    resampled_moments(logs, samples, values, np.empty_like(values))
    means = logs.mean(axis=1)
    values /= scores.shape[1]
    values -= means[:, np.newaxis]
    np.exp(values, out=values)
    common = np.exp((means[first] + means[second]) / 2)
    observed = np.abs(np.exp(means[first]) - np.exp(means[second])) / common
    return values, observed - EQUAL * (observed + 1.0), common


def area_tables(
    scores: Array, samples: Array, first: Array, second: Array
) -> tuple[Array, Array, float]:
    """Return shifted area measures (half, run, trial); edges (pair,); scale."""
    weights = area_weights(scores.shape[1])
    values = np.empty((2, len(scores), len(samples)))
    order = np.argsort(scores, axis=1, kind="stable")
    resampled_areas(scores, order, multiplicities(samples, scores.shape[1]), weights, values)
    areas = np.take_along_axis(scores, order, axis=1)[:, : len(weights)] @ weights
    values -= areas[:, np.newaxis]
    size = np.abs(scores).max(axis=1)
    return (
        values,
        np.abs(areas[first] - areas[second]) - EQUAL * np.maximum(size[first], size[second]),
        1.0,
    )
