"""Decisions of tests about simulated experiments: critical values, and resampling tests with shared resamples."""

import math
from collections.abc import Sequence
from functools import cache
from typing import Literal

import numpy as np
import scipy

from scorecube.analyses.base import Array
from scorecube.kernels.experiments.paired_decisions import (
    count_tails,
    decide_sign,
    decide_t,
    decide_tails,
    decide_wilcoxon,
    sum_differences,
)
from scorecube.kernels.random.resampling import bootstrap_samples, count_draws, sign_columns

TESTS: tuple[Literal["t", "wilcoxon", "sign", "bootstrap", "permutation"], ...] = (
    "t",
    "wilcoxon",
    "sign",
    "bootstrap",
    "permutation",
)
RESAMPLING = ("bootstrap", "permutation")
DEAD_ZONE = 0.01
"""Largest difference of two scores that the sign test counts as a tie."""
MOST_EXACT = 49
"""Largest number of topics for exact p-values of Wilcoxon's test, as in R."""
LEVEL_ROUNDING = 1e-9
"""Relative rounding of a level times a number of resamples, such as .07 * 100, and of exact p-values."""
IMPOSSIBLE = 2**31 - 1
"""Critical value that is never reached."""
ROWS_AT_ONCE, COLUMNS_AT_ONCE = 128, 1024
"""Experiments and resamples of one matrix product; it stays in the second-level cache."""


@cache
def critical_values(
    n_topics: int, alphas: tuple[float, ...]
) -> tuple[Array, tuple[Array, Array], Array]:
    """Return the critical values of the classical tests for one number of topics, of both sides; see `kernels.experiments.paired_decisions`.

    alphas: Significance levels, ascending.
    Returns t, wilcoxon, sign: Of the signed-rank test the exact and the normal ones.
    """
    levels = np.array(alphas)
    sides = np.stack([levels, levels / 2])
    exact = np.empty((2, 0), np.int64)
    if n_topics <= MOST_EXACT:
        exact = signed_rank_criticals(n_topics, alphas)
    # Of equal signs out of each number.
    of_signs = (scipy.stats.binom.sf(np.arange(n + 1) - 1, n, 0.5) for n in range(n_topics + 1))
    sign = np.array([_smallest(upper, alphas) for upper in of_signs], np.int32)
    return scipy.stats.t.isf(sides, n_topics - 1), (exact, scipy.stats.norm.isf(sides)), sign


def signed_rank_criticals(n: int, alphas: Sequence[float]) -> Array:
    """Return the smallest sum of ranks with an exact p-value up to each level: int64 (sided, level)."""
    ways = np.ones(1)
    for rank in range(1, n + 1):
        ways = np.append(ways, np.zeros(rank)) + np.append(np.zeros(rank), ways)
    return _smallest(np.cumsum(ways[::-1])[::-1] / 2.0**n, alphas)


def _smallest(upper: Array, alphas: Sequence[float]) -> Array:
    """Return the first position whose upper tail, or twice it, is up to each level."""
    found = np.full((2, len(alphas)), IMPOSSIBLE, np.int64)
    for sided in (1, 2):
        for k, alpha in enumerate(alphas):
            small = np.flatnonzero(sided * upper <= alpha * (1.0 + LEVEL_ROUNDING))
            if len(small):
                found[sided - 1, k] = small[0]
    return found


def classical(
    tests: Sequence[str],
    differences: Array,
    n_topics: int,
    units: float,
    alphas: tuple[float, ...],
    counts: Array,
) -> None:
    """Add the decisions of the classical tests to the counts.

    tests: Names, in the order of the counts; resampling tests are left out.
    differences: int32 (experiment, topic).
    n_topics: Topics that are used.
    units: Units of a score of 1.
    alphas: Ascending.
    counts: int64 (test, row, level).
    """
    of_t, of_wilcoxon, of_sign = critical_values(n_topics, alphas)
    for k, test in enumerate(tests):
        if test == "t":
            decide_t(differences, n_topics, of_t, counts[k])
        elif test == "wilcoxon":
            decide_wilcoxon(differences, n_topics, *of_wilcoxon, counts[k])
        elif test == "sign":
            decide_sign(differences, n_topics, round(DEAD_ZONE * units), of_sign, counts[k])


def resample_weights(test: str, key: Array, group: int, n_topics: int, resamples: int) -> Array:
    """Return the weights of topics in the resamples that a group of experiments shares: float32 (topic, resample).

    test: ``bootstrap``: how often each topic is drawn; ``permutation``: signs.
    key, group: Address.
    n_topics, resamples: Sizes.
    """
    start = group * resamples
    if test == "permutation":
        return sign_columns(key, n_topics, start, start + resamples).astype(np.float32)
    weights = np.empty((n_topics, resamples), np.float32)
    count_draws(bootstrap_samples(key, n_topics, start, start + resamples), weights)
    return weights


def resampling(
    test: str,
    differences: Array,
    weights: Array,
    alphas: Sequence[float],
    counts: Array,
    *,
    half: bool = False,
) -> None:
    """Add the decisions of a resampling test to the counts.

    All sums are integers below 2**24, so that single precision is exact and no order of additions matters.

    test: ``bootstrap`` or ``permutation``.
    differences: int32 (experiment, topic); the first topics are used.
    weights: float32 (topic, resample).
    alphas: Significance levels, ascending.
    counts: int64 (row, level).
    half: Whether a resample that is exactly as extreme as the observed difference counts half.
    """
    n_topics, resamples = weights.shape
    centred = int(test == "bootstrap")
    counted = (2 if half else 1) * resamples
    # The largest number of resamples in the tails with a p-value up to each level.
    most = [math.floor(alpha * counted * (1.0 + LEVEL_ROUNDING)) for alpha in alphas]
    products = np.empty((ROWS_AT_ONCE, COLUMNS_AT_ONCE), np.float32)
    for low in range(0, len(differences), ROWS_AT_ONCE):
        part = differences[low : low + ROWS_AT_ONCE]
        rows = part[:, :n_topics].astype(np.float32)
        totals, tails = np.empty(len(part), np.int64), np.zeros((len(part), 2), np.int32)
        sum_differences(part, n_topics, totals)
        for left in range(0, resamples, COLUMNS_AT_ONCE):
            columns = weights[:, left : left + COLUMNS_AT_ONCE]
            sums = products[: len(part), : columns.shape[1]]
            if sums.flags.c_contiguous:
                np.dot(rows, columns, out=sums)
            else:
                sums = rows @ columns
            count_tails(sums, totals, centred, 0, tails)
            if half:
                count_tails(sums, totals, centred, 1, tails)
        decide_tails(tails, totals, np.array(most, np.int64), counts)
