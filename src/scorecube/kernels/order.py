"""Counting and ranking in long arrays without sorting them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.kernels.intrinsics import trailing_zeros
from scorecube.kernels.jit import inlined

FEW = 16
"""Candidates for the K-th largest that are worth looking at one by one."""
ROUNDS = 40
STRIDE = 64
"""Values that are passed over together where none is wanted: as many as a word has bits."""


@inlined
def count_from(values: Any, threshold: float) -> Any:
    """Return how many values reach a threshold."""
    # Of the width of what is compared, threshold and counter go through vector registers with the values.
    threshold, found = values.dtype.type(threshold), np.int32(0)
    for k in range(values.shape[0]):
        found = np.int32(found + (values[k] >= threshold))
    return np.int64(found)


@inlined
def gather(values: Any, low: float, high: float, kept: Any, places: Any) -> int:
    """Write the values from `low` up to, not including, `high`, and their places; return their number."""
    low, high = values.dtype.type(low), values.dtype.type(high)
    n, size = 0, values.shape[0]
    whole = size - size % STRIDE
    for start in range(0, whole, STRIDE):
        inside = np.int32(0)
        for k in range(STRIDE):
            inside = np.int32(inside + ((values[start + k] >= low) & (values[start + k] < high)))
        if inside > 0:
            # One bit for each value: only those that are wanted are looked at.
            wanted = np.uint64(0)
            for k in range(STRIDE):
                here = (values[start + k] >= low) & (values[start + k] < high)
                wanted |= np.uint64(here) << np.uint64(k)
            while wanted != 0:
                k = start + trailing_zeros(wanted)
                wanted &= wanted - np.uint64(1)
                kept[n], places[n] = values[k], k
                n += 1
    for k in range(whole, size):
        if low <= values[k] < high:
            kept[n], places[n] = values[k], k
            n += 1
    return n


@inlined
def nth_largest(values: Any, rank: int) -> float:
    """Return the rank-th largest (from 1) of some values."""
    n = values.shape[0]
    if n > 2 * FEW:
        return float(np.sort(values)[n - rank])
    ordered = np.empty(2 * FEW)
    for k in range(n):
        place = k
        while place > 0 and ordered[place - 1] < values[k]:
            ordered[place] = ordered[place - 1]
            place -= 1
        ordered[place] = values[k]
    return float(ordered[rank - 1])


@inlined
def first_equal(values: Any, places: Any, rank: int, tolerance: float) -> Any:
    """Return the first place whose value ties, within a relative tolerance, with the rank-th largest of the values."""
    wanted = nth_largest(values, rank)
    for k in range(values.shape[0]):
        if values[k] == wanted or abs(values[k] - wanted) <= tolerance * abs(wanted):
            return places[k]
    return places[0]


@inlined
def bracket(values: Any, rank: int, guess: float) -> Any:
    """Return (low, high, number from `high` on) such that the rank-th largest value is in [low, high) with few others.

    Counts fall about exponentially with the value, so the next guess lies on a straight line through their logarithms.
    """
    low, high, from_low, from_high = -math.inf, math.inf, values.shape[0], 0
    slope = math.log(values.shape[0] / (rank - 0.5)) / guess if guess > 0.0 else 1.0
    for _ in range(ROUNDS):
        guess = float(values.dtype.type(guess))
        if from_low - from_high <= FEW or not low < guess < high:
            break
        found = count_from(values, guess)
        if found >= rank:
            low, from_low = guess, found
        else:
            high, from_high = guess, found
        if low > -math.inf and high < math.inf:
            top, bottom = math.log(from_low), math.log(from_high + 0.5)
            share = (top - math.log(rank)) / max(top - bottom, 1e-9)
            guess = low + (high - low) * min(max(share, 0.05), 0.95)
        else:
            # A little too far, so that the other side of the bracket is found.
            target = max(rank - 0.25 * FEW, 0.5) if found >= rank else rank + 0.25 * FEW
            step = math.log(max(found, 0.5) / target) / slope
            guess += step if abs(step) > 1e-3 * abs(guess) else math.copysign(1e-3 * abs(guess) + 1e-9, step)
            slope *= 0.7
    return low, high, from_high
