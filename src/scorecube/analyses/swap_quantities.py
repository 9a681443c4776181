"""What results of `Swap` hold."""

from __future__ import annotations

from scorecube import names
from scorecube.collection.schema import limits, variables

_CELL = (names.METRIC, names.GAIN, names.SIZE)
_BINS = (*_CELL, names.BIN)
_LEVELS = (*_CELL, names.CONFIDENCE)
VARIABLES = (
    *variables(
        *(_BINS, "count", "comparisons", "i"),
        count="pairs of runs and trials whose first difference lies in the bin",
        swaps="comparisons on which the second sample disagrees, by the rule",
    ),
    *variables(
        *(_CELL, "count", "comparisons", "i"),
        both_zero="pairs and trials with no difference in either sample",
    ),
    *variables(_BINS, "share", "1", swap_rate="swaps / count; missing where the bin is empty"),
    *limits(
        "swap_rate",
        _BINS,
        "1",
        "{} limit (95 %) of the swap rate of infinitely many trials with these topics and runs",
    ),
    *variables(
        *(_BINS, "estimate", "1"),
        swap_rate_fitted="weighted isotonic regression of the swap rates on the absolute difference",
    ),
    *variables(
        *(_BINS, "share", "1"),
        form=".2f",
        tie_share="share of comparisons with an exact tie on at least one sample",
    ),
    *variables(
        *(_LEVELS, "estimate", "score"),
        form=".2f",
        required_difference="lower edge of the bin that the option required chooses",
    ),
    *limits(
        "required_difference",
        _LEVELS,
        "score",
        "{} limit (95 %) of the required difference of these runs with other topics; missing where some of the topics decide whether there is one",
        name="required",
        form=".2f",
    ),
    *variables(
        *(_LEVELS, "estimate", "score"),
        form=".2f",
        required_suffix="lower edge of the lowest bin from which on no swap rate is too high",
    ),
    *variables(
        *(_LEVELS, "estimate", "score"),
        form=".3f",
        required_difference_smooth="difference at which the fitted rates, interpolated between middles of bins, reach the accepted rate",
    ),
    *variables(
        *(_LEVELS, "flag", "1", "b"),
        open_bin="whether only the open last bin has an accepted rate: its lower edge is a lower limit of what is required",
    ),
    *variables(
        *(_CELL, "estimate", "score"),
        headings={"max_performance": "largest mean", "max_difference": "largest difference"},
        max_performance="largest mean score over runs, trials and both samples",
        max_difference="largest difference of two mean scores on one sample",
    ),
    *variables(
        *(_CELL, "estimate", "score"),
        form=".2f",
        headings={"support": "highest bin begins at"},
        support="lower edge of the highest bin that is not empty",
    ),
    *variables(
        *(_LEVELS, "share", "1"),
        form=".0%",
        headings={"relative_difference": "required difference / largest mean"},
        relative_difference="required difference / largest mean score",
        share_behind="largest share of all metrics and gain settings, minus this share (0 without a required difference)",
    ),
    *limits(
        "share_behind",
        _LEVELS,
        "1",
        "{} limit of share_behind with other topics, 95 % for all pairs of metrics together",
        form=".0%",
    ),
    *variables(
        *(_LEVELS, "share", "1"),
        form=".1%",
        headings={"share": "share of comparisons"},
        share="share of all comparisons with at least the required difference",
    ),
    *limits("share", _LEVELS, "1", "{} limit (95 %) of the share with other topics", form=".0%"),
    *variables(
        *(_CELL, "estimate"), tau="mean of Kendall's tau-a between the rankings by both samples"
    ),
    *limits("tau", _CELL, "1", "{} limit (95 %) of the mean tau of these runs with other topics"),
    *variables(
        *((*_CELL, names.TRIAL), "estimate"),
        tau_of_trial="Kendall's tau-a between the rankings by both samples of a trial",
    ),
    *variables(
        *((names.SIZE,), "estimate", "topics"),
        form=".1f",
        headings={"unique": "distinct topics in a sample", "common": "topics in both samples"},
        unique="mean number of distinct topics in a sample",
        common="mean number of distinct topics common to both samples",
    ),
)
