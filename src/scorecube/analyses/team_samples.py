"""Samples of teams to leave out and of topics to keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube import names
from scorecube.kernels.random.draws import random_subset

BoolArray = NDArray[np.bool_]


def draw_teams(key: Any, n_teams: int, leaves: Sequence[int], start: int, stop: int) -> BoolArray:
    """Draw the teams that are left out of some trials: bool (leave, team, trial).

    Those of a trial depend on the seed, the trial and their number.
    """
    left_out = np.zeros((len(leaves), n_teams, stop - start), bool)
    for row, trial in np.ndindex(len(leaves), stop - start):
        size = leaves[row]
        left_out[row, random_subset(key, start + trial, size, n_teams, size), trial] = True
    return left_out


def draw_orders(
    key: Any, n_topics: int, leaves: Sequence[int], start: int, stop: int
) -> NDArray[np.int32]:
    """Draw a random order of the topics for each trial: int32 (leave, topic, trial).

    The whole collection, leave 0, is one trial.
    """
    order = np.empty((len(leaves), n_topics, stop - start), np.int32)
    for row, trial in np.ndindex(len(leaves), stop - start):
        drawn = start + trial if leaves[row] else 0
        order[row, :, trial] = random_subset(key, drawn, leaves[row], n_topics, n_topics)
    return order


def places(drawn: Mapping[str, Any]) -> dict[str, Any]:
    """Return samples as variables of results.

    drawn: See `Teams.draw`.
    Returns places: Teams, bool (leave, trial, team); of a chain int32 (leave, trial, topic).
    """
    found = {names.TEAM_LEFT_OUT: drawn["left_out"].swapaxes(1, 2)}
    if "order" in drawn:
        order = np.argsort(drawn["order"], axis=1).swapaxes(1, 2)
        found[names.TOPIC_PLACE] = order.astype(np.int32)
    return found
