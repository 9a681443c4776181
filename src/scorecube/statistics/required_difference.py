"""Performance difference required for a given confidence, from swap counts by bin.

Two rules: `suffix_bins` has that of the papers, which a single bin with few comparisons can move by many bins;
`isotonic_bins` pools such a bin with its neighbours. Its curve is the weighted isotonic regression of the swap rates,
not increasing with the difference, with comparisons as weights (Barlow, Bartholomew, Bremner and Brunk 1972,
"Statistical inference under order restrictions"). The fitted rate exceeds a rate q in the bins below k, where k is the
smallest number that maximises the sum over these bins of swaps - q * comparisons: integers decide, and no fit is needed.

The regression is in plain Python: importing `scipy.optimize` takes longer than all fits of an analysis. References: Busing 2022, "Monotone regression: a simple and fast O(n) PAVA implementation", Journal of Statistical Software 102, code
snippet 1, algorithm 1; `scipy.optimize.isotonic_regression` adds in the same order, so that all bits are equal (tests/statistics/test_isotonic.py).
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def non_increasing(values: Floats, weights: Floats) -> Floats:
    """Return the sequence that does not increase and has the least weighted sum of squared differences from the values.

    values, weights: float64 (place,): weights above 0.
    Returns fitted: float64 (place,).

    Examples
    --------
    >>> non_increasing(np.array([0.5, 0.0, 0.25, 0.0]), np.array([4.0, 6.0, 2.0, 1.0])).tolist()
    [0.5, 0.0625, 0.0625, 0.0]
    """
    x, w = values[::-1].tolist(), weights[::-1].tolist()
    means: list[float] = []
    totals: list[float] = []
    ends, place = [0], 0
    while place < len(x):
        mean, weight = x[place], w[place]
        if means and means[-1] >= mean:
            before = totals.pop()
            product = before * means.pop() + weight * mean
            weight += before
            ends.pop()
            mean = product / weight
            while place + 1 < len(x) and mean >= x[place + 1]:
                place += 1
                product += w[place] * x[place]
                weight += w[place]
                mean = product / weight
            while means and means[-1] >= mean:
                product += totals[-1] * means.pop()
                weight += totals.pop()
                ends.pop()
                mean = product / weight
        means.append(mean)
        totals.append(weight)
        place += 1
        ends.append(place)
    return np.repeat(np.array(means, np.float64), np.diff(ends))[::-1]


IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


def suffix_bins(count: IntArray, swaps: IntArray, confidence: Sequence[float]) -> IntArray:
    """Return the bins whose lower edge is the required difference of the papers, -1 for none.

    count, swaps: int64 (..., bin): comparisons and swaps by absolute difference.
    confidence: 1 - accepted swap rate, for each level.
    Returns bins: int64 (..., confidence): lowest bin but the first whose swap rate is at most 1 - confidence, without a higher
        bin above that rate; empty bins are ignored.

    Examples
    --------
    >>> suffix_bins(np.array([50, 50, 50, 0, 10]), np.array([20, 5, 4, 0, 1]), [0.9, 0.99]).tolist()
    [1, -1]
    """
    found = np.full((*count.shape[:-1], len(confidence)), -1, np.int64)
    for k, level in enumerate(confidence):
        accepted = 1 - Fraction(str(level))
        # Exact comparison swaps / count <= accepted, in Python integers.
        most = [int(each) * accepted.numerator // accepted.denominator for each in count.ravel()]
        within = swaps <= np.array(most, np.int64).reshape(count.shape)
        holds = np.logical_and.accumulate((within | (count == 0))[..., ::-1], axis=-1)[..., ::-1]
        chosen = within & (count > 0) & holds
        chosen[..., 0] = False
        found[..., k] = np.where(chosen.any(axis=-1), np.argmax(chosen, axis=-1), -1)
    return found


def isotonic_bins(count: IntArray, swaps: IntArray, confidence: Sequence[float]) -> IntArray:
    """Return the lowest bin whose fitted swap rate is at most 1 - confidence, -1 for none.

    count, swaps, confidence: As of `suffix_bins`.
    Returns bins: int64 (..., confidence): lowest bin but the first that is not empty and has such a fitted rate.

    Examples
    --------
    The third bin's rate of 2 in 10 is pooled with that of the second:

    >>> count, swaps = np.array([[50, 90, 10, 50]]), np.array([[20, 3, 2, 1]])
    >>> isotonic_bins(count, swaps, [0.95, 0.9, 0.99]).tolist()
    [[1, 1, -1]]
    """
    position = np.arange(count.shape[-1])
    found = np.full((*count.shape[:-1], len(confidence)), -1, np.int64)
    for k, level in enumerate(confidence):
        accepted = 1 - Fraction(str(level))
        largest = int(count.sum(axis=-1).max(initial=0)) * accepted.denominator
        number = np.int64 if largest < 2**62 else object  # Python integers do not overflow
        excess = swaps.astype(number) * accepted.denominator
        excess = np.cumsum(excess - count.astype(number) * accepted.numerator, axis=-1)
        before = np.concatenate([np.zeros_like(excess[..., :1]), excess], axis=-1)
        above = np.argmax(before == before.max(axis=-1, keepdims=True), axis=-1)[..., np.newaxis]
        chosen = (position >= np.maximum(above, 1)) & (count > 0)
        found[..., k] = np.where(chosen.any(axis=-1), np.argmax(chosen, axis=-1), -1)
    return found


def fitted_rates(count: IntArray, swaps: IntArray) -> FloatArray:
    """Return the weighted isotonic regression of swap rates, NaN for empty bins.

    count, swaps: int64 (..., bin), as of `suffix_bins`.
    Returns rates: float64 (..., bin), not increasing along bins.

    Examples
    --------
    >>> fitted_rates(np.array([50, 90, 0, 10]), np.array([20, 3, 0, 2])).tolist()
    [0.4, 0.05, nan, 0.05]
    """
    rates = np.full(count.shape, np.nan)
    for position in np.ndindex(count.shape[:-1]):
        filled = count[position] > 0
        if filled.any():
            weights = count[position][filled].astype(np.float64)
            rates[position][filled] = non_increasing(swaps[position][filled] / weights, weights)
    return rates


def crossing(
    count: IntArray, swaps: IntArray, bins: IntArray, confidence: Sequence[float]
) -> FloatArray:
    """Return where the fitted curve reaches 1 - confidence, in bin widths, NaN for nowhere.

    The curve is linear between the middles of the bins on both sides of that point.

    count, swaps, confidence: As of `suffix_bins`.
    bins: int64 (..., confidence): of `isotonic_bins`.
    Returns widths: float64 (..., confidence): within half a bin of the required bin's lower edge if no bin is empty,
        and that edge if no lower bin has a higher fitted rate than 1 - confidence.

    Examples
    --------
    >>> count, swaps = np.array([100, 100, 100]), np.array([30, 10, 2])
    >>> crossing(count, swaps, isotonic_bins(count, swaps, [0.95]), [0.95]).tolist()
    [2.125]
    """
    position = np.arange(count.shape[-1])
    found = np.full(bins.shape, np.nan)
    total, swapped = (np.cumsum(each, axis=-1, dtype=np.float64) for each in (count, swaps))
    zero = np.zeros_like(total[..., :1])
    for k, level in enumerate(confidence):
        rate = float(1 - Fraction(str(level)))
        above = bins[..., k, np.newaxis]
        below = np.where((count > 0) & (position < above), position, -1).max(axis=-1, keepdims=True)
        ends = np.maximum(np.concatenate([above, below + 1], axis=-1), 0)
        # Sums below the required bin, and up to the last bin before it that is not empty.
        until = [
            np.take_along_axis(np.concatenate([zero, s], axis=-1), ends, axis=-1)
            for s in (total, swapped)
        ]
        with np.errstate(invalid="ignore", divide="ignore"):
            after = (swapped - until[1][..., :1]) / (total - until[0][..., :1])
            before = np.concatenate([zero, swapped], axis=-1)[..., :-1]
            before = (until[1][..., 1:] - before) / (
                until[0][..., 1:] - np.concatenate([zero, total], axis=-1)[..., :-1]
            )
            low = np.where(position >= above, after, -np.inf).max(axis=-1)
            high = np.where((position <= below) & (count > 0), before, np.inf).min(axis=-1)
            middle = below[..., 0] + 0.5 + (high - rate) / (high - low) * (above - below)[..., 0]
        reached = np.where((below[..., 0] >= 0) & (high > rate), middle, above[..., 0])
        found[..., k] = np.where(above[..., 0] >= 0, reached, np.nan)
    return found


def share_beyond(count: IntArray, widths: FloatArray) -> FloatArray:
    """Return the share of comparisons with at least a difference; within a bin they are taken as evenly spread.

    count: int64 (..., bin).
    widths: float64 (..., confidence): differences in bin widths, NaN for none.
    Returns share: float64 (..., confidence), 0 for none.

    Examples
    --------
    >>> share_beyond(np.array([60, 20, 20]), np.array([1.5, 2.0, np.nan])).tolist()
    [0.3, 0.2, 0.0]
    """
    n_bins = count.shape[-1]
    at_least = np.cumsum(count[..., ::-1], axis=-1)[..., ::-1]
    at_least = np.concatenate([at_least, np.zeros_like(at_least[..., :1])], axis=-1)
    place = np.nan_to_num(widths, nan=float(n_bins))
    lower = np.minimum(place.astype(np.int64), n_bins - 1)
    part = np.clip(place - lower, 0.0, 1.0)
    both = [np.take_along_axis(at_least, lower + step, axis=-1) for step in (0, 1)]
    return np.asarray(((1 - part) * both[0] + part * both[1]) / np.maximum(at_least[..., :1], 1))
