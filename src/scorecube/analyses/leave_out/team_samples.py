"""Which teams are left out in each trial, and which topics are kept: drawn, or given."""

from __future__ import annotations

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
ATTEMPT = 2**16
"""Streams of a trial: number of teams + ATTEMPT * attempt."""


def draw_teams(seed: int, n_teams: int, leaves: Sequence[int], trials: int, distinct: bool) -> BoolArray:
    """Draw the teams that are left out.

    A trial's teams depend on the seed, the trial and how many are left out, not on how many trials there are.

    Parameters
    ----------
    n_teams, leaves, trials
        Teams, numbers of teams to leave out, trials of each.
    distinct
        Whether no subset may be drawn twice; trials beyond the number of subsets stay empty.

    Returns
    -------
    left_out
        bool (leave, trial, team).
    """
    key = stream_key(seed, names.Purpose.TEAMS_LEFT_OUT)
    left_out = np.zeros((len(leaves), trials, n_teams), bool)
    for row, size in enumerate(leaves):
        seen: set[tuple[int, ...]] = set()
        for trial in range(min(trials, math.comb(n_teams, size)) if distinct else trials):
            chosen = _subset(key, trial, n_teams, size, seen)
            left_out[row, trial, list(chosen)] = True
            if distinct:
                seen.add(chosen)
    return left_out


def _subset(key: Any, trial: int, n_teams: int, size: int, seen: set[tuple[int, ...]]) -> tuple[int, ...]:
    """Draw a subset until it is none of those seen."""
    for attempt in range(ATTEMPT):
        chosen = tuple(sorted(random_subset(key, trial, size + ATTEMPT * attempt, n_teams, size).tolist()))
        if chosen not in seen:
            return chosen
    return next(each for each in combinations(range(n_teams), size) if each not in seen)


def draw_topics(seed: int, steps: Sequence[int]) -> BoolArray:
    """Draw a nested chain of topic sets, (step, topic): each holds all that are smaller; the first step has all topics."""
    order = random_subset(stream_key(seed, names.Purpose.TOPIC_CHAIN), 0, 0, steps[0], steps[0])
    kept = np.zeros((len(steps), steps[0]), bool)
    for row, size in enumerate(steps):
        kept[row, order[:size]] = True
    return kept


def given_teams(samples: xr.Dataset, teams: Sequence[str], leaves: Sequence[int], trials: int) -> BoolArray:
    """Return given teams that are left out, (leave, trial, team).

    Raises
    ------
    BadPlan
        Samples of other teams or numbers of teams, or of another form.
    """
    schema.check(samples, schema.TEAM_SAMPLES, "the samples")
    if sorted(schema.labels_of(samples, names.TEAM)) != list(teams):
        raise BadPlan("the samples leave out other teams than the cube has")
    found = [int(value) for value in samples[names.LEAVE].values]
    if missing := sorted(set(leaves) - set(found)):
        raise BadPlan(
            f"the samples leave out {', '.join(map(str, found))} teams, the plan also needs {', '.join(map(str, missing[:5]))}"
        )
    left_out = samples[names.TEAM_LEFT_OUT].sel({names.LEAVE: list(leaves), names.TEAM: list(teams)}).values[:, :trials]
    counts = left_out.sum(axis=-1)
    wrong = (counts != np.array(leaves)[:, np.newaxis]) & (counts != 0)
    if wrong.any():
        row, trial = np.argwhere(wrong)[0].tolist()
        raise BadPlan(
            f"the samples leave out {counts[row, trial]} teams in trial {trial}, where {leaves[row]} should be left out"
        )
    return np.ascontiguousarray(left_out)


def given_topics(samples: xr.Dataset, cube: xr.Dataset, steps: Sequence[int]) -> BoolArray:
    """Return given sets of topics, (step, topic).

    Raises
    ------
    BadPlan
        Samples of other topics or sizes.
    """
    topics = schema.labels_of(cube, names.TOPIC)
    if sorted(schema.labels_of(samples, names.TOPIC)) != topics:
        raise BadPlan("the samples keep other topics than the cube has")
    chain = samples[names.TOPIC_KEPT].sel({names.TOPIC: topics}).values
    by_size = {int(size): row for size, row in zip(chain.sum(axis=1), chain, strict=True)}
    if missing := sorted(set(steps[1:]) - set(by_size)):
        raise BadPlan(
            f"the samples keep {', '.join(map(str, by_size))} topics, the plan also needs {', '.join(map(str, missing[:5]))}"
        )
    return np.stack([np.ones(len(topics), bool), *(by_size[size] for size in steps[1:])])
