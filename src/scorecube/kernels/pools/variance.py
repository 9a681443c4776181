"""Scores of runs over topics: within-system variance and means.

Runs stand side by side, (cell, topic, run), so that all sums go through vector registers; those of each run keep the order of topics.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, merged


@merged
def sum_runs(scores: Any, chosen: Any, n_runs: int, sums: Any, counts: Any) -> int:
    """Sum up the scores of each run that are not missing.

    Parameters
    ----------
    scores
        float64 (topic, run), missing ones NaN.
    chosen
        bool (topic,): topics that count.
    n_runs
        The first so many runs count.
    sums, counts
        float64 (run,): written.

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
def pool_squares(scores: Any, chosen: Any, n_runs: int, sums: Any, counts: Any, rests: Any) -> float:
    """Pool the squared distances of scores from their run's mean, over the degrees of freedom; NaN where no run has two topics.

    Parameters
    ----------
    scores, chosen, n_runs
        As of `sum_runs`.
    sums, counts
        float64 (run,), of `sum_runs`.
    rests
        float64 (run, 2): space.
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
    # A second pass takes out what rounding left in the mean: equal scores have variance 0, exactly.
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
def within_variance(scores: Any, chosen: Any) -> Any:
    """Pool the squared distances of scores from their run's mean.

    Parameters
    ----------
    scores
        float64 (cell, topic, run), missing ones NaN.
    chosen
        bool (step, topic): topics that count.

    Returns
    -------
    variance
        float64 (cell, step): over the sum of (topics of a run - 1); NaN where no run has two topics.
    """
    n_cells, _, n_runs = scores.shape
    variance = np.empty((n_cells, chosen.shape[0]))
    sums, counts, rests = np.empty(n_runs), np.empty(n_runs), np.empty((2, n_runs))
    for cell in range(n_cells):
        for step in range(chosen.shape[0]):
            sum_runs(scores[cell], chosen[step], n_runs, sums, counts)
            variance[cell, step] = pool_squares(scores[cell], chosen[step], n_runs, sums, counts, rests)
    return variance


@compiled
def run_means(scores: Any) -> Any:
    """Return the mean of each run's scores (cell, topic, run) that are not missing: float64 (cell, run), NaN for none."""
    n_cells, n_topics, n_runs = scores.shape
    means, counts, chosen = np.empty((n_cells, n_runs)), np.empty(n_runs), np.ones(n_topics, np.bool_)
    for cell in range(n_cells):
        sum_runs(scores[cell], chosen, n_runs, means[cell], counts)
        for run in range(n_runs):
            means[cell, run] = means[cell, run] / counts[run] if counts[run] > 0.0 else np.nan
    return means


@merged
def lose_failures(scores: Any, n_runs: int) -> None:
    """Turn, in place, the scores of a topic into missing ones where none of the runs (topic, run) has any above 0."""
    for topic in range(scores.shape[0]):
        failed = True
        for run in range(n_runs):
            failed &= not scores[topic, run] > 0.0
        if failed:
            scores[topic, :n_runs] = np.nan
