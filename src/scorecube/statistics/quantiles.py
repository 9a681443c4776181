"""Sample quantiles of resampled values, without interpolation."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np


def percentiles(drawn: Any, confidence: float) -> tuple[Any, Any, Any]:
    """Return lower and upper end of the percentile interval along the last axis, and the standard deviation.

    The ends are the K-th smallest and the K-th largest value, K = (1 - confidence) / 2 x number of values, rounded up: values that
    occurred. Undefined values (a sample in which all runs are tied) are left out.
    """
    ordered = np.sort(drawn, axis=-1)
    known = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    share = (1 - Fraction(str(confidence))) / 2
    rank = np.maximum(1, -(-known * share.numerator // share.denominator))
    low = np.take_along_axis(ordered, np.minimum(rank - 1, ordered.shape[-1] - 1), axis=-1)[..., 0]
    high = np.take_along_axis(ordered, np.maximum(known - rank, 0), axis=-1)[..., 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        # Undefined values stand last; as zeros they add nothing.
        some = np.isnan(ordered[..., -1]).any()
        mean = (np.nan_to_num(ordered) if some else ordered).sum(axis=-1, keepdims=True) / known
        ordered -= mean
        total = np.nan_to_num(ordered, copy=False) if some else ordered
        error = np.sqrt(np.einsum("...k,...k->...", total, total) / (known[..., 0] - 1))
    return low, high, error


def tails(values: np.ndarray[Any, Any], share: Fraction) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the K-th smallest and the K-th largest value along the last axis, K = share x number of values, rounded up.

    These are values that occurred, without interpolation. Missing values are left out; without any value both are missing.

    Parameters
    ----------
    values
        float64 (..., trial).
    share
        Of the values up to the lower, and from the upper on; at most one half.

    Examples
    --------
    >>> [float(end) for end in tails(np.arange(40.0), Fraction(1, 20))]
    [1.0, 38.0]
    """
    ordered = np.sort(values, axis=-1)
    known = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    rank = np.maximum(1, -(-known * share.numerator // share.denominator))
    low = np.take_along_axis(ordered, np.minimum(rank - 1, ordered.shape[-1] - 1), axis=-1)
    high = np.take_along_axis(ordered, np.maximum(known - rank, 0), axis=-1)
    return low[..., 0], high[..., 0]


def defined_mean(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return means along the last axis without missing values; missing where all are."""
    known = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1))
