"""Unpaired two-sample bootstrap test, also for summaries other than the mean over topics.

References: Sakai 2006, "Evaluating evaluation metrics based on the bootstrap", section 3.2; Sakai 2007 (S1), section 4.3, footnote;
Efron and Tibshirani 1993, chapter 16. Area measure: Voorhees 2005, "The TREC robust retrieval track".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.analysis import Arrays
from scorecube.analyses.pairs import PairTest, block_runs, rank_of
from scorecube.analyses.samples import labelled_samples, sample_positions
from scorecube.cube import cells
from scorecube.errors import BadPlan
from scorecube.kernels.draws import Sampling, topic_samples
from scorecube.kernels.pairs import label_order, pair_order
from scorecube.kernels.streams import stream_key
from scorecube.kernels.unpaired import EQUAL, resampled_areas, resampled_moments, tail_unpaired
from scorecube.summaries import AREA, GEOMETRIC, KINDS, area_weights, kinds_of, log_scores, summarise


@dataclass(frozen=True, kw_only=True)
class Unpaired(PairTest):
    """Unpaired bootstrap test of all pairs of runs: each run's scores are resampled on their own.

    Both samples are shifted to a common summary and resampled with their own draws. For means the statistic is Welch's t;
    for geometric means (``geo:``, shifted on the logarithmic scale) and area measures (``area:``) it is the difference itself.

    Parameters
    ----------
    alphas, plus_one, only_significant
        See `PairTest`.
    sided
        2; there is no one-sided form.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> from scorecube.api import analyse
    >>> analyse(simulate_cube(n_runs=6, seed=3), Unpaired(), trials=200, seed=1)["p_value"].shape
    (2, 1, 15)
    """

    name: ClassVar[str] = "unpaired"
    means_only: ClassVar[bool] = False

    def check(self, cube: xr.Dataset) -> list[str]:
        """See `Analysis.check`."""
        if self.sided != 2:
            raise BadPlan("the unpaired test is two-sided")
        return super().check(cube)

    def prepare(self, cube: xr.Dataset, trials: int, seed: int, samples: xr.Dataset | None) -> Arrays:
        """See `Analysis.prepare`."""
        first, second = pair_order(cube.sizes[names.RUN])
        n = cube.sizes[names.TOPIC]
        _, cell_of = cells(cube)
        kinds = {int(cell): kind for row, kind in zip(cell_of, kinds_of(cube), strict=True) for cell in row}
        inputs: Arrays = {
            "scores": np.ascontiguousarray(cells(cube)[0]), "kinds": np.array([KINDS.index(kinds[cell]) for cell in sorted(kinds)]),
            "first": first, "second": second, "trials": np.array(trials),
            "ranks": np.array([rank_of(alpha, trials) for alpha in self.alphas]),
            "key": stream_key(seed, names.Purpose.UNPAIRED_TOPICS),
        }  # fmt: skip
        if samples is not None:
            inputs["samples"] = sample_positions(samples, cube, n, halves=2)[:trials]
        return inputs

    def block(self, inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Arrays:
        """See `Analysis.block`: tables of every run's statistic in every trial, then pairs of them."""
        n_cells, _, n = inputs["scores"].shape
        trials, length = int(inputs["trials"]), stop - start
        drawn = inputs["samples"] if "samples" in inputs else topic_samples(
            inputs["key"], int(Sampling.REPLACEMENT), n, n, 0, trials
        )  # fmt: skip
        runs, first, second = block_runs(inputs, start, stop)
        reached, kth = np.empty((n_cells, length), np.int32), np.empty((n_cells, len(self.alphas), length))
        for cell in range(n_cells):
            scores, kind = np.ascontiguousarray(inputs["scores"][cell, runs]), KINDS[inputs["kinds"][cell]]
            values, spreads, observed, scale = tables(scores, kind, drawn, first, second)
            edges = observed - EQUAL * np.abs(observed)
            guesses = np.full(len(self.alphas), values.std())
            tail_unpaired(values, spreads, first, second, edges, inputs["ranks"], guesses, reached[cell], kth[cell])
            reached[cell][np.isnan(observed)] = trials
            kth[cell] *= scale
        return {"reached": reached, "kth": kth, "degenerate": np.zeros((n_cells, 2), np.int64)}

    def finish(self, cube: xr.Dataset, totals: Mapping[str, np.ndarray[Any, Any]], trials: int) -> xr.Dataset:
        """See `Analysis.finish`; `mean` is each metric's own summary, `t` is Welch's."""
        result = super().finish(cube, totals, trials)
        scores, cell_of = cells(cube)
        first, second = label_order(cube.sizes[names.RUN])
        mean, variance = scores.mean(axis=-1), scores.var(axis=-1, ddof=1) / cube.sizes[names.TOPIC]
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (mean[:, first] - mean[:, second]) / np.sqrt(variance[:, first] + variance[:, second])
        result["t"].values = t[cell_of]
        result["mean"].values = summarise(cube).values
        return result

    def seconds_per_trial(self, n_topics: int) -> float:
        """See `PairTest.seconds_per_trial`."""
        return 3e-9 + 1e-10 * n_topics

    def samples(self, cube: xr.Dataset, seed: int, trials: int) -> xr.Dataset:
        """Return ``topic_sample[trial, half, draw]``: topics of the first and of the second run of each pair."""
        n = cube.sizes[names.TOPIC]
        key = stream_key(seed, names.Purpose.UNPAIRED_TOPICS)
        return labelled_samples(topic_samples(key, int(Sampling.REPLACEMENT), n, n, 0, trials), cube)


NO_SPREADS = np.empty((2, 0, 0))


def tables(
    scores: np.ndarray[Any, Any],
    kind: str,
    samples: np.ndarray[Any, Any],
    first: np.ndarray[Any, Any],
    second: np.ndarray[Any, Any],
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any], Any]:
    """Return what pairs are made of: values and spreads (half, run, trial), observed statistics and scale of differences (pair,).

    An observed statistic is NaN where two runs have the same scores in any order and no spread to judge by.
    """
    trials, n = len(samples), scores.shape[1]
    values = np.empty((2, len(scores), trials))
    if kind == AREA:
        weights = area_weights(n)
        order = np.argsort(scores, axis=1, kind="stable")
        resampled_areas(scores, order, samples, weights, values)
        areas = np.take_along_axis(scores, order, axis=1)[:, : len(weights)] @ weights
        values -= areas[:, np.newaxis]
        return values, NO_SPREADS, np.abs(areas[first] - areas[second]), 1.0
    logs = log_scores(scores) if kind == GEOMETRIC else scores
    spreads = np.empty_like(values)
    resampled_moments(logs, samples, values, spreads)
    means = logs.mean(axis=1)
    values -= means[:, np.newaxis]
    if kind == GEOMETRIC:
        np.exp(values, out=values)
        common = np.exp((means[first] + means[second]) / 2)
        return values, NO_SPREADS, np.abs(np.exp(means[first]) - np.exp(means[second])) / common, common
    squares = ((scores - means[:, np.newaxis]) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        observed = (means[first] - means[second]) ** 2 / (squares[first] + squares[second])
    return values, spreads, observed, 1.0
