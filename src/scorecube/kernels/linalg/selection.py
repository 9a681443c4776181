"""Counting and ranking in long arrays without sorting them."""

from __future__ import annotations

import math

import numpy as np

from scorecube.kernels.arrays import Float64Array1, Integer, IntegerArray1
from scorecube.kernels.jit import inlined

FEW, STEPS = 16, 16
"""Number of candidates for the K-th largest below which each is examined."""
ROUNDS = 40
"""Largest number of thresholds tried; what is left of the bracket then is searched value by value."""
FLAT, LEAST_STEP = 1e-9, 1e-3
"""Least difference of two logarithms that is divided by, and least step relative to the guess: the search goes on where
counts or values are equal. Only the time depends on them; the value that is found does not."""
HALVINGS, REFINEMENTS = 14, 3
NEAR, NEAR_STEP = 0.8, 0.03
"""First threshold and distance between thresholds, as shares of the expected value."""
MANY = 320
"""Number of values from which on bisection is faster than comparing each value with several thresholds at once."""
STRIDE = 64
"""Values that are skipped together if none is wanted: the number of bits of a word."""


@inlined
def count_from(values: Float64Array1, threshold: float) -> int:
    """Return how many values are at least `threshold`."""
    found = np.int32(0)  # 32-bit counters let the compiler vectorise the loop
    for k in range(values.shape[0]):
        found = np.int32(found + (values[k] >= threshold))
    return int(np.int64(found))


@inlined
def gather(
    values: Float64Array1, low: float, high: float, kept: Float64Array1, places: IntegerArray1
) -> int:
    """Write values in [low, high) to `kept`, their indices to `places`; count them."""
    n = 0
    for k in range(values.shape[0]):
        if low <= values[k] < high:
            kept[n], places[n] = values[k], k
            n += 1
    return n


@inlined
def nth_largest(values: Float64Array1, rank: Integer) -> float:
    """Return the rank-th largest value, counted from 1.

    Each value examined excludes those on its other side from being examined: of values in random order, about
    2 log(values) are. Sorting them takes longer, and far longer to compile.
    """
    low, high = math.nan, math.nan
    for k in range(values.shape[0]):
        value = float(values[k])
        if value <= low or value >= high:
            continue
        above, reached = np.int32(0), np.int32(0)
        for other in range(values.shape[0]):
            above = np.int32(above + (values[other] > value))
            reached = np.int32(reached + (values[other] >= value))
        if above >= rank:
            low = value
        elif reached < rank:
            high = value
        else:
            return value
    return math.nan


@inlined
def first_equal(
    values: Float64Array1, places: IntegerArray1, rank: Integer, tolerance: float
) -> np.int64:
    """Return the first of `places` whose value ties with the rank-th largest value.

    Values tie if they differ by no more than a relative tolerance.
    """
    wanted = nth_largest(values, rank)
    for k in range(values.shape[0]):
        if values[k] == wanted or abs(values[k] - wanted) <= tolerance * abs(wanted):
            return np.int64(places[k])
    return np.int64(places[0])


@inlined
def bracket(values: Float64Array1, rank: Integer, guess: float) -> tuple[float, float, int]:
    """Bracket the rank-th largest value, starting from a guess of it.

    The number of values above a threshold falls about exponentially with the threshold, so the next guess is
    interpolated linearly between the logarithms of two such numbers.

    Returns low, high: The rank-th largest value is in [low, high), with few others.
    Returns above: Number of values that are `high` or larger.
    """
    low, high, from_low, from_high = -math.inf, math.inf, values.shape[0], 0
    slope = math.log(values.shape[0] / (rank - 0.5)) / guess if guess > 0.0 else 1.0
    for _ in range(ROUNDS):
        if from_low - from_high <= FEW or not low < guess < high:
            break
        found = count_from(values, guess)
        if found >= rank:
            low, from_low = guess, found
        else:
            high, from_high = guess, found
        if low > -math.inf and high < math.inf:
            top, bottom = math.log(from_low), math.log(from_high + 0.5)
            drop = top - bottom
            share = (top - math.log(rank)) / (drop if drop > FLAT else FLAT)
            share = share if share > 0.05 else 0.05
            guess = low + (high - low) * (share if share < 0.95 else 0.95)
        else:
            # A step slightly too long, so that it reaches the other side of the bracket.
            target = rank - 0.25 * FEW if found >= rank else rank + 0.25 * FEW
            target = target if target > 0.5 else 0.5
            step = math.log((found if found > 0 else 0.5) / target) / slope
            least = LEAST_STEP * abs(guess)
            guess += step if abs(step) > least else math.copysign(least + FLAT, step)
            slope *= 0.7
    return low, high, from_high


@inlined
def narrow(
    values: Float64Array1, rank: Integer, guess: float, low: float, high: float
) -> tuple[float, float, int]:
    """Return what `bracket` returns, for few values.

    At least `rank` of them must reach `low`, and none `high`. The memory behind the values must hold -inf up to the
    next multiple of `STRIDE`. The search takes few steps and few unpredictable branches, which for few values take most
    of the time.
    """
    halvings = HALVINGS if values.shape[0] >= MANY else 0
    for _ in range(halvings):
        middle = 0.5 * (low + high)
        below = count_from(values, middle) >= rank
        low, high = middle if below else low, high if below else middle
    bottom, top = low, high
    guess = guess if guess > 0.0 else 0.0  # steps go up
    base, step, first = NEAR * guess, NEAR_STEP * guess, True
    rounds = 0 if halvings > 0 else 2
    while rounds > 0:
        reached = 0
        while reached < STEPS and count_from(values, base + (reached + 1) * step) >= rank:
            reached += 1
        top = top if reached == STEPS else base + (reached + 1) * step
        bottom = bottom if reached == 0 else base + reached * step
        # If the guess was far off, more steps follow.
        rounds = REFINEMENTS if first and not 0 < reached < STEPS else rounds - 1
        base, step, first = bottom, (top - bottom) / (STEPS + 1), False
    return bottom, top, count_from(values, top)


@inlined
def keep_from(values: Float64Array1, low: float, kept: Float64Array1, places: IntegerArray1) -> int:
    """Write values of at least `low` to `kept`, their indices to `places`, in order.

    The result is their number. The number of values must be a multiple of `STRIDE`; `kept` and `places` (value,) need
    room for `STRIDE` elements more than are kept. So many times -inf is written behind the values.
    """
    n = 0
    for k in range(values.shape[0]):
        kept[n], places[n] = values[k], k
        n += values[k] >= low
    for k in range(n, n + STRIDE):
        kept[k] = -math.inf
    return n
