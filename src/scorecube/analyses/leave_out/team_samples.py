"""Samples of teams to leave out and of topics to keep: drawn, or replayed."""

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


def replayed_teams(
    samples: xr.Dataset, teams: Sequence[str], leaves: Sequence[int], trials: int
) -> BoolArray:
    """Return replayed teams to leave out, bool (leave, trial, team).

    Raises BadPlan: Samples of other teams or numbers of teams, or of another shape.
    """
    schema.check(samples, schema.TEAM_SAMPLES[:1], "the samples")
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


def replayed_orders(
    samples: xr.Dataset, cube: xr.Dataset, steps: Sequence[int], leaves: Sequence[int], trials: int
) -> IntArray:
    """Return replayed orders of topics, int32 (leave, trial, position), the whole collection first.

    Of nested sets instead of orders, a smaller one comes first, and topics that the sets do not tell apart are in random order.

    Raises BadPlan: Samples of other topics or sizes.
    """
    topics = schema.labels_of(cube, names.TOPIC)
    if sorted(schema.labels_of(samples, names.TOPIC)) != topics:
        raise BadPlan("the samples are of other topics than the cube")
    if names.TOPIC_PLACE in samples:
        place = samples[names.TOPIC_PLACE]
    else:
        trial = samples.isel({names.LEAVE: 0, names.TRIAL: 0}, missing_dims="ignore")
        schema.check(trial, schema.TEAM_SAMPLES[1:2], "the samples")
        kept = samples[names.TOPIC_KEPT]
        sizes = kept.sum(names.TOPIC)
        found = {
            int(size) for size in np.unique(sizes) if (sizes == size).any(names.TOPIC_STEP).all()
        }
        if missing := sorted(set(steps[1:]) - found):
            raise BadPlan(
                f"the samples keep {', '.join(map(str, sorted(found)))} topics, the plan also needs {', '.join(map(str, missing[:5]))}"
            )
        place = (~kept).sum(names.TOPIC_STEP)
    place = place.sel({names.TOPIC: topics})
    if names.TRIAL not in place.dims:
        place = place.expand_dims({names.LEAVE: [0, *leaves], names.TRIAL: max(trials, 1)})
    place = place.transpose(names.LEAVE, names.TRIAL, names.TOPIC)[:, :trials]
    if 0 not in place[names.LEAVE]:
        place = xr.concat([place[:1].assign_coords({names.LEAVE: [0]}), place], names.LEAVE)
    ties = np.argsort(draw_orders(0, len(topics), (0,), 1)[0, 0])
    values = place.sel({names.LEAVE: [0, *leaves]}).values
    return np.lexsort((np.broadcast_to(ties, values.shape), values)).astype(np.int32)
