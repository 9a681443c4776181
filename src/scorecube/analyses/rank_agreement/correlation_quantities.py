"""What results of `Correlation` hold, and what follows from them."""

from __future__ import annotations

from functools import partial

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array
from scorecube.analyses.rank_agreement.agreement_quantities import contained, population_variables
from scorecube.collection.schema import (
    CELL,
    Derived,
    Variable,
    derived,
    labels_of,
    limits,
    variables,
)

STATISTICS = ("tau", "tau_b", "tau_ap", "tau_ap_b", "spearman")
METRIC_A, GAIN_A, METRIC_B, GAIN_B, ALONG_NAME = "metric_a", "gain_a", "metric_b", "gain_b", "along"
"""Coordinates along the dim comparison."""
EQUAL = 1e-12
"""Difference up to which two means are equal: means of equal scores may differ by the rounding of their sums."""
QUARTILE, QUARTILES = "quartile", (0.25, 0.5, 0.75)
_PAIR = (names.COMPARISON,)
_STATISTIC = (names.STATISTIC, names.COMPARISON)
_DRAWN = (names.RESAMPLED, *_STATISTIC)
_TAU_DRAWN = (names.RESAMPLED, names.COMPARISON)
_PLACES = (names.GAIN, names.SYSTEM)
VARIABLES = (
    *variables(
        *(_PAIR, "estimate"),
        tau="Kendall's tau-a: (concordant - discordant) / all pairs of runs",
        tau_b="Kendall's tau-b, corrected for ties",
        tau_ap="AP correlation with the first ranking as reference, mean over orders of ties (rule a)",
        tau_ap_b="AP correlation, mean of both directions, without tied runs (rule b)",
        spearman="Spearman's rho with average ranks",
    ),
    *variables(_PAIR, "statistic", z="|tau| / its standard error between unrelated rankings"),
    *variables(
        *(_PAIR, "p_value"),
        p_value="two-sided p-value of z, normal distribution",
        p_exact="two-sided exact p-value; missing with ties or more than 60 runs",
    ),
    *variables(_PAIR, "low", of="tau", tau_low="lower limit of the interval by the null variance"),
    *variables(
        *(_PAIR, "high"),
        of="tau",
        tau_high="upper limit of the interval by the null variance, which may exceed 1",
    ),
    *limits("tau", _PAIR, "1", "{} limit of Fieller's interval", name="fieller"),
    *variables(
        *(_PAIR, "count", "pairs"),
        concordant="pairs of runs in the same order in both rankings",
        discordant="pairs of runs in opposite orders in the two rankings",
        tied_a="pairs of runs tied in the first ranking",
        tied_b="pairs of runs tied in the second ranking",
        tied_pairs="pairs of runs tied in either ranking",
    ),
    *population_variables(_STATISTIC),
    *variables(_DRAWN, "low", of="value", low="lower limit of the bootstrap percentile interval"),
    *variables(_DRAWN, "high", of="value", high="upper limit of the bootstrap percentile interval"),
    *variables(
        _DRAWN, "standard_error", of="value", standard_error="standard deviation over the trials"
    ),
    *variables(
        *((*CELL, names.RUN), "estimate", "score"),
        mean="mean score of a run, or the metric's other summary",
    ),
)


def _value(result: xr.Dataset) -> xr.DataArray:
    values = np.stack([result[name].values for name in STATISTICS])
    return xr.DataArray(values, {names.STATISTIC: list(STATISTICS)}, _STATISTIC)


def _tau_contained(result: xr.Dataset, end: str) -> xr.DataArray:
    return contained(result, end, "value").sel({names.STATISTIC: "tau"}, drop=True)


def _of_tau(result: xr.Dataset, name: str) -> xr.DataArray:
    return result[name].sel({names.STATISTIC: "tau"}, drop=True)


def _marked(result: xr.Dataset) -> xr.DataArray:
    above = result.attrs["bold"]
    return result["tau_high"] > 1.0 if above == "" else result["tau"] > float(above)


