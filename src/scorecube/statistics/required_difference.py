"""Performance difference required for a given confidence, from swap counts by bin."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]


def required_bins(
    count: IntArray, swaps: IntArray, confidence: Sequence[float], *, lowest: int = 1
) -> tuple[IntArray, IntArray]:
    """Return the bins whose lower edge is the required difference, -1 for none.

    Parameters
    ----------
    count, swaps
        int64 (..., bin): comparisons and swaps by absolute difference.
    confidence
        1 - accepted swap rate, for each level.
    lowest
        Lowest bin that may be returned.

    Returns
    -------
    first
        int64 (..., confidence): lowest bin whose swap rate is at most 1 - confidence.
    suffix
        int64 (..., confidence): lowest such bin without a higher bin above that rate; empty bins are ignored.

    Examples
    --------
    >>> count, swaps = np.array([50, 50, 50, 0, 10]), np.array([20, 5, 4, 0, 1])
    >>> first, suffix = required_bins(count, swaps, [0.9, 0.99])
    >>> first.tolist(), suffix.tolist()
    ([1, -1], [1, -1])
    """
    first = np.full((*count.shape[:-1], len(confidence)), -1, np.int64)
    suffix = first.copy()
    for k, level in enumerate(confidence):
        accepted = 1 - Fraction(str(level))
        # Exact comparison swaps / count <= accepted, in Python integers.
        most = [int(each) * accepted.numerator // accepted.denominator for each in count.ravel()]
        within = swaps <= np.array(most, np.int64).reshape(count.shape)
        qualifies = within & (count > 0)
        qualifies[..., :lowest] = False
        holds_above = np.logical_and.accumulate((within | (count == 0))[..., ::-1], axis=-1)[
            ..., ::-1
        ]
        for chosen, found in ((first, qualifies), (suffix, qualifies & holds_above)):
            chosen[..., k] = np.where(found.any(axis=-1), np.argmax(found, axis=-1), -1)
    return first, suffix
