"""Means and within-system variances of the scores of runs over topics.

The dimensions are (cell, topic, run), so that the loop over runs is vectorised; the sum of each run is added in the
order of topics.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import (
    BoolArray1,
    BoolArray2,
    Float64Array1,
    Float64Array2,
    Float64Array3,
)
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

    Parameters
    ----------
    scores
        float64 (topic, run), missing ones NaN.
    chosen
        bool (topic,): topics to include.
    n_runs
        Number of first runs to include.
    sums, counts
        float64 (run,), written: sums, and numbers of scores.

    Returns
    -------
    present
        Topics in which any run has a score.
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

    Parameters
    ----------
    scores, chosen, n_runs
        As of `sum_runs`.
    sums, counts
        float64 (run,), of `sum_runs`; the sums are overwritten.
    rests
        float64 (2, run), overwritten.

    Returns
    -------
    variance
        Sum of squares over the degrees of freedom; NaN if no run has two topics.
    """
    means, squares, free, total = rests[0], rests[1], 0.0, 0.0
    for k in range(n_runs):
        means[k], squares[k] = sums[k] / max(counts[k], 1.0), 0.0
        free += max(counts[k] - 1.0, 0.0)
    if free == 0.0:
        return np.nan
    for topic in range(scores.shape[0]):
        if chosen[topic]:
            row = scores[topic]
            for k in range(n_runs):
                squares[k] += row[k] - means[k] if row[k] == row[k] else 0.0
    # A second pass corrects the rounding of the mean, so that equal scores have variance 0 exactly.
    for k in range(n_runs):
        sums[k], squares[k] = squares[k] / max(counts[k], 1.0), 0.0
    for topic in range(scores.shape[0]):
        if chosen[topic]:
            row = scores[topic]
            for k in range(n_runs):
                far = row[k] - means[k] - sums[k] if row[k] == row[k] else 0.0
                squares[k] += far * far
    for k in range(n_runs):
        total += squares[k]
    return total / free


@compiled
def within_variance(scores: Float64Array3, chosen: BoolArray2) -> Float64Array2:
    """Return the pooled variance of scores about the means of their runs.

    Parameters
    ----------
    scores
        float64 (cell, topic, run), missing ones NaN.
    chosen
        bool (step, topic): topics to include in each step.

    Returns
    -------
    variance
        float64 (cell, step): sum of squares over the sum of (topics of a run - 1); NaN if no run has two topics.
    """
    n_cells, _, n_runs = scores.shape
    variance = np.empty((n_cells, chosen.shape[0]))
    sums, counts, rests = np.empty(n_runs), np.empty(n_runs), np.empty((2, n_runs))
    for cell in range(n_cells):
        for step in range(chosen.shape[0]):
            sum_runs(scores[cell], chosen[step], n_runs, sums, counts)
            variance[cell, step] = pool_squares(
                scores[cell], chosen[step], n_runs, sums, counts, rests
            )
    return variance


@compiled
def run_means(scores: Float64Array3) -> Float64Array2:
    """Return the mean of each run's scores that are not missing.

    Parameters
    ----------
    scores
        float64 (cell, topic, run), missing ones NaN.

    Returns
    -------
    means
        float64 (cell, run); NaN without any score.
    """
    n_cells, n_topics, n_runs = scores.shape
    means, counts, chosen = (
        np.empty((n_cells, n_runs)),
        np.empty(n_runs),
        np.ones(n_topics, np.bool_),
    )
    for cell in range(n_cells):
        sum_runs(scores[cell], chosen, n_runs, means[cell], counts)
        for run in range(n_runs):
            means[cell, run] = means[cell, run] / counts[run] if counts[run] > 0.0 else np.nan
    return means


@merged
def lose_failures(scores: Float64Array2, n_runs: int) -> None:
    """Set the scores of a topic to NaN, in place, if no run has one above 0.

    Parameters
    ----------
    scores
        float64 (topic, run).
    n_runs
        Number of first runs to include.
    """
    for topic in range(scores.shape[0]):
        failed = True
        for run in range(n_runs):
            failed &= not scores[topic, run] > 0.0
        if failed:
            scores[topic, :n_runs] = np.nan
