"""Strengths of systems by Bradley and Terry, with a covariance over prompts.

References: Bradley and Terry 1952, Biometrika 39; Ford 1957 (where the maximum exists); Huber 1967
and Liang and Zeger 1986 (covariance from sums of scores by cluster).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy

from scorecube.analyses.topic_units import FloatArray, IntArray
from scorecube.collection.battles import Matches, totals_of

LEAST_PROMPTS = 10
"""Fewer show no error."""
MOST_STEPS = 200
PRECISION = 1e-12
"""Of strengths, as log odds."""


class Strengths(NamedTuple):
    """Strengths of the systems of the largest component, as log odds against their mean.

    members: int64 (member,): their places among all systems.
    theta, covariance: float64 (member,), (member, member); the latter missing for fewer than 10
        prompts.
    n_prompts: Prompts of battles between members.
    """

    members: IntArray
    theta: FloatArray
    covariance: FloatArray
    n_prompts: int


def strongest_component(won: FloatArray, battles: FloatArray) -> IntArray:
    """Return the largest set of systems between any two of which wins lead both ways.

    Of several as large, that with more battles, then the first. Beyond it strengths are
    infinite, or unrelated (Ford 1957).
    won, battles: float64 (system, system).
    """
    _, label = scipy.sparse.csgraph.connected_components(
        scipy.sparse.csr_array(won > 0), directed=True, connection="strong"
    )
    sizes = np.bincount(label)
    inside = [battles[np.ix_(label == k, label == k)].sum() for k in range(len(sizes))]
    best = max(range(len(sizes)), key=lambda k: (sizes[k], inside[k], -k))
    return np.flatnonzero(label == best)


def maximum_likelihood(won: FloatArray, battles: FloatArray) -> FloatArray:
    """Return strengths of strongly connected systems, with mean 0, by Newton's method.

    The maximum of sum over pairs of won_ij log p_ij + won_ji log p_ji, p_ij = 1 / (1 + exp(theta_j
    - theta_i)); steps are halved until it rises.
    """
    theta = np.zeros(len(won))
    value = _log_likelihood(theta, won)
    for _ in range(MOST_STEPS):
        p = scipy.special.expit(theta[:, np.newaxis] - theta)
        gradient = (won - battles * p).sum(axis=1)
        step = np.linalg.solve(_information(p, battles) + 1 / len(won), gradient)
        step -= step.mean()
        size = 1.0
        while (moved := _log_likelihood(theta + size * step, won)) < value and size > PRECISION:
            size /= 2
        theta = theta + size * step
        value = moved
        if np.abs(step).max() < PRECISION:
            break
    return np.asarray(theta - theta.mean())


def _log_likelihood(theta: FloatArray, won: FloatArray) -> float:
    return -float((won * np.logaddexp(0, theta - theta[:, np.newaxis])).sum())


def _information(p: FloatArray, battles: FloatArray) -> FloatArray:
    """Return the information matrix, whose rows add up to 0."""
    weight = battles * p * (1 - p)
    return np.asarray(np.diag(weight.sum(axis=1)) - weight)


def strengths_of(matches: Matches) -> Strengths:
    """Return strengths with the sandwich covariance over prompts, times G / (G - 1)."""
    battles, won = totals_of(matches)
    members = strongest_component(won, battles)
    n = len(members)
    inside = np.ix_(members, members)
    theta = maximum_likelihood(won[inside], battles[inside]) if n > 1 else np.zeros(n)
    number = np.full(len(won), -1)
    number[members] = np.arange(n)
    a = number[matches.first]
    b = number[matches.second]
    kept = (a >= 0) & (b >= 0)
    a = a[kept]
    b = b[kept]
    prompts, prompt = np.unique(matches.prompt[kept], return_inverse=True)
    if len(prompts) < LEAST_PROMPTS or n < 2:
        return Strengths(members, theta, np.full((n, n), np.nan), len(prompts))
    p = scipy.special.expit(theta[:, np.newaxis] - theta)
    rest = matches.wins[kept] - matches.battles[kept] * p[a, b]
    rows = np.concatenate([prompt, prompt])
    scores = scipy.sparse.coo_array((np.concatenate([rest, -rest]), (rows, np.concatenate([a, b]))))
    sums = scores.tocsr()
    middle = (sums.T @ sums).toarray() * len(prompts) / (len(prompts) - 1)
    bread = np.linalg.inv(_information(p, battles[inside]) + 1 / n) - 1 / n
    covariance = bread @ middle @ bread
    return Strengths(members, theta, (covariance + covariance.T) / 2, len(prompts))
