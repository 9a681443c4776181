"""Confidence limits of means and of differences of means, from scores of independent units.

A unit is a topic, or a group or bag of topics with a sum and a size; the estimate is the mean over
topics, or a weighted sum of such means over collections. Where few units differ, what was not seen
decides: two pseudo-units at the ends of the range stand for it. `tests/validation` measures the
coverage.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scorecube.statistics.grid import EQUAL

FloatArray = NDArray[np.float64]
Range = tuple[float, float]
FEW, LEAST_LABELLED = 8, 4
"""Fewest units with another score than most have for limits without pseudo-units, and fewest topics
that the truth is known of for an interval with a judge."""
ALIKE = 1e-3
"""Share of the range within which scores are alike, so that tiny differences on many units do not
hide that all depends on a few: limits of a run with AP below .001 on most topics hold in .93 of
samples, in .70 with a share of 1e-9."""


class Sample(NamedTuple):
    """Units of one collection: its weight, the sum of scores and the number of topics of each unit.

    in_bag: Topics, or groups of topics, of a unit that is a bag of them; 1 of others.
    """

    weight: float
    sums: FloatArray
    sizes: FloatArray
    in_bag: float = 1.0


class Estimate(NamedTuple):
    """A mean, its standard error and the degrees of freedom of that; of many pairs (pair,)."""

    mean: Any
    error: Any
    freedom: float

    def t(self, confidence: float) -> float:
        """Return the two-sided quantile of Student's t."""
        from scipy.special import stdtrit

        return float(stdtrit(self.freedom, (1 + confidence) / 2))


def estimate(
    samples: Sequence[Sample], pseudo: Range | None = None, number: float = 1.0
) -> Estimate:
    """Return the weighted mean over collections, one sample each, of means over topics.

    Standard errors are linearised (Cochran 1977, section 6.3); degrees of freedom are units - 1 of
    one collection, and Satterthwaite's of several.

    pseudo: Scores of `number` further topics, or groups of mean size, in each collection; they add
        no degrees of freedom.
    """
    mean, variances, freedoms = 0.0, [], []
    whole = sum(sample.weight for sample in samples)
    for weight, sums, sizes, in_bag in samples:
        freedoms.append(len(sums) - 1.0)
        counts = np.ones(len(sums))
        if pseudo is not None:
            size = sizes.mean() / in_bag  # bags are none of the topics: what was not seen is one
            sums = np.append(sums, np.multiply(pseudo, size))
            sizes, counts = np.append(sizes, [size, size]), np.append(counts, [number, number])
        n_units, n_topics = counts.sum(), (counts * sizes).sum()
        mean_of_topics = (counts * sums).sum() / n_topics
        squares = (counts * (sums - mean_of_topics * sizes) ** 2).sum()
        share = weight / whole
        mean += share * mean_of_topics
        error = np.sqrt(n_units / (n_units - 1) * squares) / n_topics
        variances.append(float(share * error) ** 2)
    total, freedom = sum(variances), min(freedoms)
    if len(samples) > 1 and total > 0:
        freedom = total**2 / sum(v**2 / f for v, f in zip(variances, freedoms, strict=True))
    return Estimate(float(mean), total**0.5, freedom)


def n_differing(scores: ArrayLike, width: float) -> int:
    """Return how many units have another score than most, within .001 of a width."""
    ordered = np.sort(np.asarray(scores, float))
    stops = np.searchsorted(ordered, ordered + ALIKE * width, side="right")
    return int(len(ordered) - (stops - np.arange(len(ordered))).max())


def few_differ(samples: Sequence[Sample], width: float) -> bool:
    """Return whether fewer than 8 units of all collections differ from most of their collection."""
    return sum(n_differing(sums / sizes, width) for _, sums, sizes, _ in samples) < FEW


def mean_limits(
    samples: Sequence[Sample], ends: Range | None, confidence: float
) -> tuple[float, float]:
    """Return limits of a mean over infinitely many topics of each collection.

    Bounded scores: t on the logit scale if at least 8 units have another score than most, else t
    after adding two pseudo-units at the ends of the range; at another confidence than .95, as many
    more as t^2 is larger (as Agresti and Coull 1998 add z^2). Others: t.

    ends: Least and greatest score that there can be; None if unknown.
    """
    found, (low, high) = estimate(samples), ends or (-np.inf, np.inf)
    t = found.t(confidence)
    if ends is not None:
        if not few_differ(samples, high - low) and low < found.mean < high:
            return logit_limits(found.mean, found.error, t, ends)
        found = estimate(samples, ends, (t / found.t(0.95)) ** 2)
        t = found.t(confidence)
    return max(found.mean - t * found.error, low), min(found.mean + t * found.error, high)


