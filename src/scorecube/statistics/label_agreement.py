"""Agreement of the labels of two judges on the same documents, with intervals over topics.

References: Cohen 1960 and 1968 (kappa, weighted kappa); Krippendorff 2019, "Content analysis", chapter 12 (alpha);
Efron and Tibshirani 1993, chapter 11 (jackknife); Kish 1965, "Survey sampling" (effective number). All coefficients are of the documents of all topics together; topics are left out one by
one for the intervals, as documents of one topic are no independent sample.

How many judges with independent errors several judges are worth: the error of a judge on a run and a topic is its score less that of the truth. A bias that all
topics share is left out. With C the covariance matrix of the errors of K judges over topics, averaged over runs, the mean of the judges' scores is as exact as that of

    K_e = K trace(C) / sum(C)

judges of the same average error variance with independent errors: K / (1 + (K - 1) rho) where all correlations are rho. The estimand is K_e over infinitely many
topics, of these runs and judges. Limits are by a jackknife over topics of its logarithm, with Student's t. A few topics may have most of the errors; its degrees of
freedom are therefore the fewest of topics - 1, the effective number of topics - 1, (sum w)**2 / sum w**2 for squared errors w of the judges' sum, and those of the variance of what single topics
change, 2 / (sum u**4 / (sum u**2)**2 - 1 / n) (Satterthwaite 1946). References: Clemen and Winkler 1985, "Limits for the precision and value of information from dependent
sources", Operations Research 33.
"""

from typing import Any

import numpy as np

from scorecube.statistics.proportion_intervals import student_quantile

Floats = np.ndarray[Any, np.dtype[np.float64]]
COEFFICIENTS = ("kappa", "weighted_kappa", "alpha", "agreement")
LEAST_TOPICS = 3
"""Fewest topics, with common documents, for an interval."""


def label_coefficients(counts: Any, *, weights: str, distance: str) -> Floats:
    """Return the `COEFFICIENTS` of tables of two judges' labels.

    counts: Integers (..., level of the first, level of the second): documents.
    weights: Of the weighted kappa: ``quadratic`` or ``linear``.
    distance: Of alpha: ``ordinal``, ``nominal`` or ``interval``.
    Returns coefficients: float64 (..., coefficient); NaN where all labels are one level, or there are none. The last is
        the share of equal labels.

    Examples
    --------
    >>> table = np.array([[20, 5], [10, 15]])
    >>> label_coefficients(table, weights="linear", distance="nominal").round(4).tolist()
    [0.4, 0.4, 0.4, 0.7]
    """
    tables = np.asarray(counts, np.float64)
    levels = np.arange(tables.shape[-1], dtype=np.float64)
    apart = np.abs(levels[:, np.newaxis] - levels)
    unequal = (apart > 0).astype(np.float64)
    weighted = apart if weights == "linear" else apart**2
    total = tables.sum(axis=(-2, -1))
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    expected = rows[..., :, np.newaxis] * columns[..., np.newaxis, :]
    found = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for cost in (unequal, weighted):
            chance = (expected * cost).sum(axis=(-2, -1))
            seen = (tables * cost).sum(axis=(-2, -1)) * total
            found.append(np.where(chance > 0, 1.0 - seen / chance, np.nan))
        found.append(_alpha(tables, distance))
        same = np.trace(tables, axis1=-2, axis2=-1)
        found.append(np.where(total > 0, same / total, np.nan))
    return np.stack(found, axis=-1)


def _alpha(tables: Floats, distance: str) -> Floats:
    """Return Krippendorff's alpha of two judges who both judged every document."""
    coincidences = tables + tables.swapaxes(-2, -1)
    margins = coincidences.sum(axis=-1)
    n = margins.sum(axis=-1)
    metric = _distances(margins, distance)
    observed = (coincidences * metric).sum(axis=(-2, -1))
    expected = (margins[..., :, np.newaxis] * margins[..., np.newaxis, :] * metric).sum(
        axis=(-2, -1)
    )
    return np.asarray(np.where(expected > 0, 1.0 - (n - 1) * observed / expected, np.nan))


def _distances(margins: Floats, distance: str) -> Floats:
    """Return the squared distances of all pairs of levels."""
    levels = np.arange(margins.shape[-1], dtype=np.float64)
    apart = levels[:, np.newaxis] - levels
    if distance == "nominal":
        return np.asarray(apart != 0, np.float64)
    if distance == "interval":
        return np.asarray(apart**2)
    # Ordinal: the labels between two levels, those of the two levels by half.
    middle = np.cumsum(margins, axis=-1) - margins / 2
    return np.asarray((middle[..., :, np.newaxis] - middle[..., np.newaxis, :]) ** 2)


