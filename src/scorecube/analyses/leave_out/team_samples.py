"""Samples of teams to leave out and of topics to keep: drawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from scorecube import names
from scorecube.kernels.random.draws import random_subset
from scorecube.kernels.random.philox import stream_key

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
IntArray = np.ndarray[Any, np.dtype[np.int32]]
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


def draw_orders(seed: int, n_topics: int, leaves: Sequence[int], trials: int) -> IntArray:
    """Draw a random order of the topics for each trial, of which a step keeps the first ones.

    The order of a trial depends on the seed, the trial and the number of teams left out, 0 for the whole collection.

    Returns order: int32 (leave, trial, position): positions of topics.
    """
    key = stream_key(seed, names.Purpose.TOPIC_CHAIN)
    order = np.empty((len(leaves), trials, n_topics), np.int32)
    for row, trial in np.ndindex(order.shape[:2]):
        drawn = trial if leaves[row] else 0  # the whole is one trial
        order[row, trial] = random_subset(key, drawn, leaves[row], n_topics, n_topics)
    return order


def chain_of(order: IntArray, steps: Sequence[int] | IntArray) -> BoolArray:
    """Return the nested topic sets of one order, bool (step, topic); the first step has all topics."""
    return np.argsort(order) < np.array(steps)[:, np.newaxis]
