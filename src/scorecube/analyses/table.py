"""The one road in: what every analysis computes with, prepared once.

Dims and labels by name, a selection, means over repetitions, complete topics, topic groups, bags of topics, distinct cells, the exact grid. No analysis does
any of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from threading import RLock
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.about_metrics import higher_of
from scorecube.collection.arguments import DIMS, as_cube
from scorecube.collection.gaps import about_left_out, which_lack_most
from scorecube.collection.schema import label_array, labels_of
from scorecube.collection.selection import distinct_cells, parse_known, select, uses_gains
from scorecube.collection.topic_means import kinds_of
from scorecube.errors import BadPlan, counted, option
from scorecube.kernels.random.philox import stream_key
from scorecube.metrics import Metric
from scorecube.names import Purpose
from scorecube.statistics.grid import MOST_TOPICS, Grid, check_differences, check_range, make_grid
from scorecube.statistics.intervals import Sample

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Range = tuple[float, float]
T = TypeVar("T")
LOADED_BYTES = 2**28
"""Larger cubes are not loaded as a whole."""
PART_BYTES = 2**25
"""Scores that are read, and put into bags, at a time: those of a few runs."""
HIGHER_IS_BETTER, LOW, HIGH = names.ABOUT_METRICS
GROUPS_LEFT_OUT, LEAST_LEFT_OUT = 10, 5
"""Groups of units that are left out, and the least number of units of which any are."""
BAGS = 1_000
"""Bags of topics, where there are more topics than `MOST_TOPICS`: the same estimand, and the same standard errors within a few percent."""


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The part of a cube that is analysed; None keeps a dim whole.

    metrics, gains, runs, topics: Labels to keep.
    missing: ``refuse`` missing scores, or ``drop`` their topics.
    bags: Bags that more than 1,400 topics are put into; None for none.
    """

    metrics: Sequence[Any] | None = None
    gains: Sequence[str] | None = None
    runs: Sequence[str] | None = None
    topics: Sequence[str] | None = None
    missing: Literal["refuse", "drop"] = "refuse"
    bags: int | None = BAGS


class Stratum(NamedTuple):
    """A collection whose topics are drawn by themselves: its name, its weight in means, where its units are, and how many topics or groups a bag has; 1 without bags."""

    name: str
    weight: float
    units: slice
    in_bag: float = 1.0

    def size(self) -> int:
        """Return the number of units."""
        return int(self.units.stop - self.units.start)


