"""Jackknife of the ratios of variance components: each topic, and each team with all its systems, is left out in turn.

A table without a topic or team is not made again. With the table less its means, all sums of squares without one part follow from the sums of
that part (deletion formulas of least squares), in one pass over the table.

References: Efron and Tibshirani 1993, chapter 11 (jackknife); Belsley, Kuh and Welsch 1980, "Regression diagnostics", section 2.1 (deletion).
"""

from typing import Any, NamedTuple

import numpy as np
import scipy

from scorecube.statistics.variance_components import (
    RATIOS,
    FloatArray,
    Numbers,
    TeamSquares,
    all_ratios,
)

FEWEST = 3
"""Topics, and teams, for a jackknife."""
LEAST_LEFT = 1e-4
"""Least share of a sum of squares that is left without a topic or team: a difference of sums then keeps 12 of 16 digits. Below it the table without that part is summed again."""


class Jackknife(NamedTuple):
    """Logarithms of ratios, their jackknife variances over topics and teams, and degrees of freedom; each (`RATIOS`,)."""

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
    """Return the jackknife of `all_ratios` that leaves out each topic, and each team with all its systems, in turn.

    The logarithm of a ratio is taken as Student's t with the sum of both jackknife variances, and degrees of freedom by Satterthwaite
    1946. No effect need be normal, and systems of a team may be alike.

    scores: float64 (system, topic).
    team_of: Number of the team of each system, or any labels.
    Returns jackknife: NaN with fewer than 3 topics or teams.
    """
    _, groups = np.unique(np.asarray(team_of), return_inverse=True)
    n_topics, n_teams = scores.shape[1], int(groups.max()) + 1
    if n_topics < FEWEST or n_teams < FEWEST:
        return Jackknife(*np.full((3, len(RATIOS)), np.nan))
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(all_ratios(scores, groups))
        parts = [_variance(ratios) for ratios in ratios_without(scores, groups)]
        total = parts[0] + parts[1]
        freedom = total**2 / (parts[0] ** 2 / (n_topics - 1) + parts[1] ** 2 / (n_teams - 1))
    return Jackknife(value, total, freedom)


def _variance(replicates: FloatArray) -> FloatArray:
    """Return the jackknife variance of the logarithms of ratios, (ratio, replicate)."""
    logs = np.log(replicates)
    n = logs.shape[1]
    spread = ((logs - logs.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return np.asarray(spread * (n - 1) / n)


def ratios_without(scores: FloatArray, groups: Any) -> tuple[FloatArray, FloatArray]:
    """Return `all_ratios` of the tables without each topic, and without each team: (ratio, topic) and (ratio, team).

    scores: float64 (system, topic), at least 3 topics.
    groups: int64 (system,): number of the team of each system, of at least 3 teams.
    """
    effects = _effects(scores, groups)
    topics, few = _without_topics(effects)
    for topic in np.flatnonzero(few):
        topics[:, topic] = all_ratios(np.delete(scores, topic, axis=1), groups)
    teams, few = _without_teams(effects)
    for team in np.flatnonzero(few):
        teams[:, team] = all_ratios(scores[groups != team], groups[groups != team])
    return topics, teams


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
    return squares.ratios(Numbers(p, n - 1, len(sizes), (sizes**2).sum() / p)), few


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
    evenness = ((sizes**2).sum() - sizes**2) / q
    return squares.ratios(Numbers(q, n, len(sizes) - 1, evenness)), few


def _left(parts: list[FloatArray], factor: float | FloatArray) -> tuple[FloatArray, Any]:
    """Return sums of squares less each part times a factor, (sum, part), and for which part one has too few digits."""
    total = np.sum(parts, axis=1, keepdims=True)
    left: FloatArray = total - factor * np.array(parts)
    return left, (left < LEAST_LEFT * total).any(axis=0)
