"""Variance components of scores of systems on topics, and the reliability of mean scores.

The estimand of a reliability coefficient: the correlation of mean scores over n topics with mean scores over infinitely many (E rho^2,
squared; differences between systems), or its counterpart for absolute scores (Phi), for systems and topics of which those at hand are
random samples. Both depend on one ratio of variances, systems over error of one topic: a coefficient is n r / (1 + n r).

References: Brennan 2001, "Generalizability theory", Springer (components, coefficients; section 6.2 for intervals); Feldt 1965,
Psychometrika 30(3) (interval of E rho^2); Arteaga, Jeyaratnam and Franklin 1982, Communications in Statistics - Theory and Methods
11(15) (interval of Phi); Bodoff and Li 2007, SIGIR, and Urbano, Marrero and Martin 2013, SIGIR (test collections).

The jackknife of the ratios leaves out each topic, and each team with all its systems, in turn. A table without a topic or team is not made again: with the table
less its means, all sums of squares without one part follow from the sums of that part (deletion formulas of least squares), in one pass over the table.
References: Efron and Tibshirani 1993, chapter 11 (jackknife); Belsley, Kuh and Welsch 1980, "Regression diagnostics", section 2.1 (deletion).
"""

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import scipy

FloatArray = np.ndarray[Any, np.dtype[np.float64]]
ERHO2, PHI = "erho2", "phi"
COEFFICIENTS = (ERHO2, PHI)


