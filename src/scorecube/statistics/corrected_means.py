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

from scorecube.statistics.bounded_means import (
    LEAST_VARIED,
    at_bounds,
    bounded_limits,
    n_varied,
    unit_scores,
)
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
    human, human_low, human_high: Mean over the labelled topics alone, and the limits of Student's t.
    """

    mean: Floats
    low: Floats
    high: Floats
    slope: Floats
    human: Floats
    human_low: Floats
    human_high: Floats


def corrected_means(
    truth: Any,
    judge: Any,
    others: Any,
    chosen: Any,
    confidence: float,
    bounds: tuple[float, float] | None = None,
) -> CorrectedMeans:
    """Return the corrected means of items, for several choices of the topics that the truth is known of.

    truth, judge: float64 (item, topic): scores under both sets on the topics that both have.
    others: float64 (item, topic): scores under the judge on its other topics, at least none.
    chosen: bool (choice, topic): topics whose truth is used; as many in each choice. The judge's scores on all topics
        are.
    confidence: Confidence level.
    bounds: Least and greatest score that there can be, if they are known: where fewer than `LEAST_VARIED` labels vary, limits are those
        of the labels alone within the bounds.
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
        alone = (human, human - reach, human + reach)
        if m == n:
            return CorrectedMeans(*alone, np.zeros_like(human), *alone)
        if m < LEAST_LABELLED:
            unknown = np.full_like(human, np.nan)
            return CorrectedMeans(unknown, unknown, unknown, unknown, *alone)
        varies = sum_ff > NO_SPREAD * m * np.maximum((every**2).max(axis=1), (f**2).max(axis=1))
        slope = np.where(varies, sum_hf / np.where(varies, sum_ff, 1.0), 0.0)
        residual = np.maximum(sum_hh - slope * sum_hf, 0.0) / (m - 2)
        away = np.where(varies, mean_f**2 / np.where(varies, sum_ff, 1.0), 0.0)
        variance = slope**2 * every.var(axis=1, ddof=1) / n + residual * (1 / m + away)
        mean = human - slope * mean_f
        half = student_quantile(m - 2, confidence) * np.sqrt(variance)
    low, high = mean - half, mean + half
    if bounds is not None:
        labels = np.swapaxes(truth[:, np.nonzero(chosen)[1].reshape(-1, m)], 0, 1)
        low, high = _within(bounds, (mean, low, high), labels, (1 - confidence) / 2)
    return CorrectedMeans(mean, low, high, slope, *alone)


def _within(
    bounds: tuple[float, float], limits: Any, h: Floats, error: float
) -> tuple[Floats, Floats]:
    """Return limits within bounds: of mean, low and high (choice, item), given labels (choice, item, topic)."""
    mean, low, high = limits
    few = n_varied(h.reshape(-1, h.shape[2])).reshape(mean.shape) < LEAST_VARIED
    few |= at_bounds(unit_scores(h, bounds))
    # Choices of labels have the same scores again and again, where few vary.
    rows, place = np.unique(np.sort(h[few], axis=1), axis=0, return_inverse=True)
    if len(rows):
        least, most = (each[place] for each in bounded_limits(rows, bounds, error))
        low[few], high[few] = np.minimum(least, mean[few]), np.maximum(most, mean[few])
    return np.clip(low, *bounds), np.clip(high, *bounds)


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
    # Where h does not vary, what rounding leaves is smaller than any difference, and is kept as in results of earlier releases.
    varies = (hh > 0) | (few_f & (ff > 0))
    for found, new in ((sum_hh, hh), (sum_hf, hf)):
        found[places] = np.where(varies, new, found[places])


def labels_needed(
    truth: Any, judge: Any, others: Any, width: float, confidence: float
) -> tuple[float, float]:
    """Return how many labelled topics intervals of means take for an average width: with the judge, and without.

    truth, judge, others, confidence: As of `corrected_means`.
    width: Wanted width, in the unit of scores.
    Returns with_judge, without: Expected numbers of topics, from the variances of all items on all common topics. The
        first is infinite where even the labels of all of the judge's topics leave wider intervals.
    """
    common, n = truth.shape[1], truth.shape[1] + others.shape[1]
    if common < LEAST_LABELLED:
        return np.nan, np.nan
    every = np.concatenate([judge, others], axis=1)
    spread_f = every.var(axis=1, ddof=1)
    h, f = (each - each.mean(axis=1, keepdims=True) for each in (truth, judge))
    sum_ff = (f**2).sum(axis=1)
    varies = sum_ff > NO_SPREAD * common * (every**2).max(axis=1)
    slope = np.where(varies, (h * f).sum(axis=1) / np.where(varies, sum_ff, 1.0), 0.0)
    residual = ((h - slope[:, np.newaxis] * f) ** 2).sum(axis=1) / (common - 2)
    total = truth.var(axis=1, ddof=1)

    def alone(m: Any) -> Any:
        return 2 * student_quantile(m - 1, confidence) * np.sqrt(total).mean() / np.sqrt(m)

    sizes = np.arange(2, MOST_TOPICS + 1, dtype=np.float64)
    without = _first(sizes, alone(sizes) <= width)
    some = np.arange(LEAST_LABELLED, n, dtype=np.float64)
    away = (1 / some - 1 / n) / np.maximum(some - 3, 1)  # of its expectation for normal scores
    variances = (
        residual[:, np.newaxis] * (1 / some + away) + (slope**2 * spread_f / n)[:, np.newaxis]
    )
    widths = 2 * student_quantile(some - 2, confidence) * np.sqrt(variances).mean(axis=0)
    found = _first(some, widths <= width)
    # With all topics labelled there is nothing to correct.
    return min(found, without if without <= n else np.inf), without


MOST_TOPICS = 20_000
"""Largest number of labelled topics that is looked at."""


def _first(sizes: Floats, reached: Any) -> float:
    """Return the first size that is reached; infinite without one."""
    return float(sizes[np.argmax(reached)]) if reached.any() else np.inf
