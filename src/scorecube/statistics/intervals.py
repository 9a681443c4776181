"""Confidence limits of means and of differences of means, from scores of independent units.

A unit is a topic, or a group or bag of topics with a sum and a size; the estimate is the mean over
topics, or a weighted sum of such means over collections. Where few units differ, what was not seen
decides: two pseudo-units at the ends of the range stand for it. `tests/validation` measures the
coverage.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorecube.statistics.grid import EQUAL, EQUAL_SIZE

FloatArray = NDArray[np.float64]
Range = tuple[float, float]
FEW = 8
"""Fewest units with another score than most have, for limits without pseudo-units."""
LEAST_LABELLED = 4
"""Fewest topics that the truth is known of, for an interval with a judge."""
ALIKE = 1e-3
"""Share of the range within which scores are alike, so that tiny differences on many units do not
hide that all depends on a few: limits of a run with AP below .001 on most topics hold in .93 of
samples, in .70 with a share of 1e-9."""
MOST_SURE = -12.0
"""Exponent of ten of the smallest 1 - confidence whose limits are looked at."""
HALVINGS = 45
"""Steps to the exponent whose limit is a bound."""
LEAST_P = float(np.finfo(float).tiny)
"""Of p-values, which are never 0."""


class Sample(NamedTuple):
    """Units of one collection: its weight, sums of scores (..., unit), topics of each (unit,).

    in_bag: Topics, or groups of topics, of a unit that is a bag of them; 1 of others.
    """

    weight: float
    sums: FloatArray
    sizes: FloatArray
    in_bag: float = 1.0

    @property
    def means(self) -> FloatArray:
        """Mean scores of units, (..., unit)."""
        return self.sums if (self.sizes == 1.0).all() else self.sums / self.sizes


class Estimate(NamedTuple):
    """Means, their standard errors and the degrees of freedom of those, (...)."""

    mean: Any
    error: Any
    freedom: Any

    def t(self, confidence: float) -> Any:
        """Return the two-sided quantile of Student's t."""
        from scipy.special import stdtrit

        return stdtrit(self.freedom, (1 + confidence) / 2)


class Source(NamedTuple):
    """A source of variance of a mean beside its units, such as training runs.

    variance: Its part of the squared error.
    square: The mean square that it was estimated from, in the same units, and its degrees of
        freedom.
    """

    variance: float
    square: float
    freedom: float


def with_sources(found: Estimate, sources: Sequence[Source]) -> Estimate:
    """Return an estimate whose error counts further sources, by Satterthwaite's approximation.

    Degrees of freedom are those of a sum of mean squares (Satterthwaite 1946).
    """
    if not sources:
        return found
    total = found.error**2 + sum(source.variance for source in sources)
    parts = found.error**4 / found.freedom + sum(of.square**2 / of.freedom for of in sources)
    usual = np.broadcast_to(found.freedom, np.shape(total)).astype(float)
    freedom = np.divide(total**2, parts, out=usual, where=parts > 0)
    return found._replace(error=np.sqrt(total), freedom=freedom)


def estimate(samples: Sequence[Sample], pseudo: Range | None = None, number: Any = 1.0) -> Estimate:
    """Return the weighted means over collections, one sample each, of means over topics.

    Standard errors are linearised (Cochran 1977, section 6.3); degrees of freedom are units - 1 of
    one collection, and Satterthwaite's of several. A collection of one unit has no error: NaN.

    pseudo: Scores of `number` further topics, or groups of mean size, in each collection; they add
        no degrees of freedom.
    number: float64 (...), or one for all.
    """
    means = []
    variances = []
    freedoms = []
    whole = sum(sample.weight for sample in samples)
    for weight, sums, sizes, in_bag in samples:
        freedoms.append(len(sizes) - 1.0)
        further = number if pseudo else 0.0
        ends = pseudo or (0.0, 0.0)
        size = sizes.mean() / in_bag  # bags are none of the topics: what was not seen is one
        n_units = len(sizes) + 2 * further
        n_topics = sizes.sum() + 2 * further * size
        mean = np.asarray((sums.sum(axis=-1) + further * size * sum(ends)) / n_topics)
        apart = sums - mean[..., np.newaxis] * (1.0 if (sizes == 1.0).all() else sizes)
        squares = np.square(apart, out=apart).sum(axis=-1)
        squares += sum(further * (size * (end - mean)) ** 2 for end in ends)
        share = weight / whole
        means.append(share * mean)
        of_sample = n_units / np.where(n_units > 1, n_units - 1, np.nan)
        error = np.sqrt(of_sample * squares) / n_topics
        variances.append((share * error) ** 2)
    total = np.asarray(sum(variances))
    freedom = np.asarray(min(freedoms))
    if len(samples) > 1:
        parts = sum(v**2 / f for v, f in zip(variances, freedoms, strict=True))
        freedom = np.divide(total**2, parts, out=np.full(total.shape, freedom), where=total > 0)
    return Estimate(sum(means), np.sqrt(total), freedom)


