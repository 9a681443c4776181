"""Limits of variances of scores, and of reliability: these systems, other topics.

Truth is exact for topics drawn with replacement from those of a real table, whose effects are the
truth (divisors of topics are N), and known to 1 % for skewed scores. E rho^2, Phi and numbers of
topics are monotone functions of two ratios of variances: their limits cover together. So do numbers
of topics of designs with the variances.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr

from scorecube.analyses.jackknife import limits, of_scores
from scorecube.analyses.table import make_table
from scorecube.statistics.variance import components, ratios, within_system_variance
from tests.validation.rates import Values, collected, covers
from tests.validation.truths import Floats, cube_of, real_scores

REAL = {
    "robust2004 AP": "robust2004/ap_249topics.csv",
    "robust2004 P@10": "robust2004/p10_249topics.csv",
    "mq2007 AP": "mq2007/ap.csv",
    "web2012 ERR@20": "web2012/err20.csv",
    "adhoc7 RR": "adhoc7/rr.csv",
}
NAMES = ("E rho^2", "Phi", "one-way variance", "two-way variance")


@dataclass(frozen=True)
class Design:
    """Collections of one kind: ``normal`` or ``skewed`` effects, or a key of `REAL`."""

    kind: str
    n_systems: int
    n_topics: int


DESIGNS = tuple(
    Design(kind, n_systems, n_topics)
    for kind in ("normal", "skewed", *REAL)
    for n_systems in (12, 40)
    for n_topics in (10, 25, 50)
)


def simulate(random: np.random.Generator, design: Design, n_topics: int) -> Floats:
    """Return scores (system, topic); the systems are the same whatever the generator."""
    p = design.n_systems
    of_systems = np.random.default_rng(11).standard_normal((2, p, 1))
    rest = random.standard_normal((p, n_topics))
    topics = random.standard_normal((1, n_topics))
    if design.kind == "normal":
        return np.asarray(0.05 * of_systems[0] + 0.17 * topics + 0.1 * rest)
    ability = 0.35 * (1 - np.exp(0.6 * of_systems[0]))
    spread = 0.5 * np.exp(0.3 * of_systems[1])
    return np.asarray(ndtr(ability + 0.7 * topics + spread * rest - 0.8))


def population(design: Design) -> Floats:
    """Return the table whose topics are all topics there are, of some systems of a collection."""
    if design.kind not in REAL:
        return simulate(np.random.default_rng(1), design, 200_000)
    scores = real_scores(REAL[design.kind])
    order = np.argsort(scores.mean(axis=1), kind="stable")
    places = np.linspace(0, len(order) - 1, min(design.n_systems, len(order))).astype(int)
    return np.asarray(scores[order[places]])


def statistics(variances: Floats, within: Any) -> Floats:
    """Return both ratios and both variances."""
    return np.array([*ratios(variances), within, variances[-1]])


@cache
def truth(design: Design) -> Floats:
    """Return the true statistics: those of the population, with divisor N of its topics."""
    scores = population(design)
    n = scores.shape[1]
    systems, topics, rest = components(scores)
    rest_true = rest * (n - 1) / n
    systems_true = systems + rest / n
    topics_true = (topics + rest / len(scores)) * (n - 1) / n - rest_true / len(scores)
    within = within_system_variance(scores) * (n - 1) / n
    return statistics(np.array([systems_true, topics_true, rest_true]), within)


def coverage(design: Design, number: int, seed: int) -> Values:
    """Return whether limits hold the truth, and the width of those of E rho^2."""
    rows = list[dict[str, Any]]()
    table = population(design) if design.kind in REAL else None
    true = truth(design)

    def of(scores: Floats) -> Floats:
        return statistics(components(scores), within_system_variance(scores))

    for place in range(number):
        random = np.random.default_rng((seed, place))
        if table is None:
            scores = simulate(random, design, design.n_topics)
        else:
            scores = table[:, random.integers(table.shape[1], size=design.n_topics)]
        found = of_scores(make_table(cube_of([scores])), of)[:, 0]
        low, high = limits(found[0], found[1:], "log")
        row = dict(zip(NAMES, covers(low, high, true), strict=True))
        n = design.n_topics
        width = np.diff([n * end / (1 + n * end) for end in (low[0], high[0])])
        rows.append(row | {"E rho^2: width": float(width[0])})
    return collected(rows)
