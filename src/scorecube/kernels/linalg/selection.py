"""Counting and ranking in long arrays without sorting them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.kernels.intrinsics import (
    STEPS,
    compress,
    has_wide_registers,
    mask_between,
    steps_reached,
    trailing_zeros,
)
from scorecube.kernels.jit import inlined

FEW = 16
"""Candidates for the K-th largest that are worth looking at one by one."""
ROUNDS = 40
HALVINGS, REFINEMENTS = 14, 3
NEAR, NEAR_STEP = 0.8, 0.03
"""Of where a value is expected: the least threshold, and how far apart they are."""
MANY = 320
"""From so many values on it is faster to halve than to compare each value with several thresholds at once."""
STRIDE = 64
"""Values that are passed over together where none is wanted: as many as a word has bits."""
WIDE = has_wide_registers()


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
    n, size, address = 0, values.shape[0], values.ctypes.data
    whole = size - size % STRIDE
    for start in range(0, whole, STRIDE):
        # One bit for each value: only those that are wanted are looked at.
        wanted = mask_between(np.uint64(address + start * values.itemsize), low, high)
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
    for k in range(n):
        above, equal = np.int32(0), np.int32(0)
        for other in range(n):
            above = np.int32(above + (values[other] > values[k]))
            equal = np.int32(equal + (values[other] == values[k]))
        if above < rank <= above + equal:
            return float(values[k])
    return math.nan


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


@inlined
def narrow(values: Any, rank: int, guess: float, low: float, high: float) -> Any:
    """Return what `bracket` does for few values, at least `rank` of which reach `low` and none of which reaches `high`.

    Behind the values stand enough of -inf to fill up the last `STRIDE`. Few steps, and few that the processor has to guess: for few
    values that is most of the time.
    """
    kind = values.dtype.type
    if values.shape[0] >= MANY:
        for _ in range(HALVINGS):
            middle = float(kind(0.5 * (low + high)))
            below = count_from(values, middle) >= rank
            low, high = middle if below else low, high if below else middle
        return low, high, count_from(values, high)
    address, bottom, top = np.uint64(values.ctypes.data), kind(low), kind(high)
    size = (values.shape[0] + STEPS - 1) // STEPS * STEPS
    guess = guess if guess > 0.0 else 0.0  # steps go up
    base, step, rounds, first = kind(NEAR * guess), kind(NEAR_STEP * guess), 2, True
    while rounds > 0:
        reached = steps_reached(address, size, base, step, rank)
        top = top if reached == STEPS else kind(base + kind(kind(reached + 1) * step))
        bottom = bottom if reached == 0 else kind(base + kind(kind(reached) * step))
        # Far from where it was expected, it is sought in more steps.
        rounds = REFINEMENTS if first and not 0 < reached < STEPS else rounds - 1
        base, step, first = bottom, kind((top - bottom) / kind(STEPS + 1)), False
    return float(bottom), float(top), count_from(values, top)


@inlined
def keep_from(values: Any, low: float, kept: Any, places: Any) -> int:
    """Write the values that reach `low`, and their places, in their order, and -inf `STRIDE` times behind them; return their number.

    There is a multiple of `STRIDE` of values, and room for `STRIDE` more than are kept.
    """
    low = values.dtype.type(low)
    n = 0
    if WIDE:
        n = compress(
            np.uint64(values.ctypes.data), values.shape[0], low,
            np.uint64(kept.ctypes.data), np.uint64(places.ctypes.data),
        )  # fmt: skip
    else:
        for k in range(values.shape[0]):
            kept[n], places[n] = values[k], k
            n += values[k] >= low
    kept[n : n + STRIDE] = -math.inf
    return n
