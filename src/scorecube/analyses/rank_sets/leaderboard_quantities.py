"""What results of `Leaderboard` hold, and what follows from them."""

from __future__ import annotations

import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import elementwise
from scorecube.analyses.rank_sets import rank_quantities
from scorecube.collection.schema import derived, limits, variables

_RUN = (names.METRIC, names.GAIN, names.RUN)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
VARIABLES = (
    *rank_quantities.VARIABLES,
    *limits("mean", _RUN, "score", "{} limit of the mean, bootstrap-t"),
    *limits("mean", _RUN, "score", "{} limit of the mean by Student's t", name="t"),
    *limits(
        *("mean", (names.METRIC, names.GAIN), "score"),
        "{} limit of the mean of the run that leads, whichever that is",
        name="winner",
    ),
    *variables(
        *((names.METRIC, names.GAIN), "count", "pairs"),
        own_error_pairs="pairs that are not separated, and would be by their own standard errors alone (t tests, Holm)",
    ),
    *variables(_RUN, "share", best="share of trials in which the run has the largest mean"),
    *variables(
        *(_RUN, "label", "1", "iu"),
        group_first="first group of runs that are not separated",
        group_last="last group of runs that are not separated",
    ),
    *variables(_RUN, "estimate", "score", difference="mean minus that of the baseline"),
    *limits("difference", _RUN, "score", "simultaneous {} limit of the difference"),
    *variables(_RUN, "p_value", p_baseline="adjusted p-value of the difference from the baseline"),
    *variables(
        *(_RUN, "count", "topics"),
        wins="topics with a higher score than the baseline",
        ties="topics with the baseline's score",
        losses="topics with a lower score than the baseline",
    ),
)
OPTIONAL = (
    ("difference", "difference_low", "difference_high", "p_baseline", "wins", "losses", "ties"),
    ("winner_low", "winner_high"),
    ("own_error_pairs",),
    ("repetitions",),
)


def _group_text(first: int, last: int, lettered: bool) -> str:
    if lettered:
        return LETTERS[first - 1 : last]
    return f"{first}-{last}" if first < last else f"{first}"


def _groups(result: xr.Dataset) -> xr.DataArray:
    last = result["group_last"]
    lettered = last.max(names.RUN) <= len(LETTERS)
    return elementwise(_group_text, result["group_first"], last, lettered)


def _separated(result: xr.Dataset) -> xr.DataArray:
    return result["p_baseline"] < float(result.attrs[names.ALPHA])


DERIVED = (
    *rank_quantities.DERIVED,
    derived(
        _groups,
        *(_RUN, "label"),
        groups="groups of a run: letters, or numbers where there are more groups than letters",
    ),
    derived(
        lambda result: _separated(result) & (result["difference"] > 0),
        *(_RUN, "flag"),
        needs=("p_baseline",),
        better="whether a run is significantly better than the baseline",
    ),
    derived(
        lambda result: _separated(result) & ~(result["difference"] > 0),
        *(_RUN, "flag"),
        needs=("p_baseline",),
        worse="whether a run is significantly worse than the baseline",
    ),
)
