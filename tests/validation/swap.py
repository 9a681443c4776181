"""Limits of the swap method's required difference and share of comparisons: collections whose runs and topics are drawn anew.

Truth is what the comparisons of thousands of other collections give together, as many topics, runs and teams in each: the difference at which the fitted
rates reach 5 % (interpolated), and the share of comparisons with that difference.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from scorecube.analyses import Swap
from scorecube.analyses.topic_samples.swap_limits import Functionals
from scorecube.workflow.api import analyse
from tests.validation.rates import Values, collected, covers
from tests.validation.swap_population import METRICS, Population
from tests.validation.truths import Floats

LEVEL = 0.95
BATCH, COLLECTIONS, TRIALS = 20, 4000, 1000
POPULATIONS = tuple(Population(n_runs, team) for n_runs in (15, 30, 60) for team in (1, 3))


@cache
def truth(population: Population, collections: int = COLLECTIONS) -> tuple[Floats, Floats]:
    """Return the required difference and the share of each metric, from many collections."""
    random = np.random.default_rng([1001, population.n_runs, population.team])
    count, swaps = np.zeros((2, len(METRICS), 200), np.int64)
    for low in range(0, collections, BATCH):
        scores = population.scores(random, min(BATCH, collections - low))
        cube = population.cube(scores.reshape(-1, *scores.shape[2:]))
        result = analyse(cube, Swap(required="suffix"), trials=20, seed=1, workers=1)
        for total, name in ((count, "count"), (swaps, "swaps")):
            counted = result[name].values.reshape(len(scores), len(METRICS), -1).sum(axis=0)
            total[:, : counted.shape[-1]] += counted
    found = Functionals.of(count, swaps, (LEVEL,), count.shape[-1])
    return np.exp(found.log_required[:, 0]) * 0.01, found.share[:, 0]


def coverage(
    population: Population,
    number: int,
    seed: int,
    trials: int = TRIALS,
    collections: int = COLLECTIONS,
) -> Values:
    """Return whether limits of the required difference and of the share hold them, by metric; a missing upper limit is infinite."""
    required, share = truth(population, collections)
    rows = list[dict[str, Any]]()
    for place in range(number):
        scores = population.scores(np.random.default_rng((seed, place)), 1)[0]
        result = analyse(population.cube(scores), Swap(), trials=trials, seed=place, workers=1)
        at, row = result.isel(gain=0, size=0, confidence=0), dict[str, Any]()
        for name, true in (("required", required), ("share", share)):
            low, high = (at[f"{name}_{side}"].values for side in ("low", "high"))
            held = covers(low, np.nan_to_num(high, nan=np.inf), true)
            row |= {f"{name}, {metric}": each for metric, each in zip(METRICS, held, strict=True)}
        rows.append(row)
    return collected(rows)
