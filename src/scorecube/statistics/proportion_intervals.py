"""Intervals of proportions, also of comparisons that are not independent."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import stdtrit

Z95 = 1.959963984540054
LEVEL = 0.95
T_RANGE = (1.0, 1e9)
"""Degrees of freedom."""

Array = np.ndarray[Any, Any]


def wilson(successes: Array, trials: Array, z: Array | float = Z95) -> tuple[Array, Array]:
    """Return the Wilson score interval of successes / trials, NaN where trials is 0.

    It takes trials for independent; of others give the effective numbers, see `effective_size`.

    Parameters
    ----------
    successes, trials
        Numbers of equal shape, not necessarily integers.
    z
        Quantile; default that of the normal distribution for 95 %, two-sided.

    References
    ----------
    Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927.

    Examples
    --------
    >>> [float(end.round(4)) for end in wilson(np.array(8), np.array(10))]
    [0.4902, 0.9433]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(trials > 0, successes / trials, np.nan)
        centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
        half = z * np.sqrt(share * (1 - share) / trials + z * z / (4.0 * trials * trials)) / (1 + z * z / trials)
    # At the ends the formula is exact but its floating-point terms do not cancel.
    low = np.where(successes == 0, np.where(trials > 0, 0.0, np.nan), centre - half)
    high = np.where((successes == trials) & (trials > 0), 1.0, centre + half)
    return low, high


def effective_size(
    swaps: Array, count: Array, products: Array, trials: int, *, most: float | None = None
) -> tuple[Array, Array]:
    """Return how many independent comparisons those of some trials are worth, and the degrees of freedom of that.

    Comparisons of a trial share its topic samples, trials are independent. The variance of the ratio of both sums over trials gives the
    design effect (Kish 1965, section 5.4), by which the number of comparisons is divided. Where few trials have a swap, or few
    have none, the variance is hardly known: there the design effect is drawn towards what it were if all comparisons of a trial agreed.

    Parameters
    ----------
    swaps, count
        Sums over trials, int64 of equal shape.
    products
        Sums over trials of each trial's count**2, count * swaps and swaps**2: Python's integers (3, ...).
    trials
        Number of trials.
    most
        Design effect if all comparisons that are not independent agreed; None for all of a trial.

    Returns
    -------
    size, freedom
        float64; at most the count, 0 where that is 0; effective number of trials - 1, at least 1.

    References
    ----------
    Kish, "Survey sampling", 1965. Korn and Graubard, "Confidence intervals for proportions with small expected number of positive counts
    estimated from survey data", Survey Methodology 1998: Wilson's interval of such a number, with the t quantile.

    Examples
    --------
    Half of 40 comparisons are swaps: two of four in each of 10 trials; all of four, or none, in each:

    >>> count, swaps, squares = np.array([40, 40]), np.array([20, 20]), [[160, 160], [80, 80], [40, 80]]
    >>> size, freedom = effective_size(swaps, count, np.array(squares, object), 10)
    >>> size.round(1).tolist(), freedom.tolist()
    ([35.3, 9.2], [9.0, 9.0])
    """
    c, s = count.astype(object), swaps.astype(object)
    cc, cs, ss = products
    u, uu = c - s, cc - 2 * cs + ss
    # Integers until here: the squares of deviations are small differences of large numbers.
    deviations = ss * c * c - 2 * s * c * cs + s * s * cc
    effect = _ratio(deviations, c * s * u) * (trials / max(trials - 1, 1))
    clumped = _ratio(cc, c)
    # Trials with as many swaps each as would make the same sum of squares; of non-swaps alike.
    clumps = np.minimum(_ratio(s * s, ss), _ratio(u * u, uu))
    known = clumps / (clumps + 1) * (trials > 1)
    largest = clumped if most is None else np.minimum(clumped, most)
    design = np.maximum(effect, 1.0) ** known * np.maximum(largest, 1.0) ** (1 - known)
    return count / design, np.maximum(_ratio(c * c, cc) - 1, T_RANGE[0])


def student_quantile(freedom: Array) -> Array:
    """Return the two-sided 95 % quantile of Student's t distribution."""
    return np.asarray(stdtrit(freedom, (1 + LEVEL) / 2))


def _ratio(above: Array, below: Array) -> Array:
    """Divide Python's integers, correctly rounded; by 0 gives 0."""
    nothing = below == 0
    return np.asarray(np.where(nothing, 0, above) / np.where(nothing, 1, below), float)
