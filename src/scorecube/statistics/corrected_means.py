"""Means by a judge on all topics, corrected by the truth on some: prediction-powered inference.

Estimand: the mean score under the truth over infinitely many topics. With scores f under the judge
on n topics and h under the truth on a random m of them,

    theta = lambda mean_n(f) + mean_m(h - lambda f),    lambda = cov_m(h, f) / var_m(f).

Its variance is lambda^2 var_n(f) / n + var(h - lambda f) (1 / m + (mean_n(f) - mean_m(f))^2 /
sum_m (f - mean_m(f))^2), with m - 2 degrees of freedom of the residual variance and of Student's t.

References: Angelopoulos et al. 2023, "Prediction-powered inference", Science; Angelopoulos, Duchi
    and Zrnic 2023, "PPI++"; Cochran 1977, "Sampling techniques", section 12.6 (double sampling).
"""

import numpy as np
from numpy.typing import NDArray

from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import FEW, Range, Sample, estimate, mean_limits, n_differing

FloatArray = NDArray[np.float64]
LEAST_LABELLED = 4
"""Fewest topics that the truth is known of for an interval with a judge."""


def corrected_mean(
    truth: FloatArray, judge: FloatArray, further: FloatArray, ends: Range | None, confidence: float
) -> tuple[float, float, float]:
    """Return the corrected mean of a system with limits; NaN for too few labelled topics.

    Lambda is 0 for a judge whose labelled scores do not vary.

    truth, judge: float64 (labelled topic,): scores under both sets.
    further: float64 (other topic,): scores under the judge alone; without any, the mean is that of
        the truth, as there is nothing to correct.
    """
    from scipy.special import stdtrit

    every, m = np.concatenate([judge, further]), len(truth)
    if not len(further) and m > 1:
        alone = [Sample(1.0, truth, np.ones(m))]
        return float(truth.mean()), *mean_limits(alone, ends, confidence)
    if m < LEAST_LABELLED:
        return np.nan, np.nan, np.nan
    low, high = (-np.inf, np.inf) if ends is None else ends
    width = float(np.ptp(truth)) or 1.0 if ends is None else high - low
    from_mean, away = judge - judge.mean(), float(every.mean() - judge.mean())
    spread, slope, of_judge, of_slope = float((from_mean**2).sum()), 0.0, 0.0, 0.0
    if np.ptp(judge) > EQUAL * width:
        slope = float((from_mean * (truth - truth.mean())).sum()) / spread
        of_judge = slope**2 * float(every.var(ddof=1)) / len(every)
        of_slope = away**2 / spread
    few = ends is not None and n_differing(truth, width) < FEW
    # Pseudo-topics are residuals where the judge's score is its mean: they do not change lambda.
    rest = Sample(1.0, truth - slope * from_mean, np.ones(m))
    found = estimate([rest], ends if few else None)
    n_rest = m + 2 * few
    residual = found.error**2 * n_rest * (n_rest - 1) / (n_rest - 2)
    mean = found.mean + slope * away
    error = np.sqrt(residual * (1 / n_rest + of_slope) + of_judge)
    half = float(stdtrit(m - 2, (1 + confidence) / 2) * error)
    return mean, max(mean - half, low), min(mean + half, high)
