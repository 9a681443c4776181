"""Simulated collections with a known tau: scores of systems in teams under two metrics.

A score is Phi(z), or z itself, with z = system + topic + interaction. Interactions are correlated between the two metrics and between the
systems of a team, and their variance may differ between systems. Variances of systems, topics and interactions are like those of AP and P@10
on ad hoc tracks. The order of the true means, and so the true tau, is exact: the mean of Phi(N(m, v)) is Phi(m / sqrt(1 + v)).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tests.validation.rates import kendall
from tests.validation.truths import Floats, Sample, Truth

BEND = 1.3
"""Power of the relation between the true means of two metrics that is not linear."""


@dataclass(frozen=True)
class Design:
    """Kind of a simulated collection.

    Parameters
    ----------
    team_size
        Systems of a team; interactions of two systems of a team have correlation `team_correlation`.
    spread
        Standard deviation of the logarithm of the systems' standard deviations of interactions.
    skewed
        Whether few systems are much worse than most; else the true means are normal.
    bent
        Whether the true means of the second metric are no linear function of the first's where tau is 1.
    bounded
        Whether scores are in 0 .. 1.
    outliers
        Number of systems far below all others.
    """

    team_size: int = 1
    team_correlation: float = 0.7
    spread: float = 0.0
    skewed: bool = False
    bent: bool = False
    bounded: bool = False
    outliers: int = 0


DESIGNS = {
    "normal": Design(),
    "teams": Design(team_size=3, spread=0.35),
    "skewed": Design(skewed=True),
    "bent": Design(bent=True),
    "bounded": Design(team_size=3, spread=0.35, skewed=True, bent=True, bounded=True),
    "broken": Design(outliers=2),
}
"""``teams``: of three, with unequal variances; ``bounded``: the same with skewed means and scores in 0 .. 1; ``broken``: two very bad systems."""
SYSTEM_DEVIATIONS = np.array([0.10, 0.11])
TOPIC_DEVIATIONS = np.array([0.17, 0.20])
INTERACTION_DEVIATIONS = np.array([0.125, 0.16])
TOPIC_CORRELATION, INTERACTION_CORRELATION = 0.8, 0.7
PROBIT = 3.2
"""Factor of all deviations of bounded scores, whose density at the mean is about 1 / PROBIT."""
CENTRE = -0.6


def true_effects(random: np.random.Generator, n_systems: int, tau: float, design: Design) -> Floats:
    """Return system effects (2, system) of unit variance whose tau is as near to `tau` as one parameter brings it."""
    first, other = random.standard_normal((2, n_systems))
    if design.skewed:
        first = -random.gamma(1.5, 1.0, n_systems)
        first = (first - first.mean()) / first.std()
    low, high = 0.0, np.pi / 2
    for _ in range(40 if tau < 1 else 0):
        middle = (low + high) / 2
        reached = kendall(first, np.cos(middle) * first + np.sin(middle) * other)
        low, high = (middle, high) if reached > tau else (low, middle)
    second = np.cos(low) * first + np.sin(low) * other
    if design.bent:
        second = np.sign(second) * np.abs(second) ** BEND
    effects = np.array([first, second])
    effects[:, : design.outliers] -= 8.0
    return effects


def simulate(
    random: np.random.Generator, n_systems: int, n_topics: int, tau: float, design: Design
) -> tuple[Floats, Floats]:
    """Return scores (2, system, topic) and true means (2, system) up to an increasing function."""
    effects = true_effects(random, n_systems, tau, design) * SYSTEM_DEVIATIONS[:, np.newaxis]
    team = np.arange(n_systems) // design.team_size
    within = design.team_correlation if design.team_size > 1 else 0.0

    def correlated(values: Floats, correlation: float) -> Floats:
        """Mix two independent parts."""
        second = correlation * values[0] + np.sqrt(1 - correlation**2) * values[1]
        return np.array([values[0], second])

    shape = (2, n_systems, n_topics)
    of_team = random.standard_normal((2, int(team.max()) + 1, n_topics))[:, team]
    parts = np.sqrt(within) * of_team + np.sqrt(1 - within) * random.standard_normal(shape)
    unequal = np.exp(design.spread * random.standard_normal(n_systems))
    deviations = INTERACTION_DEVIATIONS[:, np.newaxis] * unequal
    interaction = correlated(parts, INTERACTION_CORRELATION) * deviations[..., np.newaxis]
    topics = correlated(random.standard_normal((2, n_topics)), TOPIC_CORRELATION)
    topics *= TOPIC_DEVIATIONS[:, np.newaxis]
    z = effects[..., np.newaxis] + topics[:, np.newaxis] + interaction
    if not design.bounded:
        return z, effects
    means = CENTRE + PROBIT * effects
    variances = PROBIT**2 * (TOPIC_DEVIATIONS[:, np.newaxis] ** 2 + deviations**2)
    return ndtr(CENTRE + PROBIT * z), ndtr(means / np.sqrt(1 + variances))


def two_metrics(design: str, n_systems: int, n_topics: int, tau: float) -> Truth:
    """Return collections of one of `DESIGNS`; `Sample.means` have the true order."""
    return lambda chance: Sample(*simulate(chance, n_systems, n_topics, tau, DESIGNS[design]))