def n_differing(scores: FloatArray, apart: float) -> Any:
    """Return how many units (..., unit) differ from most by more than `apart`, at most 8: (...)."""
    n = scores.shape[-1]
    # Where 8 pairs of units are apart, each has a unit that differs from most.
    near = np.abs(scores[..., : n // 2] - scores[..., -(n // 2) :]) <= apart
    unsure = n // 2 - near.sum(axis=-1) < FEW
    ordered = np.sort(scores[unsure], axis=-1)
    of_unsure = np.full(np.sum(unsure), FEW)
    for differing in reversed(range(min(FEW, n))):
        # As many units as are left are alike, which follow each other.
        least = ordered[:, : differing + 1]
        most = ordered[:, n - 1 - differing :]
        of_unsure[(most <= least + apart).any(axis=-1)] = differing
    counts = np.full(scores.shape[:-1], FEW)
    counts[unsure] = of_unsure
    return counts


def few_differ(samples: Sequence[Sample], width: float | None, least: float = 0.0) -> Any:
    """Return whether fewer than 8 units differ from most of their collection, (...).

    There pseudo-units stand for what was not seen; without a range there are no limits.

    width: Of the range of scores; None if unknown.
    least: Difference up to which scores are equal, where the range is unknown.
    """
    apart = least if width is None else ALIKE * width
    return sum(n_differing(of.means, apart) for of in samples) < FEW


def with_small(found: Estimate, samples: Sequence[Sample], ends: Range) -> Estimate:
    """Return an estimate over several collections whose error holds for small ones, too.

    A collection of fewer than 8 units most of which are alike, such as 4 items that are all solved,
    seems to have no error: it has the one that it has with two pseudo-units.

    found: `estimate` of the samples.
    ends: Least and greatest value that there can be.
    """
    small = [of for of in samples if 1 < len(of.sizes) < FEW]
    if len(samples) < 2 or not small:
        return found
    whole = sum(of.weight for of in samples)
    variance = found.error**2
    for of in small:
        own = estimate([of]).error
        padded = estimate([of], ends).error
        alike = 2 * n_differing(of.means, ALIKE * (ends[1] - ends[0])) < len(of.sizes)
        added = np.maximum(padded**2 - own**2, 0.0) * (of.weight / whole) ** 2
        variance = variance + np.where(alike, added, 0.0)
    return found._replace(error=np.sqrt(variance))


@np.errstate(divide="ignore", invalid="ignore", over="ignore")  # where all scores are equal
def mean_limits(
    samples: Sequence[Sample],
    ends: Range | None,
    confidence: float,
    critical: float | None = None,
    sources: Sequence[Source] = (),
) -> tuple[Any, Any]:
    """Return limits of means over infinitely many topics of each collection, (...).

    Bounded scores: t on the logit scale if at least 8 units have another score than most, else t
    after adding two pseudo-units at the ends of the range; at another confidence than .95, as many
    more as t^2 is larger (as Agresti and Coull 1998 add z^2). Others: t; NaN, for no limits, where
    fewer than 8 units have another score than most.

    ends: Least and greatest score that there can be; None if unknown.
    critical: In place of the quantile of t, where there are no pseudo-units; if it is not finite,
        there are no limits.
    sources: What else means vary by.
    """
    of_units = estimate(samples)
    found = with_sources(of_units, sources)
    few = few_differ(samples, None if ends is None else ends[1] - ends[0], _least_of(samples))
    if critical is not None and not np.isfinite(critical):
        critical = np.nan
    if ends is None:
        t = found.t(confidence) if critical is None else critical
        margin = np.where(few, np.nan, t * found.error)[()]
        return found.mean - margin, found.mean + margin
    found = with_sources(with_small(of_units, samples, ends), sources)
    few = few | (found.mean <= ends[0]) | (found.mean >= ends[1])
    number = (of_units.t(confidence) / of_units.t(0.95)) ** 2
    padded = with_sources(estimate(samples, ends, number), sources)
    of_few = _clipped(padded, *ends, confidence)
    of_many = _logit_limits(found, ends, found.t(confidence) if critical is None else critical)
    least, most = (np.where(few, *limits)[()] for limits in zip(of_few, of_many, strict=True))
    return least, most


def p_of_mean(
    samples: Sequence[Sample], ends: Range | None, bound: float, sources: Sequence[Source] = ()
) -> float:
    """Return the p-value of a mean of at least `bound`, one-sided, by its limits.

    It is half of the smallest 1 - confidence at which the upper limit of `mean_limits` is below
    the bound; above a half where the mean is above it. NaN where there are no limits.
    """
    low, high = mean_limits(samples, ends, 0.0, sources=sources)
    if np.isnan(low):
        return np.nan
    above = (low + high) / 2 >= bound
    surest = MOST_SURE
    excluding = 0.0  # exponent of ten of a 1 - confidence whose limits do not hold the bound
    for _ in range(HALVINGS):
        middle = (surest + excluding) / 2
        low, high = mean_limits(samples, ends, 1 - 10.0**middle, sources=sources)
        is_outside = low > bound if above else high < bound
        if is_outside:
            excluding = middle
        else:
            surest = middle
    tail: float = 10.0**excluding / 2
    return 1 - tail if above else tail


def _least_of(samples: Sequence[Sample]) -> float:
    """Return the difference up to which scores without a range are equal."""
    return EQUAL_SIZE * max(float(np.abs(of.means).max(initial=0.0)) for of in samples)


def _clipped(found: Estimate, least: Any, most: Any, confidence: float) -> tuple[Any, Any]:
    """Return the limits of t within a range."""
    margin = found.t(confidence) * found.error
    return np.maximum(found.mean - margin, least), np.minimum(found.mean + margin, most)


def _logit_limits(found: Estimate, ends: Range, critical: NDArray[Any] | float) -> tuple[Any, Any]:
    """Return limits that are symmetric on the logit scale of a range."""
    low = ends[0]
    width = ends[1] - ends[0]
    share = (found.mean - low) / width
    centre = np.log(share / (1 - share))
    margin = critical * found.error / width / (share * (1 - share))
    least = low + width / (1 + np.exp(margin - centre))
    most = low + width / (1 + np.exp(-margin - centre))
    return least, most


def guarded_estimate(
    samples: Sequence[Sample],
    width: float | None,
    *,
    binary: bool,
    least: float = 0.0,
    plain: Estimate | None = None,
) -> Estimate:
    """Return the means of differences, with pseudo-units at both ends where needed, (...).

    They stand at plus and minus the width of the range, if known, where fewer than 8 units have
    another difference than most, and for scores of 0 and 1 always: without them a gate passes a
    model that lost exactly the margin in up to 60 % of trials with few differing items. Elsewhere
    small collections among several have them alone (`with_small`). Where the range is unknown and
    few units differ, the error is NaN: there are no limits.

    width, least: As of `few_differ`.
    plain: `estimate` of the samples, if it is known.
    """
    plain = plain or estimate(samples)
    few = few_differ(samples, width, least)
    if width is None:
        return plain._replace(error=np.where(few, np.nan, plain.error)[()])
    plain = with_small(plain, samples, (-width, width))
    guarded = few | binary
    if not np.any(guarded):
        return plain
    padded = estimate([of._replace(sums=of.sums[guarded]) for of in samples], (-width, width))
    whole = Estimate(*(np.array(np.broadcast_to(of, np.shape(guarded))) for of in plain))
    for of, of_guarded in zip(whole, padded, strict=True):
        of[guarded] = of_guarded
    return whole


def difference_limits(
    found: Estimate, width: float | FloatArray | None, confidence: float
) -> tuple[Any, Any]:
    """Return limits of differences of means: t, clipped to the width of the range, if known."""
    most = np.inf if width is None else width
    return _clipped(found, -most, most, confidence)


def two_sided_p(found: Estimate) -> Any:
    """Return p-values of means of 0, (...): below .05 where the 95 % limits do not hold 0.

    They are never 0, and NaN where there are no limits.
    """
    return np.maximum(2 * _beyond(found, np.abs(found.mean)), LEAST_P)


def one_sided_p(found: Estimate, least: NDArray[Any] | float) -> Any:
    """Return p-values of means of at least `least`, (...), against smaller ones; never 0."""
    return np.maximum(_beyond(found, least - found.mean), LEAST_P)


def _beyond(found: Estimate, distance: NDArray[Any]) -> Any:
    """Return the probability that Student's t is larger than distances over the errors, (...)."""
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        return stdtr(found.freedom, -distance / found.error)


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
    every = np.concatenate([judge, further])
    m = len(truth)
    if not len(further) and m > 1:
        alone = [Sample(1.0, truth, np.ones(m))]
        return float(truth.mean()), *mean_limits(alone, ends, confidence)
    if m < LEAST_LABELLED:
        return np.nan, np.nan, np.nan
    low, high = (-np.inf, np.inf) if ends is None else ends
    width = float(np.ptp(truth)) or 1.0 if ends is None else high - low
    from_mean = judge - judge.mean()
    away = float(every.mean() - judge.mean())
    spread = float((from_mean**2).sum())
    slope = 0.0
    of_judge = 0.0
    of_slope = 0.0
    if np.ptp(judge) > EQUAL * width:
        slope = float((from_mean * (truth - truth.mean())).sum()) / spread
        of_judge = slope**2 * float(every.var(ddof=1)) / len(every)
        of_slope = away**2 / spread
    few = ends is not None and n_differing(truth, ALIKE * width) < FEW
    # Pseudo-topics are residuals where the judge's score is its mean: they do not change lambda.
    rest = Sample(1.0, truth - slope * from_mean, np.ones(m))
    found = estimate([rest], ends if few else None)
    n_rest = m + 2 * few
    residual = found.error**2 * n_rest * (n_rest - 1) / (n_rest - 2)
    mean = found.mean + slope * away
    error = np.sqrt(residual * (1 / n_rest + of_slope) + of_judge)
    half = float(Estimate(mean, error, m - 2).t(confidence) * error)
    return mean, max(mean - half, low), min(mean + half, high)
