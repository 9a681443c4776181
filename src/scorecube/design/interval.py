"""Expected width of confidence intervals for the difference of two systems' means."""

import numpy as np
import scipy

from scorecube.design.search import TOLERANCE, FloatArray, IntArray, smallest_integer

SERIES_FROM = 200.0
"""Smallest degrees of freedom with an exact series of c4 in double precision."""


def c4(n: FloatArray) -> FloatArray:
    """Return E[s] / sigma of a sample of n from a normal distribution.

    It is sqrt(2 / (n - 1)) Gamma(n / 2) / Gamma((n - 1) / 2), computed with logarithms for small n, and with
    its asymptotic series for large n, for which the difference of logarithms would lose digits.

    Examples
    --------
    >>> c4(np.array([2.0, 10.0, 1e6])).round(8).tolist()
    [0.79788456, 0.97265927, 0.99999975]
    """
    degrees = np.asarray(n, np.float64) - 1.0
    u = 1.0 / np.maximum(degrees, SERIES_FROM)
    series = 1.0 + u * (-1 / 4 + u * (1 / 32 + u * (5 / 128 + u * (-21 / 2048 - u * 399 / 8192))))
    small = np.minimum(degrees, SERIES_FROM)
    direct = np.sqrt(2.0 / small) * np.exp(
        scipy.special.gammaln((small + 1.0) / 2.0) - scipy.special.gammaln(small / 2.0)
    )
    return np.where(degrees >= SERIES_FROM, series, direct)


def unit_width(n: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the expected width of the t interval, per unit of standard deviation.

    References
    ----------
    Sakai 2017, section 2: E[width] = 2 t c4(n) sigma_t / sqrt(n).

    Examples
    --------
    >>> round(float(unit_width(np.array(50.0), np.array(0.05)) * np.sqrt(2 * 0.0368)), 4)
    0.1534
    """
    n = np.asarray(n, np.float64)
    t = -scipy.special.stdtrit(n - 1.0, alpha / 2.0)  # scipy.stats takes long to import
    return np.asarray(2.0 * t * c4(n) / np.sqrt(n), np.float64)


def expected_interval_width(n: FloatArray, variance: FloatArray, alpha: FloatArray) -> FloatArray:
    """Return the expected width of the t interval, in units of the scores.

    `variance` is the within-system variance; the variance of differences is twice as large.
    """
    return np.asarray(unit_width(n, alpha) * np.sqrt(2.0 * variance), np.float64)


def interval_size(
    variance: FloatArray, width: FloatArray, alpha: FloatArray, maximum: float
) -> IntArray:
    """Return the smallest number of topics with an expected width of at most `width`.

    variance: Within-system variance, in squared score units; all arrays have one shape.
    width: Largest expected width, in units of the scores.
    alpha: 1 - confidence level.
    maximum: Largest number of topics allowed.
    Returns topics: Number of topics.
    References: Sakai 2017, equation 1 (the first estimate) and section 2 (its increments).
    """
    with np.errstate(over="ignore"):
        allowed = width / np.sqrt(2.0 * variance)
        first = (2.0 * scipy.special.ndtri(alpha / 2.0) / allowed) ** 2

    return smallest_integer(
        lambda n: np.asarray(unit_width(n, alpha) <= allowed * (1.0 + TOLERANCE), bool),
        np.full_like(allowed, 2.0),
        np.ceil(first),
        maximum,
        "the number of topics",
    )
