"""Parameters and results of the calculators: what they mean, and which values parameters may have."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from scorecube.errors import BadPlan, doubts_of_levels, meant, option

Numbers = float | Iterable[float] | xr.DataArray
"""One number, a list (dim with the parameter's name), or a labelled array."""
MOST_TOPICS = 10_000_000
_POSITIVE, _BELOW_1 = math.ulp(0.0), 1 - math.ulp(0.5)


class Quantity(NamedTuple):
    """Meaning, role and unit of a quantity; of a parameter the values that it may have, in words and as limits."""

    meaning: str
    role: str
    expected: str = ""
    low: float = 0.0
    high: float = math.inf
    whole: bool = False
    units: str = "1"

    def valid(self, numbers: Any) -> Any:
        """Return which numbers are valid."""
        within = (numbers >= self.low) & (numbers <= self.high) & (numbers < math.inf)
        return within & (numbers % 1 == 0) if self.whole else within


_RATE = ("at least 1e-9 and less than 1", 1e-9, _BELOW_1)
QUANTITIES = {
    "variance": Quantity("variance of scores", "condition", "at least 0"),
    "min_diff": Quantity(
        "difference in mean score to detect", "condition", "more than 0", _POSITIVE
    ),
    "width": Quantity("expected width of an interval", "estimate", "more than 0", _POSITIVE),
    "systems": Quantity(
        *("systems that are compared", "condition", "a whole number from 2 to 100,000"),
        low=2,
        high=100_000,
        whole=True,
        units="systems",
    ),
    "alpha": Quantity("significance level; 1 - confidence level", "condition", *_RATE),
    "beta": Quantity("probability of a type II error", "condition", *_RATE),
    "topics": Quantity(
        *("number of topics", "count", f"a whole number from 2 to {MOST_TOPICS:,}"),
        low=2,
        high=MOST_TOPICS,
        whole=True,
        units="topics",
    ),
    "power": Quantity("probability to detect the difference", "share"),
    "expected_width": Quantity("expected width of intervals of that many topics", "estimate"),
}


def labelled(name: str, value: Numbers) -> xr.DataArray:
    """Return a parameter as a labelled array of valid numbers.

    Raises BadPlan: A value is not a number or out of range, or an array of several dims has no labels.

    Examples
    --------
    >>> labelled("variance", [0.04, 0.08]).dims
    ('variance',)
    """
    rule = QUANTITIES[name]
    if not isinstance(value, xr.DataArray):
        listed = isinstance(value, Iterable) and not isinstance(value, str | np.ndarray)
        plain = np.asarray(list(value) if listed else value)  # type: ignore[arg-type]
        if plain.ndim > 1:
            raise BadPlan(f"{option(name)}: arrays of several dims need their names", option=name)
        dims = (name,) * plain.ndim
        value = xr.DataArray(plain, dims=dims, coords={name: plain} if dims else None)
    array = value.reset_coords(drop=True)
    numeric = array.dtype.kind in "iuf"
    wrong = array.values[~rule.valid(array.values)] if numeric else array.values.ravel()
    if wrong.size or not array.size:
        first = wrong[:1].tolist()
        hint = meant(first[0], name) if rule.high == _BELOW_1 and first else ""
        found = option(name, first[0]) if first else f"{option(name)}: no value"
        raise BadPlan(f"{found}: expected {rule.meaning}, {rule.expected}{hint}", option=name)
    return array.astype(np.int64 if rule.whole else np.float64).rename(name)


def variance_of(found: xr.Dataset, name: str) -> xr.DataArray:
    """Return a variance of the dataset of `variances`."""
    if name not in found:
        raise BadPlan(
            f"{option('variance')}: expected a number, or variances(cube)", option="variance"
        )
    return found[name]


def labelled_all(values: Mapping[str, Numbers]) -> dict[str, xr.DataArray]:
    """Return parameters as labelled arrays; refuse a power 1 - beta of at most alpha."""
    arrays = {name: labelled(name, value) for name, value in values.items()}
    if "beta" in arrays:
        for alpha, beta in pairs_of_rates(arrays):
            if alpha >= 1 - beta - 1e-12:
                rates = f"{option('alpha', alpha)} with {option('beta', beta)}"
                raise BadPlan(f"{rates}: the power 1 - beta must be more than alpha", option="beta")
    return arrays


def pairs_of_rates(arrays: Mapping[str, xr.DataArray]) -> set[tuple[float, float]]:
    """Return the pairs of alpha and beta."""
    both = xr.broadcast(arrays["alpha"], arrays["beta"])
    return set(zip(*(array.values.ravel().tolist() for array in both), strict=True))


def described(
    results: Mapping[str, Any], parameters: Mapping[str, xr.DataArray], attrs: Mapping[str, Any]
) -> xr.Dataset:
    """Return results as variables and parameters as coordinates of a dataset, each with its meaning."""
    coords = {name: array.drop_vars(array.coords) for name, array in parameters.items()}
    found = xr.Dataset(dict(results)).assign_coords(coords)
    for name in (*results, *coords):
        quantity = QUANTITIES[name]
        facts = {"long_name": quantity.meaning, "units": quantity.units, "role": quantity.role}
        found[name].attrs = facts
    doubts = doubts_of_levels("alpha", np.unique(parameters["alpha"]))
    return found.assign_attrs({**attrs, "notes": [*attrs["notes"], *doubts]})
