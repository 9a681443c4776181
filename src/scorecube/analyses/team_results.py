"""What results of `Teams` hold, and how it follows from the trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.variables import read_variables
from scorecube.design import topic_set_size

FloatArray = NDArray[np.float64]
CONFIDENCE = 0.95
"""Of all limits."""
REQUIREMENTS: dict[str, Any] = {"min_diff": 0.15, "systems": 10, "alpha": 0.05, "beta": 0.2}
"""Requirements of Sakai and Shang 2016, Table 3."""
MISSED = 1e-12
"""Relative tolerance, so that an interval of width 0 holds its own value."""
VARIABLES = read_variables("""
    [metric gain]
    change_mean | estimate | 1 | relative change of the mean score of an absent team
    change_low | low:change_mean | 1 | lower limit over teams (95 %)
    change_high | high:change_mean | 1 | upper limit over teams (95 %)
    rank_change_mean | estimate | ranks | ranks that a run of such a team loses
    rank_change_low | low:rank_change_mean | ranks | lower limit over teams (95 %)
    rank_change_high | high:rank_change_mean | ranks | upper limit over teams (95 %)
    rank_change_largest | count | ranks | most ranks that a run loses
    worst_run | label | 1 | run that loses most ranks
    whole_variance | estimate | 1 | variance of all runs over all topics
    [metric gain run]
    own_mean | estimate | score | mean score of a run in the full evaluation
    own_mean_without | estimate | score | the same without its team's unique contributions
    own_rank | estimate/i | rank | rank in the full evaluation; tied runs share the best
    own_rank_without | estimate/i | rank | rank without its team's unique contributions
    [metric gain leave topic_step trial]
    variance | estimate | 1 | within-system variance of what remains
    n_topics | count | topics | topics with a relevant document left
    [metric gain leave trial]
    n_topics_above_zero | count | topics | topics with a score above 0
    [leave trial]
    n_runs | count | runs | remaining runs
    teams_left_out | label | 1 | teams left out
    different | flag | 1 | whether no trial before is equal
    [leave trial team]
    team_left_out | flag | 1 | whether a team is left out
    [leave trial topic]
    topic_place | count | topics | place of a topic, from 0
    [metric gain leave topic_step]
    variance_mean | estimate | 1 | mean variance over trials
    variance_low | low:variance_mean | 1 | lower limit over trials (95 %)
    variance_high | high:variance_mean | 1 | upper limit over trials (95 %)
    n_trials | count | trials | different trials with a variance
    topics_min | count | topics | fewest topics
    topics_max | count | topics | most topics
    topics_needed | estimate | topics | topics that the mean variance asks for
    topics_needed_tool | estimate | topics | the same by Sakai's tool
    [leave]
    runs_min | count | runs | fewest runs
    runs_max | count | runs | most runs
    [metric gain topic_step]
    first_miss | estimate | teams | fewest teams without the whole variance
""")
"""Absent teams: means are over runs, each team with equal weight. Variances: Sakai and Shang 2016,
sections 5.1 and 5.2, of the remaining runs over the remaining topics. Along leave: 0 for the whole
collection; along topic_step: all topics, then the first of a random order of each trial.
"""


def variance_values(values: Mapping[str, Any], leaves: Sequence[int]) -> dict[str, Any]:
    """Return means and limits of variances over trials, topics needed, and the first miss.

    values: ``variance`` and ``n_topics``, (cell, leave, step, trial).
    """
    variance, n_topics = values["variance"], values["n_topics"]
    n_trials = np.isfinite(variance).sum(axis=-1)
    n_trials[:, 0] = np.minimum(n_trials[:, 0], 1)
    mean, low, high = t_limits(variance)
    mean[:, 0], low[:, 0], high[:, 0] = variance[:, 0, :, 0], np.nan, np.nan
    # Against the estimate of all topics and teams, never against a draw.
    whole = mean[:, :1, :1]
    missed = (low > whole * (1 + MISSED)) | (high < whole * (1 - MISSED))
    first = np.array(leaves)[missed.argmax(axis=1)]
    return {
        "variance_mean": mean,
        "variance_low": low,
        "variance_high": high,
        "n_trials": n_trials,
        "topics_min": n_topics.min(axis=-1),
        "topics_max": n_topics.max(axis=-1),
        "topics_needed": topics_needed(mean, "exact"),
        "topics_needed_tool": topics_needed(mean, "sakai"),
        "whole_variance": whole[:, 0, 0],
        "first_miss": np.where(missed.any(axis=1), first, np.nan),
    }


def t_limits(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return means of the finite values along the last axis, and limits by Student's t.

    values: float64 (..., value).
    Returns mean, low, high: float64 (...); NaN without a value, limits for fewer than two.
    """
    from scipy.special import stdtrit

    finite = np.isfinite(values)
    count = finite.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(finite, values, 0.0).sum(axis=-1) / count
        squares = np.where(finite, (values - mean[..., np.newaxis]) ** 2, 0.0).sum(axis=-1)
        half = stdtrit(count - 1.0, (1 + CONFIDENCE) / 2) * np.sqrt(squares / (count - 1) / count)
    half[count < 2] = np.nan
    return mean, mean - half, mean + half


def topics_needed(variances: FloatArray, mode: str) -> FloatArray:
    """Return the numbers of topics that variances ask for under `REQUIREMENTS`; NaN where not > 0.

    mode: Of `topic_set_size`.

    Examples
    --------
    >>> [topics_needed(np.array([0.114, np.nan]), mode).tolist() for mode in ("exact", "sakai")]
    [[160.0, nan], [159.0, nan]]
    """
    positive = variances > 0
    sizes = np.full(variances.shape, np.nan)
    if positive.any():
        designed = topic_set_size(variances[positive], mode=mode, **REQUIREMENTS)
        sizes[positive] = designed["topics"].values
    return sizes
