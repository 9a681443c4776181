"""What results of `Teams` hold.

Along leave: 0 for the whole collection, then numbers of teams. Along topic_step: numbers of topics,
all topics first.
"""

from __future__ import annotations

from typing import Any

from scorecube import names
from scorecube.collection.schema import CELL, limits, variables

CONFIDENCE = 0.95
"""Of all limits."""
REQUIREMENTS: dict[str, Any] = {"min_diff": 0.15, "systems": 10, "alpha": 0.05, "beta": 0.2}
"""Requirements of Sakai and Shang 2016, Table 3."""
_CHAIN = (*CELL, names.TOPIC_STEP)
_LEAVE = (*CELL, names.LEAVE)
_STEP = (*_LEAVE, names.TOPIC_STEP)
_TRIAL = (*_LEAVE, names.TRIAL)
_STEP_TRIAL = (*_STEP, names.TRIAL)
_RUNS = (*CELL, names.RUN)
_TEAM = (names.TEAM,)
_SAMPLE = (names.LEAVE, names.TRIAL)
ABSENT = (
    *variables(CELL, "estimate", change_mean="relative change of the mean score of an absent team"),
    *limits("change_mean", CELL, "1", "{} limit over teams (95 %)", name="change"),
    *variables(
        *(CELL, "estimate", "ranks"),
        rank_change_mean="ranks that a run of an absent team loses among all runs",
    ),
    *limits("rank_change_mean", CELL, "ranks", "{} limit over teams (95 %)", name="rank_change"),
    *variables(CELL, "count", "ranks", rank_change_largest="most ranks that a run loses"),
    *variables(CELL, "label", worst_run="run that loses most ranks"),
    *variables(
        *(_RUNS, "estimate", "score"),
        own_mean="mean score of a run in the full evaluation",
        own_mean_without="mean score of a run without its team's unique contributions",
        own_change="change of the mean score without its team's unique contributions",
    ),
    *variables(
        *(_RUNS, "estimate", "rank", "i"),
        own_rank="rank of a run in the full evaluation; tied runs share the best of their ranks",
        own_rank_without="rank of a run among all runs without its team's unique contributions",
    ),
    *variables(
        *(_TEAM, "count", "documents"),
        n_unique="judged documents that only a team contributed",
        n_unique_relevant="relevant ones of these",
    ),
    *variables(_TEAM, "count", "runs", team_runs="runs of a team"),
)
"""What a team that did not take part would lose: its runs without its unique contributions.

Means are over runs, each team with equal weight.
"""
VARIANCES = (
    *variables(
        *(_STEP_TRIAL, "estimate"),
        variance="within-system variance of the remaining runs over the remaining topics",
    ),
    *variables(
        *(_STEP_TRIAL, "count", "topics"),
        n_topics="topics of the step with a relevant document left",
    ),
    *variables(
        *(_TRIAL, "count", "topics"),
        n_topics_above_zero="topics on which a remaining run scores above 0",
    ),
    *variables(_SAMPLE, "count", "runs", n_runs="remaining runs"),
    *variables(_SAMPLE, "label", teams_left_out="teams left out"),
    *variables(_SAMPLE, "flag", different="whether no trial before is equal"),
    *variables((*_SAMPLE, *_TEAM), "flag", team_left_out="whether a team is left out"),
    *variables(
        *((*_SAMPLE, names.TOPIC), "count", "topics"),
        topic_place="place of a topic in the order of a trial, from 0: steps keep the first",
    ),
    *variables(_STEP, "estimate", variance_mean="mean variance over trials"),
    *limits(
        *("variance_mean", _STEP, "1"),
        "{} limit over trials (95 %); missing where no team is left out",
        name="variance",
    ),
    *variables(_STEP, "count", "trials", n_trials="different trials with a variance"),
    *variables((names.LEAVE,), "count", "runs", runs_min="fewest remaining runs"),
    *variables((names.LEAVE,), "count", "runs", runs_max="most remaining runs"),
    *variables(
        *(_STEP, "count", "topics"),
        topics_min="fewest remaining topics",
        topics_max="most remaining topics",
    ),
    *variables(
        *(_STEP, "estimate", "topics"),
        topics_needed="topics that the mean variance asks for",
        topics_needed_tool="the same by Sakai's tool",
    ),
    *variables(CELL, "estimate", whole_variance="variance of all runs over all topics"),
    *variables(
        *(_CHAIN, "estimate", "teams"),
        first_miss="fewest teams left out at which the interval misses the whole variance",
    ),
    *variables(_CHAIN, "estimate", variance_there="mean variance at the first miss"),
)
"""Sakai and Shang 2016, sections 5.1 and 5.2."""
ORDER = (
    *variables(
        *(_TRIAL, "estimate"),
        tau="Kendall's tau-a of the remaining runs' means with those of the full evaluation",
    ),
    *variables(
        *(_TRIAL, "count", "ranks"),
        rank_drop="most ranks that a remaining run loses among the remaining ones",
    ),
    *variables(
        *(_LEAVE, "estimate"),
        tau_mean="mean of tau over trials",
        tau_lowest="smallest tau of all trials",
    ),
    *variables(
        _LEAVE, "count", "ranks", rank_drop_largest="most ranks that a run loses in any trial"
    ),
)
VARIABLES = (*ABSENT, *VARIANCES, *ORDER)
OPTIONAL = (("topic_place",),)
