"""From a cube to units, what is drawn: repetitions, complete topics, groups, bags, ranges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection.arguments import DIMS, as_cube
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import about_left_out, parse_known, select, which_lack_most
from scorecube.errors import BadPlan, counted, option
from scorecube.kernels.random.philox import stream_key
from scorecube.metrics import Metric
from scorecube.statistics.grid import MOST_TOPICS, check_differences, check_range

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Range = tuple[float, float]
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


def cubes_of(data: Any) -> dict[str, xr.Dataset]:
    """Return the cubes of one or several collections by name; the name of a single cube is empty.

    data: A cube; a mapping or DataTree of cubes; a cube with a dim ``collection``.
    """
    if isinstance(data, xr.DataTree):
        nodes = {node.path.strip("/"): node.to_dataset() for node in data.subtree}
        return {name: cube for name, cube in nodes.items() if names.SCORE in cube}
    if isinstance(data, Mapping) and not isinstance(data, xr.Dataset):
        return {str(name): as_cube(cube) for name, cube in data.items()}
    if isinstance(data, xr.DataArray):
        data = data.to_dataset(name=names.SCORE)
    if not isinstance(data, xr.Dataset) or names.COLLECTION not in data.dims:
        return {"": as_cube(data)}
    cubes = {}
    for name in data[names.COLLECTION].values:
        cube = data.sel(collection=name, drop=True)
        for dim in (names.TOPIC, names.RUN):
            cube = cube.dropna(dim, how="all", subset=[names.SCORE])
        cubes[str(name)] = cube
    return cubes


def over_repetitions(cube: xr.Dataset, runs: Sequence[str] | None, notes: list[str]) -> xr.Dataset:
    """Return the mean scores of systems over their runs; or runs, if these are asked for."""
    counts = Counter(labels_of(cube, names.SYSTEM) if names.SYSTEM in cube.coords else [])
    if set(counts.values()) <= {1} or (runs and not counts.keys() >= set(runs)):
        return select(cube, runs=runs)
    systems = sorted(name for name in counts if runs is None or name in runs)
    # A repetition without a score leaves its system without one: the others may be of another kind.
    means = [
        cube[names.SCORE].isel(run=cube[names.SYSTEM].values == name).mean(names.RUN, skipna=False)
        for name in systems
    ]
    joined = xr.concat(means, xr.Variable(names.RUN, np.array(systems, object))).transpose(*DIMS)
    several = sorted({counts[name] for name in systems})
    of = " to ".join(map(str, dict.fromkeys([several[0], several[-1]])))
    run, topic, _, repetition = (names.word(cube.attrs, name) for name in names.USUAL_WORDS)
    run = "system" if run == names.RUN else run
    notes.append(
        f"Scores are means over {of} {repetition}s of a {run} on each {topic}; limits are over "
        f"{topic}s."
    )
    others = {name: of for name, of in cube.coords.items() if names.RUN not in of.dims}
    return xr.Dataset({names.SCORE: joined}, others, cube.attrs)


def complete_topics(cube: xr.Dataset, missing: str, notes: list[str]) -> xr.Dataset:
    """Return the loaded cube without topics that lack scores; BadPlan if that is not asked for."""
    cube = cube.assign({names.SCORE: cube[names.SCORE].compute()})
    finite = np.isfinite(cube[names.SCORE].values)
    complete = finite.all(axis=(0, 1, 2))
    if complete.all():
        return cube
    if missing == "drop" and complete.any():
        notes.append(about_left_out(cube, complete))
        return cube.isel(topic=np.flatnonzero(complete))
    most = which_lack_most(~finite.all(axis=(0, 1)), labels_of(cube, names.RUN))
    raise BadPlan(
        f"scores are missing on {(~complete).sum()} of {counted(len(complete), 'topic')}, most of "
        f"{most}; compute them, or leave their topics out with {option('missing', 'drop')}"
    )


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
    labels, of_topic = np.array(labels_of(cube, grouped), object), np.empty(n_topics, np.int64)
    strata, start, bags = list[Stratum](), 0, cube.attrs.get("bags", names.N_BAGS)
    weight_of = {str(name): (weights or {}).get(name, 1.0) for name in np.unique(collections)}
    for name, weight in weight_of.items():
        here, where = np.flatnonzero(collections == name), f"{name}: " if name else ""
        groups, unit = np.unique(labels[here], return_inverse=True)
        n_units = len(groups)
        if n_units < len(here):
            topics, groups_of = counted(len(here), "topic"), counted(n_units, "group")
            notes.append(f"{where}{topics} in {groups_of}, which are drawn as units.")
        if in_bags and bags != "none" and n_units > MOST_TOPICS:
            bags = int(bags)
            notes.append(
                f"{where}{counted(n_units, 'topic')} in {bags:,} random bags, which are drawn as "
                "units, and counted as wins, ties and losses; means are of all topics."
            )
            key = np.array([1, int(names.Purpose.BAGS)], np.uint64)
            unit, n_units = (_random_places(key, n_units) * bags // n_units)[unit], bags
        of_topic[here] = start + unit
        units = slice(start, start + n_units)
        share = float(weight) / sum(map(float, weight_of.values()))
        strata.append(Stratum(name, share, units, len(groups) / n_units))
        start += n_units
    return of_topic, tuple(strata)


def _random_places(key: Any, n: int) -> IntArray:
    """Return the places of n units in a random order, int64 (unit,)."""
    return np.argsort(np.argsort(np.random.Philox(key=key).random_raw(n), kind="stable"))


def groups_left_out(sizes: Sequence[int]) -> IntArray:
    """Return which of 10 random groups a unit is in, int64 (unit,): as many of each collection.

    Each unit is one where a collection has fewer than 10; empty where one has fewer than 5.

    sizes: Units of the collections.
    """
    n_groups = min(GROUPS_LEFT_OUT, *sizes)
    if n_groups < LEAST_LEFT_OUT:
        return np.empty(0, np.int64)
    keys = [stream_key(1, names.Purpose.LEFT_OUT, stratum) for stratum in range(len(sizes))]
    places = map(_random_places, keys, sizes)
    return np.concatenate([place % n_groups for place in places])


def unit_scores(
    cube: xr.Dataset, distinct: NDArray[np.bool_], of_topic: IntArray, sizes: IntArray
) -> tuple[FloatArray, NDArray[np.bool_], list[Range | None]]:
    """Return the mean scores of units, float64 (cell, run, unit); `Table.binary` and `ranges`.

    distinct: bool (metric, gain).
    of_topic, sizes: int64 (topic,), (unit,): unit of each topic, and number of topics of a unit.
    """
    order, starts = np.argsort(of_topic, kind="stable"), np.cumsum(sizes) - sizes
    mean, binary, ranges = [], [], list[Range | None]()
    for metric, gain in np.argwhere(distinct).tolist():
        scores = np.asarray(cube[names.SCORE].values[metric, gain], float)[:, order]
        binary.append(bool(((scores == 0.0) | (scores == 1.0)).all()))
        mean.append(np.add.reduceat(scores, starts, axis=-1) / sizes)
        ends = _range_of(cube, metric, binary=binary[-1])
        if ends is not None:
            check_range(scores, *ends)
        check_differences(mean[-1], ends)
        ranges.append(ends)
    # In C order, as sums of doubles depend on the order of their terms.
    return np.ascontiguousarray(np.stack(mean)), np.array(binary), ranges


def _range_of(cube: xr.Dataset, metric: int, *, binary: bool) -> Range | None:
    """Return the range of the cube, of a metric of ours, or of 0 and 1; None if unknown."""
    stored = [cube.coords.get(name) for name in (names.SCORE_LOW, names.SCORE_HIGH)]
    low, high = (np.nan if of is None else float(np.atleast_1d(of)[metric]) for of in stored)
    if low < high:
        return low, high
    known = parse_known(labels_of(cube, names.METRIC)[metric])
    declared = known.definition.range if isinstance(known, Metric) else None
    return declared or ((0.0, 1.0) if binary else None)
