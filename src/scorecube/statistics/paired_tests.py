"""P-values of the t, Wilcoxon and sign tests of many pairs, by SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

Array = NDArray[Any]
MAX_EXACT, MAX_PERMUTED = 50, 13
"""Largest numbers of topics for exact p-values: without and with ties (as SciPy)."""


def classical_p_values(test: str, differences: Array, rounding: float = 0.0) -> Array:
    """Return the two-sided p-values of pairs of runs.

    test: ``t``, ``wilcoxon`` or ``sign``.
    differences: float64 (pair, topic): differences of scores.
    rounding: Largest rounding error of a difference.
    Returns p: float64 (pair,); 1 for pairs without a difference.
    """
    equal = ~differences.any(axis=1)
    p = np.ones(len(differences))
    unequal = differences[~equal]
    if not len(unequal):
        return p
    if test == "sign":
        ahead, behind = (unequal > 0).sum(axis=1), (unequal < 0).sum(axis=1)
        p[~equal] = np.minimum(
            1.0, 2 * scipy.stats.binom.cdf(np.minimum(ahead, behind), ahead + behind, 0.5)
        )
    elif test == "wilcoxon":
        p[~equal] = signed_rank_p_values(unequal)
    else:
        varying = np.ptp(unequal, axis=1) > 2 * rounding
        values = np.zeros(len(unequal))  # t of a constant difference is infinite
        if varying.any():
            values[varying] = scipy.stats.ttest_1samp(unequal[varying], 0.0, axis=1).pvalue
        p[~equal] = values
    return p


def welch_p_values(first: Array, second: Array) -> Array:
    """Return the two-sided p-values of Welch's t test of pairs of runs, as if they had other topics: float64 (pair,).

    first, second: float64 (pair, topic): scores. Two runs without spread have p = 0, or 1 if they are equal.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        p = scipy.stats.ttest_ind(first, second, axis=1, equal_var=False).pvalue
    apart = first.mean(axis=1) != second.mean(axis=1)
    return np.where(np.isnan(p), np.where(apart, 0.0, 1.0), p)


def signed_rank_p_values(differences: Array) -> Array:
    """Return the p-values of Wilcoxon's test of differences (pair, topic).

    Zero differences are left out. The p-value is exact for up to 50 topics without ties and zeros, and for up
    to 13 topics with them; otherwise it is that of the normal approximation. SciPy chooses one method for all
    pairs of a call, so pairs are divided here.
    """
    n = differences.shape[1]
    ordered = np.sort(np.abs(differences), axis=1)
    distinct = (ordered[:, 0] > 0) & (np.diff(ordered, axis=1) > 0).all(axis=1)
    p = np.empty(len(differences))
    if n > MAX_EXACT:
        return np.asarray(scipy.stats.wilcoxon(differences, axis=1, method="asymptotic").pvalue)
    if distinct.any():
        p[distinct] = scipy.stats.wilcoxon(differences[distinct], axis=1, method="exact").pvalue
    if not distinct.all():
        tied = differences[~distinct]
        p[~distinct] = (
            scipy.stats.wilcoxon(tied, axis=1, method="asymptotic").pvalue
            if n > MAX_PERMUTED
            else exact_p_values(tied)
        )
    return p


def exact_p_values(differences: Array) -> Array:
    """Return exact p-values of the signed-rank test with ties, over all signs."""
    zero = differences == 0
    ranks = np.rint(
        2
        * scipy.stats.rankdata(
            np.where(zero, np.nan, np.abs(differences)), axis=1, nan_policy="omit"
        )
    )
    twice = np.where(zero, 0, np.nan_to_num(ranks)).astype(
        np.int64
    )  # doubled: ties have half ranks
    observed = np.where(differences > 0, twice, 0).sum(axis=1)
    largest = int(twice.sum(axis=1).max())
    n_vectors = np.zeros((len(differences), largest + 1))
    n_vectors[:, 0] = 1.0
    rank_sums = np.arange(largest + 1)
    for rank in twice.T:
        before = rank_sums - rank[:, np.newaxis]
        n_vectors += np.where(
            before >= 0, np.take_along_axis(n_vectors, np.maximum(before, 0), axis=1), 0.0
        )
    upper = np.where(rank_sums >= observed[:, np.newaxis], n_vectors, 0.0).sum(axis=1)
    lower = np.where(rank_sums <= observed[:, np.newaxis], n_vectors, 0.0).sum(axis=1)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(upper, lower) / 2.0 ** differences.shape[1]))
