"""Scores of runs over topics: within-system variance and means."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled


@compiled
def within_variance(scores: Any, chosen: Any) -> Any:
    """Pool the squared distances of scores from their run's mean.

    Parameters
    ----------
    scores
        float64 (cell, run, topic), missing ones NaN.
    chosen
        bool (step, topic): topics that count.

    Returns
    -------
    variance
        float64 (cell, step): over the sum of (topics of a run - 1); NaN where no run has two topics.
    """
    n_cells, n_runs, n_topics = scores.shape
    variance = np.empty((n_cells, chosen.shape[0]))
    kept = np.empty(n_topics)
    for cell in range(n_cells):
        for step in range(chosen.shape[0]):
            squares, free = 0.0, 0
            for run in range(n_runs):
                count, total = 0, 0.0
                for topic in range(n_topics):
                    score = scores[cell, run, topic]
                    if chosen[step, topic] and not np.isnan(score):
                        kept[count] = score
                        total += score
                        count += 1
                mean, rest = total / max(count, 1), 0.0
                for k in range(count):
                    kept[k] -= mean
                    rest += kept[k]
                # A second pass takes out what rounding left in the mean: equal scores have variance 0, exactly.
                rest /= max(count, 1)
                for k in range(count):
                    squares += (kept[k] - rest) ** 2
                free += max(count - 1, 0)
            variance[cell, step] = squares / free if free > 0 else np.nan
    return variance


@compiled
def run_means(scores: Any) -> Any:
    """Return the mean of each run's scores that are not missing, (cell, run), and the topics that have any, bool (cell, topic)."""
    n_cells, n_runs, n_topics = scores.shape
    means, present = np.empty((n_cells, n_runs)), np.zeros((n_cells, n_topics), np.bool_)
    for cell in range(n_cells):
        for run in range(n_runs):
            count, total = 0, 0.0
            for topic in range(n_topics):
                if not np.isnan(scores[cell, run, topic]):
                    total += scores[cell, run, topic]
                    count += 1
                    present[cell, topic] = True
            means[cell, run] = total / count if count > 0 else np.nan
    return means, present


@compiled
def lose_failures(scores: Any) -> None:
    """Turn, in place, the scores of a topic into missing ones where no run (cell, run, topic) has any above 0."""
    for cell in range(scores.shape[0]):
        for topic in range(scores.shape[2]):
            failed = True
            for run in range(scores.shape[1]):
                failed &= not scores[cell, run, topic] > 0.0
            if failed:
                scores[cell, :, topic] = np.nan
