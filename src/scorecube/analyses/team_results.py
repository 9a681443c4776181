"""What results of `Teams` hold, and how it follows from the trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection.schema import CELL, limits, variables
from scorecube.design import topic_set_size

FloatArray = NDArray[np.float64]
CONFIDENCE = 0.95
"""Of all limits."""
REQUIREMENTS: dict[str, Any] = {"min_diff": 0.15, "systems": 10, "alpha": 0.05, "beta": 0.2}
"""Requirements of Sakai and Shang 2016, Table 3."""
MISSED = 1e-12
"""Relative tolerance, so that an interval of width 0 holds its own value."""
_CHAIN = (*CELL, names.TOPIC_STEP)
_STEP = (*CELL, names.LEAVE, names.TOPIC_STEP)
_STEP_TRIAL = (*_STEP, names.TRIAL)
_TRIAL = (*CELL, names.LEAVE, names.TRIAL)
_SAMPLE = (names.LEAVE, names.TRIAL)
VARIABLES = (
    *variables(CELL, "estimate", change_mean="relative change of the mean score of an absent team"),
    *limits("change_mean", CELL, "1", "{} limit over teams (95 %)", name="change"),
    *variables(CELL, "estimate", "ranks", rank_change_mean="ranks that a run of such a team loses"),
    *limits("rank_change_mean", CELL, "ranks", "{} limit over teams (95 %)", name="rank_change"),
    *variables(CELL, "count", "ranks", rank_change_largest="most ranks that a run loses"),
    *variables(CELL, "label", worst_run="run that loses most ranks"),
    *variables(
        *((*CELL, names.RUN), "estimate", "score"),
        own_mean="mean score of a run in the full evaluation",
        own_mean_without="mean score of a run without its team's unique contributions",
    ),
    *variables(
        *((*CELL, names.RUN), "estimate", "rank", "i"),
        own_rank="rank of a run in the full evaluation; tied runs share the best of their ranks",
        own_rank_without="rank of a run among all runs without its team's unique contributions",
    ),
    *variables(_STEP_TRIAL, "estimate", variance="within-system variance of what remains"),
    *variables(_STEP_TRIAL, "count", "topics", n_topics="topics with a relevant document left"),
    *variables(_TRIAL, "count", "topics", n_topics_above_zero="topics with a score above 0"),
    *variables(_SAMPLE, "count", "runs", n_runs="remaining runs"),
    *variables(_SAMPLE, "label", teams_left_out="teams left out"),
    *variables(_SAMPLE, "flag", different="whether no trial before is equal"),
    *variables((*_SAMPLE, names.TEAM), "flag", team_left_out="whether a team is left out"),
    *variables((*_SAMPLE, names.TOPIC), "count", "topics", topic_place="place of a topic, from 0"),
    *variables(_STEP, "estimate", variance_mean="mean variance over trials"),
    *limits("variance_mean", _STEP, "1", "{} limit over trials (95 %)", name="variance"),
    *variables(_STEP, "count", "trials", n_trials="different trials with a variance"),
    *variables((names.LEAVE,), "count", "runs", runs_min="fewest runs", runs_max="most runs"),
    *variables(_STEP, "count", "topics", topics_min="fewest topics", topics_max="most topics"),
    *variables(_STEP, "estimate", "topics", topics_needed="topics that the mean variance asks for"),
    *variables(_STEP, "estimate", "topics", topics_needed_tool="the same by Sakai's tool"),
    *variables(CELL, "estimate", whole_variance="variance of all runs over all topics"),
    *variables(_CHAIN, "estimate", "teams", first_miss="fewest teams without the whole variance"),
)
"""Absent teams: means are over runs, each team with equal weight. Variances: Sakai and Shang 2016,
sections 5.1 and 5.2, of the remaining runs over the remaining topics. Along leave: 0 for the whole
collection; along topic_step: all topics, then the first of a random order of each trial.
"""
OPTIONAL = (("topic_place",),)


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
