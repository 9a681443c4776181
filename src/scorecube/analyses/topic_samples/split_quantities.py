"""What results of `Splits` hold, and what follows from them."""

from __future__ import annotations

from scorecube import names
from scorecube.collection.schema import Derived, Variable

_CELL = (names.METRIC, names.GAIN, names.SIZE)
_TRIALS = (*_CELL, names.TRIAL)
VARIABLES = (
    Variable(
        "tau",
        _TRIALS,
        "f",
        "1",
        "Kendall's tau-a between the rankings by both samples",
        role="estimate",
    ),
    Variable(
        "tau_b",
        _TRIALS,
        "f",
        "1",
        "Kendall's tau-b, corrected for ties; missing if all runs are tied on a sample",
        role="estimate",
    ),
    Variable(
        "tau_ap",
        _TRIALS,
        "f",
        "1",
        "AP correlation, mean of both directions, ties by rule b of Urbano and Marrero 2017",
        role="estimate",
    ),
    Variable(
        "rank_change",
        _TRIALS,
        "i",
        "ranks",
        "largest rank change of a run; tied runs share the best of their ranks",
        role="count",
    ),
    Variable(
        "same_best",
        _TRIALS,
        "i",
        "1",
        "1 if the best run, or all that share the first rank, are the same",
        role="flag",
    ),
    Variable("tau_mean", _CELL, "f", "1", "mean of tau over trials", role="estimate"),
    Variable("tau_median", _CELL, "f", "1", "median of tau over trials", role="estimate"),
    Variable(
        "tau_low",
        _CELL,
        "f",
        "1",
        "5 % quantile of tau: reached or exceeded by 95 % of the trials",
        role="low",
        of="tau_mean",
    ),
    Variable("tau_high", _CELL, "f", "1", "95 % quantile of tau", role="high", of="tau_mean"),
    Variable("tau_b_mean", _CELL, "f", "1", "mean of tau-b over trials", role="estimate"),
    Variable("tau_ap_mean", _CELL, "f", "1", "mean AP correlation over trials", role="estimate"),
    Variable(
        "tied_pairs",
        _CELL,
        "f",
        "pairs",
        "mean number of pairs of runs with equal means on a sample",
        role="estimate",
        form=".1f",
    ),
    Variable(
        "same_best_trials",
        _CELL,
        "i",
        "trials",
        "trials in which both samples have the same best run",
        role="count",
    ),
    Variable(
        "rank_change_median",
        _CELL,
        "f",
        "ranks",
        "median of the largest rank change",
        role="estimate",
        form=".1f",
    ),
    Variable(
        "settled",
        (names.METRIC, names.GAIN, names.THRESHOLD),
        "f",
        "topics",
        "smallest size from which on the 5 % quantile reaches a tau",
        role="estimate",
        form=".0f",
    ),
)
DERIVED = (
    Derived(
        Variable(
            "share_same_best",
            _CELL,
            "f",
            "1",
            "share of the trials in which both samples have the same best run",
            role="share",
            form=".1%",
        ),
        lambda result: result["same_best_trials"] / result.attrs["trials"],
    ),
    Derived(
        Variable("largest_size", (), "i", "topics", "largest size of a sample", role="condition"),
        lambda result: result[names.SIZE].max(),
    ),
)
