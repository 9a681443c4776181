"""What the calculators take: single numbers, lists and labelled arrays, checked and spread out over each other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scorecube.collection import schema
from scorecube.collection.schema import Variable
from scorecube.errors import BadPlan

Numbers = float | Iterable[float] | xr.DataArray
"""One number, a list (which becomes a dimension called by the parameter's name), or a labelled array of any dims."""

METHOD, MODE = "method", "mode"
VARIANCE, MIN_DIFF, WIDTH, SYSTEMS = "variance", "min_diff", "width", "systems"
ALPHA, BETA, TOPICS, POWER, ROUTE = "alpha", "beta", "topics", "power", "route"
NOTES = "notes"
MOST_TOPICS = 10_000_000


@dataclass(frozen=True)
class Rule:
    """What a parameter must be."""

    low: float
    high: float
    ends: bool
    """Whether `low` itself is allowed; `high` is if `whole` is set."""
    whole: bool
    meaning: str


RULES = {
    VARIANCE: Rule(0.0, math.inf, True, False, "a within-system variance of scores, at least 0"),
    MIN_DIFF: Rule(0.0, math.inf, False, False, "a difference in mean score, more than 0"),
    WIDTH: Rule(0.0, math.inf, False, False, "a width of confidence intervals, more than 0"),
    SYSTEMS: Rule(2, 100_000, True, True, "a number of systems, a whole number from 2 to 100,000"),
    ALPHA: Rule(1e-9, 1.0, True, False, "a probability between 0 and 1, both excluded, and not below 1e-9"),
    BETA: Rule(1e-9, 1.0, True, False, "a probability between 0 and 1, both excluded, and not below 1e-9"),
    TOPICS: Rule(2, MOST_TOPICS, True, True, f"a number of topics, a whole number from 2 to {MOST_TOPICS:,}"),
}
VARIABLES = {
    each.name: each
    for each in (
        Variable(VARIANCE, (), "f", "1", "within-system variance of scores"),
        Variable(MIN_DIFF, (), "f", "1", "difference in mean score to be detected"),
        Variable(WIDTH, (), "f", "1", "expected width of the confidence interval of a difference in mean score"),
        Variable(SYSTEMS, (), "i", "systems", "systems that are compared"),
        Variable(ALPHA, (), "f", "1", "probability of a type I error; 1 - confidence of intervals"),
        Variable(BETA, (), "f", "1", "probability of a type II error"),
        Variable(TOPICS, (), "i", "topics", "number of topics"),
        Variable(POWER, (), "f", "1", "probability that the difference is detected"),
    )
}


def labelled(name: str, value: Numbers) -> xr.DataArray:
    """Return a parameter as a labelled array of valid numbers.

    Raises
    ------
    BadPlan
        What is not a number, is out of range, or is an array of several dims without labels.

    Examples
    --------
    >>> labelled("variance", [0.04, 0.08]).dims
    ('variance',)
    """
    rule = RULES[name]
    if isinstance(value, xr.DataArray):
        array = value.reset_coords(drop=True)
    else:
        several = isinstance(value, Iterable) and not isinstance(value, str | np.ndarray)
        plain = np.asarray(list(value) if several else value)  # type: ignore[arg-type]
        if plain.ndim > 1:
            raise BadPlan(
                f"{name}: an array of {plain.ndim} dims; give a number, a list, or an xarray.DataArray whose dims have names"
            )
        array = xr.DataArray(plain, dims=(name,) * plain.ndim, coords={name: plain} if plain.ndim else None)
    if not array.size:
        raise BadPlan(f"{name}: no value given; expected {rule.meaning}")
    if array.dtype.kind not in "iuf":
        raise BadPlan(f"{name} {_first(array.values)!r}: expected {rule.meaning}")
    numbers = np.asarray(array.values, np.float64)
    good = np.isfinite(numbers) & ((numbers >= rule.low) if rule.ends else (numbers > rule.low))
    good &= (numbers <= rule.high) & (np.round(numbers) == numbers) if rule.whole else numbers < rule.high
    if not good.all():
        raise BadPlan(f"{name} {numbers[~good].flat[0]:g}{_place(array, name, ~good)}: expected {rule.meaning}")
    return array.astype(np.int64 if rule.whole else np.float64).rename(name)


def spread(arrays: Sequence[xr.DataArray]) -> list[xr.DataArray]:
    """Return the arrays, each over all dims of all of them, as floats."""
    return [each.astype(np.float64) for each in xr.broadcast(*arrays)]


def check_errors(alpha: xr.DataArray, beta: xr.DataArray) -> None:
    """Refuse a power that a test without any difference already has."""
    wide_alpha, wide_beta = xr.broadcast(alpha, beta)
    bad = wide_alpha.values >= 1.0 - wide_beta.values - 1e-12
    if bad.any():
        first = (wide_alpha.values[bad].flat[0], wide_beta.values[bad].flat[0])
        raise BadPlan(
            f"alpha {first[0]:g} with beta {first[1]:g}: a power of 1 - beta must be more than alpha, which any number of topics gives"
        )


def outcome(
    kind: str, found: dict[str, xr.DataArray], given: Sequence[xr.DataArray], facts: dict[str, Any]
) -> xr.Dataset:
    """Return what was computed as variables and what was given as coordinates, with units and long names."""
    coords = {str(each.name): each for each in given}
    result = xr.Dataset(found).assign_coords({name: each.drop_vars(each.coords) for name, each in coords.items()})
    described = [VARIABLES[str(name)] for name in [*result.data_vars, *coords] if str(name) in VARIABLES]
    return schema.annotate(result.assign_attrs({"analysis": kind, **facts}), described)


def _first(values: np.ndarray[Any, Any]) -> Any:
    first = values.flat[0]
    return first.item() if isinstance(first, np.generic) else first


def _place(array: xr.DataArray, name: str, bad: np.ndarray[Any, np.dtype[np.bool_]]) -> str:
    """Say where, in an array whose labels are names."""
    position = np.argwhere(bad)[0]
    words = [
        f"{dim} {array[dim].values[k]}" for dim, k in zip(array.dims, position, strict=True) if dim in array.coords
    ]
    return f" ({', '.join(words)})" if words and array.dims != (name,) else ""
