"""What results of `Agreement` hold, and what follows from them; correlations over infinitely many topics, as results hold them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import (
    CELL,
    Derived,
    Variable,
    derived,
    labels_of,
    limits,
    variables,
)


def population_variables(dims: tuple[str, ...]) -> tuple[Variable, ...]:
    """Return the estimate over infinitely many topics, and its limits."""
    estimate = "estimate over infinitely many topics, given these runs: median of draws"
    return (
        *variables(dims, "estimate", "1", population=estimate),
        *limits("population", dims, "1", "{} limit of the interval over infinitely many topics"),
    )


DECISIONS = {
    "active_agreement": "significant under both sets, for the same run",
    "active_disagreement": "significant under both sets, for opposite runs",
    "mixed_agreement": "significant under one set only, runs in the same order",
    "mixed_disagreement": "significant under one set only, runs in opposite orders",
    "passive_agreement": "significant under neither set, runs in the same order",
    "passive_disagreement": "significant under neither set, runs in opposite orders",
}
"""Names and meanings of the kinds of decisions."""
TOP_PAIR_COUNTS = {
    "top_pairs": "pairs of the best runs of the first set",
    "top_significant": "of these, significant under the first set",
    "top_significant_second": "of these, significant under the second set",
    "false_positives": "of these, significant under the second set but not under the first",
    "false_negatives": "of these, significant under the first set but not under the second",
}
"""Names and meanings of the counts over pairs of the best runs."""
_STATISTIC = (*CELL, names.STATISTIC)
_RUNS = (*CELL, names.RUN)
VARIABLES = (
    *variables(
        *(_STATISTIC, "estimate"),
        agreement="agreement of the rankings of runs under both sets of judgements",
    ),
    *population_variables(_STATISTIC),
    *variables(
        _STATISTIC, "low", of="agreement", low="lower limit of the interval over topic samples"
    ),
    *variables(
        _STATISTIC, "high", of="agreement", high="upper limit of the interval over topic samples"
    ),
    *variables(
        *(_STATISTIC, "estimate"),
        bias="mean agreement on topic samples minus the agreement on all topics",
    ),
    *variables((*_STATISTIC, names.TRIAL), "estimate", replicate="agreement on each topic sample"),
    *variables(
        *(CELL, "count", "pairs"),
        tied_first="pairs of runs with equal means under the first set",
        tied_second="pairs of runs with equal means under the second set",
    ),
    *variables(
        *(CELL, "count", "ranks"),
        drop="largest number of ranks that a run loses under the second set",
    ),
    *limits(
        *("drop", CELL, "ranks"),
        "{} limit of the percentile interval of the largest loss",
        form=".0f",
    ),
    *variables(
        *(CELL, "label", "1", "i"),
        drop_run="index of the run that loses most ranks; of several the best under the first set",
    ),
    *variables(
        *(_RUNS, "estimate", "score"),
        mean_first="mean score under the first set",
        mean_second="mean score under the second set",
    ),
    *variables(
        *(_RUNS, "estimate", "rank", "i"),
        rank_first="rank under the first set; tied runs share the best of their ranks",
        rank_second="rank under the second set",
    ),
    *variables((*CELL, names.ALPHA), "count", "pairs", **DECISIONS, **TOP_PAIR_COUNTS),
)


def contained(
    result: xr.Dataset, end: str, value: str = "agreement", before: str = ""
) -> xr.DataArray:
    """Return a limit of an interval where it holds its value.

    end: ``low`` or ``high``.
    value: Name of the value.
    before: What stands before the ends in the names of the limits.
    """
    low, high = result[f"{before}low"], result[f"{before}high"]
    inside = (low <= result[value]) & (result[value] <= high)
    return result[f"{before}{end}"].where(inside)


def moved_run(result: xr.Dataset, move: str) -> xr.DataArray:
    """Return the run with most ranks of a ``drop`` or ``rise``, empty where no run has any."""
    runs = np.array(labels_of(result, names.RUN), object)
    ranks = result[move]
    return ranks.copy(data=np.where(ranks > 0, runs[result[f"{move}_run"].values], ""))


def _change(of: str) -> Callable[[xr.Dataset], xr.DataArray]:
    return lambda result: result[f"{of}_second"] - result[f"{of}_first"]


DERIVED = (
    *(
        Derived(each, partial(contained, end=each.role))
        for each in limits(
            *("agreement", _STATISTIC, "1"),
            "{} limit over topic samples, missing where the interval excludes its value",
            name="contained",
        )
    ),
    derived(
        partial(moved_run, move="drop"),
        *(CELL, "label"),
        loser="run that loses most ranks, empty if none does",
    ),
    derived(
        lambda result: xr.DataArray(result.attrs["n_runs"] * (result.attrs["n_runs"] - 1) // 2),
        *((), "count", "pairs"),
        n_pairs="pairs of runs",
    ),
    derived(_change("mean"), _RUNS, "estimate", "score", mean_change="change of the mean score"),
    derived(
        _change("rank"), _RUNS, "estimate", "ranks", "i", rank_change="loss of ranks, if positive"
    ),
)
