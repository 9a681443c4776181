"""Cubes of the same runs in several collections, joined along topic: scores of boards, one ranking from many collections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.about_metrics import higher_of
from scorecube.collection.arguments import as_cube
from scorecube.collection.judgement_sets import (
    MIN_COMMON,
    NOT_COMMON,
    common_labels,
    common_settings,
)
from scorecube.collection.selection import select, uses_gains, with_labels
from scorecube.collection.teams import listed
from scorecube.errors import BadPlan, counted

COLLECTIONS, BETWEEN = "collections", "/"
OTHER_RANGES = "other_ranges"
"""Attribute of joined scores: metrics whose range differs between collections."""


def join_collections(
    cubes: Mapping[str, xr.Dataset],
    *,
    missing: Literal["refuse", "drop"] = "refuse",
    by_topic: bool = False,
) -> xr.Dataset:
    """Join cubes of the same runs in several collections, for a `scorecube.Board`.

    Runs and metrics are matched by label, and those that a collection lacks are left out. Topics that come in groups keep them.

    Parameters
    ----------
    cubes
        Name of a collection -> scores (metric, gain, run, topic), as from `scorecube.evaluate` or `scorecube.cube_from_scores`.
    missing, by_topic
        As of `scorecube.select`, in each collection, after runs that others lack are left out.

    Returns
    -------
    cube
        Scores of the topics of all collections, these sorted by name: topic 7 of web is ``web/7``, and the coordinate ``collection`` (topic) says web. The
        attribute ``left_out`` lists what was left out.

    Raises
    ------
    BadPlan
        No collection, no common metric or gain setting, fewer than two common runs, or a run of two systems.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> web, news = simulate_cube(n_runs=4, seed=1), simulate_cube(n_runs=5, seed=2).isel(topic=slice(9))
    >>> board = join_collections({"web": web, "news": news})
    >>> board.sizes["topic"], board.collection.values[-1], board.attrs["left_out"]
    (59, 'web', ['left out, as web lacks them (run): team05-run1'])
    """
    from scorecube.collection.joined_scores import joined_along_topic

    if not cubes:
        raise BadPlan("a board needs collections; none is given")
    if slashed := [name for name in cubes if BETWEEN in name]:
        raise BadPlan(f"a collection of a board has no {BETWEEN} in its name; rename {slashed[0]}")
    cubes = {name: as_cube(cubes[name]) for name in in_board_order(cubes)}
    notes: list[str] = []
    runs = _common_runs(cubes, notes)
    metrics = common_labels(cubes, names.METRIC, notes, COLLECTIONS)
    settings = common_settings(cubes, notes, COLLECTIONS)
    parts: dict[str, xr.Dataset] = {}
    about: dict[str, str] = {}
    for name, cube in cubes.items():
        chosen = with_labels(
            cube[[names.SCORE, *({names.TOPIC_GROUP} & {*cube.coords})]],
            {names.METRIC: metrics, names.GAIN: settings[name], names.RUN: runs},
        )
        part = select(chosen, missing=missing, by_topic=by_topic)
        parts[name] = part
        for key in names.ABOUT_TOPICS:
            if key in part.attrs:
                about[key] = f"{about.get(key, '')} {name}: {part.attrs[key]}".strip()
    joined = xr.Dataset(
        {names.SCORE: joined_along_topic([part.variables[names.SCORE] for part in parts.values()])},
        _coords(parts, runs, settings),
        {NOT_COMMON: notes, OTHER_RANGES: _other_ranges(parts), **about},
    )
    if joined.nbytes <= schema.MAX_LOADED_BYTES:
        joined.load()
    return schema.annotate(joined, schema.CUBE)


def in_board_order(collections: Iterable[str]) -> list[str]:
    """Return the names of collections in the order of their topics' labels, which are sorted."""
    return sorted(collections, key=lambda name: f"{name}{BETWEEN}")