def logit_limits(mean: float, error: float, critical: float, ends: Range) -> tuple[float, float]:
    """Return the limits of a mean that are as many errors from it on the logit scale."""
    low, width = ends[0], ends[1] - ends[0]
    share = (mean - low) / width
    centre, margin = np.log(share / (1 - share)), critical * error / width / (share * (1 - share))
    found = 1 / (1 + np.exp([margin - centre, -margin - centre]))
    return float(low + width * found[0]), float(low + width * found[1])


def guarded_estimate(samples: Sequence[Sample], width: float | None, *, binary: bool) -> Estimate:
    """Return the mean of differences, with pseudo-units at both ends where needed.

    They stand at plus and minus the width of the range, if known, where fewer than 8 units have
    another difference than most, and for scores of 0 and 1 always: without them a gate passes a
    model that lost exactly the margin in up to 60 % of trials with few differing items.
    """
    if width is None or not (binary or few_differ(samples, width)):
        return estimate(samples)
    return estimate(samples, (-width, width))


def guarded_estimates(
    differences: FloatArray,
    sizes: FloatArray,
    width: float | None,
    *,
    binary: bool,
    in_bag: float = 1.0,
) -> tuple[Estimate, Estimate]:
    """Return plain estimates and those of `guarded_estimate`, of many pairs in one collection.

    differences: float64 (pair, unit): mean over the topics of a unit.
    """
    n_units, moments = len(sizes), _means_and_errors(differences, sizes)
    plain = Estimate(*moments, n_units - 1.0)
    if width is None:
        return plain, plain
    few: Any = np.full(len(differences), True)
    if not binary and n_units >= FEW:  # few differ where all but 7 units are alike
        ordered = np.sort(differences, axis=1)
        few = (ordered[:, n_units - FEW :] <= ordered[:, :FEW] + ALIKE * width).any(axis=1)
    padded = np.pad(differences[few], [(0, 0), (0, 2)])
    padded[:, n_units:] = -width, width
    added = [sizes.mean() / in_bag] * 2
    mean, error = (moment.copy() for moment in moments)
    mean[few], error[few] = _means_and_errors(padded, np.append(sizes, added))
    return plain, Estimate(mean, error, n_units - 1.0)


def difference_limits(found: Estimate, width: float | None, confidence: float) -> tuple[Any, Any]:
    """Return limits of differences of means: t, clipped to the width of the range, if known."""
    margin, most = found.t(confidence) * found.error, np.inf if width is None else width
    return np.maximum(found.mean - margin, -most), np.minimum(found.mean + margin, most)


def corrected_mean(
    truth: FloatArray, judge: FloatArray, further: FloatArray, ends: Range | None, confidence: float
) -> tuple[float, float, float]:
    """Return a system's mean by a judge, corrected by the truth on some topics, with limits.

    Estimand: the mean score under the truth over infinitely many topics. With scores f under the
    judge on n topics and h under the truth on a random m of them, it is (prediction-powered
    inference, Angelopoulos et al. 2023; double sampling, Cochran 1977, section 12.6)

        theta = lambda mean_n(f) + mean_m(h - lambda f),    lambda = cov_m(h, f) / var_m(f).

    Its variance is lambda^2 var_n(f) / n + var(h - lambda f) (1 / m + (mean_n(f) - mean_m(f))^2 /
    sum_m (f - mean_m(f))^2), with m - 2 degrees of freedom of the residual variance and of
    Student's t. Lambda is 0 for a judge whose labelled scores do not vary; all is NaN for fewer
    than 4 labelled topics.

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


def _means_and_errors(scores: FloatArray, sizes: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return means over topics and their standard errors, float64 (pair,) each."""
    n_units, n_topics = len(sizes), sizes.sum()
    mean = (scores * sizes).sum(axis=1) / n_topics
    residuals = (scores - mean[:, np.newaxis]) * sizes
    error = np.sqrt(n_units / (n_units - 1) * (residuals**2).sum(axis=1)) / n_topics
    return mean, error
