"""What trials without some teams find, and what follows from all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.team_quantities import CONFIDENCE, REQUIREMENTS
from scorecube.analyses.team_scores import JudgedRuns, order_of
from scorecube.collection.pools import Pools
from scorecube.design import topic_set_size

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]
MISSED = 1e-12
"""Relative tolerance, so that an interval of width 0 holds its own value."""


def within_variance(scores: FloatArray) -> Any:
    """Return the variance of scores about the means of runs (Sakai and Shang 2016, equation 1).

    scores: float64 (..., run, topic), missing ones NaN.
    Returns variance: float64 (...): NaN for fewer than 2 topics.
    """
    known = np.isfinite(scores)
    count = known.sum(axis=-1, keepdims=True)
    left = np.where(known, scores, 0.0)
    # A second pass corrects the rounding of the mean, so that equal scores have variance 0 exactly.
    for _ in range(2):
        left = np.where(known, left - left.sum(axis=-1, keepdims=True) / np.maximum(count, 1), 0.0)
    freedom = np.maximum(count - 1, 0).sum(axis=(-2, -1))
    with np.errstate(invalid="ignore", divide="ignore"):
        return (left**2).sum(axis=(-2, -1)) / np.where(freedom > 0, freedom, np.nan)


def trial_values(
    table: JudgedRuns, sizes: Sequence[int], left_out: BoolArray, order: Any = None
) -> dict[str, Any]:
    """Return what a trial finds, by cell.

    sizes: Numbers of topics of the steps: all, then the first of the order that are left.
    left_out: bool (team,): teams whose runs are removed.
    order: int64 (topic,): topics in the order of the chain; None without a chain.
    Returns values: Of the variables of these names; (cell,), of variances and topics (cell, step).
    """
    runs = np.flatnonzero(~left_out[table.pools.team_of])
    scores = table.scores_without(left_out, runs)
    finite = np.isfinite(scores)
    alive = np.asarray(finite.any(axis=1))
    variance = np.full((len(scores), len(sizes)), np.nan)
    n_topics = np.empty(variance.shape, np.int32)
    variance[:, 0], n_topics[:, 0] = within_variance(scores), alive.sum(axis=-1)
    for cells in alike(alive):
        for step, size in enumerate(sizes[1:], start=1):
            topics = np.sort(order[alive[cells[0], order]][:size])
            n_topics[cells, step] = len(topics)
            if len(topics) == size:
                variance[cells, step] = within_variance(scores[cells][..., topics])
    before, after = table.full_order[:, runs][:, :, runs], order_of(scores)
    n_pairs = len(runs) * (len(runs) - 1)
    known = np.asarray(finite.any(axis=2)).all(axis=1) & (n_pairs > 0)
    agreeing = (before * after).sum(axis=(1, 2), dtype=np.int64)
    lost = ((after < 0).sum(axis=2) - (before < 0).sum(axis=2)).max(axis=1, initial=0)
    return {
        "variance": variance,
        "n_topics": n_topics,
        "n_topics_above_zero": (scores > 0).any(axis=1).sum(axis=-1, dtype=np.int32),
        "tau": np.where(known, agreeing / max(n_pairs, 1), np.nan),
        "rank_drop": np.where(known, lost, 0).astype(np.int32),
    }


def alike(rows: BoolArray) -> list[list[int]]:
    """Return the positions of equal rows, together."""
    found: dict[bytes, list[int]] = {}
    for place, row in enumerate(rows):
        found.setdefault(row.tobytes(), []).append(place)
    return list(found.values())


def empty_parts(n_cells: int, n_leaves: int, n_steps: int, n_trials: int) -> dict[str, Any]:
    """Return the arrays of `trial_values` for some trials, (cell, leave, ..., trial)."""
    shape = (n_cells, n_leaves, n_trials)
    steps = (n_cells, n_leaves, n_steps, n_trials)
    return {
        "variance": np.full(steps, np.nan),
        "n_topics": np.zeros(steps, np.int32),
        "n_topics_above_zero": np.zeros(shape, np.int32),
        "tau": np.full(shape, np.nan),
        "rank_drop": np.zeros(shape, np.int32),
    }


def of_variances(values: Mapping[str, Any], leaves: Sequence[int]) -> dict[str, Any]:
    """Return means and limits of variances over trials, topics needed, and the first miss."""
    variance, n_topics = values["variance"], values["n_topics"]
    n_trials = np.isfinite(variance).sum(axis=-1)
    n_trials[:, 0] = np.minimum(n_trials[:, 0], 1)
    mean, low, high = t_limits(variance)
    mean[:, 0], low[:, 0], high[:, 0] = variance[:, 0, :, 0], np.nan, np.nan
    # Against the estimate of all topics and teams, never against a draw.
    whole = mean[:, :1, :1]
    missed = (low > whole * (1 + MISSED)) | (high < whole * (1 - MISSED))
    first = missed.argmax(axis=1)
    there = np.take_along_axis(mean, first[:, np.newaxis], axis=1)[:, 0]
    found = missed.any(axis=1)
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
        "first_miss": np.where(found, np.array(leaves)[first], np.nan),
        "variance_there": np.where(found, there, np.nan),
    }


def t_limits(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return means of the finite values along the last axis, and limits by Student's t.

    values: float64 (..., value).
    Returns mean, low, high: float64 (...); NaN without a value, limits for fewer than two.
    """
    from scipy.special import stdtrit

    known = np.isfinite(values)
    count = known.sum(axis=-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, values, 0.0).sum(axis=-1) / count
        squares = np.where(known, (values - mean[..., np.newaxis]) ** 2, 0.0).sum(axis=-1)
        half = stdtrit(count - 1.0, (1 + CONFIDENCE) / 2) * np.sqrt(squares / (count - 1) / count)
    half[count < 2] = np.nan
    return mean, mean - half, mean + half


