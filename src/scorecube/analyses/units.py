"""What is drawn: topics, groups of topics, or bags of very many of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.entry import run_slices
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.kernels.random.philox import stream_key
from scorecube.names import Purpose
from scorecube.statistics.grid import MOST_TOPICS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
GROUPS_LEFT_OUT, LEAST_LEFT_OUT = 10, 5
"""Groups of units that are left out, and the fewest units of which any are."""


class Stratum(NamedTuple):
    """A collection whose topics are drawn by themselves.

    name, weight: Its name, and its weight in means.
    units: Where its units are.
    in_bag: Topics, or groups of topics, in a bag; 1 without bags.
    """

    name: str
    weight: float
    units: slice
    in_bag: float = 1.0

    def size(self) -> int:
        """Return the number of units."""
        return int(self.units.stop - self.units.start)


def bags_of(cube: xr.Dataset) -> int | None:
    """Return the number of bags of a cube; None for none."""
    bags = cube.attrs.get("bags", names.N_BAGS)
    return None if bags == "none" else int(bags)


class Units(NamedTuple):
    """What is drawn.

    of_topic: int64 (topic,): unit of each topic.
    strata: Collections, whose units follow each other.
    in_bag: Mean number of topics, or of groups, of a bag; 1 without bags.
    """

    of_topic: IntArray
    strata: tuple[Stratum, ...]
    in_bag: float


def units_of(
    cube: xr.Dataset, bags: int | None, notes: list[str], weights: Mapping[str, float] | None = None
) -> Units:
    """Return the units of a cube: groups where topics come in groups, bags where there are many.

    bags: Number of bags of a collection of more than 1,400 units; None for none.
    notes: What is said of groups and bags is appended.
    weights: Weights of collections; 1 for those that it does not name.
    """
    n_topics, weights = cube.sizes[names.TOPIC], weights or {}
    collections = np.broadcast_to(cube.coords.get(names.COLLECTION, ""), n_topics).astype(object)
    grouped = names.TOPIC_GROUP if names.TOPIC_GROUP in cube.coords else names.TOPIC
    labels = np.array(labels_of(cube, grouped), object)
    of_topic, strata = np.empty(n_topics, np.int64), list[Stratum]()
    start, n_drawn = 0, 0
    for name in np.unique(collections):
        here = np.flatnonzero(collections == name)
        groups, unit = np.unique(labels[here], return_inverse=True)
        n_units = len(groups)
        n_drawn += n_units
        where = f"{name}: " if name else ""
        if n_units < len(here):
            topics, groups_of = counted(len(here), "topic"), counted(n_units, "group")
            notes.append(f"{where}{topics} in {groups_of}, which are drawn as units.")
        if bags is not None and n_units > MOST_TOPICS:
            notes.append(
                f"{where}{counted(n_units, 'topic')} in {bags:,} random bags, which are drawn as "
                "units, and counted as wins, ties and losses; means are of all topics."
            )
            key = np.array([1, int(Purpose.BAGS)], np.uint64)
            unit, n_units = (random_places(key, n_units) * bags // n_units)[unit], bags
        of_topic[here] = start + unit
        units = slice(start, start + n_units)
        weight = float(weights.get(name, 1.0))
        strata.append(Stratum(str(name), weight, units, len(groups) / n_units))
        start += n_units
    total = sum(part.weight for part in strata)
    shares = tuple(part._replace(weight=part.weight / total) for part in strata)
    return Units(of_topic, shares, n_drawn / start)


def random_places(key: Any, n: int) -> IntArray:
    """Return the places of n units in a random order, int64 (unit,)."""
    words = np.random.Philox(key=key).random_raw(n)
    place = np.empty(n, np.int64)
    place[np.argsort(words, kind="stable")] = np.arange(n)
    return place


def random_groups(n_units: int, stratum: int = 0, n_groups: int = GROUPS_LEFT_OUT) -> IntArray:
    """Return the random group of each unit, int64 (unit,); sizes of groups differ by 1 at most."""
    return random_places(stream_key(1, Purpose.LEFT_OUT, stratum), n_units) % n_groups


def groups_left_out(strata: tuple[Stratum, ...]) -> IntArray:
    """Return which of 10 random groups a unit is in, int64 (unit,): as many of each collection.

    Each unit is one where a collection has fewer than 10; empty where one has fewer than 5.
    """
    smallest = min(part.size() for part in strata)
    if smallest < LEAST_LEFT_OUT:
        return np.empty(0, np.int64)
    n_groups = min(GROUPS_LEFT_OUT, smallest)
    return np.concatenate(
        [random_groups(part.size(), k, n_groups) for k, part in enumerate(strata)]
    )


class UnitScores(NamedTuple):
    """Mean scores of units, and what the scores of their topics are.

    mean: float64 (cell, run, unit).
    sizes: int64 (unit,): topics of a unit.
    binary: bool (cell,): whether all are 0 or 1.
    least, greatest: float64 (cell,).
    """

    mean: FloatArray
    sizes: IntArray
    binary: NDArray[np.bool_]
    least: FloatArray
    greatest: FloatArray


def unit_scores(cube: xr.Dataset, distinct: NDArray[np.bool_], of_topic: IntArray) -> UnitScores:
    """Return the mean scores of units in distinct cells, bool (metric, gain)."""
    sizes = np.bincount(of_topic)
    order, starts = np.argsort(of_topic, kind="stable"), np.cumsum(sizes) - sizes
    n_cells = int(distinct.sum())
    mean, binary = np.empty((n_cells, cube.sizes[names.RUN], len(sizes))), np.ones(n_cells, bool)
    least, greatest = np.full(n_cells, np.inf), np.full(n_cells, -np.inf)
    for part in run_slices(cube):
        scores = np.asarray(cube[names.SCORE].isel(run=part).values[distinct], float)[..., order]
        binary &= ((scores == 0.0) | (scores == 1.0)).all(axis=(1, 2))
        least = np.minimum(least, scores.min(axis=(1, 2)))
        greatest = np.maximum(greatest, scores.max(axis=(1, 2)))
        whole = len(sizes) == len(of_topic)
        mean[:, part] = scores if whole else np.add.reduceat(scores, starts, axis=-1) / sizes
    return UnitScores(mean, sizes, binary, least, greatest)
