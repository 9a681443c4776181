"""What results of `Leaderboard` and `Board` hold, and what follows from them."""

from __future__ import annotations

import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import elementwise
from scorecube.collection.schema import derived, limits, variables

_CELL = (names.METRIC, names.GAIN)
_RUN = (*_CELL, names.RUN)
_OF_COLLECTION = (*_CELL, names.COLLECTION, names.RUN)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VARIABLES = (
    *variables(_RUN, "estimate", "score", mean="mean score of a run"),
    *limits("mean", _RUN, "score", "{} limit of the mean"),
    *variables(
        *(_RUN, "flag"),
        leads="whether the run leads: its limits hold although it was chosen by its mean",
    ),
    *variables(
        *(_RUN, "estimate", "1", "iu"),
        rank="rank of the mean, 1 for the best; the best rank of ties",
    ),
    *variables(_RUN, "low", "1", "iu", of="rank", rank_low="best rank of the confidence set"),
    *variables(_RUN, "high", "1", "iu", of="rank", rank_high="worst rank of the confidence set"),
    *variables(
        *(_RUN, "label", "1", "iu"),
        group_first="first group of runs that are not separated",
        group_last="last group of runs that are not separated",
    ),
    *variables(
        *(_CELL, "count", "pairs"),
        separated_neighbours="pairs of runs next to each other in the order of means that are separated",
        own_error_pairs="pairs that are not separated, and would be by their own standard errors alone (t tests, Holm)",
    ),
    *variables(_RUN, "estimate", "score", difference="mean minus that of the baseline"),
    *limits("difference", _RUN, "score", "simultaneous {} limit of the difference"),
    *variables(_RUN, "p_value", p_baseline="adjusted p-value of the difference from the baseline"),
    *variables(
        *(_RUN, "count", "topics"),
        wins="topics with a better score than the baseline",
        ties="topics with the baseline's score",
        losses="topics with a worse score than the baseline",
    ),
)
BOARD_VARIABLES = (
    *variables(_OF_COLLECTION, "estimate", "score", collection_mean="mean score in a collection"),
    *limits("collection_mean", _OF_COLLECTION, "score", "{} limit of the mean in a collection"),
    *variables((names.COLLECTION,), "share", weight="weight of a collection"),
    *variables((names.COLLECTION,), "count", "topics", topics="topics of a collection"),
    *variables(
        *(_RUN, "estimate", "1"),
        mean_rank="mean of the ranks in the collections (Borda); no interval is known to hold",
    ),
)
OPTIONAL = (
    ("difference", "difference_low", "difference_high", "p_baseline", "wins", "losses", "ties"),
)


def _group_text(first: int, last: int, lettered: bool) -> str:
    if lettered:
        return LETTERS[first - 1 : last]
    return f"{first}-{last}" if first < last else f"{first}"


def _groups(result: xr.Dataset) -> xr.DataArray:
    last = result["group_last"]
    lettered = last.max(names.RUN) <= len(LETTERS)
    return elementwise(_group_text, result["group_first"], last, lettered)


def _separated(result: xr.Dataset, sign: int) -> xr.DataArray:
    """Return which runs differ from the baseline and have a better (-1) or worse (1) rank."""
    rank = result["rank"]
    behind = rank - rank.sel({names.RUN: result.attrs["baseline"]}, drop=True)
    found: xr.DataArray = (sign * behind > 0) & (
        result["p_baseline"] < float(result.attrs[names.ALPHA])
    )
    return found


DERIVED = (
    derived(
        lambda result: result[names.TEAM if names.TEAM in result.coords else names.RUN],
        *((names.RUN,), "label"),
        team="team of a run; one without is a team of its own",
    ),
    derived(
        _groups,
        *(_RUN, "label"),
        groups="groups of a run: letters, or numbers where there are more groups than letters",
    ),
    derived(
        lambda result: _separated(result, -1),
        *(_RUN, "flag"),
        needs=("p_baseline",),
        better="whether a run is significantly better than the baseline",
    ),
    derived(
        lambda result: _separated(result, 1),
        *(_RUN, "flag"),
        needs=("p_baseline",),
        worse="whether a run is significantly worse than the baseline",
    ),
)
