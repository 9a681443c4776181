"""What follows from leaving teams out: variances, remaining runs, and what absent teams lose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.jackknife import CONFIDENCE, limits
from scorecube.analyses.topic_units import FloatArray, groups_left_out
from scorecube.collection.pools import Pools
from scorecube.declare import Variable, along, limits_of
from scorecube.kernels.ranks import ranks_above
from scorecube.methods.design.sizes import topic_set_size
from scorecube.methods.teams.judged_runs import JudgedRuns, without_lost

TIE = 2.0**-39
"""Largest difference of equal means: sums in another order differ by less."""
REQUIREMENTS: dict[str, Any] = {"min_diff": 0.15, "systems": 10, "alpha": 0.05, "beta": 0.2}
"""Requirements of Sakai and Shang 2016, Table 3."""
MISSED = 1e-12
"""Relative tolerance, so that an interval of width 0 holds its own value."""
VARIABLES = (
    *along(
        ("metric", "gain"),
        Variable(
            "change_mean",
            "estimate",
            "relative change of the mean score of an absent team",
            form=".1%",
            heading="change of score",
        ),
        limits_of("change", "limit over teams (95 %)", form=".1%", of="change_mean"),
        limits_of(
            "change_topics",
            "limit over topics, of these teams (95 %)",
            form=".1%",
            of="change_mean",
        ),
        Variable(
            "rank_change_mean",
            "estimate",
            "ranks that a run of such a team loses",
            "ranks",
            heading="ranks lost",
        ),
        limits_of("rank_change", "limit over teams (95 %)", "ranks", of="rank_change_mean"),
        limits_of(
            "rank_change_topics",
            "limit over topics, of these teams (95 %)",
            "ranks",
            of="rank_change_mean",
        ),
    ),
    *along(
        ("metric", "gain", "leave", "topic_step", "trial"),
        Variable("variance", "estimate", "within-system variance of what remains"),
        Variable("n_topics", "count", "topics that are not lost", "topics"),
    ),
    *along(
        ("metric", "gain", "leave", "trial"),
        Variable(
            "topics_lost_no_relevant", "count", "topics without a relevant document left", "topics"
        ),
        Variable(
            "topics_lost_all_zero",
            "count",
            "these, and topics on which all runs that remain score 0",
            "topics",
        ),
    ),
    *along(
        ("leave", "trial"),
        Variable("n_runs", "count", "remaining runs", "runs"),
        Variable("teams_left_out", "label", "teams left out"),
        Variable("different", "flag", "whether no trial before is equal"),
    ),
    *along(
        ("metric", "gain", "leave", "topic_step"),
        Variable("variance_mean", "estimate", "mean variance over trials"),
        limits_of("variance", "limit over trials (95 %)", of="variance_mean"),
        Variable("n_trials", "count", "different trials with a variance", "trials"),
        Variable("topics_min", "count", "fewest topics", "topics"),
        Variable("topics_max", "count", "most topics", "topics"),
        Variable(
            "topics_needed_tool",
            "estimate",
            "topics that the mean variance asks for, by Sakai's tool",
            "topics",
        ),
    ),
    *along(
        ("leave",),
        Variable("runs_min", "count", "fewest runs", "runs"),
        Variable("runs_max", "count", "most runs", "runs"),
    ),
    *along(
        ("metric", "gain", "topic_step"),
        Variable("first_miss", "estimate", "fewest teams without the whole variance", "teams"),
    ),
)


def variance_values(
    variance: FloatArray, n_topics: NDArray[Any], leaves: Sequence[int]
) -> dict[str, Any]:
    """Return what follows from variances and numbers of topics, (cell, leave, step, trial)."""
    of_trials = variance.copy()
    of_trials[:, 0, :, 1:] = np.nan  # the whole is one trial
    n_trials = np.isfinite(of_trials).sum(axis=-1)
    mean, low, high = t_limits(of_trials)
    # Against the estimate of all topics and teams, never against a draw.
    whole = mean[:, :1, :1]
    missed = (low > whole * (1 + MISSED)) | (high < whole * (1 - MISSED))
    first = np.array(leaves)[missed.argmax(axis=1)]
    needed = np.full(mean.shape, np.nan)
    varied = mean > 0
    if varied.any():
        designed = topic_set_size(mean[varied], mode="sakai", **REQUIREMENTS)
        needed[varied] = designed["topics"].values
    return {
        "variance_mean": mean,
        "variance_low": low,
        "variance_high": high,
        "n_trials": n_trials,
        "topics_min": n_topics.min(axis=-1),
        "topics_max": n_topics.max(axis=-1),
        "topics_needed_tool": needed,
        "first_miss": np.where(missed.any(axis=1), first, np.nan),
    }


def run_values(left_out: NDArray[Any], pools: Pools) -> dict[str, Any]:
    """Return the runs that remain, and names of the teams left out, bool (leave, team, trial)."""
    n_runs = (~left_out[:, pools.team_of]).sum(axis=1)
    teams = np.array(pools.teams, object)
    labels = [[",".join(teams[out]) for out in of_leave.T] for of_leave in left_out]
    different = n_runs > 0
    different[0, 1:] = False  # the whole is one trial
    return {
        "n_runs": n_runs,
        "teams_left_out": np.array(labels, object),
        "different": different,
        "runs_min": n_runs.min(axis=-1),
        "runs_max": n_runs.max(axis=-1),
    }


def absent_values(table: JudgedRuns, rule: str) -> dict[str, Any]:
    """Return what teams lose that do not take part: means over teams, with limits.

    Limits over teams are Student's t; those over topics, of these teams, the jackknife's.

    rule: By which topics are lost, which means leave out.
    """
    group = groups_left_out([table.n_topics])
    kept = [np.ones(table.n_topics, bool), *(group != k for k in np.unique(group))]
    mean, rank = _means_and_ranks_on(kept, without_lost(table.scores, rule))
    mean_without = mean.copy()
    rank_without = rank.copy()
    teams = np.arange(len(table.pools.teams))
    runs_of = table.pools.team_of == teams[:, np.newaxis]
    for team, runs in enumerate(runs_of):
        without = without_lost(table.scores_without(teams == team, slice(None)), rule)
        means, ranks = _means_and_ranks_on(kept, without)
        mean_without[..., runs], rank_without[..., runs] = means[..., runs], ranks[..., runs]
    relative = mean_without / np.where(mean > 0, mean, np.nan) - 1
    values = dict[str, Any]()
    for name, change in (("change", relative), ("rank_change", rank_without - rank)):
        by_team = np.stack([t_limits(change[..., runs])[0] for runs in runs_of], axis=-1)
        over_teams, *without_topics = t_limits(by_team)[0]
        _, low, high = t_limits(by_team[0])
        low_topics, high_topics = limits(over_teams, without_topics)
        values |= {
            f"{name}_mean": over_teams,
            f"{name}_low": low,
            f"{name}_high": high,
            f"{name}_topics_low": low_topics,
            f"{name}_topics_high": high_topics,
        }
    return values


def _means_and_ranks_on(
    kept: Sequence[NDArray[np.bool_]], scores: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return means and ranks of runs on parts of the topics, float64 (part, cell, run)."""
    parts = [means_and_ranks(scores[..., topics]) for topics in kept]
    means, ranks = (np.array(of, float) for of in zip(*parts, strict=True))
    return means, ranks


def means_and_ranks(scores: FloatArray) -> tuple[Any, Any]:
    """Return means over topics and ranks of runs, (cell, run), of scores (cell, run, topic)."""
    finite = np.isfinite(scores)  # masked arrays take three times as long
    count = finite.sum(axis=-1)
    sums = np.where(finite, scores, 0.0).sum(axis=-1)
    means = np.divide(sums, count, out=np.full(sums.shape, np.nan), where=count > 0)
    return means, 1 + ranks_above(means, TIE)


def t_limits(values: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return means of the finite values along the last axis, and limits by Student's t or NaN."""
    from scipy.special import stdtrit

    finite = np.ma.masked_invalid(values)
    count = finite.count(axis=-1)
    mean = finite.mean(axis=-1)
    t = stdtrit(count - 1.0, (1 + CONFIDENCE) / 2)
    half = t * np.ma.sqrt(finite.var(axis=-1, ddof=1) / count)
    return mean.filled(np.nan), (mean - half).filled(np.nan), (mean + half).filled(np.nan)
