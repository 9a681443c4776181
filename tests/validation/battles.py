"""Battles on known truths: coverage of the solution of the population score equation, and of ranks.

Models: strengths that are normal, equal, or close; prompts shift the strengths of systems. The
population is that of one real collection, whose runs fight by their scores on its topics, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

import scorecube as sc
from scorecube.collection.battles import cube_of_battles
from scorecube.methods.battles.bradley_terry import maximum_likelihood
from scorecube.workflow.api import analyse
from tests.validation import truths
from tests.validation.cases import COVERED, MODEL, POPULATION, Case
from tests.validation.rates import Values, chained
from tests.validation.truths import Floats

MANY = 20_000
"""Prompts of a model, all there are."""


class Arena(NamedTuple):
    """A population of prompts, and battles of random pairs on random ones.

    p: (prompt, system, system): probability that the first wins; ties are a half.
    theta: (system,): solution of the population score equation.
    """

    p: Floats
    theta: Floats
    n_battles: int
    n_prompts: int


def arena(p: Floats, n_battles: int, n_prompts: int) -> Arena:
    """Return the population of some probabilities."""
    mean = p.mean(axis=0)
    np.fill_diagonal(mean, 0)
    battles = 1.0 - np.eye(len(mean))
    return Arena(p, maximum_likelihood(mean, battles), n_battles, n_prompts)


def shifted(systems: int, spread: float, shift: float, n_battles: int, n_prompts: int) -> Arena:
    """Return systems with strengths from -spread to spread, which prompts shift."""
    chance = np.random.default_rng(1)
    prompts = MANY // systems**2 * 10
    strength = np.linspace(-spread, spread, systems) + chance.normal(0, shift, (prompts, systems))
    return arena(expit(strength[:, :, np.newaxis] - strength[:, np.newaxis]), n_battles, n_prompts)


def of_scores(file: str, systems: int, n_battles: int, n_prompts: int) -> Arena:
    """Return runs of a collection that win where their score is higher, and tie where it is equal."""
    scores = truths.spread(truths.real_scores(file), systems).T
    apart = np.sign(scores[:, :, np.newaxis] - scores[:, np.newaxis])
    return arena((1 + apart) / 2, n_battles, n_prompts)


def coverage(made: Arena, number: int, seed: int) -> Values:
    """Return whether limits hold, by run; whether all rank sets hold; and how often none are given."""
    n = len(made.theta)
    true_low = 1 + (made.theta > made.theta[:, np.newaxis] + 1e-9).sum(axis=1)
    parts: list[dict[str, Any]] = []
    for place in range(number):
        chance = np.random.default_rng((seed, place))
        drawn = chance.integers(0, len(made.p), made.n_prompts)
        prompt = chance.integers(0, made.n_prompts, made.n_battles)
        a = chance.integers(0, n, made.n_battles)
        b = (a + chance.integers(1, n, made.n_battles)) % n
        p = made.p[drawn[prompt], a, b]
        won = np.where(p == 0.5, 0.5, chance.random(made.n_battles) < p)
        labels = np.array([f"s{k:02d}" for k in range(n)], object)
        found = analyse(
            cube_of_battles(labels[a], labels[b], prompt.tolist(), won), sc.Battles()
        ).isel(metric=0, gain=0)
        theta = np.full(n, np.nan)
        of = np.searchsorted(labels.astype(str), found["run"].values.astype(str))
        low, high = np.full((2, n), np.nan)
        low[of] = found["strength_low"].values
        high[of] = found["strength_high"].values
        theta[of] = made.theta[of] - made.theta[of][found["connected"].values].mean()
        held = np.where(np.isnan(low), np.nan, (low <= theta) & (theta <= high))
        sets = (found["rank_low"].values <= true_low[of]) & (
            true_low[of] <= found["rank_high"].values
        )
        parts.append(
            {
                "strengths": held[np.newaxis],
                "battles: rank sets": [sets.all()],
                "share without strengths": [not found["connected"].all()],
            }
        )
    return chained(parts)


def battles() -> Iterator[Case]:
    """Five and twenty systems, 200 and 5,000 battles, on a tenth as many prompts and on each its own."""
    for systems, n in product((5, 20), (200, 5000)):
        for name, shift, prompts in (("none shift", 0.0, n), ("prompts shift", 1.0, n // 10)):
            make: Callable[[], Arena] = partial(shifted, systems, 1.0, shift, n, prompts)
            text = f"{systems} systems, {n} battles, {name}"
            yield Case(text, MODEL, prompts, make, coverage, 200, COVERED)
        equal = partial(shifted, systems, 0.0, 1.0, n, n // 10)
        yield Case(
            f"{systems} equal systems, {n} battles", MODEL, n // 10, equal, coverage, 200, COVERED
        )
        real = partial(of_scores, "robust2004/ap_249topics.csv", systems, n, n // 10)
        text = f"Robust 2004 AP, {systems} runs, {n} battles"
        yield Case(text, POPULATION, n // 10, real, coverage, 200, COVERED)
