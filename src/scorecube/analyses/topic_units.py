"""Units, what is drawn: topics, groups of topics, or bags of them, by collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.kernels.random.philox import stream_key
from scorecube.statistics.grid import MOST_TOPICS

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Range = tuple[float, float]
GROUPS_LEFT_OUT = 10
LEAST_LEFT_OUT = 5
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


def units_of(
    cube: xr.Dataset,
    notes: list[str],
    *,
    in_bags: bool = True,
    weights: Mapping[str, float] | None = None,
) -> tuple[IntArray, tuple[Stratum, ...]]:
    """Return the unit of each topic, int64 (topic,), and the collections in the order of units.

    A unit is a topic, a group where topics come in groups, or a bag of them where there are many.

    notes: What is said of groups and bags is appended.
    in_bags, weights: As of `make_table`.
    """
    n_topics = cube.sizes[names.TOPIC]
    collections = np.broadcast_to(cube.coords.get(names.COLLECTION, ""), n_topics).astype(object)
    grouped = names.TOPIC_GROUP if names.TOPIC_GROUP in cube.coords else names.TOPIC
    labels = np.array(labels_of(cube, grouped), object)
    of_topic = np.empty(n_topics, np.int64)
    strata = list[Stratum]()
    start = 0
    topic = names.word(cube.attrs, names.TOPIC)
    topics_of_all = names.plural(topic)
    bags = cube.attrs.get("bags", names.N_BAGS)
    weight_of = {str(name): (weights or {}).get(name, 1.0) for name in np.unique(collections)}
    for name, weight in weight_of.items():
        here = np.flatnonzero(collections == name)
        where = f"{name}: " if name else ""
        groups, unit = np.unique(labels[here], return_inverse=True)
        n_units = len(groups)
        if n_units < len(here):
            topics = counted(len(here), topic)
            groups_of = counted(n_units, "group")
            notes.append(f"{where}{topics} in {groups_of}, which are drawn as units.")
        if in_bags and bags != "none" and n_units > MOST_TOPICS:
            notes.append(
                f"{where}{counted(n_units, topic)} in {bags:,} random bags, which are drawn as "
                f"units, and counted as wins, ties and losses; means are of all {topics_of_all}."
            )
            key = np.array([1, int(names.Purpose.BAGS)], np.uint64)
            unit = (_random_places(key, n_units) * bags // n_units)[unit]
            n_units = bags
        of_topic[here] = start + unit
        units = slice(start, start + n_units)
        share = float(weight) / sum(map(float, weight_of.values()))
        strata.append(Stratum(name, share, units, len(groups) / n_units))
        start += n_units
    return of_topic, tuple(strata)


def _random_places(key: NDArray[np.uint64], n: int) -> IntArray:
    """Return the places of n units in a random order, int64 (unit,)."""
    return np.argsort(np.argsort(np.random.Philox(key=key).random_raw(n), kind="stable"))


def groups_left_out(sizes: Sequence[int]) -> IntArray:
    """Return which of 10 random groups a unit is in, int64 (unit,): as many of each collection.

    Each unit is one where a collection has fewer than 10; empty where one has fewer than 5.

    sizes: Units of the collections.
    """
    return _groups_left_out(tuple(sizes))


@lru_cache(maxsize=16)
def _groups_left_out(sizes: tuple[int, ...]) -> IntArray:
    n_groups = min(GROUPS_LEFT_OUT, *sizes)
    if n_groups < LEAST_LEFT_OUT:
        return np.empty(0, np.int64)
    keys = [stream_key(1, names.Purpose.LEFT_OUT, stratum) for stratum in range(len(sizes))]
    places = map(_random_places, keys, sizes)
    return np.concatenate([place % n_groups for place in places])
