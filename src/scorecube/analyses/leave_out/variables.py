"""Variables of a result that leaves teams out."""

from __future__ import annotations

from scorecube import names
from scorecube.collection.schema import Variable

_CELL = (names.METRIC, names.GAIN)
_STEP = (*_CELL, names.LEAVE, names.TOPIC_STEP)
_LEAVE = (*_CELL, names.LEAVE)
_CHANGE = (*_LEAVE, names.RUN)
_RUNS = (*_CELL, names.RUN)
VARIABLES = (
    Variable(
        "variance",
        (*_STEP, names.TRIAL),
        "f",
        "1",
        "within-system variance of the remaining runs over the remaining topics",
    ),
    Variable(
        "n_topics", (*_STEP, names.TRIAL), "i", "topics", "topics of the step that were not lost"
    ),
    Variable(
        "n_runs",
        (names.LEAVE, names.TRIAL),
        "i",
        "runs",
        "remaining runs; 0 in a trial that stays empty",
    ),
    Variable(
        names.TEAM_LEFT_OUT,
        (names.LEAVE, names.TRIAL, names.TEAM),
        "b",
        "1",
        "whether a team is left out",
    ),
    Variable(
        names.TOPIC_KEPT,
        (names.TOPIC_STEP, names.TOPIC),
        "b",
        "1",
        "whether a topic is in a step of the chain",
    ),
    Variable("variance_mean", _STEP, "f", "1", "mean variance over trials"),
    Variable(
        "variance_low",
        _STEP,
        "f",
        "1",
        "lower limit over trials; missing where no team is left out",
    ),
    Variable(
        "variance_high",
        _STEP,
        "f",
        "1",
        "upper limit over trials; missing where no team is left out",
    ),
    Variable("n_defined", _STEP, "i", "trials", "trials with a variance"),
    Variable(
        "first_miss",
        (*_CELL, names.TOPIC_STEP),
        "f",
        "teams",
        "fewest teams left out at which the interval misses the variance of the whole",
    ),
    Variable(
        "tau",
        (*_LEAVE, names.TRIAL),
        "f",
        "1",
        "Kendall's tau-a of the remaining runs' means with those of the full evaluation",
    ),
    Variable(
        "rank_drop",
        (*_LEAVE, names.TRIAL),
        "i",
        "ranks",
        "most ranks that a remaining run loses against the full evaluation of the same runs",
    ),
    Variable("tau_mean", _LEAVE, "f", "1", "mean of tau over trials"),
    Variable("tau_lowest", _LEAVE, "f", "1", "smallest tau of all trials"),
    Variable("rank_drop_largest", _LEAVE, "i", "ranks", "most ranks that a run loses in any trial"),
    Variable(
        "mean_change",
        _CHANGE,
        "f",
        "score",
        "change of a run's mean score against the full evaluation, mean over the trials it stayed in",
    ),
    Variable(
        "mean_change_largest",
        _CHANGE,
        "f",
        "score",
        "change of a run's mean score of the largest size, over the trials it stayed in",
    ),
    Variable("stayed", _CHANGE, "i", "trials", "trials in which a run stayed and has a mean score"),
    Variable("own_mean", _RUNS, "f", "score", "mean score of a run in the full evaluation"),
    Variable(
        "own_mean_without",
        _RUNS,
        "f",
        "score",
        "mean score of a run without its team's unique contributions, all runs kept",
    ),
    Variable(
        "own_rank",
        _RUNS,
        "i",
        "rank",
        "rank of a run in the full evaluation; tied runs share the best of their ranks",
    ),
    Variable(
        "own_rank_without",
        _RUNS,
        "i",
        "rank",
        "rank of a run among all runs without its team's unique contributions",
    ),
    Variable(
        "n_unique", (names.TEAM,), "i", "documents", "judged documents that only a team contributed"
    ),
    Variable("n_unique_relevant", (names.TEAM,), "i", "documents", "relevant ones of these"),
    Variable(
        "judged_share",
        (names.RUN, names.CUTOFF),
        "f",
        "1",
        "share of judged documents among the first ranks of a run",
    ),
    Variable(
        "rbp_residual",
        (names.RUN, names.PERSISTENCE),
        "f",
        "score",
        "mean residual of RBP: range of the score if unjudged documents may be relevant",
    ),
)
"""Along leave: 0 for the whole collection, then numbers of teams. Along topic_step: numbers of topics, all topics first."""
