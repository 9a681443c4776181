"""Limits of reliability coefficients: collections whose systems and topics are drawn anew.

Truth is exact for normal effects and for scores drawn from a real table (systems and topics with replacement: effects are those of the table, so variances
have divisors p and n), and known to 1 % for bounded scores. Limits are about the ratio of variances of systems and of error, of which E rho^2, Phi and
numbers of topics are monotone functions: they cover together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr

from scorecube.statistics.variance_components import jackknife, mean_squares, ratio_limits
from tests.validation.rates import Values, collected, covers
from tests.validation.truths import Floats, real_scores

CONFIDENCE = 0.95
RATIOS = ("E rho^2", "Phi")
COMPONENTS = 0.0028, 0.028, 0.010
"""Variances of systems, topics and interaction, as of AP in TREC-3."""
SHARED = 0.5
"""Share of the variances of systems and of interaction that systems of a team have in common."""
REAL = {"robust2004 AP": "robust2004/ap_249topics.csv", "robust2004 P@10": "robust2004/p10_249topics.csv",
        "mq2007 AP": "mq2007/ap.csv"}  # fmt: skip


@dataclass(frozen=True)
class Design:
    """Simulated collections of one kind.

    Parameters
    ----------
    kind
        ``normal`` effects; ``skewed``: scores in 0 .. 1 with many near 0, few bad systems, and unequal variances; or a key of `REAL`.
    n_systems, n_topics, team
        Sizes, and systems of a team.
    """

    kind: str
    n_systems: int
    n_topics: int
    team: int = 1


DESIGNS = tuple(
    Design(kind, 40, n_topics, team)
    for kind, team in (("normal", 1), ("normal", 4), ("skewed", 1), ("skewed", 4))
    for n_topics in (25, 50)
)
REAL_DESIGNS = tuple(Design(kind, 40, n_topics) for kind in REAL for n_topics in (25, 50))


def effects(random: np.random.Generator, design: Design, scale: float, shape: Any) -> Floats:
    """Return standard normal effects of systems, of which those of a team have a part in common."""
    rows, columns = shape
    own = random.standard_normal(shape)
    if design.team == 1:
        return np.asarray(scale * own)
    shared = np.repeat(random.standard_normal((rows // design.team, columns)), design.team, axis=0)
    return np.asarray(scale * (np.sqrt(SHARED) * shared + np.sqrt(1 - SHARED) * own))


def simulate(random: np.random.Generator, design: Design) -> Floats:
    """Return scores (system, topic)."""
    p, n = design.n_systems, design.n_topics
    if design.kind in REAL:
        table = real_scores(REAL[design.kind])
        rows = table[random.integers(len(table), size=p)]
        return rows[:, random.integers(table.shape[1], size=n)]
    if design.kind == "normal":
        systems, topics, rest = map(np.sqrt, COMPONENTS)
        ability = effects(random, design, systems, (p, 1))
        difficulty = topics * random.standard_normal((1, n))
        return np.asarray(ability + difficulty + effects(random, design, rest, (p, n)))
    ability = 0.35 * (1 - np.exp(0.6 * effects(random, design, 1.0, (p, 1))))
    spread = 0.5 * np.exp(0.3 * effects(random, design, 1.0, (p, 1)))
    topics = 0.7 * random.standard_normal((1, n))
    return np.asarray(ndtr(ability + topics + spread * effects(random, design, 1.0, (p, n)) - 0.8))


@cache
def truth(design: Design) -> tuple[float, float]:
    """Return the true ratios: systems of different teams, infinitely many systems and topics."""
    if design.kind in REAL:
        scores = real_scores(REAL[design.kind])
        by_system, by_topic = scores.mean(axis=1), scores.mean(axis=0)
        rest = scores - by_system[:, np.newaxis] - by_topic + scores.mean()
        variances = by_system.var(), by_topic.var(), (rest**2).mean()
    elif design.kind == "normal":
        variances = COMPONENTS
    else:
        random = np.random.default_rng(1)
        large = Design(design.kind, 3000, 3000)
        found = [mean_squares(simulate(random, large)).components() for _ in range(10)]
        variances = tuple(np.mean(found, axis=0))
    systems, topics, rest = map(float, variances)
    return systems / rest, systems / (topics + rest)


def coverage(design: Design, number: int, seed: int) -> Values:
    """Return whether limits of the ratios of variances hold them."""
    teams = np.arange(design.n_systems) // design.team
    true, rows = np.array(truth(design)), list[dict[str, Any]]()
    for place in range(number):
        scores = simulate(np.random.default_rng((seed, place)), design)
        limits = {
            "F": ratio_limits(mean_squares(scores), CONFIDENCE),
            "jackknife": jackknife(scores, teams).limits(CONFIDENCE),
        }
        rows.append(
            {
                f"{ratio}, {name}": covers(low[k], high[k], true[k])
                for name, (low, high) in limits.items()
                for k, ratio in enumerate(RATIOS)
            }
        )
    return collected(rows)
