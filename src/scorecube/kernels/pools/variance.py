"""Means and within-system variances of the scores of runs over topics.

The dimensions are (cell, topic, run), so that the loop over runs is vectorised; the sum of each run is added in the
order of topics.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import BoolArray1, Float64Array1, Float64Array2, Float64Array3
from scorecube.kernels.jit import compiled, merged


@merged
def sum_runs(
    scores: Float64Array2,
    chosen: BoolArray1,
    n_runs: int,
    sums: Float64Array1,
    counts: Float64Array1,
) -> int:
    """Sum the scores of each run that are not missing.

    scores: float64 (topic, run), missing ones NaN.
    chosen: bool (topic,): topics to include.
    n_runs: Number of first runs to include.
    sums, counts: float64 (run,), written: sums, and numbers of scores.
    Returns present: Topics in which any run has a score.
    """
    present = 0
    for k in range(n_runs):
        sums[k], counts[k] = 0.0, 0.0
    for topic in range(scores.shape[0]):
        if not chosen[topic]:
            continue
        first = 0
        while first < n_runs and np.isnan(scores[topic, first]):
            first += 1
        present += first < n_runs
        row = scores[topic]
        for k in range(n_runs):
            known = row[k] == row[k]
            sums[k] += row[k] if known else 0.0
            counts[k] += 1.0 if known else 0.0
    return present


@merged
def pool_squares(
    scores: Float64Array2,
    chosen: BoolArray1,
    n_runs: int,
    sums: Float64Array1,
    counts: Float64Array1,
    rests: Float64Array2,
) -> float:
    """Return the pooled variance of scores about the means of their runs.

    scores, chosen, n_runs: As of `sum_runs`.
    sums, counts: float64 (run,), of `sum_runs`; the sums are overwritten.
    rests: float64 (2, run), overwritten.
    Returns variance: Sum of squares over the degrees of freedom; NaN if no run has two topics.
    """
    means, squares, free, total = rests[0], rests[1], 0.0, 0.0
    for k in range(n_runs):
        means[k], squares[k] = sums[k] / (counts[k] if counts[k] > 1.0 else 1.0), 0.0
        free += counts[k] - 1.0 if counts[k] > 1.0 else 0.0
    if free == 0.0:
        return np.nan
    for topic in range(scores.shape[0]):
        if chosen[topic]:
            row = scores[topic]
            for k in range(n_runs):
                squares[k] += row[k] - means[k] if row[k] == row[k] else 0.0
    # A second pass corrects the rounding of the mean, so that equal scores have variance 0 exactly.
    for k in range(n_runs):
        sums[k], squares[k] = squares[k] / (counts[k] if counts[k] > 1.0 else 1.0), 0.0
    for topic in range(scores.shape[0]):
        if chosen[topic]:
            row = scores[topic]
            for k in range(n_runs):
                far = row[k] - means[k] - sums[k] if row[k] == row[k] else 0.0
                squares[k] += far * far
    for k in range(n_runs):
        total += squares[k]
    return total / free


def run_means(scores: Float64Array3) -> Float64Array2:
    """Return the mean of each run's scores that are not missing.

    scores: float64 (cell, topic, run), missing ones NaN.
    Returns means: float64 (cell, run); NaN without any score.
    """
    sums, counts = (np.zeros((scores.shape[0], scores.shape[2])) for _ in range(2))
    _add_runs(scores, sums, counts)
    with np.errstate(invalid="ignore"):
        return sums / np.where(counts > 0.0, counts, np.nan)


@compiled
def _add_runs(scores: Float64Array3, sums: Float64Array2, counts: Float64Array2) -> None:
    """Add the scores (cell, topic, run) that are not missing, and their numbers, in the order of topics."""
    for cell in range(scores.shape[0]):
        for topic in range(scores.shape[1]):
            for run in range(scores.shape[2]):
                score = scores[cell, topic, run]
                sums[cell, run] += score if score == score else 0.0
                counts[cell, run] += 1.0 if score == score else 0.0
