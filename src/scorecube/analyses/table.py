"""What every analysis computes with: scores of units by cell and run, and on the exact grid."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cached_property
from threading import RLock
from typing import Any, Final

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.topic_units import FloatArray, IntArray, Range, Stratum, groups_left_out
from scorecube.collection.pair_index import with_pairs
from scorecube.collection.schema import OF_COORDINATES, label_array, variable_of
from scorecube.declare import Variable
from scorecube.kernels.random.philox import stream_key
from scorecube.statistics.grid import Grid, make_grid
from scorecube.statistics.intervals import Sample

MOST_KEPT: Final = 2**20  # bytes of the scores of a table whose `tables_left_out` are kept


def bytes_of(value: object) -> int:
    """Return the bytes of arrays and datasets, in records and tuples of them too."""
    if isinstance(value, np.ndarray | xr.Dataset):
        return value.nbytes
    if is_dataclass(value):
        return sum(bytes_of(getattr(value, item.name)) for item in fields(value))
    return sum(map(bytes_of, value)) if isinstance(value, tuple | list) else 0


def by_cell(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the values of all cells by name, (cell, ...), given those of each cell."""
    return {name: np.stack(values) for name, values in _columns(rows)}


def _columns(rows: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, list[Any]]]:
    for name in rows[0]:
        yield name, [row[name] for row in rows]


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores of one collection, or of several with weights, as analyses compute with them.

    metrics, gains, runs: Labels; systems take the place of runs that repeat them.
    cell_of: int64 (metric, gain): position in `scores`; a metric without gains has one cell.
    scores: float64 (cell, run, unit): mean score over the topics of a unit, which is what is
        drawn: a topic, or a group or bag of topics.
    sizes: float64 (unit,): topics in a unit.
    strata: Collections whose topics are drawn apart, by name; their weights add up to 1.
    ranges: Least and greatest score of each cell that there can be; None where unknown.
    higher, binary: bool (cell,): whether larger scores are better, all topics have 0 or 1.
    in_bag: Mean number of topics, or of groups, of a bag, 1 without bags: a variance over bags is
        that of topics divided by it.
    notes: What is to be said of every result, one sentence each.
    uses_gains: bool (metric,): whether the scores of a metric depend on the gain setting.
    teams: Team of each run; empty where unknown.
    trials, seed: Of the plan.
    topic: What topics are called in the study.
    part_of: The table that this one lacks some units of; None of a whole one.
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
    notes: tuple[str, ...] = ()
    uses_gains: NDArray[np.bool_] = field(default_factory=lambda: np.ones(0, bool))
    teams: tuple[str, ...] = ()
    trials: int = 1
    seed: int = 1
    nouns: names.Nouns = names.USUAL_NOUNS
    part_of: ScoreTable | None = None

    @property
    def why_no_limits(self) -> str:
        """Why a mean, or a difference, has no limits where it has none."""
        single = [part.name for part in self.strata if part.size() < 2]
        if single:
            where = f" of {', '.join(single)}" if len(self.strata) > 1 else ""
            return f"a single {self.nouns.topic}{where}"
        return f"too few {self.nouns.topics} differ"

    @property
    def n_topics(self) -> int:
        """Number of topics."""
        return int(self.sizes.sum())

    def once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what all blocks need: made by the first that asks for it, in each process."""
        with self.__dict__.setdefault("_lock", RLock()):
            kept: dict[str, Any] = self.__dict__.setdefault("_kept", {})
            return kept[name] if name in kept else kept.setdefault(name, make())

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what follows from them is not sent to workers."""
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def key(self, purpose: names.Purpose, stratum: int = 0) -> NDArray[np.uint64]:
        """Return the key of the random words for a purpose, uint64 (2,), of a collection."""
        return stream_key(self.seed, purpose, stratum)

    def dataset(
        self,
        variables: Sequence[Variable],
        values: Mapping[str, Any],
        coords: Mapping[str, Any] | None = None,
        attrs: Mapping[str, Any] | None = None,
    ) -> xr.Dataset:
        """Return a labelled result; variables without values are left out.

        values: Arrays by name; (cell, ...) where (metric, gain, ...) is declared.
        """
        arrays = dict[str, xr.Variable]()
        for variable in variables:
            if variable.name in values:
                array = np.asarray(values[variable.name])
                if variable.dims[:2] == (names.METRIC, names.GAIN):
                    array = array[self.cell_of]
                arrays[variable.name] = variable_of(variable.dims, array, variable.attrs())
        labels: dict[str, Any] = {
            names.METRIC: label_array(self.metrics),
            names.GAIN: label_array(self.gains),
            names.USES_GAINS: (names.METRIC, self.uses_gains),
        }
        if any(names.RUN in array.dims for array in arrays.values()):
            labels[names.RUN] = label_array(self.runs)
            labels |= {names.TEAM: (names.RUN, label_array(self.teams))} if self.teams else {}
        facts = dict[str, Any](trials=self.trials, n_runs=len(self.runs), n_topics=self.n_topics)
        labels |= dict(coords or {})
        for name, of in labels.items():
            about = OF_COORDINATES.get(name)
            if isinstance(of, np.ndarray) and of.ndim:
                labels[name] = variable_of(name, of, about)
            elif isinstance(of, tuple):
                labels[name] = variable_of(of[0], of[1], about)
        return with_pairs(xr.Dataset(arrays, labels, facts | dict(attrs or {})))

    def bytes_needed(self, *, jackknife: int = 0, more: float = 0.0) -> int:
        """Return the bytes of the arrays as large as `scores` that are made of this table.

        Scores, `units` and, where sizes differ, `values`; one more while units are made.
        jackknife: Of how many of `tables_left_out`, each of nine tenths of the units, the same is
            made at a time, if they are large; of all small ones.
        more: Further such arrays.
        """
        arrays = 2 if self.equal_sizes else 3
        at_a_time = jackknife if self.scores.nbytes > MOST_KEPT else jackknife * len(self.groups())
        without = min(max(0, len(self.groups()) - 1), at_a_time)
        return int(self.scores.nbytes * (arrays * (1 + without) + 1 + more))

    def groups(self) -> list[int]:
        """Return the numbers of the groups of units that are left out; none of few units."""
        return list(np.unique(groups_left_out([part.size() for part in self.strata])))

    @property
    def tables_left_out(self) -> Iterable[ScoreTable]:
        """The table without each group of units: large ones one after the other, made on use."""
        groups = groups_left_out([part.size() for part in self.strata])
        tables = (self._with_units(groups != group) for group in np.unique(groups))
        return (
            tables
            if self.scores.nbytes > MOST_KEPT
            else self.once("left out", lambda: tuple(tables))
        )

    def _with_units(self, kept: NDArray[np.bool_]) -> ScoreTable:
        stops = np.cumsum([kept[part.units].sum() for part in self.strata]).tolist()
        slices = map(slice, [0, *stops], stops)
        return replace(
            self,
            scores=np.ascontiguousarray(self.scores[..., kept]),
            sizes=self.sizes[kept],
            strata=tuple(p._replace(units=u) for p, u in zip(self.strata, slices, strict=True)),
            part_of=self.part_of or self,
        )

    @cached_property
    def means(self) -> FloatArray:
        """Means over the topics of each collection, weighted: float64 (cell, run)."""
        return np.asarray(sum(part.weight * self.means_in(part) for part in self.strata))

    def means_in(self, part: Stratum) -> FloatArray:
        """Return the means over the topics of a collection, float64 (cell, run)."""
        sizes = self.sizes[part.units]
        return np.asarray((self.scores[..., part.units] * sizes).sum(axis=-1) / sizes.sum())

    def samples(self, scores: FloatArray) -> list[Sample]:
        """Return scores or differences, (..., unit), by collection: sums, sizes, weight."""
        sizes = self.sizes
        sums = scores if (sizes == 1.0).all() else scores * sizes
        return [Sample(weight, sums[..., at], sizes[at], bag) for _, weight, at, bag in self.strata]

    @cached_property
    def values(self) -> FloatArray:
        """Values of units whose plain mean is the mean M over topics, float64 (cell, run, unit).

        M + (G / n) m (x - M) for a unit of m of the n topics with the mean x, of G units, so that
        their spread gives the standard error; x itself where all units have one size.
        """
        if self.equal_sizes:
            return self.scores
        values = np.empty_like(self.scores)
        for part in self.strata:
            sizes = self.sizes[part.units]
            means = self.means_in(part)[..., np.newaxis]
            apart = self.scores[..., part.units] - means
            values[..., part.units] = means + sizes / sizes.mean() * apart
        return values

    @property
    def equal_sizes(self) -> bool:
        """Whether all units of each collection have as many topics."""
        return all(len(set(self.sizes[part.units].tolist())) == 1 for part in self.strata)

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        """The grid of each cell."""
        if self.part_of is not None and self.part_of.equal_sizes:
            return self.part_of.grids  # a score is the same number with and without other topics
        known = self.ranges if self.equal_sizes else [None] * len(self.scores)
        return tuple(map(make_grid, self.values, known))

    @cached_property
    def grid_units(self) -> FloatArray:
        """The unit of the grid of each cell in scores, float64 (cell,)."""
        return np.array([grid.unit for grid in self.grids])

    @cached_property
    def units(self) -> FloatArray:
        """`values` as integers on the grid of their cell, float64 (cell, run, unit)."""
        units = np.empty_like(self.scores)
        for cell, grid in enumerate(self.grids):
            units[cell] = grid.to_units(self.values[cell])
        return units
