"""Means by a judge on all topics, corrected by the truth on some of them: prediction-powered inference.

Estimand: the mean score under the true judgements over infinitely many topics, of which those at hand are a random sample, and those that the
truth is known of a random part. With scores f under the judge on n topics and h under the truth on m of them,

    theta = lambda mean_n(f) + mean_m(h - lambda f),    lambda = cov_m(h, f) / var_m(f).

Its variance is lambda**2 var_n(f) / n + var(h - lambda f) (1 / m + (mean_n(f) - mean_m(f))**2 / sum_m (f - mean_m(f))**2), where the residual variance
has m - 2 degrees of freedom; the covariance of both parts is 0 with this lambda. The interval is by Student's t with m - 2 degrees of freedom.

References: Angelopoulos, Bates, Fannjiang, Jordan and Zrnic 2023, "Prediction-powered inference", Science; Angelopoulos, Duchi and Zrnic 2023,
"PPI++" (lambda); Cochran 1977, "Sampling techniques", section 12.6 (regression estimate in double sampling, the same estimator).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from scorecube.statistics.proportion_intervals import student_quantile

Floats = np.ndarray[Any, np.dtype[np.float64]]
LEAST_LABELLED = 4
"""Fewest topics that the truth is known of for an interval with a judge."""
NO_SPREAD = 1e-24
"""Variance under the judge, relative to the largest square of a score, that rounding alone can cause: nothing is corrected by it."""
CANCELLED = 1e-9
"""Share that is left of a sum of squares less that of the mean below which deviations are added instead."""


@dataclass(frozen=True, eq=False)
class CorrectedMeans:
    """Estimates of means, float64 (choice, item); NaN where there are too few topics.

    mean, low, high: Corrected mean with its limits.
    slope: Lambda: 0 for a judge whose scores do not vary over the labelled topics.
    """

    mean: Floats
    low: Floats
    high: Floats
    slope: Floats


def corrected_means(
    truth: Any, judge: Any, others: Any, chosen: Any, confidence: float
) -> CorrectedMeans:
    """Return the corrected means of items, for several choices of the topics that the truth is known of.

    truth, judge: float64 (item, topic): scores under both sets on the topics that both have.
    others: float64 (item, topic): scores under the judge on its other topics, at least none.
    chosen: bool (choice, topic): topics whose truth is used; as many in each choice. The judge's scores on all topics
        are.
    confidence: Confidence level.
    Returns means: With all of the judge's topics labelled, the mean and interval of the truth alone, as there is
        nothing to correct.
    """
    n, m = truth.shape[1] + others.shape[1], int(chosen[0].sum())
    weights = np.ascontiguousarray(chosen, np.float64) / m
    every = np.concatenate([judge, others], axis=1)
    centre_h, centre_f = truth.mean(axis=1), every.mean(axis=1)
    h, f = truth - centre_h[:, np.newaxis], judge - centre_f[:, np.newaxis]
    mean_h, mean_f = weights @ h.T, weights @ f.T
    with np.errstate(divide="ignore", invalid="ignore"):
        sum_hh = m * np.maximum(weights @ (h**2).T - mean_h**2, 0.0)
        sum_ff = m * np.maximum(weights @ (f**2).T - mean_f**2, 0.0)
        sum_hf = m * (weights @ (h * f).T - mean_h * mean_f)
        few = sum_hh < CANCELLED * m * mean_h**2, sum_ff < CANCELLED * m * mean_f**2
        _add_again((h, f), chosen, few, (sum_hh, sum_ff, sum_hf))
        human, error = centre_h + mean_h, np.sqrt(sum_hh / ((m - 1) * m)) if m > 1 else np.nan
        reach = student_quantile(m - 1, confidence) * error if m > 1 else np.nan
        if m == n:
            return CorrectedMeans(human, human - reach, human + reach, np.zeros_like(human))
        if m < LEAST_LABELLED:
            return CorrectedMeans(*[np.full_like(human, np.nan)] * 4)
        varies = sum_ff > NO_SPREAD * m * np.maximum((every**2).max(axis=1), (f**2).max(axis=1))
        slope = np.where(varies, sum_hf / np.where(varies, sum_ff, 1.0), 0.0)
        residual = np.maximum(sum_hh - slope * sum_hf, 0.0) / (m - 2)
        away = np.where(varies, mean_f**2 / np.where(varies, sum_ff, 1.0), 0.0)
        variance = slope**2 * every.var(axis=1, ddof=1) / n + residual * (1 / m + away)
        mean = human - slope * mean_f
        half = student_quantile(m - 2, confidence) * np.sqrt(variance)
    return CorrectedMeans(mean, mean - half, mean + half, slope)


def _add_again(scores: Any, chosen: Any, few: Any, sums: Any) -> None:
    """Replace sums that cancelled by those of deviations over the chosen topics.

    scores: h and f, float64 (item, topic).
    chosen: bool (choice, topic).
    few: bool (choice, item): where little is left of the sums of squares of h, and of f.
    sums: Of squares of h and of f, and of their products: float64 (choice, item), replaced.
    """
    places, (sum_hh, sum_ff, sum_hf) = few[0] | few[1], sums
    choice, item = np.nonzero(places)
    topics = np.nonzero(chosen)[1].reshape(len(chosen), -1)[choice]
    x, y = (each[item[:, np.newaxis], topics] for each in scores)
    # Differences from the first are exact where scores are equal.
    x, y = (each - each[:, :1] for each in (x, y))
    x, y = (each - each.mean(axis=1, keepdims=True) for each in (x, y))
    hh, ff, hf, few_f = (
        (x * x).sum(axis=1),
        (y * y).sum(axis=1),
        (x * y).sum(axis=1),
        few[1][places],
    )
    sum_ff[few[1]] = ff[few_f]
    # Where h does not vary, what rounding leaves is smaller than any difference, and is kept.
    varies = (hh > 0) | (few_f & (ff > 0))
    for found, new in ((sum_hh, hh), (sum_hf, hf)):
        found[places] = np.where(varies, new, found[places])
