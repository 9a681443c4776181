"""Variances of scores of systems on topics, and the reliability of mean scores.

A score is a system effect, a topic effect, and an interaction with error, of which systems and
topics at hand are random samples. The reliability of means over n topics depends on the ratio r of
the variance of systems to the error variance of one topic: n r / (1 + n r).

References: Sakai and Shang 2016, equation 1 (one-way variance); Brennan 2001, "Generalizability
    theory", Springer (components, coefficients); Bodoff and Li 2007, SIGIR, and Urbano, Marrero and
    Martin 2013, SIGIR (test collections).
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
COEFFICIENTS = ("erho2", "phi")
SOURCES = ("systems", "topics", "interaction")


def within_system_variance(scores: FloatArray) -> FloatArray:
    """Return the one-way variance within systems, of scores (..., system, topic).

    Missing scores are left out; NaN without a system with two topics.
    """
    finite = np.isfinite(scores)
    count = finite.sum(axis=-1, keepdims=True)
    left = np.where(finite, scores, 0.0)
    for _ in range(2):  # again, so that equal scores have a variance of 0 exactly
        mean = left.sum(axis=-1, keepdims=True) / np.maximum(count, 1)
        left = np.where(finite, left - mean, 0.0)
    freedom = np.maximum(count - 1, 0).sum(axis=(-2, -1))
    return np.asarray((left**2).sum(axis=(-2, -1)) / np.where(freedom > 0, freedom, np.nan))


def mean_squares(scores: FloatArray) -> FloatArray:
    """Return the mean squares of systems, topics, interaction, (source, ...), NaN for none."""
    p, n = scores.shape[-2:]
    grand = scores.mean(axis=(-2, -1), keepdims=True)
    of_system = scores.mean(axis=-1, keepdims=True) - grand
    of_topic = scores.mean(axis=-2, keepdims=True) - grand
    rest = scores - grand - of_system - of_topic
    between_systems = n * (of_system**2).sum(axis=(-2, -1)) / ((p - 1) or np.nan)
    between_topics = p * (of_topic**2).sum(axis=(-2, -1)) / ((n - 1) or np.nan)
    within = (rest**2).sum(axis=(-2, -1)) / ((p - 1) * (n - 1) or np.nan)
    return np.stack([between_systems, between_topics, within])


def components(scores: FloatArray) -> FloatArray:
    """Return unbiased variances of systems, topics, interaction, (source, ...); maybe negative."""
    systems, topics, rest = mean_squares(scores)
    p, n = scores.shape[-2:]
    return np.stack([(systems - rest) / n, (topics - rest) / p, rest])


def repetition_components(systems: Sequence[FloatArray]) -> tuple[float, float]:
    """Return unbiased variances of repetitions, and of topic x repetition, within systems.

    Those of each system, weighted by its repetitions less one; NaN without a system with two.

    systems: Scores (repetition, topic) of each.
    """
    freedoms = [len(scores) - 1 for scores in systems if len(scores) > 1]
    found = [components(scores) for scores in systems if len(scores) > 1]
    if not found:
        return np.nan, np.nan
    between, _, rest = np.average(found, axis=0, weights=freedoms).tolist()
    return between, rest


def ratios(variances: FloatArray) -> FloatArray:
    """Return the variance of systems over the error variance of one topic, (coefficient, ...).

    Of E rho^2 the interaction is the error; of Phi, which is about absolute means, topics, too.
    Negative components count as 0; NaN if all scores are equal.
    """
    systems, topics, rest = np.maximum(variances, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([systems / rest, systems / (topics + rest)])


def coefficient(ratio: NDArray[Any], n_topics: NDArray[Any] | float) -> FloatArray:
    """Return the reliability of means over a number of topics; 1 for an infinite ratio."""
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (1.0 + 1.0 / (np.asarray(ratio, float) * n_topics)))


def topics_for(ratio: NDArray[Any], target: float) -> FloatArray:
    """Return the smallest number of topics with a reliability; infinite for a ratio of 0."""
    exact = Fraction(str(target))
    with np.errstate(divide="ignore"):
        odds = float(exact / (1 - exact)) / np.asarray(ratio, float)
        return np.asarray(np.maximum(np.ceil(odds), 1.0))
