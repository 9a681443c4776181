"""Leaderboards at other numbers of topics: everything scales by closed forms.

A standard error of a mean over n' topics is sqrt(n / n') times that over n, and a limit also by the ratio of the quantiles of Student's t.
A pair of runs is separated if its |t| reaches a critical value: |t| grows with sqrt(n' / n), and the critical value is that of the last
step of the study's own step-down test, moved to n' - 1 degrees of freedom at the same tail probability.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import stdtr, stdtrit

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
ROUNDING = 1e-12
"""Share of the sums of squares of two runs up to which that of their difference is rounding."""
SMALLEST_TAIL = 1e-300
"""Tail probability of a critical value below which it is taken for this one: SciPy inverts no smaller one."""
ABOVE = 1e-9
"""Relative distance by which a critical value that is not known lies above the largest |t| that is not separated, at least."""


def limit_factors(numbers: Sequence[int], n: int, alpha: float) -> FloatArray:
    """Return the distance of a limit from its mean at each number of topics, as a multiple of that at n: float64 (number,)."""
    wanted = np.asarray(numbers, float)
    quantiles = stdtrit(np.maximum(wanted, 2) - 1, alpha / 2)
    return np.asarray(np.sqrt(n / wanted) * quantiles / stdtrit(n - 1, alpha / 2), np.float64)


def needed_t(numbers: Sequence[int], n: int, critical: float) -> FloatArray:
    """Return the |t| over n topics with which a pair is separated at each number of topics: float64 (number,), descending.

    numbers: Numbers of topics, ascending.
    n: Topics of the study.
    critical: What |t| must reach over n topics.
    """
    wanted = np.asarray(numbers, float)
    tail = max(float(stdtr(n - 1, -critical)), SMALLEST_TAIL)
    moved = -stdtrit(np.maximum(wanted, 2) - 1, tail)
    return np.asarray(np.where(wanted == n, critical, moved * np.sqrt(n / wanted)), np.float64)


def moderated_t(scores: FloatArray, moderation: float) -> FloatArray:
    """Return the moderated |t| of all pairs of runs, as of `StepDown`: float64 (run, run), infinite for a constant difference.

    scores: float64 (run, topic), without missing ones.
    moderation: Weight of the median variance of all pairs beside a pair's own.
    """
    n = scores.shape[1]
    mean = scores.mean(axis=1)
    centred = scores - mean[:, np.newaxis]
    products = centred @ centred.T
    own = np.diag(products)
    both = own[:, np.newaxis] + own
    squares = both - 2 * products
    squares = np.where(squares > ROUNDING * both, squares, 0.0)
    of_pairs = squares[np.triu_indices(len(mean), 1)]
    varying = of_pairs[of_pairs > 0]
    added = moderation * float(np.median(varying)) if len(varying) else 0.0
    difference = np.abs(mean[:, np.newaxis] - mean)
    difference[difference <= ROUNDING * np.maximum(np.abs(mean[:, np.newaxis]), np.abs(mean))] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        t = difference / np.sqrt((squares + added) / ((1 + moderation) * n * (n - 1)))
    constant = np.where(difference > 0, np.inf, 0.0)
    return np.asarray(np.where(squares > 0, t, constant), np.float64)


def critical_value(t: FloatArray, n_separated: int, n: int, alpha: float) -> float:
    """Return a value of |t| between those of the pairs that were separated and those that were not.

    Where all pairs are separated, or none is, Bonferroni's value if it lies on the right side.

    t: float64 (pair,).
    n_separated: Number of separated pairs: those with the largest |t|.
    n: Number of topics.
    alpha: 1 - confidence.

    Examples
    --------
    >>> critical_value(np.array([1.0, 3.0, 5.0]), 1, 50, 0.05)
    4.0
    """
    ordered = np.sort(t)[::-1]
    above = float(ordered[n_separated - 1]) if n_separated else math.inf
    below = float(ordered[n_separated]) if n_separated < len(t) else 0.0
    usual = -float(stdtrit(n - 1, alpha / (2 * len(t))))
    if math.isinf(above):
        return max(usual, below * (1 + ABOVE))
    return (above + below) / 2 if n_separated < len(t) else min(usual, above)
