"""Mean ranks of runs over blocks, and the tests of Friedman and of those who followed.

References: Friedman 1937, 1940 (the test); Iman and Davenport 1980 (F); Nemenyi 1963 (all pairs);
Demsar 2006, "Statistical comparisons of classifiers over multiple data sets", JMLR 7 (equations in
section 3.2, critical differences, comparisons with a control).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy

from scorecube.analyses.topic_units import FloatArray
from scorecube.statistics.rank_sets import with_equals

MOST_SYSTEMS = 100
"""Systems up to which the distribution of the studentised range is known well enough."""
LEAST_P = float(np.finfo(float).tiny)
"""No p-value is 0: of smaller ones this is left."""


class Test(NamedTuple):
    """Friedman's test of one matrix of ranks.

    chi_squared, p_chi_squared: Corrected for ties (Conover 1999, 5.8.6); missing where all runs are
        equal in all blocks.
    f, p_value: Iman and Davenport's F. Where all blocks agree F is missing, and p is the exact
        probability of that.
    concordance: Kendall's W, 0 for no agreement of blocks to 1.
    """

    chi_squared: float
    p_chi_squared: float
    f: float
    p_value: float
    concordance: float


def block_ranks(values: FloatArray, least: float) -> FloatArray:
    """Return ranks of runs in each block, float64 (run, block): 1 for the largest, mid-ranks.

    values: (run, block); those that differ by no more than `least` are equal.
    """
    equal = np.array(values, float)
    near = np.diff(np.sort(values, axis=0), axis=0)
    for block in np.flatnonzero(((near > 0) & (near <= least)).any(axis=0)).tolist():
        equal[:, block] = with_equals(values[:, block], least)
    return np.asarray(scipy.stats.rankdata(-equal, axis=0))


def friedman_test(ranks: FloatArray) -> Test:
    """Return Friedman's test of ranks (run, block) of at least 2 runs in 2 blocks."""
    k, n = ranks.shape
    most = n * (k - 1)
    middle = n * k * (k + 1) ** 2 / 4
    spread = float((ranks**2).sum()) - middle
    if spread <= 0:
        return Test(*[math.nan] * 5)
    chi = (k - 1) * (float((ranks.sum(axis=1) ** 2).sum()) - n * middle) / spread
    p_chi = float(scipy.special.chdtrc(k - 1, chi))
    if math.isclose(chi, most, rel_tol=1e-12):
        return Test(chi, max(p_chi, LEAST_P), math.nan, _p_of_agreement(ranks), 1.0)
    f = (n - 1) * chi / (most - chi)
    p = float(scipy.special.fdtrc(k - 1, (k - 1) * (n - 1), f))
    return Test(chi, max(p_chi, LEAST_P), f, max(p, LEAST_P), chi / most)


def _p_of_agreement(ranks: FloatArray) -> float:
    """Return the probability that all blocks agree, if each order is as likely: (k!)^(1 - n).

    Of tied ranks the orders are fewer: k! divided by the factorials of the sizes of ties.
    """
    k, n = ranks.shape
    _, sizes = np.unique(ranks[:, 0], return_counts=True)
    orders = scipy.special.gammaln(k + 1) - scipy.special.gammaln(sizes + 1).sum()
    return max(math.exp((1 - n) * orders), LEAST_P)


def rank_error(k: int, n: int) -> float:
    """Return the standard error of a difference of mean ranks of k runs in n blocks."""
    return math.sqrt(k * (k + 1) / (6 * n))


def critical_difference(k: int, n: int, alpha: float) -> float:
    """Return the difference of mean ranks from which two runs are separated (Nemenyi).

    Missing for more than 100 runs.

    Examples
    --------
    >>> round(critical_difference(5, 30, 0.05), 3)
    1.114
    """
    if k > MOST_SYSTEMS:
        return math.nan
    quantile = float(scipy.stats.studentized_range.isf(alpha, k, np.inf))
    return quantile / math.sqrt(2) * rank_error(k, n)


def nemenyi_p(distance: FloatArray, k: int, n: int) -> FloatArray:
    """Return p-values of distances of mean ranks, (..., pair), of all pairs together (Nemenyi).

    Each distinct distance is computed once; missing for more than 100 runs.
    """
    if k > MOST_SYSTEMS:
        return np.full(distance.shape, np.nan)
    sums = np.rint(2 * n * distance)  # of mid-ranks, which are halves
    distinct, place = np.unique(sums, return_inverse=True)
    p = scipy.stats.studentized_range.sf(
        distinct / (math.sqrt(2) * n * rank_error(k, n)), k, np.inf
    )
    return np.asarray(np.clip(p, LEAST_P, 1.0)[place])
