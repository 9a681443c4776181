"""Limits of variances and so of numbers of topics: collections whose topics, teams and runs are all drawn anew."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from scipy.special import ndtr

from scorecube.design.uncertainty import jackknife_interval
from scorecube.design.variance import residual_variance, within_system_variance
from tests.validation.rates import Values, collected, covers
from tests.validation.truths import Floats

ESTIMATES = {"one-way": within_system_variance, "two-way": residual_variance}


@dataclass(frozen=True)
class Case:
    """Simulated collections of one kind; runs of a team are alike."""

    n_teams: int
    team_size: int
    n_topics: int
    skewed: bool


CASES = tuple(
    Case(n_teams, size, n_topics, skewed)
    for n_teams, size in ((10, 3), (20, 3), (40, 1))
    for n_topics in (25, 50)
    for skewed in (False, True)
)


def simulate(random: np.random.Generator, case: Case) -> Floats:
    """Return scores (run, topic); skewed ones are in 0 .. 1 with many near 0, as of AP."""
    team = np.repeat(np.arange(case.n_teams), case.team_size)
    runs = (len(team), 1)
    ability = 0.3 * random.standard_normal((case.n_teams, 1))[team] + 0.2 * random.standard_normal(runs)  # fmt: skip
    topics = 0.6 * random.standard_normal(case.n_topics)
    shared = random.standard_normal((case.n_teams, case.n_topics))[team]
    own = random.standard_normal((len(team), case.n_topics))
    spread = np.exp(0.3 * random.standard_normal((case.n_teams, 1)))[team]
    z = ability + topics + 0.5 * spread * (0.8 * shared + 0.6 * own)
    return ndtr(z - 1.3) if case.skewed else z


@cache
def true_variances(case: Case, collections: int = 4000) -> tuple[float, ...]:
    """Return the mean of each of `ESTIMATES` over many collections."""
    drawn = [simulate(np.random.default_rng((17, k)), case) for k in range(collections)]
    return tuple(float(np.mean(estimate(np.array(drawn)))) for estimate in ESTIMATES.values())


def coverage(case: Case, number: int, seed: int) -> Values:
    """Return whether limits of variances hold them, and the ratio of upper to lower limit."""
    teams = [f"t{k // case.team_size:02d}" for k in range(case.n_teams * case.team_size)]
    rows = []
    for place in range(number):
        scores = simulate(np.random.default_rng((seed, place)), case)
        row: dict[str, Any] = {}
        for (name, estimate), true in zip(ESTIMATES.items(), true_variances(case), strict=True):
            low, high = jackknife_interval(scores, teams, estimate, 0.95)
            row |= {name: covers(low, high, true), f"{name}: width, as a ratio": high / low}
        rows.append(row)
    return collected(rows)
