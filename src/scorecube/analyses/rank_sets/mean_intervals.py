"""Intervals of the mean scores of runs: bootstrap-t, and Student's t."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.analyses.pair_tests.moderated import Moderated
from scorecube.analyses.pair_tests.repetitions import OverRepetitions
from scorecube.kernels.linalg.panel_product import product
from scorecube.kernels.pairs.running_maximum import Resampled
from scorecube.statistics.integer_scores import ROOM, SMALLEST, Units

CANCELLED = 1e-9
"""Share that is left of a sum of squares less that of the mean below which squared deviations are added instead."""


def own_deviations(scores: Any, units: Units) -> Any:
    """Return the scores of each run (run, topic) less their mean, in the units of `Units.values`, for sums over resamples that are exact.

    The values of `units` will not do where a number was subtracted from each topic: that changes no difference of runs, but their means.
    """
    n, per_score = units.n_topics, units.n_topics * units.per_score
    shifted = scores - np.median(scores)
    largest = max(float(np.abs(shifted).max()), SMALLEST)
    step = 2.0 ** math.ceil(math.log2(4.0 * n * largest * per_score / ROOM))
    whole = np.rint(shifted * (per_score / step))
    return (whole - np.rint(whole.mean(axis=1, keepdims=True))) * step


def sums_and_spreads(scores: Resampled, trials: tuple[int, int]) -> tuple[Any, Any]:
    """Return sums and sums of squared deviations over resamples, float64 (run, trial) each.

    scores: Of the runs.
    trials: First of the trials in `scores`, and the one after the last.
    """
    n_runs, n = scores.centred.shape
    chosen = (slice(n_runs), slice(*trials))
    totals, squares = scores.sums[chosen], product(scores.centred**2, scores.weights)[chosen]
    spread = np.maximum(squares - totals * totals / n, 0.0)
    few = spread < CANCELLED * squares
    if few.any():
        counts = scores.weights.transpose(1, 0, 2).reshape(n, -1)[:, chosen[1]]
        for run in np.flatnonzero(few.any(axis=1)):
            places = np.flatnonzero(few[run])
            deviations = n * scores.centred[run, :, np.newaxis] - totals[run, places]
            exact = (counts[:, places] * (deviations / n) ** 2).sum(axis=0)
            # Without any, what rounding leaves is kept, as in results of earlier releases.
            spread[run, places] = np.where(exact > 0, exact, spread[run, places])
    return totals, spread


def means_and_errors(scores: Any, statistic: Moderated) -> tuple[Any, Any, Any]:
    """Return the means of runs, their standard errors and the degrees of freedom: (run,) each; scores and statistic as of `mean_limits`."""
    n = scores.shape[1]
    mean, error, freedom = scores.mean(axis=1), scores.std(axis=1, ddof=1) / math.sqrt(n), n - 1
    if isinstance(statistic, OverRepetitions):
        error, freedom = statistic.errors_of_means(error)
    return mean, error, freedom


def mean_limits(scores: Any, run_t: Any, alpha: float, statistic: Moderated) -> dict[str, Any]:
    """Return bootstrap-t and t intervals of the means of runs.

    scores: float64 (run, topic).
    run_t: float32 (run, trial): t* of each trial, infinite without spread.
    alpha: 1 - confidence.
    statistic: Of the same cell: where systems have repetitions, it has their variances.
    """
    from scipy.special import stdtrit

    trials = run_t.shape[1]
    mean, error, freedom = means_and_errors(scores, statistic)
    below = math.floor(alpha / 2 * (trials + 1))
    margin = stdtrit(freedom, 1 - alpha / 2) * error
    low, high = np.full((2, len(scores)), np.nan)
    if below:
        ordered = np.sort(run_t, axis=1)
        with np.errstate(invalid="ignore"):
            low = mean - ordered[:, trials - below] * error
            high = mean - ordered[:, below - 1] * error
    # Without enough trials, or topics that differ, there is no finite limit: NaN; without spread the interval is a point.
    low, high = (np.where(np.isfinite(limit), limit, np.nan) for limit in (low, high))
    low, high = (np.where(error > 0, limit, mean) for limit in (low, high))
    return {"mean_low": low, "mean_high": high, "t_low": mean - margin, "t_high": mean + margin}
