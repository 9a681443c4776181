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
        cube = ranged(cube.assign({names.SCORE: cube[names.SCORE].compute()}))
    cube = _over_repetitions(cube, runs, notes)
    cube = _complete_topics(cube, missing, notes)
    distinct, cell_of = distinct_cells(uses_gains(cube), cube.sizes[names.GAIN])
    of_topic, strata = units_of(cube, notes, in_bags=bags, weights=weights)
    sizes = np.bincount(of_topic)
    scores, binary, ranges = _unit_scores(cube, distinct, of_topic, sizes)
    for of_cell, ends in zip(scores if on_grid else (), ranges, strict=False):
        check_differences(of_cell, ends)
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
        in_bag=sum(round(part.in_bag * part.size()) for part in strata) / len(sizes),
        notes=tuple(notes),
        nouns=names.nouns(cube.attrs),
        uses_gains=uses_gains(cube),
        teams=tuple(labels_of(cube, names.TEAM)) if names.TEAM in cube.coords else (),
    )


def _over_repetitions(cube: xr.Dataset, runs: Sequence[str] | None, notes: list[str]) -> xr.Dataset:
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
    nouns = names.nouns(cube.attrs)
    run = "system" if nouns.run == names.RUN else nouns.run
    repetitions = f"{of} {names.plural(nouns.repetition)} of a {run}"
    notes.append(
        f"Scores are means over {repetitions} on each {nouns.topic}; "
        f"limits are over {nouns.topics}."
    )
    others = {name: of for name, of in cube.coords.items() if names.RUN not in of.dims}
    return xr.Dataset({names.SCORE: joined}, others, cube.attrs)


def _complete_topics(cube: xr.Dataset, missing: str, notes: list[str]) -> xr.Dataset:
    """Return the loaded cube, perhaps without topics that lack scores; else refuse them."""
    score = cube[names.SCORE]
    cube = cube.assign({names.SCORE: variable_of(score.dims, score.values, score.attrs)})
    finite = np.isfinite(cube[names.SCORE].values)
    absent = ~finite.all(axis=(0, 1))
    lacking = absent.any(axis=0)
    if missing == "drop" and 0 < lacking.sum() < len(lacking):
        cube = on_complete_topics(cube)
        notes.append(cube.attrs[names.LEFT_OUT])
    elif lacking.any():
        nouns = names.nouns(cube.attrs)
        raise BadPlan(
            f"scores are missing on {lacking.sum()} of {counted(len(lacking), nouns.topic)}, "
            f"most of {which_lack_most(absent, labels_of(cube, names.RUN))}"
            f"{_by_metric(cube, finite)}; compute them, or leave their {nouns.topics} out with "
            f"{DROPPED}"
        )
    return cube


def _by_metric(cube: xr.Dataset, finite: NDArray[np.bool_]) -> str:
    """Return the metrics that lack scores, where others lack none."""
    metrics = labels_of(cube, names.METRIC)
    lacking = [metric for metric, of in zip(metrics, finite, strict=True) if not of.all()]
    return "" if len(lacking) == len(metrics) else f", by {listed(lacking)}"


def _unit_scores(
    cube: xr.Dataset, distinct: NDArray[np.bool_], of_topic: IntArray, sizes: IntArray
) -> tuple[FloatArray, NDArray[np.bool_], list[Range | None]]:
    """Return the mean scores of units, float64 (cell, run, unit); `ScoreTable.binary` and `ranges`.

    distinct: bool (metric, gain).
    of_topic, sizes: int64 (topic,), (unit,): unit of each topic, and number of topics of a unit.
    """
    order = np.argsort(of_topic, kind="stable")
    starts = np.cumsum(sizes) - sizes
    mean = []
    binary = []
    ranges = list[Range | None]()
    for metric, gain in np.argwhere(distinct).tolist():
        scores = np.asarray(cube[names.SCORE].values[metric, gain], float)[:, order]
        binary.append(bool(((scores == 0.0) | (scores == 1.0)).all()))
        mean.append(np.add.reduceat(scores, starts, axis=-1) / sizes)
        ends = range_of(cube, metric)
        if ends is not None:
            check_range(scores, *ends)
        ranges.append(ends)
    # In C order, as sums of doubles depend on the order of their terms.
    return np.ascontiguousarray(np.stack(mean)), np.array(binary), ranges