class MeanSquares(NamedTuple):
    """Mean squares of a two-way table without replication, over leading dims, and its numbers of systems and topics."""

    systems: FloatArray
    topics: FloatArray
    interaction: FloatArray
    n_systems: int | FloatArray
    n_topics: int

    def components(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the variances of systems, topics, and of the rest; unbiased, so they may be negative."""
        return (
            (self.systems - self.interaction) / self.n_topics,
            (self.topics - self.interaction) / self.n_systems,
            self.interaction,
        )


def mean_squares(scores: FloatArray) -> MeanSquares:
    """Return the mean squares of scores (..., system, topic) without missing values.

    Examples
    --------
    >>> found = mean_squares(np.array([[0.1, 0.3], [0.5, 0.9]]))
    >>> [round(float(part), 3) for part in found[:3]]
    [0.25, 0.09, 0.01]
    """
    p, n = scores.shape[-2:]
    grand = scores.mean(axis=(-2, -1), keepdims=True)
    by_system = scores.mean(axis=-1, keepdims=True) - grand
    by_topic = scores.mean(axis=-2, keepdims=True) - grand
    rest = scores - grand - by_system - by_topic
    return MeanSquares(
        n * (by_system**2).sum(axis=(-2, -1)) / (p - 1),
        p * (by_topic**2).sum(axis=(-2, -1)) / (n - 1),
        (rest**2).sum(axis=(-2, -1)) / ((p - 1) * (n - 1)),
        p,
        n,
    )


def ratios(found: MeanSquares) -> FloatArray:
    """Return systems' variance over the error variance of one topic, (coefficient, ...); negative components count as 0.

    It is infinite without any error, and NaN if all scores are equal.
    """
    systems, topics, interaction = (np.maximum(part, 0.0) for part in found.components())
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.stack([systems / interaction, systems / (topics + interaction)])


def ratio_limits(found: MeanSquares, confidence: float) -> tuple[FloatArray, FloatArray]:
    """Return the limits of `ratios` for normal effects that are independent: Feldt's, and those of Arteaga et al.

    found: Mean squares of at least 2 systems and 2 topics.
    confidence: Confidence level.
    Returns low, high: float64 (coefficient, ...), at least 0; NaN if all scores are equal.
    """
    tail = (1 - confidence) / 2
    return _limits(found, 1 - tail), _limits(found, tail)


def _limits(found: MeanSquares, level: float) -> FloatArray:
    """Return the relative and the absolute limit at a level."""
    p1, n1 = int(found.n_systems) - 1, found.n_topics - 1
    # Quantiles of F with p - 1 and infinitely many, (p - 1)(n - 1), and n - 1 degrees of freedom.
    unlimited = float(scipy.special.chdtri(p1, 1 - level)) / p1
    quantile, of_topics = (float(scipy.special.fdtri(p1, k, level)) for k in (p1 * n1, n1))
    s, t, e = found[:3]
    # s^2 - f s e + (f - q) q e^2, in factors; it is 0 where the test of systems by F is at its quantile q.
    above = (s - quantile * e) * (s - (unlimited - quantile) * e)
    below = (found.n_systems - 1) * unlimited * s * e + of_topics * s * t
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.maximum((s / (e * quantile) - 1) / found.n_topics, 0.0)
        limit = found.n_systems / found.n_topics * above / below
    absolute = np.where(s <= quantile * e, np.where(below > 0, 0.0, limit), limit)
    return np.stack([relative, absolute])


def coefficient(ratio: Any, n_topics: Any) -> FloatArray:
    """Return the coefficient of mean scores over a number of topics; 1 for an infinite ratio.

    Examples
    --------
    >>> float(coefficient(0.25, 16))
    0.8
    """
    with np.errstate(divide="ignore"):
        return np.asarray(1.0 / (1.0 + 1.0 / (np.asarray(ratio, np.float64) * n_topics)))


def topics_for(ratio: Any, target: float) -> FloatArray:
    """Return the smallest number of topics whose coefficient is at least a target; infinite for a ratio of 0.

    Examples
    --------
    >>> float(topics_for(0.25, 0.9))
    36.0
    """
    exact = Fraction(str(target))
    odds = float(exact / (1 - exact))
    with np.errstate(divide="ignore"):
        return np.asarray(np.maximum(np.ceil(odds / np.asarray(ratio, np.float64)), 1.0))


FEWEST = 3
"""Topics, and teams, for a jackknife."""
LEAST_LEFT = 1e-4
"""Least share of a sum of squares that is left without a topic or team: a difference of sums then keeps 12 of 16 digits. Below it the table without that part is summed again."""


class Jackknife(NamedTuple):
    """Logarithms of ratios, their jackknife variances over topics and teams, and degrees of freedom; each (`COEFFICIENTS`,)."""

    log_ratio: FloatArray
    variance: FloatArray
    freedom: FloatArray

    def limits(self, confidence: float) -> tuple[FloatArray, FloatArray]:
        """Return the limits of the ratios; NaN where a ratio is 0 or infinite, also with a topic or team left out."""
        with np.errstate(invalid="ignore", over="ignore"):
            reach = scipy.special.stdtrit(self.freedom, (1 + confidence) / 2) * np.sqrt(
                self.variance
            )
            known = np.isfinite(self.log_ratio) & np.isfinite(reach)
            low, high = np.exp(self.log_ratio - reach), np.exp(self.log_ratio + reach)
        return np.where(known, low, np.nan), np.where(known, high, np.nan)


def jackknife(scores: FloatArray, team_of: Any) -> Jackknife:
    """Return the jackknife of `ratios` that leaves out each topic, and each team with all its systems, in turn.

    The logarithm of a ratio is taken as Student's t with the sum of both jackknife variances, and degrees of freedom by Satterthwaite
    1946. No effect need be normal, and systems of a team may be alike.

    scores: float64 (system, topic).
    team_of: Number of the team of each system, or any labels.
    Returns jackknife: NaN with fewer than 3 topics or teams.
    """
    _, groups = np.unique(np.asarray(team_of), return_inverse=True)
    n_topics, n_teams = scores.shape[1], int(groups.max()) + 1
    if n_topics < FEWEST or n_teams < FEWEST:
        return Jackknife(*np.full((3, len(COEFFICIENTS)), np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(ratios(mean_squares(scores)))
        parts = []
        for logs in map(np.log, ratios_without(scores, groups)):
            n, away = logs.shape[1], logs - logs.mean(axis=1, keepdims=True)
            parts.append((away**2).sum(axis=1) * (n - 1) / n)
        total = parts[0] + parts[1]
        freedom = total**2 / (parts[0] ** 2 / (n_topics - 1) + parts[1] ** 2 / (n_teams - 1))
    return Jackknife(value, total, freedom)


def ratios_without(scores: FloatArray, groups: Any) -> tuple[FloatArray, FloatArray]:
    """Return `ratios` of the tables without each topic, and without each team: (ratio, topic) and (ratio, team).

    scores: float64 (system, topic), at least 3 topics.
    groups: int64 (system,): number of the team of each system, of at least 3 teams.
    """
    effects = _effects(scores, groups)
    topics, few = _without_topics(effects)
    for topic in np.flatnonzero(few):
        topics[:, topic] = ratios(mean_squares(np.delete(scores, topic, axis=1)))
    teams, few = _without_teams(effects)
    for team in np.flatnonzero(few):
        teams[:, team] = ratios(mean_squares(scores[groups != team]))
    return topics, teams


class TeamSquares(NamedTuple):
    """Sums of squares of tables (system, topic): means of systems between and within teams, means of topics, and the rest between and within teams."""

    between: FloatArray
    within: FloatArray
    topics: FloatArray
    rest_between: FloatArray
    rest_within: FloatArray

    def ratios(self, p: Any, n: int) -> FloatArray:
        """Return the ratios of tables of p systems and n topics, (coefficient, ...)."""
        squares = MeanSquares(
            n * (self.between + self.within) / (p - 1),
            p * self.topics / (n - 1),
            (self.rest_between + self.rest_within) / ((p - 1) * (n - 1)),
            p,
            n,
        )
        return ratios(squares)


class _Effects(NamedTuple):
    """A table whose systems are ordered by team: effects of systems and topics, the rest, and its squares (team, topic)."""

    systems: FloatArray
    topics: FloatArray
    rest: FloatArray
    rest_between: FloatArray
    rest_within: FloatArray
    sizes: Any
    """Systems of each team."""


def _effects(scores: FloatArray, groups: Any) -> _Effects:
    order = np.argsort(groups, kind="stable")
    rest = scores[order]
    rest -= scores.mean()  # Means of small numbers have more exact digits.
    systems, topics = rest.mean(axis=1), rest.mean(axis=0)
    systems -= systems.mean()
    rest -= systems[:, np.newaxis]
    rest -= topics
    sizes = np.bincount(groups)
    return _Effects(systems, topics - topics.mean(), rest, *_by_team(rest, sizes), sizes)


def _by_team(values: FloatArray, sizes: Any) -> tuple[FloatArray, FloatArray]:
    """Return each team's part of the sums of squares of values (system, topic) between and within teams, (team, topic).

    The mean of the values over systems is 0.
    """
    starts, each = np.cumsum(sizes) - sizes, sizes[:, np.newaxis]
    means = np.add.reduceat(values, starts, axis=0) / each
    within = values - np.repeat(means, sizes, axis=0)
    np.square(within, out=within)
    return each * means**2, np.add.reduceat(within, starts, axis=0)


def _without_topics(effects: _Effects) -> tuple[FloatArray, Any]:
    """Return the ratios without each topic, and which of them lost digits."""
    (p, n), sizes = effects.rest.shape, effects.sizes
    left, few = _left(
        [effects.topics**2, effects.rest_between.sum(axis=0), effects.rest_within.sum(axis=0)],
        n / (n - 1),
    )
    systems = effects.systems[:, np.newaxis] - effects.rest / (n - 1)
    squares = TeamSquares(*(part.sum(axis=0) for part in _by_team(systems, sizes)), *left)
    return squares.ratios(p, n - 1), few


def _without_teams(effects: _Effects) -> tuple[FloatArray, Any]:
    """Return the ratios without each team, and which of them lost digits."""
    (p, n), sizes = effects.rest.shape, effects.sizes
    q = p - sizes
    between, within = (part[:, 0] for part in _by_team(effects.systems[:, np.newaxis], sizes))
    left, few = _left(
        [between, within, effects.rest_between.sum(axis=1), effects.rest_within.sum(axis=1)],
        np.array([p / q, np.ones_like(q), p / q, np.ones_like(q)]),
    )
    means = np.add.reduceat(effects.rest, np.cumsum(sizes) - sizes, axis=0)
    topics = ((effects.topics - means / q[:, np.newaxis]) ** 2).sum(axis=1)
    squares = TeamSquares(left[0], left[1], topics, left[2], left[3])
    return squares.ratios(q, n), few


def _left(parts: list[FloatArray], factor: float | FloatArray) -> tuple[FloatArray, Any]:
    """Return sums of squares less each part times a factor, (sum, part), and for which part one has too few digits."""
    total = np.sum(parts, axis=1, keepdims=True)
    left: FloatArray = total - factor * np.array(parts)
    return left, (left < LEAST_LEFT * total).any(axis=0)
