"""Vectorised searches for integers and for roots of increasing functions."""

from collections.abc import Callable
from typing import Any

import numpy as np

from scorecube.errors import BadPlan

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
IntArray = np.ndarray[Any, np.dtype[np.int64]]
HALVINGS = 200
"""Largest number of steps of the search for a root: it ends when no number lies between the limits, which takes fewer."""
TOLERANCE = 1e-12
"""Tolerance of conditions, relative or of a probability, so that the size for the difference that n topics detect is n:
the way there and back is a few roundings of 2.2e-16."""


def smallest_integer(
    condition: Callable[[FloatArray], BoolArray],
    minimum: FloatArray,
    guess: FloatArray,
    maximum: float,
    quantity: str,
) -> IntArray:
    """Return the smallest integer, at least `minimum`, for which a condition holds.

    condition: Maps integers, as floats, to whether it holds; it must hold for all larger integers too.
    minimum: Smallest results; all arrays have one shape.
    guess: Start of the search, near the results.
    maximum: Largest result allowed.
    quantity: Name of the result in messages.
    Returns integers: Of the shape of `guess`.
    Raises BadPlan: A result would be above `maximum`.

    Examples
    --------
    >>> square = lambda n: n * n >= np.array([50.0, 9.0])
    >>> smallest_integer(square, np.array([1.0, 5.0]), np.array([2.0, 5.0]), 100, "the root").tolist()
    [8, 5]
    """
    low = minimum - 1.0  # below all results
    high = np.clip(guess, minimum, maximum)
    step = np.ones_like(high)
    fails = ~condition(high)
    failed_first = fails.copy()
    while fails.any():
        if (fails & (high >= maximum)).any():
            raise BadPlan(
                f"{quantity} would be more than {maximum:,.0f}: use a larger difference or width"
            )
        low = np.where(fails, high, low)
        high = np.where(fails, np.minimum(high + step, maximum), high)
        step *= 2.0
        fails = fails & ~condition(high)
    step = np.ones_like(high)
    descending = ~failed_first & (high > minimum)
    while descending.any():
        candidate = np.where(descending, np.maximum(high - step, minimum), high)
        holds = condition(candidate)
        low = np.where(descending & ~holds, candidate, low)
        high = np.where(descending & holds, candidate, high)
        step *= 2.0
        descending = descending & holds & (high > minimum)
    while (high - low > 1.0).any():
        unresolved = high - low > 1.0
        middle = np.where(unresolved, np.floor((low + high) / 2.0), high)
        holds = condition(middle)
        high = np.where(unresolved & holds, middle, high)
        low = np.where(unresolved & ~holds, middle, low)
    return high.astype(np.int64)


def root(function: Callable[[FloatArray], FloatArray], target: FloatArray) -> FloatArray:
    """Return the smallest x >= 0 with function(x) >= target, to rounding.

    Examples
    --------
    >>> root(lambda x: 1 - np.exp(-x), np.array([0.0, 0.5])).round(12).tolist()
    [0.0, 0.69314718056]
    """
    low, high = np.zeros_like(target), np.ones_like(target)
    zero_suffices = function(low) >= target
    for _ in range(HALVINGS):
        below = function(high) < target
        if not below.any():
            break
        low = np.where(below, high, low)
        high = np.where(below, 2.0 * high, high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if ((middle <= low) | (middle >= high)).all():
            break
        reached = function(middle) >= target
        high = np.where(reached, middle, high)
        low = np.where(reached, low, middle)
    return np.where(zero_suffices, 0.0, high)
