"""Cubes of the same runs in several collections, joined along topic."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.arguments import as_cube
from scorecube.collection.judgement_sets import (
    MIN_COMMON,
    NOT_COMMON,
    common_labels,
    common_settings,
)
from scorecube.collection.ranges import higher_of
from scorecube.collection.schema import label_array, labels_of
from scorecube.collection.selection import select, uses_gains, with_labels
from scorecube.collection.teams import listed
from scorecube.errors import BadPlan, about, counted, option

COLLECTIONS = "collections"
BETWEEN = "/"
OTHER_RANGES = "other_ranges"
"""Attribute of joined scores: metrics whose range differs between collections."""


def join_selected(
    cubes: Mapping[str, xr.Dataset], selection: Mapping[str, Any], who: str
) -> xr.Dataset:
    """Return the selected scores of several collections, joined along topic.

    selection: Arguments of `select`.
    who: Method that joins them, for messages.
    Raises BadPlan: Top runs, which are others in each collection.
    """
    options = {key: value for key, value in selection.items() if value not in (None, False)}
    for key in options.keys() & {"top_runs", "by"}:
        named = option(key, options[key])
        text = f"{named}: a {who} ranks all runs; name some with {option('runs')}"
        raise BadPlan(text, option=key)
    missing = options.pop("missing", "refuse")
    after = {key: options.pop(key) for key in ("topics", "bags") if key in options}
    parts = {}
    for name, cube in cubes.items():
        with about(name):
            parts[name] = select(cube, **options)
    return select(join_collections(parts, missing=missing), **after)


def join_collections(
    cubes: Mapping[str, xr.Dataset], *, missing: Literal["refuse", "drop"] = "refuse"
) -> xr.Dataset:
    """Join cubes of the same runs in several collections, for a `scorecube.Board`.

    Runs and metrics are matched by label, and those that a collection lacks are left out.

    cubes: Name of a collection -> scores (metric, gain, run, topic).
    missing: As of `scorecube.select`, in each collection, after runs that others lack are left out.
    Returns cube: Scores of the topics of all collections, sorted by name: topic 7 of web is
        ``web/7``, and the coordinate ``collection`` (topic) says web. The attribute ``left_out``
        lists what was left out.
    Raises BadPlan: No collection, metric, gain setting or two runs in common, a run of two systems,
        or a collection whose name begins with that of another and a slash.
    """
    if not cubes:
        raise BadPlan("a board needs collections; none is given")
    cubes = {name: as_cube(cubes[name]) for name in in_board_order(cubes)}
    for name, after in pairwise(cubes):
        if after.startswith(f"{name}{BETWEEN}"):  # topics of both may have the same label
            raise BadPlan(f"a board of {name} and {after}: rename one of the collections")
    notes: list[str] = []
    runs = _common_runs(cubes, notes)
    metrics = common_labels(cubes, names.METRIC, notes, COLLECTIONS)
    settings = common_settings(cubes, notes, COLLECTIONS)
    parts: dict[str, xr.Dataset] = {}
    about: list[str] = []
    for name, cube in cubes.items():
        chosen = with_labels(
            cube[[names.SCORE, *({names.TOPIC_GROUP} & {*cube.coords})]],
            {names.METRIC: metrics, names.GAIN: settings[name], names.RUN: runs},
        )
        parts[name] = part = select(chosen, missing=missing)
        if names.LEFT_OUT in part.attrs:
            about.append(f"{name}: {part.attrs[names.LEFT_OUT]}")
    _check_directions(parts, metrics)
    first = next(iter(cubes.values())).attrs
    attrs = {names.WORDS: first[names.WORDS]} if names.WORDS in first else {}
    attrs |= {names.LEFT_OUT: " ".join(about)} if about else {}
    gains = [" | ".join(dict.fromkeys(labels)) for labels in zip(*settings.values(), strict=True)]
    scores = schema.in_chunks([part[names.SCORE].drop_vars(part.coords) for part in parts.values()])
    joined = xr.Dataset(
        {names.SCORE: xr.concat(scores, names.TOPIC).variable},
        _coords(parts) | {names.GAIN: label_array(gains)},
        {**attrs, NOT_COMMON: notes, OTHER_RANGES: _other_ranges(parts, metrics)},
    )
    return schema.annotate(joined, schema.CUBE)


def in_board_order(collections: Iterable[str]) -> list[str]:
    """Return the names of collections in the order of their topics' labels, which are sorted."""
    return sorted(collections, key=lambda name: f"{name}{BETWEEN}")


