"""Scores on their way into a table: collections by name, repetitions, complete topics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection.arguments import DIMS, as_cube
from scorecube.collection.gaps import about_left_out, which_lack_most
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import parse_known, select
from scorecube.errors import BadPlan, counted, option
from scorecube.metrics import Metric
from scorecube.statistics.grid import check_range

Range = tuple[float, float]
LOADED_BYTES = 2**28
"""Larger cubes are not loaded as a whole."""
PART_BYTES = 2**25
"""Scores that are read at a time: those of a few runs."""


def cubes_of(data: Any) -> dict[str, xr.Dataset]:
    """Return the cubes of one or several collections by name; the name of a single cube is empty.

    data: A cube, or its scores; a mapping or an `xarray.DataTree` of cubes; a cube with a dim
        ``collection``.
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
        # Collections are joined by label: what one of them lacks is empty.
        for dim in (names.TOPIC, names.RUN):
            cube = cube.dropna(dim, how="all", subset=[names.SCORE])
        cubes[str(name)] = cube
    return cubes


def over_repetitions(cube: xr.Dataset, runs: Sequence[str] | None, notes: list[str]) -> xr.Dataset:
    """Return the mean scores of systems over the runs that repeat them, and note it.

    runs: Systems to keep; or runs, each of which is a system of its own then.
    """
    systems = labels_of(cube, names.SYSTEM) if names.SYSTEM in cube.coords else []
    if len(set(systems)) == len(systems) or (runs and not set(runs) <= set(systems)):
        return select(cube, runs=runs)
    if runs is not None:
        cube = cube.isel(run=[system in runs for system in systems])
    scores, counts = cube[names.SCORE], Counter(labels_of(cube, names.SYSTEM))
    # A repetition without a score leaves its system without one: the others may be of another kind.
    means = [
        scores.isel(run=cube[names.SYSTEM].values == name).mean(names.RUN, skipna=False)
        for name in counts
    ]
    joined = xr.concat(means, xr.Variable(names.RUN, np.array(list(counts), object)))
    fewest, most = min(counts.values()), max(counts.values())
    number = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    notes.append(
        f"Scores are means over {number} repetitions of a system on each topic; "
        "limits are over topics."
    )
    others = {name: of for name, of in cube.coords.items() if names.RUN not in of.dims}
    whole = xr.Dataset({names.SCORE: joined.transpose(*DIMS).sortby(names.RUN)}, others)
    return whole.assign_attrs(cube.attrs)


def complete_topics(cube: xr.Dataset, missing: str, notes: list[str]) -> xr.Dataset:
    """Return the cube without topics that lack scores, and note it.

    missing: ``refuse`` or ``drop``.

    Raises
    ------
    BadPlan
        Missing scores that are refused, or on every topic; infinite scores.
    """
    if cube[names.SCORE].nbytes <= LOADED_BYTES:
        cube = cube.assign({names.SCORE: cube[names.SCORE].load()})
    complete = np.ones(cube.sizes[names.TOPIC], bool)
    for part in run_slices(cube):
        scores = cube[names.SCORE].isel(run=part)
        complete &= ~np.isnan(scores.values).any(axis=(0, 1, 2))
        _refuse_infinite(scores)
    if complete.all():
        return cube
    if missing == "drop" and complete.any():
        notes.append(about_left_out(cube, complete))
        return cube.isel(topic=np.flatnonzero(complete))
    lacking = np.isnan(cube[names.SCORE].values).any(axis=(0, 1))
    collection = np.broadcast_to(cube.coords.get(names.COLLECTION, ""), complete.shape)
    n_concerned = int(np.isin(collection, collection[~complete]).sum())
    raise BadPlan(
        f"scores are missing on {(~complete).sum()} of {counted(n_concerned, 'topic')}, "
        f"most of {which_lack_most(lacking, labels_of(cube, names.RUN))}; compute them, "
        f"or leave their topics out with {option('missing', 'drop')}"
    )


def _refuse_infinite(scores: xr.DataArray) -> None:
    """Refuse scores (metric, gain, run, topic) of which some are infinite: they have no mean."""
    places = np.argwhere(np.isinf(scores.values))
    if len(places):
        labels = [scores[dim].values[k] for dim, k in zip(DIMS, places[0], strict=True)]
        raise BadPlan(
            f"{len(places)} scores are infinite, the first is {labels[0]} of run {labels[2]} "
            f"on topic {labels[3]}; choose other runs, topics or metrics"
        )


def run_slices(cube: xr.Dataset) -> list[slice]:
    """Return slices of the runs whose scores are read together."""
    n_runs = cube.sizes[names.RUN]
    step = max(1, int(n_runs * PART_BYTES / max(cube[names.SCORE].nbytes, 1)))
    return [slice(low, min(low + step, n_runs)) for low in range(0, n_runs, step)]


def range_of(cube: xr.Dataset, metric: int, least: float, greatest: float, binary: bool) -> Any:
    """Return the range of a metric: as the cube has it, else of a metric of ours, else 0 and 1.

    least, greatest, binary: Of its scores, and whether all are 0 or 1; None is returned where they
        are not and nothing is known.

    Raises
    ------
    BadInput
        Scores outside of the range.
    """
    ends = [
        float(np.atleast_1d(cube[name].values)[metric]) if name in cube.coords else np.nan
        for name in (names.SCORE_LOW, names.SCORE_HIGH)
    ]
    if not ends[0] < ends[1]:
        known = parse_known(labels_of(cube, names.METRIC)[metric])
        declared = known.definition.range if isinstance(known, Metric) else None
        if declared is None and not binary:
            return None
        ends = list(declared or (0.0, 1.0))
    check_range(np.array([least, greatest]), *ends)
    return ends[0], ends[1]
