"""Kendall's tau of one pair of rankings, and its null distribution: standard error, p-values and intervals.

`scorecube.kernels.rank.concordance` counts the pairs of many rankings in many trials. Importing `scipy.stats` would take a hundred times as long as tau-b.

References: Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant document", section
4.1; Sakai and Shang 2016, "On estimating variances for topic set size design", Table 2; Fieller, Hartley and
Pearson 1957, "Tests for rank correlation coefficients", Biometrika 44.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray


def tau_b(first: NDArray[np.float64], second: NDArray[np.float64]) -> float:
    """Return Kendall's tau-b; NaN where a ranking ties all items.

    first, second: float64 (item,): values by which items are ranked.
    References: Kendall 1970, "Rank correlation methods", section 3.4.

    Examples
    --------
    >>> tau_b(np.array([4.0, 3.0, 2.0, 1.0]), np.array([4.0, 2.0, 2.0, 3.0]))
    0.18257418583505539
    """
    n_items = len(first)
    x, y = (np.unique(values, return_inverse=True)[1] for values in (first, second))
    y = y[np.lexsort((y, x))]  # by the first ranking; of items that it ties, none is discordant
    discordant = sum(int(np.count_nonzero(y[:k] > y[k])) for k in range(n_items))
    n_pairs = math.comb(n_items, 2)
    tied_first, tied_second = _tied(x), _tied(y)
    if n_pairs in (tied_first, tied_second):
        return math.nan
    x = np.sort(x)
    score = n_pairs - tied_first - tied_second + _tied(x * n_items + y) - 2 * discordant
    tau = score / math.sqrt(n_pairs - tied_first) / math.sqrt(n_pairs - tied_second)
    return min(1.0, max(-1.0, tau))


def _tied(ranks: NDArray[np.int64]) -> int:
    """Return the number of pairs of equal ranks."""
    counts = np.unique(ranks, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


MOST_EXACT = 60
"""Runs up to which p-values are exact; for more runs the normal distribution is close."""
FIELLER = 0.437
"""Variance of atanh(tau) times (runs - 4)."""


def null_error(n_runs: int) -> float:
    """Return the standard error of tau between unrelated rankings (Sakai 2007, equation 9).

    Rankings have no ties; NaN for fewer than 3 runs.

    Examples
    --------
    >>> round(2.5758293 * null_error(30), 4)
    0.3319
    """
    if n_runs < 3:
        return math.nan
    return math.sqrt((4 * n_runs + 10) / (9 * n_runs * (n_runs - 1)))


def normal_p(z: ArrayLike) -> NDArray[np.float64]:
    """Return two-sided p-values of the normal distribution; NaN for NaN.

    Examples
    --------
    >>> normal_p([0.0, 1.959964]).round(6).tolist()
    [1.0, 0.05]
    """
    flat = [math.erfc(abs(float(each)) / math.sqrt(2.0)) for each in np.ravel(z)]
    return np.array(flat).reshape(np.shape(z))


@cache
def mahonian(n_runs: int) -> tuple[int, ...]:
    """Return the numbers of orders of runs with 0, 1, 2, ... discordant pairs.

    Pairs are compared with a given order: these are the Mahonian numbers.

    Examples
    --------
    >>> mahonian(4)
    (1, 3, 5, 6, 5, 3, 1)
    """
    counts = [1]
    for size in range(2, n_runs + 1):
        # The next run can be inserted at any of `size` ranks, so each number is the sum of a window of `counts`.
        longer, window = [], 0
        for k in range(len(counts) + size - 1):
            window += counts[k] if k < len(counts) else 0
            window -= counts[k - size] if k >= size else 0
            longer.append(window)
        counts = longer
    return tuple(counts)


def exact_p(n_runs: int, concordant: int, discordant: int) -> float:
    """Return the two-sided p-value of tau between rankings without ties.

    It is the share of all n! orders whose tau is at least as far from 0. NaN with ties, or for more than `MOST_EXACT`
    runs.

    Examples
    --------
    >>> round(exact_p(30, (435 + 145) // 2, (435 - 145) // 2), 6)
    0.009346
    """
    if not 2 <= n_runs <= MOST_EXACT or concordant + discordant != n_runs * (n_runs - 1) // 2:
        return math.nan
    counts = mahonian(n_runs)
    fewest = min(concordant, discordant)
    if concordant == discordant:
        return 1.0
    return 2 * sum(counts[: fewest + 1]) / math.factorial(n_runs)


def fieller(
    tau: ArrayLike, n_runs: int, quantile: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return an interval of tau (Fieller, Hartley and Pearson 1957).

    atanh(tau) is assumed to be normal with variance .437 / (n - 4), as for samples of runs with bivariate normal
    scores. Unlike the interval of Sakai 2007 and Sakai and Shang 2016, this one is within -1 .. 1 and narrower near these limits. NaN for fewer
    than 5 runs.

    tau: float64 (...).
    quantile: Two-sided quantile of the normal distribution.

    Examples
    --------
    >>> [round(float(each), 3) for each in fieller(0.8, 44, 1.959964)]
    [0.713, 0.863]
    """
    if n_runs < 5:
        nothing = np.full(np.shape(tau), np.nan)
        return nothing, nothing
    with np.errstate(divide="ignore"):
        middle, half = np.arctanh(tau), quantile * math.sqrt(FIELLER / (n_runs - 4))
    return np.tanh(middle - half), np.tanh(middle + half)