def _common_runs(cubes: Mapping[str, xr.Dataset], notes: list[str]) -> list[str]:
    """Return the runs that all collections have, sorted; note which collection lacks the others."""
    own = {name: set(schema.labels_of(cube, names.RUN)) for name, cube in cubes.items()}
    common = sorted(set.intersection(*own.values()))
    lacked: dict[str, list[str]] = {}
    for run in sorted(set().union(*own.values()) - set(common)):
        lacking = [name for name, runs in own.items() if run not in runs]
        verb = "lacks" if len(lacking) == 1 else "lack"
        lacked.setdefault(f"{listed(lacking)} {verb}", []).append(run)
    notes += [f"left out, as {where} them (run): {listed(out)}" for where, out in lacked.items()]
    if len(common) < MIN_COMMON:
        counts = ", ".join(f"{name} {len(runs)}" for name, runs in own.items())
        raise BadPlan(
            f"{counted(len(common), 'run')} in all of {counted(len(own), 'collection')}, {MIN_COMMON} are needed (runs: {counts}): choose collections that share runs. "
            "Repetitions of a system have the same names in all collections"
        )
    return common


def _other_ranges(parts: Mapping[str, xr.Dataset]) -> list[str]:
    """Return the metrics whose range differs between collections."""
    unknown = np.full(next(iter(parts.values())).sizes[names.METRIC], np.nan)
    ends = [
        [part[name].values if name in part.coords else unknown for part in parts.values()]
        for name in (names.SCORE_LOW, names.SCORE_HIGH)
    ]
    first = np.array(ends)[:, :1]
    differ = ~((np.array(ends) == first) | (np.isnan(ends) & np.isnan(first))).all(axis=(0, 1))
    labels = schema.labels_of(next(iter(parts.values())), names.METRIC)
    return [label for label, other in zip(labels, differ, strict=True) if other]


def _check_directions(parts: Mapping[str, xr.Dataset]) -> None:
    """Refuse a metric of which larger scores are better in one collection, and smaller ones in another."""
    higher = np.array([higher_of(part) for part in parts.values()])
    for place in np.flatnonzero(higher.any(axis=0) & ~higher.all(axis=0)):
        metric = schema.labels_of(next(iter(parts.values())), names.METRIC)[place]
        lower = [name for name, up in zip(parts, higher[:, place], strict=True) if not up]
        raise BadPlan(
            f"smaller scores of {metric} are better in {listed(lower)}, and larger ones in the others; a mean of both has no sense"
        )


def _coords(
    parts: Mapping[str, xr.Dataset], runs: Sequence[str], settings: Mapping[str, list[str]]
) -> dict[str, Any]:
    """Return the coordinates of joined cubes."""
    first = next(iter(parts.values()))
    gains = [" | ".join(dict.fromkeys(each)) for each in zip(*settings.values(), strict=True)]
    topics = [
        (f"{name}{BETWEEN}{topic}", name)
        for name, part in parts.items()
        for topic in schema.labels_of(part, names.TOPIC)
    ]
    uses = np.any([uses_gains(part) for part in parts.values()], axis=0)
    _check_directions(parts)
    kept = {
        str(name): coord for name, coord in first.coords.items() if coord.dims == (names.METRIC,)
    }
    found = {
        **kept,
        names.GAIN: schema.label_array(gains),
        names.RUN: schema.label_array(runs),
        names.TOPIC: schema.label_array(topic for topic, _ in topics),
        names.COLLECTION: (names.TOPIC, schema.label_array(name for _, name in topics)),
        names.USES_GAINS: (names.METRIC, uses),
    }
    if any(names.TOPIC_GROUP in part.coords for part in parts.values()):
        groups = [
            f"{name}{BETWEEN}{label}"
            for name, part in parts.items()
            for label in schema.labels_of(
                part, names.TOPIC_GROUP if names.TOPIC_GROUP in part.coords else names.TOPIC
            )
        ]
        found[names.TOPIC_GROUP] = (names.TOPIC, schema.label_array(groups))
    for coordinate in (names.SYSTEM, names.TEAM):
        labels = _labels_of_runs(parts, coordinate)
        if labels:
            found[coordinate] = (names.RUN, schema.label_array(labels))
    return found


def _labels_of_runs(parts: Mapping[str, xr.Dataset], coordinate: str) -> list[str]:
    """Return the system or team of each run, as the collections that know it say; nothing where none does."""
    known = {
        name: schema.labels_of(part, coordinate)
        for name, part in parts.items()
        if coordinate in part.coords
    }
    if not known:
        return []
    first = next(iter(known.values()))
    for name, labels in known.items():
        if labels != first:
            place = next(k for k, label in enumerate(labels) if label != first[k])
            run = schema.labels_of(next(iter(parts.values())), names.RUN)[place]
            raise BadPlan(
                f"{run} is of the {coordinate} {first[place]} in {next(iter(known))}, and of {labels[place]} in {name}; give it one {coordinate}, or leave it out with other runs"
            )
    return first
