"""Agreement of the labels of two judges on the same documents.

References: Cohen 1960 and 1968 (kappa, weighted kappa); Krippendorff 2019, "Content analysis", chapter 12 (alpha).
"""

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]
COEFFICIENTS = ("kappa", "weighted_kappa", "alpha", "agreement")


def label_coefficients(counts: Any) -> Floats:
    """Return the `COEFFICIENTS` of tables of two judges' labels: kappa, with quadratic weights, alpha of ordinal labels.

    counts: Integers (..., level of the first, level of the second): documents.
    Returns coefficients: float64 (..., coefficient); NaN where all labels are one level, or there are none. The last is
        the share of equal labels.

    Examples
    --------
    >>> table = np.array([[20, 5], [10, 15]])
    >>> label_coefficients(table).round(4).tolist()
    [0.4, 0.4, 0.4, 0.7]
    """
    tables = np.asarray(counts, np.float64)
    levels = np.arange(tables.shape[-1], dtype=np.float64)
    apart = np.abs(levels[:, np.newaxis] - levels)
    unequal = (apart > 0).astype(np.float64)
    total = tables.sum(axis=(-2, -1))
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    expected = rows[..., :, np.newaxis] * columns[..., np.newaxis, :]
    found = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for cost in (unequal, apart**2):
            chance = (expected * cost).sum(axis=(-2, -1))
            seen = (tables * cost).sum(axis=(-2, -1)) * total
            found.append(np.where(chance > 0, 1.0 - seen / chance, np.nan))
        found.append(_alpha(tables))
        same = np.trace(tables, axis1=-2, axis2=-1)
        found.append(np.where(total > 0, same / total, np.nan))
    return np.stack(found, axis=-1)


def _alpha(tables: Floats) -> Floats:
    """Return Krippendorff's alpha of two judges who both judged every document."""
    coincidences = tables + tables.swapaxes(-2, -1)
    margins = coincidences.sum(axis=-1)
    n = margins.sum(axis=-1)
    metric = _distances(margins)
    observed = (coincidences * metric).sum(axis=(-2, -1))
    expected = (margins[..., :, np.newaxis] * margins[..., np.newaxis, :] * metric).sum(
        axis=(-2, -1)
    )
    return np.asarray(np.where(expected > 0, 1.0 - (n - 1) * observed / expected, np.nan))


def _distances(margins: Floats) -> Floats:
    """Return the squared distances of all pairs of levels."""
    # The labels between two levels, those of the two levels by half.
    middle = np.cumsum(margins, axis=-1) - margins / 2
    return np.asarray((middle[..., :, np.newaxis] - middle[..., np.newaxis, :]) ** 2)