@dataclass(frozen=True, eq=False)
class Table:
    """Scores of one collection, or of several with weights, as analyses compute with them.

    A unit is what is drawn: a topic, or a group or bag of topics.

    metrics, gains, runs: Labels; systems take the place of runs that repeat them.
    cell_of: int64 (metric, gain): position in `scores`; a metric that uses no gains has one cell.
    scores: float64 (cell, run, unit): mean score over the topics of a unit; units of a collection follow each other.
    sizes: float64 (unit,): topics in a unit.
    strata: Collections whose topics are drawn apart, by name, with their weights, which add up to 1, and the place of their units.
    ranges: Least and greatest score of each cell that there can be; None where unknown.
    higher: bool (cell,): whether larger scores are better.
    binary: bool (cell,): whether all scores of topics are 0 or 1.
    in_bag: Mean number of topics, or of groups, of a bag; 1 without bags. A variance over bags is that of topics divided by it.
    notes: What is to be said of every result, one sentence each.
    uses_gains: bool (metric,): whether the scores of a metric depend on the gain setting.
    teams: Team of each run; empty where unknown.
    trials, seed: Of the plan.
    kept_grids, n_kept_of: Grids of the table that this one is a part of, and its number of units.
    """

    metrics: tuple[str, ...]
    gains: tuple[str, ...]
    runs: tuple[str, ...]
    cell_of: IntArray
    scores: FloatArray
    sizes: FloatArray
    strata: tuple[Stratum, ...]
    ranges: tuple[Range | None, ...]
    higher: NDArray[np.bool_]
    binary: NDArray[np.bool_]
    in_bag: float = 1.0
    notes: tuple[str, ...] = field(default=())
    uses_gains: NDArray[np.bool_] = field(default_factory=lambda: np.ones(0, bool))
    teams: tuple[str, ...] = ()
    trials: int = 1
    seed: int = 1
    kept_grids: tuple[Grid, ...] | None = None
    n_kept_of: int = 0

    def labels(self, cube: xr.Dataset) -> xr.Dataset:
        """Return the labels of the table as coordinates of a cube without scores, with the teams of runs where the cube has them; units are its topics."""
        coords: dict[str, Any] = {
            names.METRIC: label_array(self.metrics),
            names.GAIN: label_array(self.gains),
            names.RUN: label_array(self.runs),
            names.TOPIC: np.arange(self.sizes.size).astype(str),
            names.USES_GAINS: (names.METRIC, uses_gains(cube)),
        }
        if names.TEAM in cube.coords and set(self.runs) <= set(labels_of(cube, names.RUN)):
            coords[names.TEAM] = (names.RUN, cube[names.TEAM].sel(run=list(self.runs)).values)
        return xr.Dataset(coords=coords)

    @property
    def n_whole(self) -> int:
        """Number of units of the table that this one is, or is a part of."""
        return self.n_kept_of or self.sizes.size

    @property
    def nbytes(self) -> int:
        """Memory of the scores."""
        return int(self.scores.nbytes)

    def once(self, name: str, make: Callable[[], T]) -> T:
        """Return what all blocks need, by name: made by the first that asks for it, once in each process."""
        with self.__dict__.setdefault("_lock", RLock()):
            made: dict[str, Any] = self.__dict__.setdefault("_made", {})
            if name not in made:
                made[name] = make()
            found: T = made[name]
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what follows from them is not sent to workers."""
        return {each.name: getattr(self, each.name) for each in fields(self)}

    def key(self, purpose: Purpose, stratum: int = 0) -> NDArray[np.uint64]:
        """Return the key of the random words for a purpose, uint64 (2,), of a collection."""
        return stream_key(self.seed, purpose, stratum)

    def dataset(
        self,
        variables: Sequence[schema.Variable],
        values: Mapping[str, Any],
        coords: Mapping[str, Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> xr.Dataset:
        """Return a labelled result: values (cell, ...) become (metric, gain, ...), with runs and teams where a variable has the dim run.

        variables: Declarations; those without values are left out, those of other dims are taken as they are.
        values: Arrays by name.
        coords, attrs: Further coordinates, and attributes.
        """
        found = {}
        for each in variables:
            if each.name in values:
                array = np.asarray(values[each.name])
                by_cell = each.dims[:2] == (names.METRIC, names.GAIN)
                said = each.attrs() | ({"role": each.role} if each.role else {})
                found[each.name] = (each.dims, array[self.cell_of] if by_cell else array, said)
        labels: dict[str, Any] = {
            names.METRIC: label_array(self.metrics),
            names.GAIN: label_array(self.gains),
            names.USES_GAINS: (names.METRIC, self.uses_gains),
        }
        if any(names.RUN in dims for dims, _, _ in found.values()):
            labels[names.RUN] = label_array(self.runs)
            if self.teams:
                labels[names.TEAM] = (names.RUN, label_array(self.teams))
        facts = {"trials": self.trials, "n_runs": len(self.runs), "n_topics": self.n_topics}
        return xr.Dataset(
            found, labels | dict(coords or {}), facts | self.facts | dict(attrs or {})
        )

    def without(self, units: NDArray[np.bool_]) -> Table:
        """Return the table without some units, bool (unit,); each collection keeps some."""
        strata, start = [], 0
        for part in self.strata:
            n_kept = int((~units[part.units]).sum())
            strata.append(part._replace(units=slice(start, start + n_kept)))
            start += n_kept
        kept = np.flatnonzero(~units)
        return replace(
            self,
            scores=np.ascontiguousarray(self.scores[..., kept]),
            sizes=self.sizes[kept],
            strata=tuple(strata),
            # A score is the same number with and without other topics.
            kept_grids=self.grids if self.equal_sizes else None,
            n_kept_of=self.n_whole,
        )

    @cached_property
    def group_left_out(self) -> IntArray:
        """Which of 10 random groups a unit is in, int64 (unit,): of as many of each collection; each unit is one where a collection has fewer than 10.

        Empty where a collection has fewer than 5 units.
        """
        smallest = min(part.size() for part in self.strata)
        if smallest < LEAST_LEFT_OUT:
            return np.empty(0, np.int64)
        group = np.empty(self.sizes.size, np.int64)
        for stratum, part in enumerate(self.strata):
            n_groups = min(GROUPS_LEFT_OUT, smallest)
            group[part.units] = random_groups(part.size(), stratum, n_groups)
        return group

    @cached_property
    def tables_left_out(self) -> tuple[Table, ...]:
        """The table without each group of units, see `group_left_out`; none where there are no groups."""
        groups = np.unique(self.group_left_out)
        return tuple(self.without(self.group_left_out == group) for group in groups)

    @property
    def facts(self) -> dict[str, float]:
        """Attributes of results: the mean size of bags, where there are any."""
        return {"in_bag": self.in_bag} if self.in_bag > 1 else {}

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.sizes.sum())

    @cached_property
    def means(self) -> FloatArray:
        """Means over the topics of each collection, weighted: float64 (cell, run)."""
        return np.asarray(sum(part.weight * self.means_in(part) for part in self.strata))

    def means_in(self, part: Stratum) -> FloatArray:
        """Return the means over the topics of a collection, float64 (cell, run)."""
        sizes = self.sizes[part.units]
        return np.asarray((self.scores[..., part.units] * sizes).sum(axis=-1) / sizes.sum())

    def samples(self, scores: FloatArray) -> list[Sample]:
        """Return sums, sizes and weights by collection of scores of one system, or of differences, (unit,)."""
        found = []
        for part in self.strata:
            sizes = self.sizes[part.units]
            found.append(Sample(part.weight, scores[part.units] * sizes, sizes, part.in_bag))
        return found

    @cached_property
    def values(self) -> FloatArray:
        """Values of units whose plain mean is the mean over topics, float64 (cell, run, unit); their spread gives its standard error.

        In a collection M + (G / n) m (x - M) for a unit of m of the n topics with the mean x, of G units; x itself where all units have one size.
        """
        if self.equal_sizes:
            return self.scores
        values = np.empty_like(self.scores)
        for part in self.strata:
            sizes, means = self.sizes[part.units], self.means_in(part)[..., np.newaxis]
            scores = self.scores[..., part.units]
            values[..., part.units] = means + sizes / sizes.mean() * (scores - means)
        return values

    @property
    def equal_sizes(self) -> bool:
        """Whether all units of each collection have as many topics."""
        return all(len(set(self.sizes[part.units].tolist())) == 1 for part in self.strata)

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """The grid of each cell."""
        if self.kept_grids is not None:
            return self.kept_grids
        known = self.ranges if self.equal_sizes else [None] * len(self.scores)
        return tuple(map(make_grid, self.values, known))

    @cached_property
    def units(self) -> FloatArray:
        """`values` as integers on the grid of their cell, float64 (cell, run, unit)."""
        return np.stack([grid.to_units(x) for grid, x in zip(self.grids, self.values, strict=True)])


def cubes_of(data: Any) -> dict[str, xr.Dataset]:
    """Return the cubes of one or several collections by name; the name of a single cube is empty.

    data: A cube, or its scores; a mapping or an `xarray.DataTree` of cubes; a cube with a dim ``collection``.
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
    parts = {
        str(name): data.sel(collection=name, drop=True) for name in data[names.COLLECTION].values
    }
    # Collections are joined by label: what one of them lacks is empty.
    return {
        name: part.dropna(names.TOPIC, how="all", subset=[names.SCORE]).dropna(
            names.RUN, how="all", subset=[names.SCORE]
        )
        for name, part in parts.items()
    }


