"""What results of `Errors` hold, and what follows from them."""

from __future__ import annotations

from functools import partial

import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import quantity
from scorecube.collection.schema import Derived, Variable, derived, limits, variables
from scorecube.statistics.proportion_intervals import wilson

_CELL = (names.METRIC, names.GAIN, names.TEST, names.SIZE, names.DELTA)
_SIDED = (*_CELL, names.SIDED, names.ALPHA)
_WRONG = (*_CELL, names.ALPHA)
TYPE_1, POWER, TYPE_3, FAMILY = "type_1", "power", "type_3", "family"
FAMILIES = ("tukey", "holm", "maxt")
"""Tests of all pairs of runs."""
OUTCOME = "outcome"
OUTCOMES = ((TYPE_1, 1), (TYPE_1, 2), (POWER, 1), (POWER, 2), (TYPE_3, 2), (FAMILY, 2))
"""Kinds of rates, and sides of the tests, along `OUTCOME`."""
_OUTCOMES = (*_CELL, OUTCOME, names.ALPHA)
_OUTCOME_RATES = (
    *variables(_OUTCOMES, "share", outcome_rate="share of the experiments with this outcome"),
    *limits("outcome_rate", _OUTCOMES, "1", "{} limit (95 %, Wilson) of this share"),
)
VARIABLES = (
    *variables(
        _SIDED, "count", "experiments", significant="experiments with a p-value up to alpha"
    ),
    *variables(
        *(_WRONG, "count", "experiments"),
        wrong_sign="experiments with a two-sided p-value up to alpha and a negative mean difference",
    ),
    *variables(
        _CELL, "count", "experiments", experiments="experiments for which the test is defined"
    ),
)


def _rates(name: str, of: str, dims: tuple[str, ...], meaning: str) -> tuple[Derived, ...]:
    """Return the share of the experiments that a variable counts, with its 95 % Wilson limits."""

    def share(result: xr.Dataset) -> xr.DataArray:
        return result[of] / result["experiments"]

    def limit(result: xr.Dataset, end: int) -> xr.DataArray:
        trials = xr.broadcast(result["experiments"], result[of])[0].transpose(*result[of].dims)
        return result[of].copy(data=wilson(result[of].values, trials.values)[end])

    return (
        Derived(Variable(name, dims, "f", "1", meaning, role="share"), share),
        *(
            Derived(
                Variable(
                    f"{name}_{role}",
                    dims,
                    "f",
                    "1",
                    "limit (95 %, Wilson) of this share",
                    role,
                    name,
                ),
                partial(limit, end=end),
            )
            for end, role in enumerate(("low", "high"))
        ),
    )


def _by_outcome(result: xr.Dataset, end: str) -> xr.DataArray:
    """Return the rates of a result, or their limits, by `OUTCOMES`."""
    rates, wrong = (quantity(result, f"{name}{end}") for name in ("rate", "wrong_sign_rate"))
    parts = [
        wrong if kind == TYPE_3 else rates.sel({names.SIDED: sided}, drop=True)
        for kind, sided in OUTCOMES
    ]
    return xr.concat(parts, OUTCOME)


def _has_outcome(result: xr.Dataset) -> xr.DataArray:
    kinds, null = _kinds(result), result[names.DELTA] == 0
    of_one = (kinds == TYPE_1).where(null, kinds.isin((POWER, TYPE_3)))
    return (kinds == FAMILY).where(result[names.TEST].isin(FAMILIES), of_one)


def _kinds(_: xr.Dataset) -> xr.DataArray:
    return xr.DataArray([kind for kind, _ in OUTCOMES], dims=OUTCOME)


DERIVED = (
    *_rates("rate", "significant", _SIDED, "share of significant results"),
    *_rates(
        "wrong_sign_rate",
        "wrong_sign",
        _WRONG,
        "share of two-sided significant results with the wrong sign",
    ),
    *(
        Derived(variable, partial(_by_outcome, end=end))
        for variable, end in zip(_OUTCOME_RATES, ("", "_low", "_high"), strict=True)
    ),
    derived(
        _kinds,
        (OUTCOME,),
        "label",
        outcome_kind="type I error, power, type III error, or any error of a family",
    ),
    derived(
        lambda _: xr.DataArray([sided for _, sided in OUTCOMES], dims=OUTCOME),
        *((OUTCOME,), "condition"),
        outcome_sided="sides of the test",
    ),
    derived(
        _has_outcome,
        *((names.TEST, names.DELTA, OUTCOME), "flag"),
        has_outcome="whether a test has such outcomes with this difference",
    ),
)