def _means(result: xr.Dataset) -> Array:
    return np.asarray(result["mean"].transpose(*CELL, names.RUN).values)


def _order(result: xr.Dataset) -> Array:
    """Return the positions of the runs by descending mean of the first metric, equal ones in label order: (gain, system)."""
    return np.argsort(-_means(result)[0], axis=-1, kind="stable")


def _at_places(result: xr.Dataset, values: Array, *first: str) -> xr.DataArray:
    dims = (*first, *_PLACES)
    coords = {dim: result[dim].values for dim in dims[:-1]}
    return xr.DataArray(values, coords | {names.SYSTEM: np.arange(values.shape[-1]) + 1}, dims)


def _sorted_mean(result: xr.Dataset) -> xr.DataArray:
    values = np.take_along_axis(_means(result), _order(result)[np.newaxis], axis=-1)
    return _at_places(result, values, names.METRIC)


def _quartiles(result: xr.Dataset) -> xr.DataArray:
    coords = {dim: result[dim].values for dim in CELL} | {QUARTILE: list(QUARTILES)}
    values = np.moveaxis(np.quantile(_means(result), QUARTILES, axis=-1), 0, -1)
    return xr.DataArray(values, coords, (*CELL, QUARTILE))


DERIVED = (
    derived(_value, _STATISTIC, "estimate", value="coefficients on these topics"),
    *(
        Derived(each, partial(make, end=each.role), ("low", "value"))
        for of, name, dims, make in (
            ("value", "contained", _DRAWN, partial(contained, value="value")),
            ("tau", "tau_contained", _TAU_DRAWN, _tau_contained),
        )
        for each in limits(
            *(of, dims, "1"),
            "{} limit of the percentile interval, missing where the interval excludes its value",
            name=name,
        )
    ),
    *(
        Derived(
            Variable(
                f"tau_{each.name}",
                _PAIR,
                "f",
                "1",
                f"tau: {each.long_name}",
                role=each.role,
                of=each.of and f"tau_{each.of}",
            ),
            partial(_of_tau, name=each.name),
        )
        for each in population_variables(_STATISTIC)
    ),
    derived(
        lambda result: result["tau"].copy(data=result[ALONG_NAME].values == "metric"),
        *(_PAIR, "flag"),
        of_metrics="whether two metrics are compared at one gain setting",
    ),
    derived(
        lambda result: result["tau"].copy(data=result[ALONG_NAME].values == "gain"),
        *(_PAIR, "flag"),
        of_gains="whether a gain setting of a metric is compared with the first",
    ),
    derived(
        lambda result: result["tau_high"] > 1.0,
        *(_PAIR, "flag"),
        exceeds_one="whether the interval by the null variance leaves the range of tau",
    ),
    derived(_marked, _PAIR, "flag", marked="whether tau is marked, by the rule of the analysis"),
    derived(
        lambda result: _at_places(
            result, np.array(labels_of(result, names.RUN), object)[_order(result)]
        ),
        _PLACES,
        "label",
        sorted_run="run at a place in the order of the first metric",
    ),
    derived(
        _sorted_mean,
        *((names.METRIC, *_PLACES), "estimate", "score"),
        sorted_mean="mean score of the run at a place in the order of the first metric",
    ),
    derived(
        lambda result: result[names.METRIC][0].drop_vars(names.METRIC),
        *((), "label"),
        sorted_by="first metric",
    ),
    derived(
        lambda result: (_sorted_mean(result).diff(names.SYSTEM) > EQUAL).sum(names.SYSTEM),
        *(CELL, "count", "runs"),
        swops='rises between neighbours in the order of the first metric (Sakai 2004, section 4: "swops")',
    ),
    derived(
        _quartiles, (*CELL, QUARTILE), "estimate", "score", mean_quartile="quartiles of the means"
    ),
)
