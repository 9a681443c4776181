"""Confidence limits over topics and runs, from values of a statistic without groups of topics or of teams (delete-a-group replicates).

Topics and runs are crossed: the variance of a statistic over collections has a component of runs, one of topics, and one of their interaction. The jackknife
that deletes whole groups of runs (or teams) estimates the first and, as other runs also have other scores on each topic, the last, and underestimates neither (Efron and
Stein 1981). The component of topics alone is what two halves of the runs have in common when topics are left out: the covariance of the replicates of both
halves. The plain sum of a jackknife over topics and one over runs (McCullagh 2000; Owen 2007) counts the interaction at least twice: in simulations its
intervals were up to 2.4 times as wide, and all of them covered the true rate. Limits of several statistics together come from one set of random multipliers
of the replicates' deviations, which have the jackknife's covariances.

References: Efron and Stein 1981, "The jackknife estimate of variance", Annals of Statistics; Kott 2001, "The delete-a-group jackknife", Journal of Official
Statistics; McCullagh 2000, "Resampling and exchangeable arrays", Bernoulli; Owen 2007, "The pigeonhole bootstrap", Annals of Applied Statistics; Satterthwaite
1946, "An approximate distribution of estimates of variance components", Biometrics.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scorecube.statistics.proportion_intervals import LEVEL, T_RANGE, student_quantile

FloatArray = NDArray[np.float64]
DRAWS = 1000
"""Random draws for probabilities and joint limits: the standard error of a probability is at most .016."""

FREEDOM = 5.0
"""Least degrees of freedom that the uncertainty of the component of topics leaves; see `Replicates.variance`."""


@dataclass(frozen=True)
class Replicates:
    """Values of statistics without each group.

    runs: float64 (group, ...): without a group of runs.
    topics: float64 (group, half, ...): without a group of topics, for each half of the runs.
    """

    runs: FloatArray
    topics: FloatArray

    def variance(self) -> tuple[FloatArray, FloatArray]:
        """Return variance and degrees of freedom of each statistic.

        Satterthwaite's degrees of freedom are 2 * variance**2 / (variance of its estimate). The estimate of a covariance c of two
        halves with variances a and b has the variance (a * b + c**2) / (groups - 1). Where that leaves fewer than `FREEDOM`, and c**2
        in place of a * b would leave more, it is `FREEDOM`: an estimate near 0 is replaced by 0, which makes the variance too large.
        """
        of_runs = _jackknife(self.runs, self.runs)
        one, other = self.topics[:, 0], self.topics[:, 1]
        covariance = _jackknife(one, other)
        of_topics = np.maximum(covariance, 0.0)
        total = of_runs + of_topics
        by_runs, groups = of_runs**2 / (len(self.runs) - 1), len(self.topics) - 1
        both = _jackknife(one, one) * _jackknife(other, other) + covariance**2
        with np.errstate(invalid="ignore", divide="ignore"):
            freedom = total**2 / (by_runs + both / (2 * groups))
            at_most = total**2 / (by_runs + of_topics**2 / groups)
        freedom = np.maximum(freedom, np.minimum(at_most, FREEDOM))
        return total, np.clip(np.where(total > 0, freedom, T_RANGE[1]), *T_RANGE)

    def limits(self, estimate: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the 95 % limits of each statistic (...): Student's t."""
        variance, freedom = self.variance()
        half = student_quantile(freedom) * np.sqrt(variance)
        return estimate - half, estimate + half

    def deviations(self) -> FloatArray:
        """Return float64 (direction, ...): deviations whose sums of squares are the variances.

        Those of topics are means of both halves, scaled to the component of topics.
        """
        runs = _centred(self.runs)
        topics = _centred(self.topics.mean(axis=1))
        common = np.maximum(_jackknife(self.topics[:, 0], self.topics[:, 1]), 0.0)
        own = (topics**2).sum(axis=0)
        scale = np.sqrt(np.divide(common, own, out=np.zeros_like(own), where=own > 0))
        return np.concatenate([runs, topics * scale])


def _centred(values: FloatArray) -> FloatArray:
    return np.asarray((values - values.mean(axis=0)) * np.sqrt((len(values) - 1) / len(values)))


def _jackknife(one: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray((_centred(one) * _centred(other)).sum(axis=0))


def draw_errors(deviations: FloatArray, freedom: float, random: np.random.Generator) -> FloatArray:
    """Return draws (draw, ...) of the errors of statistics, Student's t with the covariances of deviations.

    deviations: float64 (direction, ...): of `Replicates.deviations`.
    freedom: Degrees of freedom.
    random: Generator of the multipliers.
    """
    normal = random.standard_normal((DRAWS, len(deviations)))
    scale = np.sqrt(freedom / random.chisquare(freedom, DRAWS))
    errors = np.einsum("bd,d...->b...", normal, deviations)
    return np.asarray(errors * scale.reshape(-1, *[1] * (errors.ndim - 1)))


def behind_best(
    estimate: FloatArray, replicates: Replicates, random: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Return limits of how far each statistic is below the largest one, for all pairs of statistics at once.

    estimate: float64 (statistic,).
    replicates: Of the statistics.
    random: Generator of the multipliers.
    Returns low, high: float64 (statistic,): limits, 95 % together, of the largest statistic minus each. A pair's limits
        are its difference +- the 95 % quantile of the largest studentised error among all pairs, times its standard
        error; as the largest statistic is at least any other, the largest limits over the others hold (Hsu 1984,
        "Constrained simultaneous confidence intervals for multiple comparisons with the best", Annals of Statistics). A
        statistic with a lower limit above 0 is separated from the largest; the family-wise error rate of such claims is
        5 %.
    """
    deviations = replicates.deviations()
    drawn = draw_errors(deviations, float(replicates.variance()[1].min()), random)
    errors = np.array([np.sqrt(((deviations.T - each) ** 2).sum(axis=1)) for each in deviations.T])
    largest = np.zeros(DRAWS)
    for own, error in zip(drawn.T, errors, strict=True):
        moving = error > 0
        studentised = np.abs(drawn - own[:, np.newaxis])[:, moving] / error[moving]
        np.maximum(largest, studentised.max(axis=1, initial=0.0), out=largest)
    half = float(np.quantile(largest, LEVEL)) * errors
    behind = estimate[np.newaxis] - estimate[:, np.newaxis]
    return (behind - half).max(axis=1), (behind + half).max(axis=1)
