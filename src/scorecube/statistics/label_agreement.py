"""Agreement of the labels of two judges on the same documents, with intervals over topics.

References: Cohen 1960 and 1968 (kappa, weighted kappa); Krippendorff 2019, "Content analysis", chapter 12 (alpha);
Efron and Tibshirani 1993, chapter 11 (jackknife); Kish 1965, "Survey sampling" (effective number of topics). All coefficients are of the documents of all topics together; topics are left out one by
one for the intervals, as documents of one topic are no independent sample.
"""

from typing import Any

import numpy as np

from scorecube.statistics.proportion_intervals import student_quantile

Floats = np.ndarray[Any, np.dtype[np.float64]]
COEFFICIENTS = ("kappa", "weighted_kappa", "alpha", "agreement")
LEAST_TOPICS = 3
"""Fewest topics, with common documents, for an interval."""


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


def label_intervals(counts: Any, confidence: float) -> tuple[Floats, Floats, Floats]:
    """Return the coefficients of all topics together, and limits by the jackknife over topics, on the scale of Fisher's z.

    Topics with many documents count for more: the quantile of Student's t is that of the effective number of topics, (sum w)**2 / sum w**2 for
    documents w (Kish 1965).

    counts: Integers (topic, level of the first, level of the second). Topics without documents are left out.
    confidence: Confidence level.
    Returns value, low, high: float64 (coefficient,). Limits are NaN for fewer than `LEAST_TOPICS` topics, and where
        all topics agree alike.
    """
    tables = np.asarray(counts)
    documents = tables.sum(axis=(1, 2))
    tables, documents = tables[documents > 0], documents[documents > 0]
    total, n = tables.sum(axis=0), len(tables)
    value = label_coefficients(total)
    if n < LEAST_TOPICS:
        return value, np.full_like(value, np.nan), np.full_like(value, np.nan)
    left = label_coefficients(total - tables)
    error = np.sqrt((n - 1) / n * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    effective = documents.sum() ** 2 / (documents**2).sum()
    half = student_quantile(max(effective - 1.0, 1.0), confidence) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.where(error > 0, half / (1.0 - value**2), np.nan)
        middle = np.arctanh(value)
    return value, np.tanh(middle - half), np.tanh(middle + half)
