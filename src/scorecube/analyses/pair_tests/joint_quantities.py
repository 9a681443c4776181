"""What results of tests of all pairs of runs together hold, and what follows from them: p-values need no adjustment."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_tests import pair_quantities
from scorecube.analyses.pair_tests.pair_quantities import (
    CELL,
    LEVEL,
    OF_TRIALS,
    PAIR,
    by_row,
    d_z,
    degrees_of_freedom,
    effect_size,
    standard_error,
)
from scorecube.analyses.quantities import quantity
from scorecube.collection.schema import derive, variables
from scorecube.statistics.multiple_testing import adjusted

LIMITS = (*LEVEL, names.PAIR)
MAXT_VARIABLES = (
    *variables(
        *(PAIR, "standard_error", "score"),
        of="mean_difference",
        standard_error="standard error of the pair's difference of means",
        moderated_error="the same, with the median variance of all pairs in the proportion of the moderation",
    ),
    *variables(
        *(LEVEL, "statistic", "1"),
        critical_value="moderated |t| that the largest of all pairs exceeds with probability alpha if no pair differs",
    ),
)
CRITICAL = variables(
    *(LEVEL, "estimate", "score"),
    critical_difference="difference that the range of means exceeds with probability alpha if no run differs",
)
"""Additional variable of results of Tukey's test."""
VARIABLES = (*pair_quantities.VARIABLES, *MAXT_VARIABLES, *CRITICAL)
OPTIONAL = (
    *pair_quantities.OPTIONAL,
    ("estimated_difference", "kth_difference", "undefined_replicates", "infinite_replicates"),
    ("standard_error", "moderated_error", "critical_value"),
    ("critical_difference",),
)


def _limit(result: xr.Dataset, sign: int) -> xr.DataArray:
    difference, found = quantity(result, "mean_difference").variable, result.variables
    unknown = found[names.ALPHA].astype(float) * np.nan
    critical = found.get("critical_value", found.get("critical_difference", unknown))
    error = found.get("moderated_error", xr.Variable((), 1.0))

    def end(difference: Any, error: Any, critical: Any) -> Any:
        # Without spread nothing is known of other topics.
        return difference + sign * np.where(error > 0, critical[..., np.newaxis], np.nan) * error

    dims = (*(dim for dim in critical.dims if dim not in CELL), names.PAIR)
    return by_row(end, dims, difference, error, critical)


@derive(LIMITS, "low", "score", of="mean_difference")
def difference_low(result: xr.Dataset) -> xr.DataArray:
    """Lower limit of the difference of means; limits of all pairs of a metric hold together with confidence 1 - alpha."""
    return _limit(result, -1)


@derive(LIMITS, "high", "score", of="mean_difference")
def difference_high(result: xr.Dataset) -> xr.DataArray:
    """Upper limit of the difference of means; limits of all pairs of a metric hold together with confidence 1 - alpha."""
    return _limit(result, 1)


@derive(PAIR, "p_value", "1", unless=("repetitions",))
def p_single(result: xr.Dataset) -> xr.DataArray:
    """P-value of the pair by itself, by Student's t, two-sided."""
    from scipy.special import stdtr

    t, freedom = result.variables["t"], degrees_of_freedom(result)
    return by_row(lambda t, n: 2 * stdtr(n, -np.abs(t)), (names.PAIR,), t, freedom)


@derive(LEVEL, "count", "pairs", "iu", unless=("repetitions",))
def own_error_pairs(result: xr.Dataset) -> xr.DataArray:
    """Pairs that are not significant, and would be by their own standard errors alone (t tests, Holm)."""
    single, joint = quantity(result, "p_single").variable, result.variables["p_value"]
    levels = result[names.ALPHA].values[:, np.newaxis]

    def count(single: Any, joint: Any) -> Any:
        return ((adjusted(single, "holm") < levels) & ~(joint < levels)).sum(axis=-1)

    return by_row(count, (names.ALPHA,), single, joint)


DERIVED = (
    *OF_TRIALS,
    difference_low,
    difference_high,
    d_z,
    effect_size,
    standard_error,
    p_single,
    own_error_pairs,
)