def make_table(
    cube: Any,
    selection: Selection | None = None,
    *,
    weights: Mapping[str, float] | None = None,
    seed: int = 1,
) -> Table:
    """Return the table of one collection, or of several that are joined along topic.

    cube: ``score[metric, gain, run, topic]``, dims and labels in any order, in memory or lazy; a coordinate ``collection`` along topic names strata.
    selection: What is analysed of it.
    weights: Weights of collections; 1 for those that it does not name.
    seed: Of the bags.

    Raises
    ------
    BadName, BadInput, BadPlan
        Labels that the cube does not have, dims that are none, missing scores.
    """
    chosen = selection or Selection()
    cube = as_cube(cube)
    schema.check(cube, schema.CUBE, "the cube")
    cube, notes = over_repetitions(select(cube, metrics=chosen.metrics, gains=chosen.gains), chosen)
    cube = without_gaps(select(cube, topics=chosen.topics), chosen, notes)
    for metric, kind in zip(labels_of(cube, names.METRIC), kinds_of(cube), strict=True):
        if kind != "mean":
            raise BadPlan(
                f"{metric} is no mean over topics, so it is not compared topic by topic; scorecube unpaired has the option summary"
            )
    distinct, cell_of = distinct_cells(uses_gains(cube), cube.sizes[names.GAIN])
    metric_of = np.nonzero(distinct)[0]
    unit, strata, in_bag = unit_of_topics(cube, chosen.bags, seed, notes)
    scores, sizes, seen = unit_scores(cube, distinct, unit)
    ranges = tuple(range_of(cube, int(k), seen[cell]) for cell, k in enumerate(metric_of))
    for cell, ends in zip(scores, ranges, strict=True):
        check_differences(cell, ends)
    total = sum(float((weights or {}).get(part.name, 1.0)) for part in strata)
    return Table(
        tuple(labels_of(cube, names.METRIC)),
        tuple(labels_of(cube, names.GAIN)),
        tuple(labels_of(cube, names.RUN)),
        np.asarray(cell_of, np.int64),
        scores,
        sizes,
        tuple(
            part._replace(weight=float((weights or {}).get(part.name, 1.0)) / total)
            for part in strata
        ),
        ranges,
        higher_of(cube)[metric_of],
        np.array([each.binary for each in seen]),
        in_bag,
        tuple(notes),
        uses_gains(cube),
        tuple(labels_of(cube, names.TEAM)) if names.TEAM in cube.coords else (),
    )


