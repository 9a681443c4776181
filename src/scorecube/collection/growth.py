"""Joining scores, and rankings, of one collection: further runs, metrics and gain settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.ranges import ENDS, Range, ranged, stated_ranges
from scorecube.collection.teams import listed
from scorecube.errors import BadStudy, counted, option

Labels = Mapping[str, Sequence[str]]
FILLS: Final[Mapping[str, Any]] = {
    names.USES_GAINS: True,
    names.HIGHER_IS_BETTER: True,
    names.SCORE: np.nan,
}
"""What stands where one side does not say it; a run is its own team, and its own system."""
OF_RUNS: Final = (names.TEAM, names.SYSTEM)


class OtherCollection(BadStudy):
    """Scores of other topics or judgements: they cannot be joined."""


class Joint(NamedTuple):
    """Values of a variable of two sides, and the place of the first that differs, if one does."""

    values: NDArray[Any]
    differing: tuple[int, ...] | None


def merge_cubes(
    old: xr.Dataset, new: xr.Dataset, what: str, *, grow: bool = False, replace: bool = False
) -> xr.Dataset:
    """Add metrics and gain settings, and perhaps runs, to a cube with the same topics.

    what: The collection, in messages.
    grow: Whether runs may be added; they need all metrics and gain settings that are there.
    replace: Whether scores of both are those of the new cube; otherwise they must be equal.
    """
    anew = f"use {option('replace', True)} to start over"
    if names.MATCH in {*old.dims, *new.dims}:
        if old.identical(new):
            return old
        raise OtherCollection(f"{what} holds battles, or is to hold some: none are added; {anew}")
    sides = (old, new)
    for dim in (names.TOPIC,) if grow else (names.RUN, names.TOPIC):
        if schema.labels_of(old, dim) != schema.labels_of(new, dim):
            raise OtherCollection(f"{what} has other {dim}s: {_apart(old, new, dim)}; {anew}")
    labels: dict[str, list[str]] = {}
    for dim in (names.METRIC, names.GAIN, names.RUN, names.TOPIC):
        joined = dict.fromkeys([*schema.labels_of(old, dim), *schema.labels_of(new, dim)])
        labels[dim] = sorted(joined) if dim == names.RUN else list(joined)
    _refuse_gaps(sides, labels, what)
    merged = _joined(
        [side.drop_vars(ENDS, errors="ignore") for side in sides], labels, what, replace=replace
    )
    merged = ranged(merged, _stated(sides, what, replace=replace))
    return schema.annotate(merged.transpose(*schema.CUBE[0].dims, ...), schema.CUBE)


def _stated(sides: Sequence[xr.Dataset], what: str, *, replace: bool) -> dict[str, Range]:
    """Return the ranges that were stated on a side; others follow from the scores of both."""
    old, new = map(stated_ranges, sides)
    for metric in old.keys() & new.keys():
        if old[metric] != new[metric] and not replace:
            raise BadStudy(
                f"{what}: the range of {metric} was stated as {old[metric]}, and now as "
                f"{new[metric]}; use {option('replace', True)} for the new one"
            )
    return old | new


def merge_rankings(
    old: xr.Dataset, new: xr.Dataset, what: str, *, replace: bool = False
) -> xr.Dataset:
    """Add runs to rankings of the same topics, judgements and options of reading."""
    shared = {
        name
        for name, variable in {**old.variables, **new.variables}.items()
        if not {names.RUN, names.RANK} & {*variable.dims}
    }
    differing = [
        str(name)
        for name in sorted(shared, key=str)
        if not (name in old and name in new and old[name].equals(new[name]))
    ]
    differing += [
        key for key in {**old.attrs, **new.attrs} if old.attrs.get(key) != new.attrs.get(key)
    ]
    if differing:
        raise OtherCollection(
            f"{what} was evaluated with other topics, judgements or options (they differ in "
            f"{', '.join(differing)}); use the same, {option('replace', True)}, or another "
            f"{option('name')}"
        )
    depth = max(old.sizes[names.RANK], new.sizes[names.RANK])
    ranks = {names.RANK: np.arange(1, depth + 1)}
    sides = tuple(side.reindex(ranks, fill_value=names.UNJUDGED) for side in (old, new))
    runs = sorted({*schema.labels_of(old, names.RUN), *schema.labels_of(new, names.RUN)})
    return _joined(sides, {names.RUN: runs}, what, replace=replace)


def _refuse_gaps(sides: Sequence[xr.Dataset], labels: Labels, what: str) -> None:
    """Refuse runs that would lack metrics or gain settings, and metrics that would lack runs."""
    dims = (names.METRIC, names.GAIN, names.RUN)
    covered = np.zeros([len(labels[dim]) for dim in dims], bool)
    for side in sides:
        covered[np.ix_(*(_places(side, dim, labels[dim]) for dim in dims))] = True
    if covered.all():
        return
    metric, gain, run = (
        labels[dim][at] for dim, at in zip(dims, np.argwhere(~covered)[0], strict=True)
    )
    if run not in schema.labels_of(sides[0], names.RUN):
        needed = {dim: listed(schema.labels_of(sides[0], dim)) for dim in dims[:2]}
        raise BadStudy(
            f"{what}: the new run {run!r} lacks {metric} with gains {gain}; runs that are added "
            f"need all that is there: metrics {needed[names.METRIC]}, gains {needed[names.GAIN]}"
        )
    given = set(schema.labels_of(sides[1], names.RUN))
    lacking = [name for name in labels[names.RUN] if name not in given]
    if lacking:
        raise BadStudy(
            f"{what}: {metric} with gains {gain} would lack {counted(len(lacking), 'run')} that "
            f"are there: {listed(lacking)}; give its scores of all runs"
        )
    raise BadStudy(f"{what} lacks gain settings of some metrics; give {metric} with gains {gain}")


def _apart(old: xr.Dataset, new: xr.Dataset, dim: str) -> str:
    """Return how many labels each side has, and the first that only it has."""
    sides = {"stored": schema.labels_of(old, dim), "given": schema.labels_of(new, dim)}
    parts = []
    for (side, own), other in zip(sides.items(), reversed(sides.values()), strict=True):
        alone = [label for label in own if label not in set(other)]
        parts.append(f"{len(own)} {side}" + (f", only there {listed(alone)}" if alone else ""))
    return "; ".join(parts)


def _places(side: xr.Dataset, dim: str, labels: Sequence[str]) -> NDArray[np.int64]:
    """Return where the labels of a side stand among others."""
    place = {label: k for k, label in enumerate(labels)}
    return np.array([place[label] for label in schema.labels_of(side, dim)], np.int64)


def _joined(sides: Sequence[xr.Dataset], labels: Labels, what: str, *, replace: bool) -> xr.Dataset:
    """Return the variables of both sides on common labels; differing ones are refused or replaced.

    labels: Of the dims along which the sides differ.
    """
    old, new = sides
    joined: dict[str, xr.Variable] = {}
    for key in {**old.variables, **new.variables}:
        name = str(key)
        if name in labels:
            joined[name] = xr.Variable(name, schema.label_array(labels[name]))
            continue
        holders = [side for side in sides if name in side.variables]
        first = holders[0].variables[name]
        if holders[-1].variables[name].dims != first.dims:
            raise BadStudy(f"{what} holds {name} along other dims")
        joint = _joint(name, holders, labels)
        if joint.differing is not None and not replace:
            raise BadStudy(_difference(name, first.dims, joint.differing, sides, labels, what))
        joined[name] = xr.Variable(first.dims, joint.values, first.attrs)
    of_sides = set().union(*(side.coords for side in sides))
    coords = {name: joined.pop(name) for name in [*joined] if name in of_sides}
    return xr.Dataset(joined, coords, {**old.attrs, **_lacking(new.attrs, old.attrs)})


def _lacking(some: Mapping[Any, Any], others: Mapping[Any, Any]) -> dict[Any, Any]:
    return {key: value for key, value in some.items() if key not in others}


def _joint(name: str, holders: Sequence[xr.Dataset], labels: Labels) -> Joint:
    """Return the values of a variable on common labels: of the last side that gives each."""
    first = holders[0].variables[name]
    shape = [len(labels.get(str(dim), range(first.sizes[dim]))) for dim in first.dims]
    values: NDArray[Any] = np.empty(shape, first.dtype)
    if name in OF_RUNS:
        values[:] = labels[names.RUN]
    elif name in FILLS:
        values[...] = FILLS[name]
    known = np.zeros(shape, bool)
    differing = None
    for side in holders:
        variable = side.variables[name]
        places = [
            _places(side, str(dim), labels[str(dim)]) if dim in labels else np.arange(size)
            for dim, size in variable.sizes.items()
        ]
        at: Any = np.ix_(*places) if places else ()
        given = variable.notnull().values
        clash = known[at] & given & (values[at] != variable.values)
        if clash.any():
            inner = np.argwhere(clash)[0]
            differing = tuple(int(place[k]) for place, k in zip(places, inner, strict=True))
        values[at] = np.where(given, variable.values, values[at])
        known[at] |= given
    return Joint(values, differing)


def _difference(
    name: str,
    dims: Sequence[Any],
    place: Sequence[int],
    sides: Sequence[xr.Dataset],
    labels: Labels,
    what: str,
) -> str:
    """Return the message on a value that both sides give."""
    where: dict[str, Any] = {}
    for dim, at in zip(dims, place, strict=True):
        known = labels.get(str(dim)) or sides[0][dim].values.tolist()
        where[str(dim)] = known[at]
    values = [side[name].sel(where).item() for side in sides]
    cell = ", ".join(f"{dim} {label}" for dim, label in where.items())
    return (
        f"{what} holds another {name} of {cell}: {values[0]}, and {values[1]} is given; use "
        f"{option('replace', True)} to replace what is given"
    )
