"""Agreement of the labels of two judges on the same documents.

References: Cohen 1960 and 1968 (kappa, weighted kappa); Krippendorff 2019, "Content analysis",
    chapter 12 (alpha).
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
COEFFICIENTS = ("kappa", "weighted_kappa", "alpha")


def label_coefficients(counts: Any) -> FloatArray:
    """Return kappa, kappa with quadratic weights, alpha of ordinal labels.

    counts: Integers (..., level of the first, level of the second): documents.
    Returns coefficients: float64 (..., coefficient); NaN where all labels are one level, or none.

    Examples
    --------
    >>> label_coefficients([[20, 5], [10, 15]]).round(4).tolist()
    [0.4, 0.4, 0.4]
    """
    tables = np.asarray(counts, np.float64)
    total, both = tables.sum(axis=(-2, -1)), tables + tables.swapaxes(-2, -1)
    apart = np.abs(np.subtract.outer(*[np.arange(tables.shape[-1], dtype=np.float64)] * 2))
    margins = both.sum(axis=-1)
    # Ordinal distances: the labels between two levels, those of the two levels by half.
    middle = np.cumsum(margins, axis=-1) - margins / 2
    ordinal = (middle[..., :, np.newaxis] - middle[..., np.newaxis, :]) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        found = [
            _beyond_chance(tables, (apart > 0).astype(np.float64), total),
            _beyond_chance(tables, apart**2, total),
            _beyond_chance(both, ordinal, margins.sum(axis=-1) - 1),
        ]
    return np.stack(found, axis=-1)


def _beyond_chance(seen: FloatArray, cost: FloatArray, times: FloatArray) -> FloatArray:
    """Return 1 - the cost of the labels seen over that of labels by chance, (...)."""
    chance = seen.sum(axis=-1)[..., :, np.newaxis] * seen.sum(axis=-2)[..., np.newaxis, :]
    expected = (chance * cost).sum(axis=(-2, -1))
    observed = (seen * cost).sum(axis=(-2, -1)) * times
    return np.asarray(np.where(expected > 0, 1.0 - observed / expected, np.nan))