def over_repetitions(cube: xr.Dataset, chosen: Selection) -> tuple[xr.Dataset, list[str]]:
    """Return the mean scores of systems over their runs on each topic, and the note on it; or the runs, where each is a system of its own."""
    systems = labels_of(cube, names.SYSTEM) if names.SYSTEM in cube.coords else []
    wanted = None if chosen.runs is None else list(map(str, chosen.runs))
    if len(set(systems)) == len(systems) or (wanted and not set(wanted) <= set(systems)):
        return select(cube, runs=wanted), []
    if wanted is not None:
        cube = cube.isel(run=[system in wanted for system in systems])
    scores = cube[names.SCORE]
    counts = Counter(labels_of(cube, names.SYSTEM))
    # A repetition without a score leaves its system without one: the others may be of another kind.
    means = [
        scores.isel(run=np.flatnonzero(cube[names.SYSTEM].values == name)).mean(
            names.RUN, skipna=False
        )
        for name in counts
    ]
    run = xr.Variable(names.RUN, np.array(list(counts), object))
    joined = xr.concat(means, run).transpose(*DIMS).sortby(names.RUN)
    others = {name: of for name, of in cube.coords.items() if names.RUN not in of.dims}
    found = sorted(set(counts.values()))
    each = f"{found[0]}" if len(found) == 1 else f"{found[0]} to {found[-1]}"
    note = f"Scores are means over {each} repetitions of a system on each topic; limits are over topics."
    return xr.Dataset({names.SCORE: joined}, others).assign_attrs(cube.attrs), [note]


