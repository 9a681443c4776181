"""What results of `Splits` hold, and what follows from them."""

from scorecube import names
from scorecube.collection.schema import derived, variables

_CELL = (names.METRIC, names.GAIN, names.SIZE)
_TRIALS = (*_CELL, names.TRIAL)
VARIABLES = (
    *variables(
        *(_TRIALS, "estimate"),
        tau="Kendall's tau-a between the rankings by both samples",
        tau_b="Kendall's tau-b, corrected for ties; missing if all runs are tied on a sample",
        tau_ap="AP correlation, mean of both directions, ties by rule b of Urbano and Marrero 2017",
    ),
    *variables(
        *(_TRIALS, "count", "ranks", "i"),
        rank_change="largest rank change of a run; tied runs share the best of their ranks",
    ),
    *variables(
        *(_TRIALS, "flag", "1", "i"),
        same_best="1 if the best run, or all that share the first rank, are the same",
    ),
    *variables(
        *(_CELL, "estimate"),
        tau_mean="mean of tau over trials",
        tau_median="median of tau over trials",
    ),
    *variables(
        *(_CELL, "low"),
        of="tau_mean",
        tau_low="5 % quantile of tau: reached or exceeded by 95 % of the trials",
    ),
    *variables(_CELL, "high", of="tau_mean", tau_high="95 % quantile of tau"),
    *variables(
        *(_CELL, "estimate"),
        tau_b_mean="mean of tau-b over trials",
        tau_ap_mean="mean AP correlation over trials",
    ),
    *variables(
        *(_CELL, "estimate", "pairs"),
        form=".1f",
        tied_pairs="mean number of pairs of runs with equal means on a sample",
    ),
    *variables(
        *(_CELL, "count", "trials", "i"),
        same_best_trials="trials in which both samples have the same best run",
    ),
    *variables(
        *(_CELL, "estimate", "ranks"),
        form=".1f",
        rank_change_median="median of the largest rank change",
    ),
    *variables(
        *((names.METRIC, names.GAIN, names.THRESHOLD), "estimate", "topics"),
        form=".0f",
        settled="smallest size from which on the 5 % quantile reaches a tau",
    ),
)
DERIVED = (
    derived(
        lambda result: result["same_best_trials"] / result.attrs["trials"],
        *(_CELL, "share"),
        form=".1%",
        share_same_best="share of the trials in which both samples have the same best run",
    ),
    derived(
        lambda result: result[names.SIZE].max(),
        *((), "condition", "topics", "i"),
        largest_size="largest size of a sample",
    ),
)
