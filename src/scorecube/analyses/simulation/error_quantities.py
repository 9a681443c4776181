"""What results of `Errors` hold, and what follows from them."""

from __future__ import annotations

from functools import partial

import xarray as xr

from scorecube import names
from scorecube.collection.schema import Derived, Variable, variables
from scorecube.statistics.proportion_intervals import wilson

_CELL = (names.METRIC, names.GAIN, names.TEST, names.SIZE, names.DELTA)
_SIDED = (*_CELL, names.SIDED, names.ALPHA)
_WRONG = (*_CELL, names.ALPHA)
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


DERIVED = (
    *_rates("rate", "significant", _SIDED, "share of significant results"),
    *_rates(
        "wrong_sign_rate",
        "wrong_sign",
        _WRONG,
        "share of two-sided significant results with the wrong sign",
    ),
)
