"""What trials without some teams draw and find, and what a team loses that is left out alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.team_results import t_limits
from scorecube.analyses.team_scores import JudgedRuns
from scorecube.collection.pools import Pools
from scorecube.kernels.random.draws import random_subset
from scorecube.kernels.ranks import ranks_above
from scorecube.statistics.variance import within_system_variance

BoolArray = NDArray[np.bool_]
TIE = 2.0**-39
"""Largest difference of equal means: sums in another order differ by less."""


def draw_teams(key: Any, n_teams: int, leaves: Sequence[int], start: int, stop: int) -> BoolArray:
    """Draw the teams that are left out of some trials, bool (leave, team, trial).

    Those of a trial depend on the seed, the trial and their number.
    """
    left_out = np.zeros((len(leaves), n_teams, stop - start), bool)
    for row, trial in np.ndindex(len(leaves), stop - start):
        size = leaves[row]
        left_out[row, random_subset(key, start + trial, size, n_teams, size), trial] = True
    return left_out


def draw_orders(key: Any, n_topics: int, leaves: Sequence[int], start: int, stop: int) -> Any:
    """Draw a random order of the topics for each trial, int32 (leave, topic, trial).

    The whole collection, leave 0, is one trial.
    """
    order = np.empty((len(leaves), n_topics, stop - start), np.int32)
    for row, trial in np.ndindex(len(leaves), stop - start):
        drawn = start + trial if leaves[row] else 0
        order[row, :, trial] = random_subset(key, drawn, leaves[row], n_topics, n_topics)
    return order


def trial_values(
    table: JudgedRuns, sizes: Sequence[int], left_out: BoolArray, order: Any = None
) -> dict[str, Any]:
    """Return variances and topics of a trial, (cell, step), and topics above zero, (cell,).

    sizes: Numbers of topics of the steps: all, then the first of the order that are left.
    left_out: bool (team,): teams whose runs are removed.
    order: int32 (topic,): topics in the order of the chain; None without a chain.
    """
    scores = table.scores_without(left_out, np.flatnonzero(~left_out[table.pools.team_of]))
    is_left: Any = np.isfinite(scores).any(axis=1)
    variance = np.full((len(scores), len(sizes)), np.nan)
    n_topics = np.empty(variance.shape, np.int32)
    variance[:, 0], n_topics[:, 0] = within_system_variance(scores), is_left.sum(axis=-1)
    for cell, step in np.ndindex(len(scores), len(sizes) - 1):
        size = sizes[step + 1]
        topics = np.sort(order[is_left[cell, order]][:size])
        n_topics[cell, step + 1] = len(topics)
        if len(topics) == size:
            variance[cell, step + 1] = within_system_variance(scores[cell][:, topics])
    above_zero = (scores > 0).any(axis=1).sum(axis=-1, dtype=np.int32)
    return {"variance": variance, "n_topics": n_topics, "n_topics_above_zero": above_zero}


def sample_values(drawn: Mapping[str, Any], pools: Pools) -> dict[str, Any]:
    """Return what was drawn, as variables of results, and the runs that remain.

    drawn: ``left_out`` of `draw_teams`; with a chain ``order`` of `draw_orders`.
    """
    left_out = drawn["left_out"].swapaxes(1, 2)
    n_runs = (~left_out[..., pools.team_of]).sum(axis=-1)
    teams = np.array(pools.teams, object)
    labels = np.empty(n_runs.shape, object)
    for place in np.ndindex(n_runs.shape):
        labels[place] = ",".join(teams[left_out[place]])
    different = n_runs > 0
    different[0, 1:] = False  # the whole is one trial
    values = {
        names.TEAM_LEFT_OUT: left_out,
        "teams_left_out": labels,
        "different": different,
        "n_runs": n_runs,
        "runs_min": n_runs.min(axis=-1),
        "runs_max": n_runs.max(axis=-1),
    }
    if "order" in drawn:
        places = np.argsort(drawn["order"], axis=1).swapaxes(1, 2)
        values[names.TOPIC_PLACE] = places.astype(np.int32)
    return values


def absent_values(table: JudgedRuns) -> dict[str, Any]:
    """Return what teams lose that do not take part: means over teams, with limits."""
    pools = table.pools
    n_teams, every = len(pools.teams), np.arange(len(table.runs))
    mean, rank = means_and_ranks(table.scores)
    mean_without, rank_without = mean.copy(), rank.copy()
    for team in range(n_teams):
        runs = pools.team_of == team
        found = means_and_ranks(table.scores_without(np.arange(n_teams) == team, every))
        mean_without[:, runs], rank_without[:, runs] = (values[:, runs] for values in found)
    lost = rank_without - rank
    values: dict[str, Any] = {}
    relative = mean_without / np.where(mean > 0, mean, np.nan) - 1
    for name, change in (("change", relative), ("rank_change", lost.astype(float))):
        by_team = [t_limits(change[:, pools.team_of == team])[0] for team in range(n_teams)]
        limits = t_limits(np.stack(by_team, axis=-1))
        values |= {
            f"{name}_{end}": limit
            for end, limit in zip(("mean", "low", "high"), limits, strict=True)
        }
    most = lost.max(axis=1)
    worst = np.array(table.runs, object)[lost.argmax(axis=1)]
    return values | {
        "rank_change_largest": most,
        "worst_run": np.where(most > 0, worst, ""),
        "own_mean": mean,
        "own_mean_without": mean_without,
        "own_rank": rank,
        "own_rank_without": rank_without,
    }


def means_and_ranks(scores: Any) -> tuple[Any, Any]:
    """Return means over topics and ranks of runs, (cell, run), of scores (cell, run, topic)."""
    finite = np.isfinite(scores)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(finite, scores, 0.0).sum(axis=-1) / finite.sum(axis=-1)
    return means, 1 + ranks_above(means, TIE)