def _common_runs(cubes: Mapping[str, xr.Dataset], notes: list[str]) -> list[str]:
    """Return the runs that all collections have, sorted; note which collection lacks the others."""
    of_cube = {name: set(labels_of(cube, names.RUN)) for name, cube in cubes.items()}
    common = sorted(set.intersection(*of_cube.values()))
    out = sorted(set().union(*of_cube.values()) - set(common))
    lacking = [name for name, runs in of_cube.items() if not runs.issuperset(out)]
    if out:
        lack = "lacks them" if len(lacking) == 1 else "do not have all of them"
        notes.append(f"left out, as {listed(lacking)} {lack} (run): {listed(out)}")
    if len(common) < MIN_COMMON:
        raise BadPlan(
            f"{counted(len(common), 'run')} in all of {counted(len(of_cube), 'collection')}, "
            f"{MIN_COMMON} are needed: choose collections that share runs"
        )
    return common


def _other_ranges(parts: Mapping[str, xr.Dataset], metrics: Sequence[str]) -> list[str]:
    """Return the metrics whose range differs between collections."""
    unknown = np.full(len(metrics), np.nan)
    ends = [
        np.nan_to_num([part.coords.get(end, unknown) for part in parts.values()], nan=np.inf)
        for end in (names.SCORE_LOW, names.SCORE_HIGH)
    ]
    same = np.all([of_end == of_end[:1] for of_end in ends], axis=(0, 1))
    return [metric for metric, is_same in zip(metrics, same, strict=True) if not is_same]


def _check_directions(parts: Mapping[str, xr.Dataset], metrics: Sequence[str]) -> None:
    """Refuse a metric whose larger scores are better in some collections only."""
    higher = np.array([higher_of(part) for part in parts.values()])
    for place in np.flatnonzero((higher != higher[:1]).any(axis=0))[:1].tolist():
        raise BadPlan(f"smaller scores of {metrics[place]} are better in some collections only")


def _coords(parts: Mapping[str, xr.Dataset]) -> dict[str, Any]:
    """Return the coordinates of joined cubes, but the gain settings."""

    def of_topics(name: str) -> Any:
        return label_array(
            f"{collection}{BETWEEN}{label}"
            for collection, part in parts.items()
            for label in labels_of(part, name if name in part.coords else names.TOPIC)
        )

    first = next(iter(parts.values()))
    coords: dict[str, Any] = {
        str(name): coord
        for name, coord in first.coords.items()
        if coord.dims == (names.METRIC,) or name == names.RUN
    }
    of_topic = np.repeat([*parts], [part.sizes[names.TOPIC] for part in parts.values()]).tolist()
    uses = np.any([uses_gains(part) for part in parts.values()], axis=0)
    coords |= {
        names.TOPIC: of_topics(names.TOPIC),
        names.COLLECTION: (names.TOPIC, label_array(of_topic)),
        names.USES_GAINS: (names.METRIC, uses),
    }
    if any(names.TOPIC_GROUP in part.coords for part in parts.values()):
        coords[names.TOPIC_GROUP] = (names.TOPIC, of_topics(names.TOPIC_GROUP))
    for coordinate in (names.SYSTEM, names.TEAM):
        known = [part[coordinate] for part in parts.values() if coordinate in part.coords]
        if any((labels.values != known[0].values).any() for labels in known):
            raise BadPlan(f"a run is of another {coordinate} in another collection")
        if known:
            coords[coordinate] = known[0].variable
    return coords
