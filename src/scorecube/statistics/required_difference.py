"""The difference that other topics confirm with a stated confidence, from swap counts by bin.

Two rules. That of the papers (`suffix`) takes the lowest bin from which on no swap rate is too
high; a single bin with few comparisons moves it by many bins. The isotonic rule takes the first bin
whose rate is low enough in the weighted isotonic regression of the rates, not increasing with the
difference, with comparisons as weights (Barlow, Bartholomew, Bremner and Brunk 1972, "Statistical
inference under order restrictions").
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
ROUNDING = 1e-12
"""Excess of a rate that comes of rounding."""


class Required(NamedTuple):
    """Required differences of swap curves (...), for each level of confidence.

    fitted: float64 (..., bin): isotonic regression of the swap rates, NaN for empty bins.
    isotonic, suffix: int64 (..., confidence): bin whose lower edge is required by either rule, -1
        for none.
    smooth: float64 (..., confidence): where the fitted curve reaches the accepted rate, in bin
        widths, NaN for nowhere.
    """

    fitted: FloatArray
    isotonic: IntArray
    suffix: IntArray
    smooth: FloatArray


def required_differences(
    count: IntArray, swaps: IntArray, confidence: Sequence[float], n_closed: int
) -> Required:
    """Return the required differences of curves.

    count, swaps: int64 (..., bin): comparisons and swaps by absolute difference.
    confidence: 1 - accepted swap rate, for each level.
    n_closed: Bins with an upper limit; an open bin is no answer of the isotonic rule.
    """
    accepted = np.round(1 - np.asarray(confidence, float), 12)[:, np.newaxis] + ROUNDING
    filled, fitted = count > 0, fitted_rates(count, swaps)
    rate = np.divide(swaps, count, out=np.full(count.shape, np.nan), where=filled)
    # Comparisons with NaN, of empty bins, are false.
    low_enough = fitted[..., np.newaxis, :] <= accepted
    isotonic = first_bin(low_enough & (np.arange(count.shape[-1]) < n_closed))
    holds = (rate[..., np.newaxis, :] <= accepted) | ~filled[..., np.newaxis, :]
    from_here = np.logical_and.accumulate(holds[..., ::-1], axis=-1)[..., ::-1]
    suffix = first_bin(from_here & filled[..., np.newaxis, :])
    return Required(fitted, isotonic, suffix, crossing(fitted, isotonic, accepted[:, 0] - ROUNDING))


def first_bin(chosen: NDArray[np.bool_]) -> IntArray:
    """Return the first chosen bin (...,) of bool (..., bin) beside bin 0, -1 for none."""
    place = np.argmax(chosen[..., 1:], axis=-1) + 1
    return np.where(chosen[..., 1:].any(axis=-1), place, -1)


def fitted_rates(count: IntArray, swaps: IntArray) -> FloatArray:
    """Return the weighted isotonic regression of swap rates, float64 (..., bin); NaN if empty."""
    from scipy.optimize import isotonic_regression

    rates = np.full(count.shape, np.nan)
    for curve in np.ndindex(count.shape[:-1]):
        filled = count[curve] > 0
        if filled.any():
            weights = count[curve][filled].astype(float)
            rate = swaps[curve][filled] / weights
            rates[curve][filled] = isotonic_regression(rate, weights=weights, increasing=False).x
    return rates


def crossing(fitted: FloatArray, bins: IntArray, accepted: FloatArray) -> FloatArray:
    """Return where fitted curves reach the accepted rates, in bin widths, NaN for nowhere.

    A curve is linear between the middle of a required bin and that of the last filled bin below.

    fitted: float64 (..., bin): of `fitted_rates`.
    bins: int64 (..., confidence): required bins by the isotonic rule.
    accepted: float64 (confidence,): swap rates.

    Examples
    --------
    >>> rates = np.array([0.3, 0.1, 0.02])
    >>> crossing(rates, np.array([2, -1]), np.array([0.05, 0.01])).round(6).tolist()
    [2.125, nan]
    """
    filled = np.where(np.isnan(fitted), -1, np.arange(fitted.shape[-1]))
    above = np.maximum(bins, 1)
    below = np.take_along_axis(np.maximum.accumulate(filled, axis=-1), above - 1, axis=-1)
    below = np.maximum(below, 0)
    low, high = (np.take_along_axis(fitted, at, axis=-1) for at in (above, below))
    with np.errstate(invalid="ignore", divide="ignore"):
        between = below + 0.5 + (high - accepted) / (high - low) * (above - below)
    # Where no bin below has a higher rate, the lower edge is required.
    return np.where(bins < 0, np.nan, np.where(high > accepted + ROUNDING, between, above))


def share_beyond(count: IntArray, widths: FloatArray) -> FloatArray:
    """Return the share of comparisons with at least a difference, spread evenly within bins.

    count: int64 (..., bin).
    widths: float64 (..., confidence): differences in bin widths, NaN for none, whose share is 0.
    """
    at_least = np.cumsum(count[..., ::-1], axis=-1)[..., ::-1]
    at_least = np.concatenate([at_least, np.zeros_like(at_least[..., :1])], axis=-1)
    place = np.nan_to_num(widths, nan=float(count.shape[-1]))
    lower = np.minimum(place.astype(np.int64), count.shape[-1] - 1)
    part = np.clip(place - lower, 0.0, 1.0)
    reached, beyond = (np.take_along_axis(at_least, lower + step, axis=-1) for step in (0, 1))
    return np.asarray(((1 - part) * reached + part * beyond) / np.maximum(at_least[..., :1], 1))
