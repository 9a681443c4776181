"""P-values of tests of many pairs: t, Wilcoxon and sign, by SciPy; adjusted for their number.

References: Holm 1979; Benjamini and Hochberg 1995.
"""

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[Any]
MAX_PERMUTED = 13
"""Largest number of topics for exact p-values with ties, as SciPy."""


def classical_p_values(test: str, differences: Array) -> Array:
    """Return the two-sided p-values of pairs of runs, float64 (pair,); 1 without a difference.

    test: ``t``, ``wilcoxon`` or ``sign``.
    differences: float64 (pair, topic): differences of scores.
    """
    p = np.ones(len(differences))
    unequal = differences.any(axis=1)
    rows = differences[unequal]
    if test == "sign":
        ahead = (rows > 0).sum(axis=1)
        behind = (rows < 0).sum(axis=1)
        tail = scipy.stats.binom.cdf(np.minimum(ahead, behind), ahead + behind, 0.5)
        p[unequal] = np.minimum(1.0, 2 * tail)
    elif test == "wilcoxon":
        p[unequal] = signed_rank_p_values(rows)
    else:
        p[unequal] = 0.0  # t of a constant difference is infinite
        varying = np.ptp(differences, axis=1) > 0
        if varying.any():
            p[varying] = scipy.stats.ttest_1samp(differences[varying], 0.0, axis=1).pvalue
    return p


def welch_p_values(first: Array, second: Array) -> Array:
    """Return the p-values of Welch's t test of pairs, as if runs had other topics: (pair,).

    first, second: float64 (pair, topic). Runs without spread have p = 0, or 1 if they are equal.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        p = scipy.stats.ttest_ind(first, second, axis=1, equal_var=False).pvalue
    apart = first.mean(axis=1) != second.mean(axis=1)
    return np.where(np.isnan(p), np.where(apart, 0.0, 1.0), p)


def signed_rank_p_values(differences: Array) -> Array:
    """Return the p-values of Wilcoxon's test of differences (pair, topic), without zeros.

    They are exact for up to 50 topics without ties and zeros, and up to 13 with them; otherwise
    those of the normal approximation. SciPy chooses one method for all pairs of a call.
    """
    ordered = np.sort(np.abs(differences), axis=1)
    p = np.empty(len(differences))
    tied = (ordered[:, 0] == 0) | (np.diff(ordered, axis=1) == 0).any(axis=1)
    permuted = tied & (differences.shape[1] <= MAX_PERMUTED)  # takes SciPy a second a pair
    if permuted.any():
        p[permuted] = _over_all_signs(differences[permuted])
    for chosen in (~tied, tied & ~permuted):
        if chosen.any():
            p[chosen] = scipy.stats.wilcoxon(differences[chosen], axis=1).pvalue
    return p


def _over_all_signs(differences: Array) -> Array:
    """Return exact p-values of the signed-rank test with ties, float64 (pair,)."""
    n_topics = differences.shape[1]
    p = np.empty(len(differences))
    signs = (np.arange(2**n_topics)[:, np.newaxis] >> np.arange(n_topics)) & 1
    for pair, row in enumerate(differences):
        ranks = np.where(row == 0, 0.0, scipy.stats.rankdata(np.abs(row)) - (row == 0).sum())
        sums = signs @ ranks
        observed = ranks[row > 0].sum()
        p[pair] = min(1.0, 2 * min((sums >= observed).mean(), (sums <= observed).mean()))
    return p


def holm(p: Array) -> Array:
    """Return p-values (..., test) that bound the probability of any error (Holm)."""
    order = np.argsort(p, axis=-1)
    steps = np.take_along_axis(p, order, axis=-1) * np.arange(p.shape[-1], 0, -1)
    highest = np.minimum(np.maximum.accumulate(steps, axis=-1), 1.0)
    return np.take_along_axis(highest, np.argsort(order, axis=-1), axis=-1)


def benjamini_hochberg(p: Array) -> Array:
    """Return p-values (..., test) that bound the share of errors among what is found."""
    order = np.argsort(p, axis=-1)[..., ::-1]
    n = p.shape[-1]
    steps = np.take_along_axis(p, order, axis=-1) * (n / np.arange(n, 0, -1))
    lowest = np.minimum(np.minimum.accumulate(steps, axis=-1), 1.0)
    return np.take_along_axis(lowest, np.argsort(order, axis=-1), axis=-1)


def adjusted(p: Array) -> dict[str, Array]:
    """Return p-values (..., test) adjusted for their number, by names of variables.

    A test without a p-value counts as one that finds nothing, and has no adjusted one.
    """
    missing = np.isnan(p)
    known = np.where(missing, 1.0, p)
    found = {"p_value_holm": holm(known), "p_value_bh": benjamini_hochberg(known)}
    return {name: np.where(missing, np.nan, of) for name, of in found.items()}
