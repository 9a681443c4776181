"""Confidence intervals of proportions, also of comparisons that are not independent."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Z95 = 1.959963984540054
"""Two-sided 95 % quantile of the normal distribution."""
LEVEL = 0.95
T_RANGE = (1.0, 1e9)
"""Least and largest degrees of freedom of a t quantile; at the largest it is the normal quantile to eight digits."""

FloatArray = NDArray[np.float64]
Numbers = NDArray[np.float64 | np.int64]


def wilson(
    successes: Numbers, trials: Numbers, z: FloatArray | float = Z95
) -> tuple[FloatArray, FloatArray]:
    """Return the Wilson score interval of successes / trials, NaN where trials is 0.

    Trials must be independent; for others pass effective numbers, see `effective_size`.

    successes, trials: Numbers of equal shape (...), not necessarily integers.
    z: Two-sided quantile, by default that of the normal distribution for 95 %.
    References: Wilson, "Probable inference, the law of succession, and statistical inference", JASA 1927.

    Examples
    --------
    >>> [float(end.round(4)) for end in wilson(np.array(8), np.array(10))]
    [0.4902, 0.9433]
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(trials > 0, successes / trials, np.nan)
        centre = (share + z * z / (2 * trials)) / (1 + z * z / trials)
        half = (
            z
            * np.sqrt(share * (1 - share) / trials + z * z / (4.0 * trials * trials))
            / (1 + z * z / trials)
        )
    # At rates of 0 and 1 the limits are exactly 0 and 1, but the floating-point terms of the formula do not cancel.
    low = np.where(successes == 0, np.where(trials > 0, 0.0, np.nan), centre - half)
    high = np.where((successes == trials) & (trials > 0), 1.0, centre + half)
    return low, high


def effective_size(
    swaps: NDArray[np.int64],
    count: NDArray[np.int64],
    products: NDArray[np.object_],
    trials: int,
    *,
    most: float | None = None,
) -> tuple[FloatArray, FloatArray]:
    """Return the effective number of comparisons, and its degrees of freedom.

    Comparisons of a trial share its topic samples, trials are independent. The variance of the ratio of both sums over
    trials gives the design effect (Kish 1965, section 5.4), by which the number of comparisons is divided. If few
    trials have a swap, or few have a comparison without one, the estimate of the variance is poor: then the design
    effect is shrunk towards its value if all comparisons of a trial agreed.

    swaps, count: int64 (...): sums over trials of swaps, and of comparisons.
    products: Python integers (3, ...): sums over trials of count**2, count * swaps and swaps**2 of each trial.
    most: Design effect if all dependent comparisons agreed; None for all comparisons of a trial.
    Returns size, freedom: float64 (...): effective number of comparisons, at most the count, 0 where that is 0;
        effective number of trials - 1, at least 1.
    References: Kish, "Survey sampling", 1965. Korn and Graubard, "Confidence intervals for proportions with small
        expected number of positive counts estimated from survey data", Survey Methodology 1998: Wilson's interval of
        such a number, with the t quantile.

    Examples
    --------
    Half of 40 comparisons are swaps: two of four in each of 10 trials, or all four in half of the trials:

    >>> count, swaps, squares = np.array([40, 40]), np.array([20, 20]), [[160, 160], [80, 80], [40, 80]]
    >>> size, freedom = effective_size(swaps, count, np.array(squares, object), 10)
    >>> size.round(1).tolist(), freedom.tolist()
    ([35.3, 9.2], [9.0, 9.0])
    """
    c, s = count.astype(object), swaps.astype(object)
    cc, cs, ss = products
    u, uu = c - s, cc - 2 * cs + ss
    # Integers up to here, as the squares of deviations are small differences of large numbers.
    deviations = ss * c * c - 2 * s * c * cs + s * s * cc
    effect = _ratio(deviations, c * s * u) * (trials / max(trials - 1, 1))
    clumped = _ratio(cc, c)
    # Number of trials with equal numbers of swaps that has this sum of squares; the same for comparisons without a
    # swap.
    clumps = np.minimum(_ratio(s * s, ss), _ratio(u * u, uu))
    known = clumps / (clumps + 1) * (trials > 1)
    largest = clumped if most is None else np.minimum(clumped, most)
    design = np.maximum(effect, 1.0) ** known * np.maximum(largest, 1.0) ** (1 - known)
    return count / design, np.maximum(_ratio(c * c, cc) - 1, T_RANGE[0])


def student_quantile(freedom: ArrayLike, confidence: float = LEVEL) -> FloatArray:
    """Return the two-sided quantile of Student's t distribution, for 95 % by default.

    Examples
    --------
    >>> student_quantile([1.0, 1e9]).round(3).tolist()
    [12.706, 1.96]
    """
    from scipy.special import stdtrit  # imported here, as it takes long to import

    return np.asarray(stdtrit(freedom, (1 + confidence) / 2))


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> FloatArray:
    """Divide Python integers, correctly rounded; division by 0 gives 0."""
    nothing = below == 0
    return np.asarray(np.where(nothing, 0, above) / np.where(nothing, 1, below), float)
