"""Limits of reliability and of variances where the truth is known: topics of real collections."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scorecube.analyses.jackknife import limits, of_scores
from scorecube.analyses.preparation import make_table
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


class Population(NamedTuple):
    """Scores (system, topic), whose topics are all topics there are, and topics of a sample."""

    scores: Floats
    n_topics: int


def population(name: str, n_systems: int, n_topics: int) -> Population:
    """Return systems of a collection, evenly spread over the order of means."""
    scores = real_scores(REAL[name])
    order = np.argsort(scores.mean(axis=1), kind="stable")
    places = np.linspace(0, len(order) - 1, min(n_systems, len(order))).astype(int)
    return Population(np.asarray(scores[order[places]]), n_topics)


def statistics(scores: Floats) -> Floats:
    """Return both ratios and both variances."""
    variances = components(scores)
    return np.array([*ratios(variances), within_system_variance(scores), variances[-1]])


def truth(scores: Floats) -> Floats:
    """Return the true statistics: those of all topics there are, with their number as divisor."""
    n = scores.shape[1]
    systems, topics, rest = components(scores)
    rest_true = rest * (n - 1) / n
    systems_true = systems + rest / n
    topics_true = (topics + rest / len(scores)) * (n - 1) / n - rest_true / len(scores)
    within = within_system_variance(scores) * (n - 1) / n
    true = np.array([systems_true, topics_true, rest_true])
    return np.array([*ratios(true), within, rest_true])


def coverage(whole: Population, number: int, seed: int) -> Values:
    """Return whether limits hold the truth, and the width of those of E rho^2."""
    rows, n, true = list[dict[str, Any]](), whole.n_topics, truth(whole.scores)
    for place in range(number):
        chance = np.random.default_rng((seed, place))
        scores = whole.scores[:, chance.integers(whole.scores.shape[1], size=n)]
        found = of_scores(make_table(cube_of([scores])), statistics)[:, 0]
        low, high = limits(found[0], found[1:], "log")
        row = dict(zip(NAMES, covers(low, high, true), strict=True))
        width = np.diff([n * end / (1 + n * end) for end in (low[0], high[0])])
        rows.append(row | {"E rho^2: width": float(width[0])})
    return collected(rows)
