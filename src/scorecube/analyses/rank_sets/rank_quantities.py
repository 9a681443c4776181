"""What results of `Ranks` hold, and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import elementwise
from scorecube.collection.schema import derived, labels_of, variables

_CELL = (names.METRIC, names.GAIN)
_RUN = (*_CELL, names.RUN)
_TOP = (*_CELL, names.TOP)
VARIABLES = (
    *variables(_RUN, "estimate", "score", mean="mean score of a run"),
    *variables(
        *(_RUN, "estimate", "1", "iu"),
        rank="rank of the mean, 1 for the largest; the best rank of ties",
    ),
    *variables(_RUN, "low", "1", "iu", of="rank", rank_low="best rank of the confidence set"),
    *variables(_RUN, "high", "1", "iu", of="rank", rank_high="worst rank of the confidence set"),
    *variables((names.RUN,), "count", "runs", repetitions="runs of the system"),
)
OPTIONAL = (("repetitions",),)


def _in_top(result: xr.Dataset) -> xr.DataArray:
    """Return which runs may be among the k best; for no k that is as large as the number of runs."""
    sizes = [int(k) for k in np.atleast_1d(result.attrs["top"]) if k < result.sizes[names.RUN]]
    return result["rank_low"] <= xr.DataArray(np.array(sizes, int), {names.TOP: sizes}, names.TOP)


def _top_runs(result: xr.Dataset) -> xr.DataArray:
    runs = np.array(labels_of(result, names.RUN), object)

    def best_first(rank: np.ndarray[Any, Any], chosen: np.ndarray[Any, Any]) -> str:
        order = np.argsort(rank, kind="stable")
        return ", ".join(runs[order][chosen[order]])

    return elementwise(best_first, result["rank"], _in_top(result), along=names.RUN)


DERIVED = (
    derived(
        lambda result: result[names.TEAM if names.TEAM in result.coords else names.RUN],
        *((names.RUN,), "label"),
        team="team of a run; one without is a team of its own",
    ),
    derived(
        _in_top,
        *((*_RUN, names.TOP), "flag"),
        in_top="whether a run is in the confidence set of the k best",
    ),
    derived(
        lambda result: _in_top(result).sum(names.RUN),
        *(_TOP, "count", "runs"),
        n_top="runs in the confidence set of the k best",
    ),
    derived(_top_runs, _TOP, "label", top_runs="runs in the set, best first"),
)
