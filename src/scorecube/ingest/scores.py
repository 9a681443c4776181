"""Scores in tidy frames, a row a score -> cubes, by a collector that refuses what is no score."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection.evaluation import cube_dataset
from scorecube.collection.names_of_tools import why_kept
from scorecube.collection.ranges import (
    Range,
    in_percent,
    ranged,
    refuse_outside,
    refuse_unknown,
    without_range,
)
from scorecube.collection.schema import SMALLEST_MAXIMUM
from scorecube.collection.teams import listed, teams_of, with_systems, with_topic_groups
from scorecube.errors import BadInput, either, option
from scorecube.ingest.cells import numbers_of
from scorecube.ingest.columns import FILE, Column, choice
from scorecube.ingest.data_frames import in_one_line, labels_of, plain_cells, problem_at
from scorecube.ingest.delimited import KEYS as OF_KEYS
from scorecube.ingest.headings import IDENTIFIER, OF_SYSTEM, TAKEN, aggregates, fact
from scorecube.ingest.input_files import PathLike, refuse_unprintable
from scorecube.ingest.missing_codes import refuse_codes, without_codes

LOGGER = logging.getLogger("scorecube")
Notify = Callable[[str], None]
SCORE = names.SCORE
DIMS = (names.METRIC, names.GAIN, names.RUN, names.TOPIC)
KEYS = (names.METRIC, names.RUN, names.TOPIC, names.GAIN, names.SYSTEM, "seed", "collection")
"""Labels of which no two scores have the same."""
LABELS = (*KEYS, names.TOPIC_GROUP)
MAY_BE_EMPTY = ("gain", "seed", names.TOPIC_GROUP)
NO_METRICS = ("count", "time", "cost", IDENTIFIER, "deviation", OF_SYSTEM)
"""Facts that tools write among their scores."""


class ScorePart(NamedTuple):
    """Scores of one file, or of an object without a path, and what columns were taken for.

    The columns of the frame are some of `LABELS`, and ``score``; its index is the line, or the row.
    """

    frame: pd.DataFrame
    path: PathLike | None
    notes: Sequence[str] = ()
    words: tuple[str, ...] = names.USUAL_WORDS
    rest: pd.DataFrame | None = None
    """Columns that are not read, by line: one may tell repeated rows apart."""
    percent: frozenset[str] = frozenset()
    """Metrics in whose cells a per cent sign was read."""
    runs: tuple[str, ...] = ()
    """Columns of runs."""


def only_measures(
    frame: pd.DataFrame,
    metric: str | None,
    label: Callable[[str], str],
    path: PathLike | None,
    counts: re.Pattern[str] | None = None,
) -> ScorePart:
    """Return the scores of the measures that are wanted, under their names here.

    metric: The only one to read, by its name here or in the tool; None for all.
    label: Measure of the tool -> its name here, or the tool's own name where the names here mean
        something else.
    counts: Measures that are read only on request, as times, costs and other facts are.
    """
    frame = plain_cells(frame)
    measures = labels_of(frame["metric"])
    name_of = {measure: label(measure) for measure in measures.categories}
    wanted = [theirs for theirs, ours in name_of.items() if metric in (None, theirs, ours)]
    if not wanted:
        others = ", ".join(sorted({*name_of.values()}))
        raise BadInput(f"no score of {metric}; there are {others}", path)
    notes: list[str] = []
    if metric is None and counts is not None:
        wanted = [name for name in wanted if not counts.fullmatch(name)] or wanted
    facts = [name for name in wanted if fact(name) in NO_METRICS]
    if metric is None and 0 < len(facts) < len(wanted):
        wanted = [name for name in wanted if name not in facts]
        shown = listed([f"{name} ({fact(name)})" for name in facts])
        notes.append(f"not read: {shown}; {option('metric')} reads one")
    notes += [line for name in wanted if (line := why_kept(name, name_of[name]))]
    kept = frame.assign(metric=measures.map(name_of))[measures.isin(wanted)]
    return ScorePart(kept, path, notes)


def build_cubes(
    parts: Sequence[ScorePart],
    *,
    teams: Mapping[str, str] | None = None,
    systems: Mapping[str, str] | None = None,
    ranges: Mapping[str, Range] | None = None,
    notify: Notify | None = None,
    path: PathLike | None = None,
    no_score: Sequence[str] = (),
) -> dict[str, xr.Dataset]:
    """Return the cubes of scores by collection.

    no_score: Cells that are codes for no score.
    teams, systems: Run -> team, and run -> system whose repetition it is; `path` is their file.
    ranges: Metric -> least and greatest score that there can be; those of other metrics follow from
        the scores of all collections, see `collection.ranges.ranged`, and usual codes for
        no score are refused.
    Raises BadInput: A cell that is no score, a missing label, a score that stands twice, or outside
        the range of its metric.
    """
    warn = notify or LOGGER.warning
    for line in dict.fromkeys(chain.from_iterable(part.notes for part in parts)):
        if notify is None and line.startswith(TAKEN):
            LOGGER.info(line)
        else:
            warn(line)
    lines: list[str] = []
    cubes = {}
    ranges = ranges or {}
    left_out: list[str] = []
    joined = _joined(parts, no_score, left_out)
    refuse_codes(joined["metric"], joined[SCORE].to_numpy(), [*ranges])
    if left_out:
        warn(f"left out, as means and the like: {listed([*dict.fromkeys(left_out)])}")
    refuse_unknown(ranges, joined["metric"].unique(), "ranges")
    percent = frozenset[str]().union(*(part.percent for part in parts))

    def of_metric(metric: str) -> NDArray[np.float64]:
        return joined[SCORE].to_numpy()[joined["metric"] == metric]

    for collection, frame in joined.groupby("collection", sort=False, observed=True):
        array = _with_scores(_array(frame), str(collection), warn)
        metrics, gains, runs, topics = (array[dim].values.tolist() for dim in DIMS)
        team_of = teams_of(runs, teams, notify=lines.append)
        systems_of = _labels(frame, names.RUN, names.SYSTEM) | dict(systems or {})
        groups = _labels(frame, names.TOPIC, names.TOPIC_GROUP)
        others = [*metrics, *team_of, *systems_of.values(), *groups.values()]
        for what, labels in (("run", runs), ("topic", topics), ("name", others)):
            for label in labels:
                refuse_unprintable(label, what)
        cube = cube_dataset(array.values, metrics, gains, runs, topics, team_of)
        cube = with_systems(cube, systems_of, notify=lines.append)
        if parts[0].words != names.USUAL_WORDS:
            cube.attrs[names.WORDS] = list(parts[0].words)
        cube = ranged(cube, ranges, percent=percent, scores_of=of_metric)
        refuse_outside(cube)
        cubes[str(collection)] = with_topic_groups(cube, groups, notify=lines.append)
    for line in dict.fromkeys(lines):
        warn(line if path is None else f"{path}: {line}")
    undeclared = [cube.drop_sel(metric=[*ranges], errors="ignore") for cube in cubes.values()]
    for line in filter(None, [in_percent(undeclared), without_range(undeclared)]):
        warn(line)
    return cubes


def _joined(
    parts: Sequence[ScorePart], no_score: Sequence[str], left_out: list[str]
) -> pd.DataFrame:
    """Return the scores of all parts; those of repetitions have runs named by run and seed."""
    tidy = [_tidied(part, no_score, left_out) for part in parts]
    frame = tidy[0] if len(tidy) == 1 else pd.concat(tidy)
    if not len(frame):
        raise BadInput("no scores", parts[0].path)
    repeated = np.flatnonzero(frame.duplicated(list(KEYS)))
    if len(repeated):
        starts = np.cumsum([0, *map(len, tidy)])
        at = int(np.searchsorted(starts, repeated[0], "right")) - 1
        labels = frame.iloc[repeated[0]]
        text = "a second score of {metric} for run {run!r} on topic {topic!r}".format(**labels)
        text += "".join(f", {role} {labels[role]}" for role in KEYS[-3:] if labels[role])
        text += _advice_on_repeats(tidy, [part.rest for part in parts], KEYS, parts[at].runs)
        raise problem_at(text, tidy[at].index, int(repeated[0] - starts[at]), parts[at].path)
    pairs = frame[["run", "seed"]].drop_duplicates()
    if not pairs["run"].is_unique:
        runs, seeds, system = (frame[role].astype(str) for role in ("run", "seed", "system"))
        system = system.where(system != "", runs)
        frame = frame.assign(run=(runs + "#" + seeds).where(seeds != "", runs), system=system)
    return frame


def _advice_on_repeats(
    tidy: Sequence[pd.DataFrame],
    rests: Sequence[pd.DataFrame | None],
    keys: Sequence[str],
    runs: Sequence[str],
) -> str:
    """Return which columns that are not read tell repeated rows apart, and the options for them.

    tidy, rests: Scores of each file, and its columns that are not read; by line.
    keys: Labels of which no two scores may have the same.
    runs: Columns of runs.
    """
    unread = [
        pd.DataFrame(index=frame.index) if rest is None else rest.loc[frame.index]
        for frame, rest in zip(tidy, rests, strict=True)
    ]
    whole = pd.concat(unread)
    columns = [Column(str(name), whole[name]) for name in whole]
    columns.sort(key=lambda column: column.fact == IDENTIFIER)  # of every row, whatever they are
    labels = {one.name: pd.factorize(one.values)[0] for one in columns if one.may_tell}
    if len(tidy) > 1:
        labels[FILE] = np.repeat(np.arange(len(tidy)), [*map(len, tidy)])
    scores = pd.concat(tidy)[[*keys]].reset_index(drop=True)
    telling = [name for name in labels if not scores.assign(other=labels[name]).duplicated().any()]
    if not telling:
        return "; no other column tells these rows apart"
    first = telling[0]
    is_file = first == FILE
    of_runs = ",".join([*(name for name in runs if name != FILE), first])
    return (
        f"; {'the file' if is_file else listed(telling)} tell{'s' * (len(telling) == 1)} the "
        f"rows apart: {choice('run', of_runs)} for runs, {choice('seed', first)} for repetitions, "
        f"{choice('collection', first)} for collections"
        + f"; for other metrics, import each file by itself with its {option('metric')}"
        * is_file
    )


def _tidied(part: ScorePart, no_score: Sequence[str], left_out: list[str]) -> pd.DataFrame:
    """Return scores with all labels, as categories; refuse a missing one, and what is no score.

    left_out: Takes the topics and runs that stand for several, whose rows are left out.
    """
    frame = plain_cells(part.frame)
    columns: dict[str, Any] = {}
    for role in LABELS:
        if role not in frame:
            columns[role] = pd.Categorical.from_codes(np.zeros(len(frame), int), pd.Index([""]))
            continue
        columns[role] = labels_of(frame[role])
        if role == names.TOPIC:  # a question may have several lines
            columns[role] = in_one_line(columns[role])
        if role not in MAY_BE_EMPTY and (empty := columns[role] == "").any():
            raise problem_at(f"the {role} is missing", frame.index, int(empty.argmax()), part.path)
    numbers = numbers_of(without_codes(frame[SCORE], no_score))
    columns[SCORE] = numbers.values
    wrong = numbers.wrong
    if len(wrong):
        cell = str(frame[SCORE].iloc[wrong[0]]).strip()
        metric, run, topic = (columns[role][wrong[0]] for role in KEYS[:3])
        at = f" for run {run!r} on topic {topic!r}" if frame.index.name == OF_KEYS else ""
        text = f"score {cell!r} of {metric}{at} is not a finite number from -1e12 to 1e12"
        raise problem_at(text, frame.index, int(wrong[0]), part.path)
    tidy = pd.DataFrame(columns, frame.index)
    for role in (names.TOPIC, names.RUN):
        means = aggregates(columns[role].categories, role)
        left_out += [f"{role} {label}" for label in means]
        tidy = tidy[~columns[role].isin(means)] if means else tidy
    return tidy


def _array(frame: pd.DataFrame) -> xr.DataArray:
    """Return the scores of a collection; metrics without a gain setting apply to all."""
    codes, labels = zip(*(frame[dim].array.factorize() for dim in DIMS), strict=True)
    coords = {dim: np.asarray(of, object) for dim, of in zip(DIMS, labels, strict=True)}
    scores = np.full([len(of) for of in coords.values()], np.nan)
    scores[codes] = frame[SCORE]
    gains = coords[names.GAIN].tolist()
    if "" not in gains or len(gains) == 1:
        coords[names.GAIN] = np.array([label or names.AUTO for label in gains], object)
        return xr.DataArray(scores, coords, DIMS)
    array = xr.DataArray(scores, coords, DIMS)
    plain = array.sel(gain="", drop=True)
    others = array.drop_sel(gain="")
    if (both := plain.notnull() & others.notnull()).any():
        metric = both.metric[both.any(["gain", "run", "topic"])].values[0]
        raise BadInput(f"scores of {metric} both with a gain setting and without one")
    return others.fillna(plain).transpose(*DIMS)


def _labels(frame: pd.DataFrame, dim: str, label: str) -> dict[str, str]:
    """Return the system of each run, or the group of each topic, that has one."""
    has = frame[label].array != ""
    if not has.any():
        return {}
    pairs = frame.loc[has, [dim, label]].drop_duplicates().astype(str)
    if not pairs[dim].is_unique:
        name = pairs[dim][pairs[dim].duplicated()].iloc[0]
        two = " and ".join(pairs[label][pairs[dim] == name])
        kind = label.removeprefix("topic_")
        raise BadInput(f"{dim} {name!r} has two {kind}s: {two}; a {dim} is of one {kind}")
    return dict(zip(pairs[dim], pairs[label], strict=True))


def _with_scores(array: xr.DataArray, collection: str, warn: Notify) -> xr.DataArray:
    """Return the metrics that have scores, if any has; refuse scores that lost their digits."""
    largest = np.fmax.reduce(np.abs(array.values), axis=(1, 2, 3))
    for metric, size in zip(array["metric"].values, largest, strict=True):
        if 0 < size < SMALLEST_MAXIMUM:
            text = f"{size:g}; it must be 0, or at least {SMALLEST_MAXIMUM:g}: scale the scores"
            raise BadInput(f"the largest absolute score of {metric} is {text}")
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
        way = either("give collections=True", "leave --name out")
        raise BadInput(f"{found}, which are not pooled: {way} to read each by itself")
    return next(iter(cubes.values()))