def topics_needed(variances: FloatArray, mode: str) -> FloatArray:
    """Return the numbers of topics that variances ask for under `REQUIREMENTS`.

    mode: Of `topic_set_size`.
    Returns topics: Of the shape of the variances; NaN where these are not above 0.

    Examples
    --------
    >>> [topics_needed(np.array([0.114, np.nan]), mode).tolist() for mode in ("exact", "sakai")]
    [[160.0, nan], [159.0, nan]]
    """
    known = np.isfinite(variances) & (variances > 0)
    sizes = np.full(variances.shape, np.nan)
    if known.any():
        sizes[known] = topic_set_size(variances[known], mode=mode, **REQUIREMENTS)["topics"].values
    return sizes


def of_order(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return how well remaining runs keep their order, by number of teams left out."""
    tau = values["tau"]
    lowest = np.where(np.isfinite(tau), tau, np.inf).min(axis=-1)
    return {
        "tau_mean": t_limits(tau)[0],
        "tau_lowest": np.where(np.isfinite(lowest), lowest, np.nan),
        "rank_drop_largest": values["rank_drop"].max(axis=-1),
    }


def of_samples(left_out: BoolArray, pools: Pools) -> dict[str, Any]:
    """Return remaining runs, and names of the teams left out: bool (leave, trial, team)."""
    n_runs = (~left_out[..., pools.team_of]).sum(axis=-1)
    teams = np.array(pools.teams, object)
    named = np.empty(n_runs.shape, object)
    for place in np.ndindex(n_runs.shape):
        named[place] = ",".join(teams[left_out[place]])
    different = n_runs > 0
    different[0, 1:] = False  # the whole is one trial
    return {
        "n_runs": n_runs,
        "runs_min": n_runs.min(axis=-1),
        "runs_max": n_runs.max(axis=-1),
        "teams_left_out": named,
        "different": different,
    }


def of_absent(table: JudgedRuns) -> dict[str, Any]:
    """Return what teams lose that do not take part: means over teams, with limits."""
    own, pools = own_contributions(table), table.pools
    mean, change = own["own_mean"], own["own_mean_without"] - own["own_mean"]
    lost = own["own_rank_without"] - own["own_rank"]
    with np.errstate(invalid="ignore", divide="ignore"):
        relative = own["own_mean_without"] / np.where(mean > 0, mean, np.nan) - 1
    by_team = [
        np.stack([t_limits(x[:, pools.team_of == team])[0] for team in range(len(pools.teams))], -1)
        for x in (relative, lost.astype(float))
    ]
    scores, ranks = map(t_limits, by_team)
    runs = np.array(table.runs, object)[lost.argmax(axis=1)]
    return own | {
        "own_change": change,
        **dict(zip(("change_mean", "change_low", "change_high"), scores, strict=True)),
        **dict(
            zip(("rank_change_mean", "rank_change_low", "rank_change_high"), ranks, strict=True)
        ),
        "rank_change_largest": lost.max(axis=1),
        "worst_run": np.where(lost.max(axis=1) > 0, runs, ""),
        "n_unique": pools.n_unique(),
        "n_unique_relevant": pools.n_unique(1),
        "team_runs": np.bincount(pools.team_of, minlength=len(pools.teams)),
    }


def own_contributions(table: JudgedRuns) -> dict[str, Any]:
    """Return means and ranks of runs, (cell, run), with and without what is only their team's."""
    runs = np.arange(len(table.runs))

    def means_and_ranks(scores: FloatArray) -> tuple[FloatArray, Any]:
        known = np.isfinite(scores)
        with np.errstate(invalid="ignore", divide="ignore"):
            means = np.where(known, scores, 0.0).sum(axis=-1) / known.sum(axis=-1)
        return means, 1 + (order_of(scores) < 0).sum(axis=2)

    mean, rank = means_and_ranks(table.scores)
    mean_without, rank_without = mean.copy(), rank.copy()
    for team in range(len(table.pools.teams)):
        own = table.pools.team_of == team
        left_out = np.arange(len(table.pools.teams)) == team
        means, ranks = means_and_ranks(table.scores_without(left_out, runs))
        mean_without[:, own], rank_without[:, own] = means[:, own], ranks[:, own]
    return {
        "own_mean": mean,
        "own_mean_without": mean_without,
        "own_rank": rank,
        "own_rank_without": rank_without,
    }