def without_gaps(cube: xr.Dataset, chosen: Selection, notes: list[str]) -> xr.Dataset:
    """Return the cube without topics that lack scores, and note it; refuse them by default."""
    if cube[names.SCORE].nbytes <= LOADED_BYTES:
        cube = cube.assign({names.SCORE: cube[names.SCORE].load()})
    complete = np.ones(cube.sizes[names.TOPIC], bool)
    for part in run_slices(cube):
        scores = cube[names.SCORE].isel(run=part)
        complete &= ~np.isnan(scores.values).any(axis=(0, 1, 2))
        refuse_infinite(scores)
    if complete.all():
        return cube
    if chosen.missing == "refuse" or not complete.any():
        lacking = np.isnan(cube[names.SCORE].values).any(axis=(0, 1))
        of_topic = np.broadcast_to(cube.coords.get(names.COLLECTION, ""), complete.shape)
        concerned = np.isin(of_topic, of_topic[~complete])
        raise BadPlan(
            f"scores are missing on {(~complete).sum()} of {counted(int(concerned.sum()), 'topic')}, most of {which_lack_most(lacking, labels_of(cube, names.RUN))}; "
            f"compute them, or leave their topics out with {option('missing', 'drop')}"
        )
    notes.append(about_left_out(cube, complete))
    return cube.isel(topic=np.flatnonzero(complete))


def refuse_infinite(scores: xr.DataArray) -> None:
    """Refuse scores (metric, gain, run, topic) of which some are infinite: they have no mean."""
    places = np.argwhere(np.isinf(scores.values))
    if len(places) == 0:
        return
    metric, _, run, topic = (scores[d].values[k] for d, k in zip(DIMS, places[0], strict=True))
    raise BadPlan(
        f"{len(places)} scores are infinite, the first is {metric} of run {run} on topic {topic}; choose other runs, topics or metrics"
    )


def run_slices(cube: xr.Dataset) -> list[slice]:
    """Return slices of the runs whose scores are read together."""
    n_runs = cube.sizes[names.RUN]
    step = max(1, int(n_runs * PART_BYTES / max(cube[names.SCORE].nbytes, 1)))
    return [slice(low, min(low + step, n_runs)) for low in range(0, n_runs, step)]


def along_metrics(cube: xr.Dataset, name: str, default: Any) -> NDArray[Any]:
    """Return a coordinate along metric, (metric,), or a default where the cube does not have it."""
    if name in cube.coords:
        return np.atleast_1d(cube[name].values)
    return np.full(cube.sizes[names.METRIC], default)


class Seen(NamedTuple):
    """What the scores of topics of a cell are: whether all are 0 or 1, and the least and the greatest one."""

    binary: bool
    least: float
    greatest: float


def range_of(cube: xr.Dataset, metric: int, seen: Seen) -> Range | None:
    """Return the range of a metric: as the cube has it, else of a metric of ours, else 0 and 1 of scores that are all 0 or 1.

    Raises
    ------
    BadInput
        Scores outside of it.
    """
    low, high = (float(along_metrics(cube, name, np.nan)[metric]) for name in (LOW, HIGH))
    if not low < high:
        known = parse_known(labels_of(cube, names.METRIC)[metric])
        declared = known.definition.range if isinstance(known, Metric) else None
        low, high = declared or (0.0, 1.0)
        if declared is None and not seen.binary:
            return None
    check_range(np.array([seen.least, seen.greatest]), low, high)
    return low, high


