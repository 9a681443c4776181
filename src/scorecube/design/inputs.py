"""Parameters and results of the design calculators."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scorecube.collection import schema
from scorecube.collection.schema import variables
from scorecube.errors import BadPlan, doubts_of_levels, meant, option

Numbers = float | Iterable[float] | xr.DataArray | xr.Dataset
"""One number, a list (dim with the parameter's name), a labelled array, or a dataset that has one of the parameter's name."""

METHOD, MODE = "method", "mode"
VARIANCE, MIN_DIFF, WIDTH, SYSTEMS = "variance", "min_diff", "width", "systems"
ALPHA, BETA = "alpha", "beta"
TOPICS, POWER, ROUTE = "topics", "power", "route"
NOTES = "notes"
MAX_TOPICS = 10_000_000


@dataclass(frozen=True)
class Rule:
    """Range of valid values of a parameter.

    low, high: Limits; `high` itself is valid for whole numbers only.
    includes_low: Whether `low` itself is valid.
    whole: Whether values must be whole numbers.
    expected: Description of valid values for messages.
    """

    low: float
    high: float
    includes_low: bool
    whole: bool
    expected: str


LEAST_RATE = 1e-9
"""Smallest error rate that is accepted: no design asks for less, and a smaller one is more likely a slip."""
ROUNDED = 1e-12
"""Rounding of 1 - beta, so that a power that equals alpha is refused."""
_RATE = Rule(
    *(LEAST_RATE, 1.0, True, False),
    "a probability between 0 and 1, both excluded, and not below 1e-9",
)
RULES = {
    VARIANCE: Rule(0.0, math.inf, True, False, "a within-system variance of scores, at least 0"),
    MIN_DIFF: Rule(0.0, math.inf, False, False, "a difference in mean score, more than 0"),
    WIDTH: Rule(0.0, math.inf, False, False, "a width of confidence intervals, more than 0"),
    SYSTEMS: Rule(2, 100_000, True, True, "a number of systems, a whole number from 2 to 100,000"),
    **dict.fromkeys((ALPHA, BETA), _RATE),
    TOPICS: Rule(
        2, MAX_TOPICS, True, True, f"a number of topics, a whole number from 2 to {MAX_TOPICS:,}"
    ),
}
VARIABLES = {
    variable.name: variable
    for variable in (
        *variables(
            *((), "condition"),
            variance="within-system variance of scores",
            min_diff="difference in mean score to be detected",
        ),
        *variables(
            *((), "condition"),
            form=".2f",
            alpha="probability of a type I error; 1 - confidence of intervals",
            beta="probability of a type II error",
        ),
        *variables((), "condition", "systems", "i", systems="systems that are compared"),
        *variables(
            *((), "estimate"),
            width="expected width of the confidence interval of a difference in mean score",
        ),
        *variables((), "count", "topics", "i", topics="number of topics"),
        *variables(
            (),
            "share",
            power="probability that the difference is detected, if the variance is the true one",
        ),
    )
}


def labelled_numbers(name: str, value: Numbers) -> xr.DataArray:
    """Return a parameter as a labelled array of valid numbers.

    Raises BadPlan: A value is not a number or out of range, or an array of several dims has no labels.

    Examples
    --------
    >>> labelled_numbers("variance", [0.04, 0.08]).dims
    ('variance',)
    """
    rule = RULES[name]
    if isinstance(value, xr.Dataset):
        if name not in value:
            found = ", ".join(map(str, value.data_vars))
            raise BadPlan(
                f"{option(name)}: expected a number, or variances as from variances(cube); found a dataset of {found}",
                option=name,
            )
        value = value[name]
    if isinstance(value, xr.DataArray):
        array = value.reset_coords(drop=True)
    else:
        is_list = isinstance(value, Iterable) and not isinstance(value, str | np.ndarray)
        plain = np.asarray(list(value) if is_list else value)  # type: ignore[arg-type]
        if plain.ndim > 1:
            raise BadPlan(
                f"{option(name)}: an array of {plain.ndim} dims; expected a number, a list, or an xarray.DataArray with named dims",
                option=name,
            )
        array = xr.DataArray(
            plain, dims=(name,) * plain.ndim, coords={name: plain} if plain.ndim else None
        )
    if not array.size:
        raise BadPlan(f"{option(name)}: no value; expected {rule.expected}", option=name)
    if array.dtype.kind not in "iuf":
        raise BadPlan(
            f"{option(name, _first_value(array.values))}: expected {rule.expected}", option=name
        )
    numbers = np.asarray(array.values, np.float64)
    valid = np.isfinite(numbers) & (
        (numbers >= rule.low) if rule.includes_low else (numbers > rule.low)
    )
    valid &= (
        (numbers <= rule.high) & (np.round(numbers) == numbers)
        if rule.whole
        else numbers < rule.high
    )
    if not valid.all():
        wrong = _first_value(array.values[~valid])
        invalid, hint = option(name, wrong), meant(wrong, name) if rule.high == 1 else ""
        raise BadPlan(
            f"{invalid}{_location(array, name, ~valid)}: expected {rule.expected}{hint}",
            option=name,
        )
    return array.astype(np.int64 if rule.whole else np.float64).rename(name)


def broadcast_numbers(arrays: Sequence[xr.DataArray]) -> list[xr.DataArray]:
    """Return the arrays as floats, each over the dims of all arrays."""
    return [array.astype(np.float64) for array in xr.broadcast(*arrays)]


def check_error_rates(alpha: xr.DataArray, beta: xr.DataArray) -> None:
    """Refuse a power 1 - beta of at most alpha."""
    alphas, betas = (array.values for array in xr.broadcast(alpha, beta))
    invalid = alphas >= 1.0 - betas - ROUNDED
    if invalid.any():
        pair = f"{option(ALPHA, _first_value(alphas[invalid]))} with {option(BETA, _first_value(betas[invalid]))}"
        raise BadPlan(f"{pair}: the power 1 - beta must be more than alpha", option=BETA)


def design_result(
    analysis: str,
    values: dict[str, xr.DataArray],
    parameters: Sequence[xr.DataArray],
    attrs: dict[str, Any],
) -> xr.Dataset:
    """Return values as variables and parameters as coordinates of a dataset."""
    coords = {str(array.name): array for array in parameters}
    if ALPHA in coords:
        attrs = attrs | {NOTES: attrs[NOTES] + doubts_of_levels(ALPHA, np.unique(coords[ALPHA]))}
    result = xr.Dataset(values).assign_coords(
        {name: array.drop_vars(array.coords) for name, array in coords.items()}
    )
    described = [
        VARIABLES[str(name)] for name in [*result.data_vars, *coords] if str(name) in VARIABLES
    ]
    return schema.annotate(result.assign_attrs({"analysis": analysis, **attrs}), described)


def _first_value(values: np.ndarray[Any, Any]) -> Any:
    first = values.flat[0]
    return first.item() if isinstance(first, np.generic) else first


def _location(array: xr.DataArray, name: str, invalid: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    """Return the labels of the first invalid value, for a message."""
    position = np.argwhere(invalid)[0]
    labels = [
        f"{dim} {array[dim].values[k]}"
        for dim, k in zip(array.dims, position, strict=True)
        if dim in array.coords
    ]
    return f" ({', '.join(labels)})" if labels and array.dims != (name,) else ""
