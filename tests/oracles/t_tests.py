"""Student's t distribution in plain Python."""

from __future__ import annotations

import math

STEPS = 2000


def t_tail(t: float, freedom: float) -> float:
    """Return P(T >= t) of Student's t: its density over the angle with tangent t / sqrt(freedom), integrated by Simpson's rule."""
    if t < 0:
        return 1.0 - t_tail(-t, freedom)
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(math.pi)
    step = math.atan(t / math.sqrt(freedom)) / STEPS
    heights = [math.cos(k * step) ** (freedom - 1) for k in range(STEPS + 1)]
    weights = [1, *[4, 2] * (STEPS // 2 - 1), 4, 1]
    area = math.fsum(w * h for w, h in zip(weights, heights, strict=True)) * step / 3
    return 0.5 - scale * area


def critical_t(alpha: float, freedom: float) -> float:
    """Return t with P(T >= t) = alpha, by halving."""
    low, high = 0.0, 1e4
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, freedom) > alpha else (low, middle)
    return (low + high) / 2
