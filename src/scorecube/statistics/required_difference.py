"""The difference that is required for a given confidence, from counts by bin."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

IntArray = np.ndarray[Any, np.dtype[np.int64]]


def required_bins(
    count: IntArray, swaps: IntArray, confidence: Sequence[float], *, lowest: int = 1
) -> tuple[IntArray, IntArray]:
    """Return the bins whose lower edge is the required difference, -1 where there is none.

    Parameters
    ----------
    count, swaps
        By absolute difference, (..., bin).
    confidence
        1 - accepted swap rates.
    lowest
        Lowest bin that may be chosen.

    Returns
    -------
    first
        Lowest bin whose swap rate is at most 1 - confidence; shape (..., confidence).
    suffix
        Lowest such bin with no higher bin above that rate; empty bins above do not matter.
    """
    first = np.full((*count.shape[:-1], len(confidence)), -1, np.int64)
    suffix = first.copy()
    for k, level in enumerate(confidence):
        accepted = 1 - Fraction(str(level))
        # Exact comparison of rates, in Python's integers: swaps / count <= accepted.
        most = [int(each) * accepted.numerator // accepted.denominator for each in count.ravel()]
        within = swaps <= np.array(most, np.int64).reshape(count.shape)
        qualifies = within & (count > 0)
        qualifies[..., :lowest] = False
        holds_above = np.logical_and.accumulate((within | (count == 0))[..., ::-1], axis=-1)[..., ::-1]
        for chosen, found in ((first, qualifies), (suffix, qualifies & holds_above)):
            chosen[..., k] = np.where(found.any(axis=-1), np.argmax(found, axis=-1), -1)
    return first, suffix
