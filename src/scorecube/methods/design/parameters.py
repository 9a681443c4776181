"""Parameters and results of the calculators: what they mean, and which values are valid."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.schema import label_array
from scorecube.declare.variables import Role
from scorecube.errors import BadPlan, option

Numbers = float | Iterable[float] | Mapping[str, float] | xr.DataArray
"""One number, a list (dim with the parameter's name), numbers by metric, or a labelled array."""
MOST_TOPICS = 10_000_000
_POSITIVE = math.ulp(0.0)
_BELOW_1 = 1 - math.ulp(0.5)


class Quantity(NamedTuple):
    """Meaning, role and unit of a quantity; of a parameter the valid values."""

    meaning: str
    role: Role
    expected: str = ""
    low: float = 0.0
    high: float = math.inf
    whole: bool = False
    units: str = "1"

    @property
    def form(self) -> str:
        """How results are written; options are written as they are."""
        return "" if self.role in ("condition", "count") else ".3f"

    def valid(self, numbers: Any) -> Any:
        """Return which numbers are valid."""
        within = (numbers >= self.low) & (numbers <= self.high) & (numbers < math.inf)
        return within & (numbers % 1 == 0) if self.whole else within


_RATE = ("at least 1e-9 and less than 1", 1e-9, _BELOW_1)
QUANTITIES = {
    "variance": Quantity("variance of scores", "condition", "at least 0, or variances(cube)"),
    "min_diff": Quantity(
        "difference in mean score to detect", "condition", "more than 0", _POSITIVE
    ),
    "width": Quantity("expected width of an interval", "estimate", "more than 0", _POSITIVE),
    "systems": Quantity(
        "systems", "condition", "a whole number, 2 to 100,000", 2, 1e5, True, "systems"
    ),
    "alpha": Quantity("significance level; 1 - confidence level", "condition", *_RATE),
    "beta": Quantity("probability of a type II error", "condition", *_RATE),
    "topics": Quantity(
        "topics", "count", "a whole number, 2 to 10 million", 2, MOST_TOPICS, True, "topics"
    ),
    "power": Quantity("probability to detect the difference", "share"),
    "expected_width": Quantity("expected width of intervals of that many topics", "estimate"),
    "noncentrality": Quantity("noncentrality by Nagata's approximation", "estimate"),
    "exact_noncentrality": Quantity("noncentrality", "estimate"),
}


def labelled(name: str, value: Numbers) -> xr.DataArray:
    """Return a parameter as a labelled array of valid numbers.

    Raises BadPlan: A value that is no number, or out of range; several dims without labels.

    Examples
    --------
    >>> labelled("variance", [0.04, 0.08]).dims
    ('variance',)
    """
    rule = QUANTITIES[name]
    if isinstance(value, Mapping):
        labels = {names.METRIC: label_array(value)}
        value = xr.DataArray(list(value.values()), labels, names.METRIC)
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
        found = option(name, first[0]) if first else f"{option(name)}: no value"
        raise BadPlan(f"{found}: expected {rule.meaning}, {rule.expected}", option=name)
    return array.astype(np.int64 if rule.whole else np.float64).rename(name)


def labelled_all(values: Mapping[str, Numbers]) -> dict[str, xr.DataArray]:
    """Return parameters as labelled arrays; refuse a power 1 - beta of at most alpha."""
    arrays = {name: labelled(name, value) for name, value in values.items()}
    if "beta" in arrays and (arrays["alpha"] >= 1 - arrays["beta"] - 1e-12).any():
        rates = f"{option('alpha')} and {option('beta')}"
        raise BadPlan(f"{rates}: the power 1 - beta must be more than alpha", option="beta")
    return arrays


def described(
    results: Mapping[str, Any], parameters: Mapping[str, xr.DataArray], attrs: Mapping[str, Any]
) -> xr.Dataset:
    """Return a dataset of results as variables and parameters as coordinates, with meanings."""
    coords = {name: array.drop_vars(array.coords) for name, array in parameters.items()}
    found = xr.Dataset(dict(results)).assign_coords(coords)
    for name in (*results, *coords):
        of = QUANTITIES[name]
        found[name].attrs = {"long_name": of.meaning, "units": of.units, "role": of.role}
    return found.assign_attrs(attrs)
