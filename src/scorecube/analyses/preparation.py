"""The one road in: from a cube to the table that an analysis computes with.

Means over repetitions, complete topics, topic groups, bags of topics, distinct cells, ranges: no
analysis does any of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.reading import blocks, rows_at_once
from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray, IntArray, Range, units_of
from scorecube.collection import schema
from scorecube.collection.arguments import DIMS, CubeLike, as_cube
from scorecube.collection.ranges import higher_of, range_of, ranged, undecided
from scorecube.collection.schema import labels_of, variable_of
from scorecube.collection.selection import (
    DROPPED,
    distinct_cells,
    on_complete_topics,
    select,
    uses_gains,
    which_lack_most,
)
from scorecube.collection.teams import listed
from scorecube.declare import number_range
from scorecube.errors import BadPlan, counted
from scorecube.statistics.grid import check_differences, check_range


def make_table(
    cube: CubeLike,
    *,
    runs: Sequence[str] | None = None,
    missing: Literal["refuse", "drop"] = "refuse",
    bags: bool = True,
    weights: Mapping[str, float] | None = None,
    on_grid: bool = True,
) -> ScoreTable:
    """Return the table of one collection, or of several that are joined along topic.

    cube: ``score[metric, gain, run, topic]``, dims and labels in any order, in memory or lazy; a
        coordinate ``collection`` along topic names strata.
    bags: Whether more than 1,400 topics are put into bags, as many as the cube says.
    weights: Weights of collections; 1 for those that it does not name.
    on_grid: Whether scores are put on the grid, which refuses differences that are too small.
    """
    cube = as_cube(cube)
    if names.MATCH in cube.dims:
        raise BadPlan("these are battles, which have no scores by topic: analyse them by battles")
    notes = list[str]()
    schema.check(cube, schema.CUBE, "the cube")
    if undecided(cube):  # a lazy cube: before means over seeds, which are not 0 and 1
        cube = ranged(cube)
    cube = _over_repetitions(cube, runs, notes)
    if missing == "drop":
        cube = _complete_topics(cube, notes)
    distinct, cell_of = distinct_cells(uses_gains(cube), cube.sizes[names.GAIN])
    of_topic, strata = units_of(cube, notes, in_bags=bags, weights=weights)
    sizes = np.bincount(of_topic)
    scores, binary, ranges = _unit_scores(cube, distinct, of_topic, sizes)
    if on_grid:
        for of_cell, ends in zip(scores, ranges, strict=True):
            check_differences(of_cell, ends)
    n_in_bags = sum(round(part.in_bag * part.size()) for part in strata)
    return ScoreTable(
        metrics=tuple(labels_of(cube, names.METRIC)),
        gains=tuple(labels_of(cube, names.GAIN)),
        runs=tuple(labels_of(cube, names.RUN)),
        cell_of=np.asarray(cell_of, np.int64),
        scores=scores,
        sizes=sizes.astype(float),
        strata=strata,
        ranges=tuple(ranges),
        higher=higher_of(cube)[np.nonzero(distinct)[0]],
        binary=binary,
        in_bag=n_in_bags / len(sizes),
        notes=tuple(notes),
        nouns=names.nouns(cube.attrs),
        uses_gains=uses_gains(cube),
        teams=tuple(labels_of(cube, names.TEAM)) if names.TEAM in cube.coords else (),
    )


def _over_repetitions(cube: xr.Dataset, runs: Sequence[str] | None, notes: list[str]) -> xr.Dataset:
    """Return the mean scores of systems over their runs; or runs, if these are asked for."""
    counts = Counter(labels_of(cube, names.SYSTEM) if names.SYSTEM in cube.coords else [])
    are_single = set(counts.values()) <= {1}
    are_asked_for = bool(runs) and not counts.keys() >= set(runs or ())  # runs, not systems
    if are_single or are_asked_for:
        return select(cube, runs=runs)
    systems = sorted(name for name in counts if runs is None or name in runs)
    # A repetition without a score leaves its system without one: the others may be of another kind.
    means = np.empty((*cube[names.SCORE].shape[:2], len(systems), cube.sizes[names.TOPIC]))
    of_run = np.array(labels_of(cube, names.SYSTEM), object)
    for metric in range(len(means)):  # of a large cube one is in memory
        scores = cube.variables[names.SCORE][metric].values
        for place, name in enumerate(systems):
            means[metric, :, place] = scores[:, of_run == name].mean(axis=1)
    numbers = [counts[name] for name in systems]
    nouns = names.nouns(cube.attrs)
    run = "system" if nouns.run == names.RUN else nouns.run
    repetitions = f"{number_range(numbers, 'd')} {names.plural(nouns.repetition)} of a {run}"
    notes.append(
        f"Scores are means over {repetitions} on each {nouns.topic}; {limits_over(nouns)}."
    )
    coords = {name: each for name, each in cube.coords.items() if names.RUN not in each.dims}
    coords[names.RUN] = xr.DataArray(np.array(systems, object), dims=names.RUN)
    return xr.Dataset({names.SCORE: variable_of(DIMS, means)}, coords, cube.attrs)


def limits_over(nouns: names.Nouns) -> str:
    """Return what limits are over, unless they are over repetitions, too."""
    return f"limits are over {nouns.topics}"


def _complete_topics(cube: xr.Dataset, notes: list[str]) -> xr.Dataset:
    """Return the cube without topics that lack scores; as it is, if all do."""
    complete = on_complete_topics(cube)
    if complete is cube or complete.sizes[names.TOPIC] == 0:
        return cube
    notes.append(complete.attrs[names.LEFT_OUT])
    return complete


class _Missing:
    """Scores of a cube that are missing: where, and of which metrics."""

    def __init__(self, cube: xr.Dataset) -> None:
        self._cube = cube
        self._absent: NDArray[np.bool_] | None = None
        self._metrics: set[int] = set()

    def note(self, metric: int, rows: slice, scores: FloatArray) -> bool:
        """Note what is missing of some runs, (run, topic); return whether nothing is."""
        finite = np.isfinite(scores)
        if finite.all():
            return True
        if self._absent is None:
            sizes = self._cube.sizes
            self._absent = np.zeros((sizes[names.RUN], sizes[names.TOPIC]), bool)
        self._absent[rows] |= ~finite
        self._metrics.add(metric)
        return False

    def refuse(self) -> None:
        """Refuse scores that are missing (BadPlan)."""
        if self._absent is None:
            return
        lacking = np.asarray(self._absent.any(axis=0))
        metrics = labels_of(self._cube, names.METRIC)
        by_metric = ""
        if len(self._metrics) < len(metrics):
            by_metric = f", by {listed([metrics[place] for place in sorted(self._metrics)])}"
        most = which_lack_most(self._absent, labels_of(self._cube, names.RUN))
        nouns = names.nouns(self._cube.attrs)
        raise BadPlan(
            f"scores are missing on {lacking.sum()} of {counted(len(lacking), nouns.topic)}, "
            f"most of {most}{by_metric}; compute "
            f"them, or leave their {nouns.topics} out with {DROPPED}"
        )


def _unit_scores(
    cube: xr.Dataset, distinct: NDArray[np.bool_], of_topic: IntArray, sizes: IntArray
) -> tuple[FloatArray, NDArray[np.bool_], list[Range | None]]:
    """Return the mean scores of units, float64 (cell, run, unit); `ScoreTable.binary` and `ranges`.

    Scores are read once, a block of runs at a time.

    distinct: bool (metric, gain).
    of_topic, sizes: int64 (topic,), (unit,): unit of each topic, and number of topics of a unit.
    Raises BadPlan: Scores are missing.
    """
    order = np.argsort(of_topic, kind="stable")
    starts = np.cumsum(sizes) - sizes
    n_runs = cube.sizes[names.RUN]
    # In C order, as sums of doubles depend on the order of their terms.
    mean = np.empty((int(distinct.sum()), n_runs, len(sizes)))
    binary = np.ones(len(mean), bool)
    ranges = list[Range | None]()
    missing = _Missing(cube)
    variable = cube.variables[names.SCORE]
    cell = -1
    for metric, gain in np.ndindex(distinct.shape):
        if distinct[metric, gain]:
            cell += 1
            ranges.append(range_of(cube, metric))
        for block in blocks(variable):
            read = np.asarray(variable[metric, gain, block].values)
            is_whole = missing.note(metric, block, read)
            for rows in rows_at_once(read) if is_whole and distinct[metric, gain] else ():
                scores = np.asarray(read[rows], float)[:, order]
                here = slice(block.start + rows.start, block.start + rows.stop)
                binary[cell] &= bool(((scores == 0.0) | (scores == 1.0)).all())
                mean[cell, here] = np.add.reduceat(scores, starts, axis=-1) / sizes
                ends = ranges[cell]
                if ends is not None:
                    check_range(scores, *ends)
            del read  # before the next block is read
    missing.refuse()
    return mean, binary, ranges
