"""Quantiles and moments of resampled values with missing ones."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray


def tails(
    values: NDArray[np.float64], share: Fraction
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the K-th smallest and the K-th largest value along the last axis.

    K is share x number of values, rounded up, so both are values of the sample, without interpolation. Missing values
    are left out.

    values: float64 (..., trial).
    share: Share of the values up to the lower quantile, and from the upper quantile on; at most one half.
    Returns low, high: float64 (...); NaN without any value.

    Examples
    --------
    >>> [float(end) for end in tails(np.arange(40.0), Fraction(1, 20))]
    [1.0, 38.0]
    """
    return _tails_of_sorted(np.sort(values, axis=-1), share)


def percentiles(
    values: NDArray[np.float64], confidence: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the percentile interval and the standard deviation along the last axis.

    values: float64 (..., trial). Missing values (e.g. of a sample in which all runs are tied) are left out.
    confidence: Confidence level of the interval, between 0 and 1.
    Returns low, high: float64 (...): `tails` with a share of (1 - confidence) / 2.
    Returns deviation: float64 (...): sample standard deviation; NaN for fewer than two values.

    Examples
    --------
    >>> [round(float(each), 3) for each in percentiles(np.arange(40.0), 0.9)]
    [1.0, 38.0, 11.69]
    """
    ordered = np.sort(values, axis=-1)
    low, high = _tails_of_sorted(ordered, (1 - Fraction(str(confidence))) / 2)
    known = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        # Missing values are last; as zeros they add nothing to sums.
        some = np.isnan(ordered[..., -1]).any()
        mean = (np.nan_to_num(ordered) if some else ordered).sum(axis=-1, keepdims=True) / known
        ordered -= mean
        deviations = np.nan_to_num(ordered, copy=False) if some else ordered
        squares = np.einsum("...k,...k->...", deviations, deviations)
        n = np.where(known[..., 0] > 0, known[..., 0], np.nan)
        return low, high, np.sqrt(squares / (n - 1))


def _tails_of_sorted(
    ordered: NDArray[np.float64], share: Fraction
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return `tails` of values that ascend along the last axis, missing ones last."""
    known = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    rank = np.maximum(1, -(-known * share.numerator // share.denominator))
    low = np.take_along_axis(ordered, np.minimum(rank - 1, ordered.shape[-1] - 1), axis=-1)
    high = np.take_along_axis(ordered, np.maximum(known - rank, 0), axis=-1)
    return low[..., 0], high[..., 0]


def defined_mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return means along the last axis without missing values, NaN if all are missing.

    Examples
    --------
    >>> defined_mean(np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])).tolist()
    [2.0, nan]
    """
    known = np.isfinite(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1))
