"""Gaussian copulas of many systems with given margins and given correlations of scores.

The correlation of two scores is a power series of the correlation of the normal variables behind them, with the coefficients of Hermite polynomials of
both margins (Lancaster 1957; Cario and Nelson 1997, "Modeling and generating random vectors with arbitrary marginal distributions and
correlation matrix"). So the normal correlations that give the sample's correlations are found by solving it, and covariances of a population are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy
from numpy.typing import NDArray

from scorecube.statistics.margins import Margin

FloatArray = NDArray[np.float64]
DEGREES = 40
"""Hermite polynomials in a series; the rest of the variance is stated with covariances."""
STEPS = 60
"""Bisections of a correlation."""
LARGEST = 0.999
"""Largest absolute correlation of two normal variables."""
BITS = 20
"""Binary digits of loadings and of normal variables, so that their sums of products are exact in any order."""


def hermite_coefficients(margin: Margin) -> FloatArray:
    """Return the coefficients of normalised Hermite polynomials of degree 1, 2, ... of a score as a function of a normal variable.

    Their squares add up to the variance of the score, except for degrees above `DEGREES`.

    Parameters
    ----------
    margin
        Distribution of the score.
    """
    cuts, weights = scipy.special.ndtri(margin.cumulative[:-1]), np.diff(margin.support)
    inner = np.isfinite(cuts)
    cuts, weights = cuts[inner], weights[inner]
    heights = weights * np.exp(-0.5 * cuts * cuts) / math.sqrt(2.0 * math.pi)
    found = np.empty(DEGREES)
    before, now = np.zeros_like(cuts), np.ones_like(cuts)
    for k in range(1, DEGREES + 1):
        found[k - 1] = (heights * now).sum() / math.sqrt(k)
        before, now = now, (cuts * now - math.sqrt(k - 1) * before) / math.sqrt(k)
    return found


def score_covariances(normal: FloatArray, coefficients: FloatArray) -> FloatArray:
    """Return the covariances of scores, float64 (system, system); of a system with itself only up to the series' last degree.

    Parameters
    ----------
    normal
        float64 (system, system): correlations of the normal variables.
    coefficients
        float64 (system, degree): of `hermite_coefficients`.
    """
    total = np.zeros_like(normal)
    for column in coefficients.T[::-1]:
        total = (total + np.outer(column, column)) * normal
    return total


def normal_correlations(wanted: FloatArray, margins: Sequence[Margin]) -> FloatArray:
    """Return the correlations of normal variables that give scores their correlations, where margins allow them.

    Parameters
    ----------
    wanted
        float64 (system, system): correlations of scores; NaN, of a system with a constant score, counts as 0.
    margins
        Margin of each system.
    """
    coefficients = np.array([hermite_coefficients(margin) for margin in margins])
    deviations = np.sqrt([max(margin.variance, 0.0) for margin in margins])
    target = np.nan_to_num(wanted) * np.outer(deviations, deviations)
    low, high = np.full(wanted.shape, -LARGEST), np.full(wanted.shape, LARGEST)
    for _ in range(STEPS):
        middle = (low + high) / 2.0
        above = score_covariances(middle, coefficients) > target
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    found = (low + high) / 2.0
    found[np.outer(deviations, deviations) == 0.0] = 0.0
    np.fill_diagonal(found, 1.0)
    return np.asarray((found + found.T) / 2.0)


def loadings(correlations: FloatArray, rank: int) -> FloatArray:
    """Return loadings on independent normal variables that nearly have given correlations.

    Parameters
    ----------
    correlations
        float64 (system, system): need not be positive semidefinite.
    rank
        Largest number of variables.

    Returns
    -------
    loadings
        float64 (system, variable): multiples of 2**-BITS; the squares of a row add up to 1 but for that rounding.
    """
    values, vectors = np.linalg.eigh(correlations)
    order = np.argsort(-values, kind="stable")[:rank]
    order = order[values[order] > 0.0]
    # The sign of an eigenvector is the library's choice.
    chosen = vectors[:, order]
    chosen = chosen * np.where(chosen.sum(axis=0) < 0, -1.0, 1.0)
    found = chosen * np.sqrt(values[order])
    lengths = np.sqrt((found**2).sum(axis=1))
    found[lengths == 0.0, 0] = 1.0  # of a constant score, which no variable changes
    found /= np.where(lengths == 0.0, 1.0, lengths)[:, np.newaxis]
    return np.asarray(np.rint(found * 2.0**BITS) / 2.0**BITS)
