"""Plain reference of limits of bounded means: binomial sums term by term (mid-p), and bets that are settled topic by topic (Waudby-Smith and Ramdas 2024)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.optimize import brentq


def mid_p(successes: int, n: int, error: float) -> tuple[float, float]:
    """Return the limits of a binomial probability; half of the probability of what was seen counts."""

    def tail(p: float, values: Sequence[int]) -> float:
        return math.fsum(math.comb(n, k) * p**k * (1 - p) ** (n - k) * (0.5 if k == successes else 1.0) for k in values)  # fmt: skip

    low = brentq(lambda p: tail(p, range(successes, n + 1)) - error, 0, 1) if successes else 0.0
    high = brentq(lambda p: tail(p, range(successes + 1)) - error, 0, 1) if successes < n else 1.0
    return low, high


def money(scores: Sequence[float], mean: float, shares: Sequence[float]) -> float:
    """Return what bets on scores above ``mean`` end with on average over shares, from 1."""
    ends = []
    for share in shares:
        amount = 1.0
        for x in scores:
            stake = share * amount
            amount += stake * (x / mean - 1)
        ends.append(amount)
    return math.fsum(ends) / len(ends)


def betting(scores: Sequence[float], shares: Sequence[float], error: float) -> tuple[float, float]:
    """Return the means between which no bet has won 1 / error."""

    def lowest(values: Sequence[float]) -> float:
        top = sum(values) / len(values)
        if top == 0 or money(values, 1e-12, shares) < 1 / error:
            return 0.0
        return float(brentq(lambda m: math.log(money(values, m, shares) * error), 1e-12, top, xtol=1e-13))  # fmt: skip

    return lowest(scores), 1 - lowest([1 - x for x in scores])
