"""Vectorised searches: the smallest whole number for which something holds, and roots of increasing functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scorecube.errors import BadPlan

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
IntArray = np.ndarray[Any, np.dtype[np.int64]]
HALVINGS = 200


def smallest(
    holds: Callable[[FloatArray], BoolArray], floor: FloatArray, guess: FloatArray, most: float, what: str
) -> IntArray:
    """Return the smallest whole number from `floor` on for which `holds`, which stays true once it is.

    Parameters
    ----------
    holds
        Whole numbers, as floats -> whether each is large enough.
    floor
        Lowest answers.
    guess
        Where to begin, near the answers; all arrays have one shape.
    most
        Highest answer.
    what
        What is sought, for the error text.

    Raises
    ------
    BadPlan
        An answer above `most`.

    Examples
    --------
    >>> smallest(lambda n: n * n >= np.array([50.0, 9.0]), np.array([1.0, 5.0]), np.array([2.0, 5.0]), 100, "a root").tolist()
    [8, 5]
    """
    low = floor - 1.0  # never an answer
    high = np.clip(guess, floor, most)
    step = np.ones_like(high)
    fails = ~holds(high)
    begun_low = fails.copy()
    while fails.any():
        if (fails & (high >= most)).any():
            raise BadPlan(f"{what} would be more than {most:,.0f}: ask for a larger difference or width")
        low = np.where(fails, high, low)
        high = np.where(fails, np.minimum(high + step, most), high)
        step *= 2.0
        fails = fails & ~holds(high)
    step = np.ones_like(high)
    down = ~begun_low & (high > floor)
    while down.any():
        trial = np.where(down, np.maximum(high - step, floor), high)
        good = holds(trial)
        low = np.where(down & ~good, trial, low)
        high = np.where(down & good, trial, high)
        step *= 2.0
        down = down & good & (high > floor)
    while (high - low > 1.0).any():
        middle = np.floor((low + high) / 2.0)
        open_ = high - low > 1.0
        middle = np.where(open_, middle, high)
        good = holds(middle)
        high = np.where(open_ & good, middle, high)
        low = np.where(open_ & ~good, middle, low)
    return high.astype(np.int64)


def root(function: Callable[[FloatArray], FloatArray], target: FloatArray) -> FloatArray:
    """Return the smallest x >= 0, to rounding, with function(x) >= target; the function increases.

    Examples
    --------
    >>> root(lambda x: 1 - np.exp(-x), np.array([0.0, 0.5])).round(12).tolist()
    [0.0, 0.69314718056]
    """
    low, high = np.zeros_like(target), np.ones_like(target)
    enough = function(low) >= target
    for _ in range(HALVINGS):
        short = function(high) < target
        if not short.any():
            break
        low = np.where(short, high, low)
        high = np.where(short, 2.0 * high, high)
    for _ in range(HALVINGS):
        middle = (low + high) / 2.0
        if ((middle <= low) | (middle >= high)).all():
            break
        good = function(middle) >= target
        high = np.where(good, middle, high)
        low = np.where(good, low, middle)
    return np.where(enough, 0.0, high)
