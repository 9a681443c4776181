"""Samples of teams to leave out and of topics to keep: drawn, or replayed."""

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.errors import BadPlan
from scorecube.kernels.random.draws import random_subset
from scorecube.kernels.random.philox import stream_key

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
ATTEMPTS = 2**16
"""Largest number of draws of a subset; the position in the random stream is the number of teams + ATTEMPTS * attempt."""


def draw_teams(
    seed: int, n_teams: int, leaves: Sequence[int], trials: int, distinct: bool
) -> BoolArray:
    """Draw teams to leave out.

    The teams of a trial depend on the seed, the trial and the number of teams left out; more trials leave earlier ones unchanged.

    seed: Seed of the random stream.
    n_teams, leaves, trials: Number of teams, numbers of teams to leave out, number of trials of each.
    distinct: Whether to draw each subset at most once; trials beyond the number of subsets stay empty.
    Returns left_out: bool (leave, trial, team).
    """
    key = stream_key(seed, names.Purpose.TEAMS_LEFT_OUT)
    left_out = np.zeros((len(leaves), trials, n_teams), bool)
    for row, size in enumerate(leaves):
        excluded: set[tuple[int, ...]] = set()
        for trial in range(min(trials, math.comb(n_teams, size)) if distinct else trials):
            subset = _draw_subset(key, trial, n_teams, size, excluded)
            left_out[row, trial, list(subset)] = True
            if distinct:
                excluded.add(subset)
    return left_out


def _draw_subset(
    key: Any, trial: int, n_teams: int, size: int, excluded: set[tuple[int, ...]]
) -> tuple[int, ...]:
    """Draw subsets until one is not excluded."""
    for attempt in range(ATTEMPTS):
        subset = tuple(
            sorted(random_subset(key, trial, size + ATTEMPTS * attempt, n_teams, size).tolist())
        )
        if subset not in excluded:
            return subset
    return next(subset for subset in combinations(range(n_teams), size) if subset not in excluded)


def draw_topics(seed: int, steps: Sequence[int]) -> BoolArray:
    """Draw a nested chain of topic sets, bool (step, topic); the first step has all topics."""
    order = random_subset(stream_key(seed, names.Purpose.TOPIC_CHAIN), 0, 0, steps[0], steps[0])
    kept = np.zeros((len(steps), steps[0]), bool)
    for row, size in enumerate(steps):
        kept[row, order[:size]] = True
    return kept


def replayed_teams(
    samples: xr.Dataset, teams: Sequence[str], leaves: Sequence[int], trials: int
) -> BoolArray:
    """Return replayed teams to leave out, bool (leave, trial, team).

    Raises BadPlan: Samples of other teams or numbers of teams, or of another shape.
    """
    schema.check(samples, schema.TEAM_SAMPLES, "the samples")
    if sorted(schema.labels_of(samples, names.TEAM)) != list(teams):
        raise BadPlan("the samples are of other teams than the cube")
    replayed = [int(value) for value in samples[names.LEAVE].values]
    if missing := sorted(set(leaves) - set(replayed)):
        raise BadPlan(
            f"the samples leave out {', '.join(map(str, replayed))} teams, the plan also needs {', '.join(map(str, missing[:5]))}"
        )
    left_out = (
        samples[names.TEAM_LEFT_OUT]
        .sel({names.LEAVE: list(leaves), names.TEAM: list(teams)})
        .values[:, :trials]
    )
    counts = left_out.sum(axis=-1)
    wrong = (counts != np.array(leaves)[:, np.newaxis]) & (counts != 0)
    if wrong.any():
        row, trial = np.argwhere(wrong)[0].tolist()
        raise BadPlan(
            f"the samples leave out {counts[row, trial]} teams in trial {trial}, where {leaves[row]} are expected"
        )
    return np.ascontiguousarray(left_out)


def replayed_topics(samples: xr.Dataset, cube: xr.Dataset, steps: Sequence[int]) -> BoolArray:
    """Return a replayed chain of topic sets, bool (step, topic).

    Raises BadPlan: Samples of other topics or sizes.
    """
    topics = schema.labels_of(cube, names.TOPIC)
    if sorted(schema.labels_of(samples, names.TOPIC)) != topics:
        raise BadPlan("the samples are of other topics than the cube")
    chain = samples[names.TOPIC_KEPT].sel({names.TOPIC: topics}).values
    by_size = {int(size): row for size, row in zip(chain.sum(axis=1), chain, strict=True)}
    if missing := sorted(set(steps[1:]) - set(by_size)):
        raise BadPlan(
            f"the samples keep {', '.join(map(str, by_size))} topics, the plan also needs {', '.join(map(str, missing[:5]))}"
        )
    return np.stack([np.ones(len(topics), bool), *(by_size[size] for size in steps[1:])])
