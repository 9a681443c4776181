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
    ordered = np.sort(values, axis=-1)
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