def unit_of_topics(
    cube: xr.Dataset, bags: int | None, seed: int, notes: list[str]
) -> tuple[IntArray, list[Stratum], float]:
    """Return the unit of each topic, int64 (topic,), the collections, and the mean size of bags: a unit is a group, or a bag where there are many; note both."""
    n_topics = cube.sizes[names.TOPIC]
    collections = (
        labels_of(cube, names.COLLECTION) if names.COLLECTION in cube.coords else [""] * n_topics
    )
    grouped = names.TOPIC_GROUP in cube.coords
    labels = np.array(labels_of(cube, names.TOPIC_GROUP if grouped else names.TOPIC), object)
    strata, of_topic = np.unique(np.array(collections, object), return_inverse=True)
    unit, start, parts, drawn = np.empty(n_topics, np.int64), 0, [], 0
    for k, name in enumerate(strata):
        here = np.flatnonzero(of_topic == k)
        groups, own = np.unique(labels[here], return_inverse=True)
        n_units = n_drawn = len(groups)
        drawn += n_drawn
        where = f"{name}: " if name else ""
        if n_units < len(here):
            notes.append(
                f"{where}{counted(len(here), 'topic')} in {counted(n_units, 'group')}, which are drawn as units."
            )
        if bags is not None and n_units > MOST_TOPICS:
            notes.append(
                f"{where}{counted(n_units, 'topic')} in {bags:,} random bags, which are drawn as units, and counted as wins, ties and losses; means are of all topics."
            )
            own, n_units = bag_of(n_units, bags, seed)[own], bags
        unit[here] = start + own
        place = slice(start, start + n_units)
        parts.append(Stratum(str(name), 1.0, place, n_drawn / n_units))
        start += n_units
    return unit, parts, drawn / start


def random_groups(n_units: int, stratum: int = 0, n_groups: int = GROUPS_LEFT_OUT) -> IntArray:
    """Return the random group of each unit, int64 (unit,); groups have as many units but one."""
    words = np.random.Philox(key=stream_key(1, Purpose.LEFT_OUT, stratum)).random_raw(n_units)
    group = np.empty(n_units, np.int64)
    group[np.argsort(words, kind="stable")] = np.arange(n_units) % n_groups
    return group


def bag_of(n_units: int, bags: int, seed: int) -> IntArray:
    """Return the random bag of each unit, int64 (unit,); sizes differ by 1 at most."""
    words = np.random.Philox(key=[seed, int(Purpose.BAGS)]).random_raw(n_units)
    place = np.empty(n_units, np.int64)
    place[np.argsort(words, kind="stable")] = np.arange(n_units)
    return np.asarray(place * bags // n_units, np.int64)


def unit_scores(
    cube: xr.Dataset, distinct: NDArray[np.bool_], unit: IntArray
) -> tuple[FloatArray, FloatArray, list[Seen]]:
    """Return the mean scores of units, float64 (cell, run, unit), how many topics each has, and what the scores of topics are."""
    sizes = np.bincount(unit)
    order, starts = np.argsort(unit, kind="stable"), np.cumsum(sizes) - sizes
    n_cells = int(distinct.sum())
    found = np.empty((n_cells, cube.sizes[names.RUN], len(sizes)))
    seen = [Seen(True, np.inf, -np.inf)] * n_cells
    for part in run_slices(cube):
        scores = np.asarray(cube[names.SCORE].isel(run=part).values[distinct], float)[..., order]
        seen = [
            Seen(
                before.binary and bool(np.isin(cell, (0.0, 1.0)).all()),
                min(before.least, float(cell.min())),
                max(before.greatest, float(cell.max())),
            )
            for before, cell in zip(seen, scores, strict=True)
        ]
        whole = len(sizes) == len(unit)
        found[:, part] = scores if whole else np.add.reduceat(scores, starts, axis=-1) / sizes
    return found, sizes.astype(float), seen


def read_weights(words: Sequence[str]) -> dict[str, float]:
    """Return weights of collections from words such as ``nq=2``.

    Raises
    ------
    BadPlan
        Another form, or a weight that is not above 0.
    """
    weights: dict[str, float] = {}
    for word in words:
        name, _, number = word.rpartition("=")
        try:
            weights[name] = float(number)
        except ValueError:
            weights[name] = np.nan
        if not (name and 0 < weights[name] < np.inf):
            raise BadPlan(
                f"{option('weights', word)}: expected a collection and a number above 0, such as nq=2",
                option="weights",
            )
    return weights