def label_intervals(
    counts: Any, confidence: float, *, weights: str, distance: str
) -> tuple[Floats, Floats, Floats]:
    """Return the coefficients of all topics together, and limits by the jackknife over topics, on the scale of Fisher's z.

    Topics with many documents count for more: the quantile of Student's t is that of the effective number of topics, (sum w)**2 / sum w**2 for
    documents w (Kish 1965).

    counts: Integers (topic, level of the first, level of the second). Topics without documents are left out.
    confidence: Confidence level.
    weights, distance: As of `label_coefficients`.
    Returns value, low, high: float64 (coefficient,). Limits are NaN for fewer than `LEAST_TOPICS` topics, and where
        all topics agree alike.
    """
    tables = np.asarray(counts)
    documents = tables.sum(axis=(1, 2))
    tables, documents = tables[documents > 0], documents[documents > 0]
    total, n = tables.sum(axis=0), len(tables)
    value = label_coefficients(total, weights=weights, distance=distance)
    if n < LEAST_TOPICS:
        return value, np.full_like(value, np.nan), np.full_like(value, np.nan)
    left = label_coefficients(total - tables, weights=weights, distance=distance)
    error = np.sqrt((n - 1) / n * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    effective = documents.sum() ** 2 / (documents**2).sum()
    half = student_quantile(max(effective - 1.0, 1.0), confidence) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        half = np.where(error > 0, half / (1.0 - value**2), np.nan)
        middle = np.arctanh(value)
    return value, np.tanh(middle - half), np.tanh(middle + half)


def effective_judges(errors: Any, confidence: float) -> tuple[float, float, float]:
    """Return the effective number of independent judges with limits; NaN for one judge, fewer than `LEAST_TOPICS` topics, or errors without variance.

    errors: float64 (judge, run, topic).
    confidence: Of the limits.

    Examples
    --------
    >>> twice = np.repeat(np.random.default_rng(1).random((1, 4, 9)), 2, axis=0)
    >>> round(effective_judges(twice, 0.95)[0], 9)
    1.0
    """
    n = errors.shape[-1]
    if len(errors) < 2 or n < LEAST_TOPICS:
        return np.nan, np.nan, np.nan
    by_topic = squared_errors(errors)
    # Sums of squared deviations of all topics, and of all but one.
    whole = by_topic.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        (log,), left = (
            np.log(len(errors) * own / joint)
            for own, joint in (whole, whole - n / (n - 1) * by_topic)
        )
        changes = (left - left.mean()) ** 2
        peaks = (changes**2).sum() / changes.sum() ** 2 - 1 / n
        effective = whole[1, 0] ** 2 / (by_topic[1] ** 2).sum() - 1
        freedom = max(min(effective, 2 / max(peaks, 2 / n)), 1.0)
    half = student_quantile(freedom, confidence) * left.std() * np.sqrt(n - 1)
    found = np.exp(np.array([log, log - half, log + half]))
    low, high = (each if half > 0 else np.nan for each in found[1:])
    return float(found[0]) if np.isfinite(log) else np.nan, float(low), float(high)


def largest_error(errors: Any, topics: Any) -> tuple[float, int]:
    """Return the largest share of one topic in the squared errors of the judges' mean, and the topic; NaN, 0 without errors.

    errors: float64 (judge, run, topic); a bias that all topics share is no error.
    topics: Integers (topic,): numbers of the topics.

    Examples
    --------
    >>> largest_error(np.array([[[0.0, 0.0, 0.0, 1.0]]]), np.arange(4))
    (0.75, 3)
    """
    squares = squared_errors(errors)[1] if errors.size else np.zeros(0)
    if not squares.any():
        return np.nan, 0
    return float(squares.max() / squares.sum()), int(topics[squares.argmax()])


def squared_errors(errors: Any) -> Floats:
    """Return squared deviations from the mean over topics, of all judges and of their sum, over runs (two, topic)."""
    centred = errors - errors.mean(axis=-1, keepdims=True)
    return np.stack([(centred**2).sum(axis=(0, 1)), (centred.sum(axis=0) ** 2).sum(axis=0)])
