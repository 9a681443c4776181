"""What results of `Swap` hold, and what follows from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import derived, limits, variables
from scorecube.statistics.decay_curve import (
    DECIDED_BY_TIES,
    fit_decay,
    lack_of_fit,
    sizes_beyond,
    without_ties,
)

FIT = "parameter"
CURVE_SIZE = "curve_size"
"""Sizes of samples that were tried, and further ones up to twice the largest."""
_CELL = (names.METRIC, names.GAIN, names.SIZE)
_BINS = (*_CELL, names.BIN)
_LEVELS = (*_CELL, names.CONFIDENCE)
_FITS = (names.METRIC, names.GAIN, names.BIN)
_CURVES = (*_FITS, CURVE_SIZE)
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
        "swap_rate", _BINS, "1", "{} limit of the swap rate (95 %), see the attribute interval"
    ),
    *variables(
        *(_LEVELS, "estimate", "score"),
        form=".2f",
        required_difference="lower edge of the bin that the option required chooses",
        required_suffix="lower edge of the lowest bin from which on no swap rate is too high",
        required_difference_first="lower edge of the lowest bin whose swap rate is not too high",
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
        *(_LEVELS, "low", "score"),
        of="required_difference",
        form=".2f",
        required_low="lower limit (95 %) of the required difference of collections of as many teams and topics",
    ),
    *variables(
        *(_LEVELS, "high", "score"),
        of="required_difference",
        form=".2f",
        required_high="its upper limit; missing if some groups of teams or topics decide whether there is one",
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
    *variables(
        *(_LEVELS, "share", "1"),
        form=".1%",
        headings={"share": "share of comparisons"},
        share="share of all comparisons with at least the required difference",
    ),
    *limits("share", _LEVELS, "1", "{} limit (95 %) of the share of such collections", form=".0%"),
    *variables(
        *(_LEVELS, "low", "1"),
        of="share_behind",
        form=".0%",
        share_behind_low="lower limit of share_behind, 95 % for all pairs of metrics together; above 0 they are separated",
    ),
    *variables(
        *(_LEVELS, "high", "1"),
        of="share_behind",
        form=".0%",
        share_behind_high="upper limit of share_behind, 95 % for all pairs of metrics together",
    ),
    *variables(
        *(_LEVELS, "share", "1"),
        form=".2f",
        headings={"first_probability": "probability of the largest share"},
        first_probability="probability of the largest share of all metrics and gain settings, given the shares and their errors",
    ),
    *variables(
        *(_BINS, "estimate", "1"),
        swap_rate_fitted="weighted isotonic regression of the swap rates on the absolute difference",
    ),
    *variables(
        *(_BINS, "share", "1"),
        form=".2f",
        tie_share="share of comparisons with an exact tie on at least one sample, from the samples of the limits",
    ),
    *variables(
        *((names.SIZE,), "estimate", "topics"),
        form=".1f",
        headings={"unique": "distinct topics in a sample", "common": "topics in both samples"},
        unique="mean number of distinct topics in a sample",
        common="mean number of distinct topics common to both samples",
    ),
)


def _on_curve(result: xr.Dataset) -> tuple[Any, Any]:
    """Return the sizes that were tried, and those of the curves."""
    tried = result[names.SIZE].values.astype(float)
    return tried, np.concatenate([tried, sizes_beyond(tried)])


def _fit(result: xr.Dataset) -> xr.DataArray:
    """Return height, decay and lack of fit of the curves of bins, without sizes that ties decide."""
    tried, _ = _on_curve(result)
    rates = result["swap_rate"].transpose(*_FITS, names.SIZE)
    usable = rates.values
    if "tie_share" in result:
        usable = without_ties(usable, result["tie_share"].transpose(*rates.dims).values)
    height, decay = fit_decay(tried, usable)
    error = lack_of_fit(tried, usable, height, decay)
    parameters = {FIT: ["height", "decay", "lack_of_fit"]}
    return xr.DataArray(np.stack([height, decay, error]), parameters, (FIT, *_FITS))


def _at_curve_sizes(result: xr.Dataset, values: Any, dims: tuple[str, ...]) -> xr.DataArray:
    return xr.DataArray(values, {CURVE_SIZE: _on_curve(result)[1].astype(int)}, dims)


def _fitted(result: xr.Dataset) -> xr.DataArray:
    sizes = _on_curve(result)[1]
    height, decay, _ = result["fit"].transpose(FIT, *_FITS).values[..., np.newaxis]
    return _at_curve_sizes(result, height * np.exp(-decay * sizes), _CURVES)


def _measured(result: xr.Dataset) -> xr.DataArray:
    tried, sizes = _on_curve(result)
    rates = result["swap_rate"].transpose(*_FITS, names.SIZE).values
    further = np.full((*rates.shape[:-1], len(sizes) - len(tried)), np.nan)
    return _at_curve_sizes(result, np.concatenate([rates, further], axis=-1), _CURVES)


def _extrapolated(result: xr.Dataset) -> xr.DataArray:
    tried, sizes = _on_curve(result)
    return _at_curve_sizes(result, np.arange(len(sizes)) >= len(tried), (CURVE_SIZE,))


DERIVED = (
    derived(_measured, _CURVES, "share", rate_at_size="swap rate; missing at sizes not tried"),
    derived(
        _fit,
        *((*_FITS, FIT), "estimate"),
        fit="height, decay and lack of fit of a decay of the rate over the sizes that were tried",
    ),
    derived(
        _fitted,
        *(_CURVES, "estimate"),
        needs=("fit",),
        fitted="decay of the rate, height * exp(-decay * size); missing with fewer than three sizes",
    ),
    derived(_extrapolated, (CURVE_SIZE,), "flag", extrapolated="whether a size was not tried"),
    derived(
        lambda result: result["fit"].sel({FIT: "lack_of_fit"}, drop=True),
        *(_FITS, "estimate"),
        needs=("fit",),
        lack_of_fit="root mean square of rate - fitted over the sizes of the fit",
    ),
    derived(
        lambda result: (
            ~_extrapolated(result) | result["fit"].sel({FIT: "height"}, drop=True).notnull()
        ),
        _CURVES,
        "flag",
        needs=("fit",),
        drawn="sizes that were tried, or have a fit",
    ),
    derived(
        lambda result: result["tie_share"] > DECIDED_BY_TIES,
        *(_BINS, "flag"),
        needs=("tie_share",),
        decided_by_ties="whether ties are most of the comparisons",
    ),
)
