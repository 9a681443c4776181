"""What results of tests of all pairs of runs together hold, and what follows from them: p-values need no adjustment."""

import math
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.pair_tests import pair_quantities
from scorecube.analyses.pair_tests.pair_quantities import CELL, LEVEL, OF_TRIALS, PAIR, by_row
from scorecube.analyses.quantities import quantity
from scorecube.collection.schema import derive, variables

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
    *variables(
        CELL, "estimate", "score^2", residual_variance="residual variance of runs and topics"
    ),
)
VARIABLES = (*pair_quantities.VARIABLES, *MAXT_VARIABLES)
OPTIONAL = (
    *pair_quantities.OPTIONAL,
    ("estimated_difference", "kth_difference", "undefined_replicates", "infinite_replicates"),
    ("standard_error", "moderated_error", "critical_value", "residual_variance"),
)


def _limit(result: xr.Dataset, sign: int) -> xr.DataArray:
    difference = quantity(result, "mean_difference").variable
    critical = result.variables["critical_value"]

    def end(error: Any, critical: Any, difference: Any) -> Any:
        # Without spread the interval is a point, even if there are too few trials for a critical value.
        return difference + sign * np.where(error > 0, critical[..., np.newaxis], 0.0) * error

    dims = (*critical.dims[len(CELL) :], names.PAIR)
    return by_row(end, dims, result.variables["moderated_error"], critical, difference)


@derive(LIMITS, "low", "score", of="mean_difference", needs=("critical_value",))
def difference_low(result: xr.Dataset) -> xr.DataArray:
    """Lower limit of the difference of means; limits of all pairs of a metric hold together with confidence 1 - alpha."""
    return _limit(result, -1)


@derive(LIMITS, "high", "score", of="mean_difference", needs=("critical_value",))
def difference_high(result: xr.Dataset) -> xr.DataArray:
    """Upper limit of the difference of means; limits of all pairs of a metric hold together with confidence 1 - alpha."""
    return _limit(result, 1)


@derive(PAIR, "estimate", "1", needs=("residual_variance",))
def effect_size(result: xr.Dataset) -> xr.DataArray:
    """Difference in units of the residual standard deviation of runs and topics (Sakai 2014, SIGIR Forum 48(1))."""
    difference = quantity(result, "mean_difference").variable
    variance = result.variables["residual_variance"]
    return by_row(lambda row, cell: row / np.sqrt(cell), (names.PAIR,), difference, variance)


# t of systems has the variance of repetitions, too.
@derive(PAIR, "estimate", "1", needs=("critical_value",), unless=("repetitions",))
def d_z(result: xr.Dataset) -> xr.DataArray:
    """Difference in units of the standard deviation of the pair's differences over topics."""
    root = math.sqrt(result.attrs["n_topics"])
    return by_row(lambda row: row / root, (names.PAIR,), result.variables["t"])


DERIVED = (*OF_TRIALS, difference_low, difference_high, effect_size, d_z)
