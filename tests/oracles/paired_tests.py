"""Resampling tests of pairs of runs in exact rational arithmetic: loops over pairs and trials, as the papers print them.

S1 = Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant document", section 4.3, Figures 5 to 7.
F = Fisher 1935 / Smucker, Allan and Carterette 2007 (signs), C = Carterette 2012 (randomised Tukey HSD).
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

Scores = Sequence[Sequence[Fraction]]
"""Run x topic."""
Whole = Sequence[Sequence[int]]
"""Run x topic, in multiples of 1 / denominator."""
Square = Fraction | float | None
"""t^2: exact, infinite, or None for 0 / 0."""


def as_integers(scores: Scores) -> tuple[list[list[int]], int]:
    """Return the scores as multiples of 1 / (a common denominator), and that denominator."""
    common = math.lcm(*(score.denominator for row in scores for score in row))
    return [[int(score * common) for score in row] for row in scores], common


def square_of(values: Sequence[int], total: int, squares: int) -> Square:
    """Return t^2 of values with this sum and sum of squares.

    t = mean / (s / sqrt n) with s^2 = sum (value - mean)^2 / (n - 1), so t^2 = (n - 1) total^2 / (n squares - total^2).
    """
    n = len(values)
    spread = n * squares - total * total
    if spread == 0:
        return None if total == 0 else math.inf
    return Fraction((n - 1) * total * total, spread)


def kth_largest(statistics: Sequence[Square], differences: Sequence[int], rank: int) -> int:
    """Return |difference| of the trial with the rank-th largest statistic: the first drawn of equal ones, 0 / 0 last."""
    defined = [statistic for statistic in statistics if statistic is not None]
    if rank > len(defined):
        return 0  # A trial without t has no difference.
    wanted = heapq.nlargest(rank, defined)[-1]
    return abs(differences[list(statistics).index(wanted)])


def by_bootstrap(
    x: Sequence[int], y: Sequence[int], unit: Fraction, samples: Whole, ranks: Sequence[int]
) -> tuple[int, list[Fraction]]:
    """Test one pair on given samples of topic positions (S1 Figures 5 and 7).

    w = z - mean z is kept n times too large, so that it is of integers. Of degenerate trials: infinite t* counts;
    0 / 0 is t* := 0. Returned are the trials that are at least as extreme as what was observed, and the |difference of
    means| in the trial with the K-th largest statistic, for each K.
    """
    n = len(x)
    z = [a - b for a, b in zip(x, y, strict=True)]
    w = [n * value - sum(z) for value in z]
    w_squared = [value * value for value in w]
    sums = [sum(map(w.__getitem__, sample)) for sample in samples]
    observed = square_of(z, sum(z), sum(value * value for value in z))
    statistics = [
        square_of(sample, total, sum(map(w_squared.__getitem__, sample)))
        for sample, total in zip(samples, sums, strict=True)
    ]
    # Identical runs have no t: ASL := 1. A constant difference has an infinite t, and all its trials are 0 / 0.
    reached = [observed is None or (0 if each is None else each) >= observed for each in statistics]
    kth = [kth_largest(statistics, sums, rank) * unit / (n * n) for rank in ranks]
    return sum(reached), kth


def by_signs(x: Sequence[int], y: Sequence[int], signs: Whole) -> int:
    """Count the given signs of per-topic differences that make the sum of them at least as large (F)."""
    z = [a - b for a, b in zip(x, y, strict=True)]
    sums = [abs(sum(sign * value for sign, value in zip(row, z, strict=True))) for row in signs]
    return sum(total >= abs(sum(z)) for total in sums)


def tukey_counts(
    whole: Whole, permutations: Sequence[Sequence[Sequence[int]]]
) -> dict[tuple[int, int], int]:
    """Count, for each pair, the trials whose range of run sums reaches the pair's difference (C); (trial, topic, run)."""
    ranges = []
    for permutation in permutations:
        sums = [0] * len(whole)
        for topic, order in enumerate(permutation):
            for run, source in enumerate(order):
                sums[run] += whole[source][topic]
        ranges.append(max(sums) - min(sums))
    totals = [sum(row) for row in whole]
    return {
        (i, j): sum(each >= abs(totals[i] - totals[j]) for each in ranges)
        for i, j in combinations(range(len(whole)), 2)
    }


def rank_of_level(alpha: str, trials: int) -> int:
    """Return K = ceil(alpha B), at least 1 (S1 Figure 7), from the printed alpha."""
    return max(1, math.ceil(Fraction(alpha) * trials))


def run_positions(result: xr.Dataset) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the positions of both runs of each pair among the runs, by their labels."""
    runs = result["run"].values.tolist()
    first, second = (
        np.array([runs.index(run) for run in result[name].values]) for name in ("run_a", "run_b")
    )
    return first, second


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


@cache
def critical_t(alpha: float, freedom: float) -> float:
    """Return t with P(T >= t) = alpha, by halving."""
    low, high = 0.0, 1e4
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, freedom) > alpha else (low, middle)
    return (low + high) / 2
