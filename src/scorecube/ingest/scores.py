"""Scores in tidy frames, a row a score -> cubes, by a collector that refuses what is no score."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.evaluation import cube_dataset
from scorecube.collection.schema import LARGEST_SCORE, SMALLEST_MAXIMUM
from scorecube.collection.teams import listed, teams_of, with_systems, with_topic_groups
from scorecube.errors import BadInput, option
from scorecube.ingest.files import PathLike, refuse_unprintable
from scorecube.ingest.roles import TAKEN
from scorecube.ingest.tables import SHOWN, labels_of, numbers_of, refuse

LOGGER = logging.getLogger("scorecube")
Notify = Callable[[str], None]
SCORE = names.SCORE
DIMS = (names.METRIC, names.GAIN, names.RUN, names.TOPIC)
KEYS = (names.METRIC, names.RUN, names.TOPIC, names.GAIN, names.SYSTEM, "seed", "collection")
"""Labels of which no two scores have the same."""
LABELS = (*KEYS, names.TOPIC_GROUP)
MAY_BE_EMPTY = ("gain", "seed", names.TOPIC_GROUP)


class Part(NamedTuple):
    """Scores of one file, or of an object without a path, and what columns were taken for.

    The columns of the frame are some of `LABELS`, and ``score``; its index is the line, or the row.
    """

    frame: pd.DataFrame
    path: PathLike | None
    notes: Sequence[str] = ()
    words: tuple[str, ...] = names.USUAL_WORDS


class Reading(NamedTuple):
    """Scores with the dims `DIMS`, systems of runs and groups of topics, by collection; notes."""

    arrays: dict[str, xr.DataArray]
    notes: Sequence[str] = ()
    systems: Mapping[str, dict[str, str]] = {}
    groups: Mapping[str, dict[str, str]] = {}
    words: tuple[str, ...] = names.USUAL_WORDS


def only_measures(
    frame: pd.DataFrame,
    metric: str | None,
    label: Callable[[str], str],
    path: PathLike | None,
    counts: re.Pattern[str] | None = None,
) -> Part:
    """Return the scores of the measures that are wanted, under their names here.

    metric: The only one to read, by its name here or in the tool; None for all.
    label: Measure of the tool -> its name here, or the tool's own name where the names here mean
        something else.
    counts: Measures that are read only on request.
    """
    measures = labels_of(frame["metric"])
    name_of = {measure: label(measure) for measure in measures.categories}
    wanted = [theirs for theirs, ours in name_of.items() if metric in (None, theirs, ours)]
    if not wanted:
        others = ", ".join(sorted({*name_of.values()}))
        raise BadInput(f"no score of {metric}; there are {others}", path)
    if metric is None and counts is not None:
        wanted = [name for name in wanted if not counts.fullmatch(name)] or wanted
    kept = measures.isin(wanted)
    return Part(frame.assign(metric=measures.map(name_of))[kept], path)


def collect(parts: Sequence[Part]) -> Reading:
    """Return the scores of files and objects as one; refuse what is no score, or stands twice."""
    tidy = [_tidied(part) for part in parts]
    frame = tidy[0] if len(tidy) == 1 else pd.concat(tidy)
    paths = np.repeat(np.arange(len(parts)), list(map(len, tidy)))
    if not len(frame):
        raise BadInput("no scores in the files", parts[0].path)
    _refuse_repeated(frame, parts, paths)
    pairs = frame[["run", "seed"]].drop_duplicates()
    if not pairs["run"].is_unique:  # repetitions: runs are named by run and seed
        runs, seeds = frame["run"].astype(str), frame["seed"].astype(str)
        system = frame["system"].astype(str)
        system = system.where(system != "", runs)
        frame = frame.assign(run=(runs + "#" + seeds).where(seeds != "", runs), system=system)
    of = {str(k): part for k, part in frame.groupby("collection", sort=False, observed=True)}
    return Reading(
        {name: _array(part) for name, part in of.items()},
        list(dict.fromkeys(note for part in parts for note in part.notes)),
        {name: _labels(part, names.RUN, names.SYSTEM) for name, part in of.items()},
        {name: _labels(part, names.TOPIC, names.TOPIC_GROUP) for name, part in of.items()},
        parts[0].words,
    )


def _tidied(part: Part) -> pd.DataFrame:
    """Return scores with all labels, as categories; refuse rows without one, or without a score."""
    frame, texts = part.frame, dict[int, str]()
    columns: dict[str, Any] = {}
    for role in LABELS:
        if role not in frame:
            columns[role] = pd.Categorical.from_codes(np.zeros(len(frame), int), pd.Index([""]))
            continue
        columns[role] = labels_of(frame[role])
        if role not in MAY_BE_EMPTY:
            empty = np.flatnonzero(columns[role] == "").tolist()
            texts |= dict.fromkeys(empty, f"the {role} is missing")
    columns[SCORE], wrong = numbers_of(frame[SCORE])
    for row in wrong.tolist():
        cell, metric = str(frame[SCORE].iloc[row]).strip(), columns["metric"][row]
        text = f"score {cell!r} of {metric} is not a finite number from -1e12 to 1e12"
        texts.setdefault(row, text)
    refuse([_problem(part, row, texts[row]) for row in sorted(texts)])
    return pd.DataFrame(columns, frame.index)


def _problem(part: Part, row: int, text: str) -> BadInput:
    """Return the error about a row."""
    line = int(part.frame.index[row])
    if part.path is None:
        return BadInput(f"row {line}: {text}", option="scores")
    return BadInput(text, part.path, line)


def _refuse_repeated(frame: pd.DataFrame, parts: Sequence[Part], paths: Any) -> None:
    """Refuse a second score of a run on a topic."""
    starts, problems = np.searchsorted(paths, range(len(parts))), []
    for row in np.flatnonzero(frame.duplicated(list(KEYS))).tolist()[:SHOWN]:
        labels, part = frame.iloc[row], paths[row]
        text = "a second score of {metric} for run {run!r} on topic {topic!r}".format(**labels)
        text += "".join(f", {role} {labels[role]}" for role in KEYS[-3:] if labels[role])
        problems.append(_problem(parts[part], row - int(starts[part]), text))
    refuse(problems)


def _array(frame: pd.DataFrame) -> xr.DataArray:
    """Return the scores of a collection; metrics without a gain setting apply to all."""
    places, labels = [], {}
    for dim in DIMS:
        codes, different = pd.factorize(frame[dim].astype(object))
        places.append(codes)
        labels[dim] = list(different)
    scores = np.full([len(labels[dim]) for dim in DIMS], np.nan)
    scores[tuple(places)] = frame[SCORE]
    array = xr.DataArray(scores, labels, DIMS)
    if "" not in labels[names.GAIN] or len(labels[names.GAIN]) == 1:
        return array.assign_coords(gain=[label or names.AUTO for label in labels[names.GAIN]])
    plain, others = array.sel(gain="", drop=True), array.drop_sel(gain="")
    if (both := plain.notnull() & others.notnull()).any():
        metric = both.metric[both.any(["gain", "run", "topic"])].values[0]
        raise BadInput(f"scores of {metric} both with a gain setting and without one")
    return others.fillna(plain).transpose(*DIMS)


def cubes_of(
    reading: Reading,
    *,
    teams: Mapping[str, str] | None = None,
    systems: Mapping[str, str] | None = None,
    notify: Notify | None = None,
    path: PathLike | None = None,
) -> dict[str, xr.Dataset]:
    """Return the cubes of scores that were read, by collection; `path` is the file of the teams."""
    warn = notify or LOGGER.warning
    for line in reading.notes:
        (LOGGER.info if notify is None and line.startswith(TAKEN) else warn)(line)
    lines: list[str] = []
    cubes = {}
    for name, array in reading.arrays.items():
        array = _with_scores(array, name, warn)
        metrics, gains, runs, topics = (array[dim].values.tolist() for dim in DIMS)
        team_of = teams_of(runs, teams, notify=lines.append)
        cube = cube_dataset(array.values, metrics, gains, runs, topics, team_of)
        systems_of = reading.systems.get(name, {}) | dict(systems or {})
        others = [*metrics, *team_of, *systems_of.values()]
        for what, labels in (("run", runs), ("topic", topics), ("name", others)):
            for label in labels:
                if not label:
                    raise BadInput(f"a {what} is empty")
                refuse_unprintable(label, what)
        cube = with_systems(cube, systems_of, notify=lines.append)
        if reading.words != names.USUAL_WORDS:
            cube.attrs[names.WORDS] = list(reading.words)
        cubes[name] = with_topic_groups(cube, reading.groups.get(name), notify=lines.append)
    for line in dict.fromkeys(lines):
        warn(line if path is None else f"{path}: {line}")
    return cubes


def _labels(frame: pd.DataFrame, dim: str, label: str) -> dict[str, str]:
    """Return the system of each run, or the group of each topic, that has one."""
    pairs = frame.loc[frame[label] != "", [dim, label]].drop_duplicates().astype(str)
    if not pairs[dim].is_unique:
        name = pairs[dim][pairs[dim].duplicated()].iloc[0]
        two = " and ".join(pairs[label][pairs[dim] == name])
        raise BadInput(f"{dim} {name!r} has two {label.removeprefix('topic_')}s: {two}")
    return dict(zip(pairs[dim], pairs[label], strict=True))


def _with_scores(array: xr.DataArray, collection: str, warn: Notify) -> xr.DataArray:
    """Return the metrics that have scores, if any has; refuse scores out of range."""
    largest = np.fmax.reduce(np.abs(array.values), axis=(1, 2, 3))
    for metric, size in zip(array["metric"].values, largest, strict=True):
        if size > LARGEST_SCORE or 0 < size < SMALLEST_MAXIMUM:
            raise BadInput(
                f"the largest absolute score of {metric} is {size:g}; it must be 0, or from "
                f"{SMALLEST_MAXIMUM:g} to {LARGEST_SCORE:g}: scale the scores"
            )
    has = ~np.isnan(largest)
    if has.all() or not has.any():
        return array
    lacking = array["metric"].values[~has].tolist()
    warn(f"no score of {listed(lacking)}{f' in {collection}' if collection else ''}")
    return array[has]


def only_cube(cubes: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Return the only cube (BadInput for several)."""
    if len(cubes) > 1:
        found = f"scores of {len(cubes)} collections ({listed(list(cubes))})"
        way = f"collections=True, or import without {option('name')}, reads each by itself"
        raise BadInput(f"{found}, which are not pooled: {way}")
    return next(iter(cubes.values()))
