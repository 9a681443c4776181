"""Samples of teams to leave out and of topics to keep: drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from scorecube import names
from scorecube.kernels.random.draws import random_subset
from scorecube.kernels.random.philox import stream_key

BoolArray = np.ndarray[Any, np.dtype[np.bool_]]
IntArray = np.ndarray[Any, np.dtype[np.int32]]


def draw_teams(seed: int, n_teams: int, leaves: Sequence[int], trials: int) -> BoolArray:
    """Draw teams to leave out.

    The teams of a trial depend on the seed, the trial and the number of teams left out; more trials leave earlier ones unchanged.

    seed: Seed of the random stream.
    n_teams, leaves, trials: Number of teams, numbers of teams to leave out, number of trials of each.
    Returns left_out: bool (leave, trial, team).
    """
    key = stream_key(seed, names.Purpose.TEAMS_LEFT_OUT)
    left_out = np.zeros((len(leaves), trials, n_teams), bool)
    for row, size in enumerate(leaves):
        for trial in range(trials):
            left_out[row, trial, random_subset(key, trial, size, n_teams, size)] = True
    return left_out


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
