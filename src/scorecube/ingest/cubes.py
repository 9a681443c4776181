"""Scores that were read, in a tidy frame -> cubes of scores."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.evaluation import cube_dataset
from scorecube.collection.schema import SMALLEST_MAXIMUM
from scorecube.collection.teams import listed, teams_of, with_systems, with_topic_groups
from scorecube.errors import BadInput, BadPlan, option
from scorecube.ingest.files import PathLike, refuse_unprintable
from scorecube.ingest.scores import GROUP, SCORE, Reading, refuse_several

LOGGER = logging.getLogger("scorecube")
Notify = Callable[[str], None]


def only_cube(cubes: Mapping[str, xr.Dataset]) -> xr.Dataset:
    """Return the only cube (BadInput for several)."""
    refuse_several(list(cubes))
    return next(iter(cubes.values()))


def cubes_of(
    reading: Reading,
    *,
    gain: str = names.AUTO,
    teams: Mapping[str, str] | None = None,
    systems: Mapping[str, str] | None = None,
    notify: Notify | None = None,
    path: PathLike | None = None,
) -> dict[str, xr.Dataset]:
    """Return the cubes of scores that were read, by collection.

    reading: As from `scorecube.ingest.formats.read_collections`.
    gain: Label of scores without a gain setting; of others, the only gain setting to take.
    teams, systems, notify: As of `cube_from_scores`; `notify` is called first with what was read.
    path: File of the teams, for notes.
    Raises BadInput, BadPlan: As of `cube_from_scores`; no scores of the gain setting.
    """
    warn = notify or LOGGER.warning
    for line in reading.taken:
        (notify or LOGGER.info)(line)
    for line in reading.notes:
        warn(line)
    lines: list[str] = []
    cubes = {}
    for name, frame in reading.frame.groupby("collection", sort=False, observed=True):
        collection = str(name)
        cube = _cube(_with_scores(frame, collection, warn), gain, teams, lines.append)
        systems_of = _labels_of(frame, "run", "system") | dict(systems or {})
        for system in systems_of.values():
            _check_text(system, "name")
        cube = with_systems(cube, systems_of, notify=lines.append)
        groups = _labels_of(frame, "topic", GROUP)
        cubes[collection] = with_topic_groups(cube, groups, notify=lines.append)
    for line in dict.fromkeys(lines):
        warn(line if path is None else f"{path}: {line}")
    return cubes


def _labels_of(frame: pd.DataFrame, name: str, label: str) -> dict[str, str]:
    """Return the label of each name that has one."""
    pairs = frame.loc[(frame[label] != "").to_numpy(), [name, label]].drop_duplicates().astype(str)
    return dict(zip(pairs[name], pairs[label], strict=True))


def _with_scores(frame: pd.DataFrame, collection: str, warn: Notify) -> pd.DataFrame:
    """Return the rows of metrics that have scores, if any has."""
    has_scores = frame[SCORE].notna().groupby(frame["metric"], sort=False, observed=True).any()
    lacking = list(has_scores.index[~has_scores])
    if not lacking or not has_scores.any():
        return frame
    warn(f"no score of {listed(lacking)}{f' in {collection}' if collection else ''}")
    return frame[~frame["metric"].isin(lacking)]


def _cube(
    frame: pd.DataFrame, gain: str, teams: Mapping[str, str] | None, notify: Notify
) -> xr.Dataset:
    """Return the cube of a collection; metrics without a gain setting apply to all."""
    runs, run_of = _axis(frame["run"])
    topics, topic_of = _axis(frame["topic"])
    gains = [label for label in frame["gain"].unique() if label]
    if gain != names.AUTO and gains:
        if gain not in gains:
            raise BadPlan(
                f"{option('gain', gain)}: the scores have the gain settings {', '.join(gains)}",
                option="gain",
            )
        gains = [gain]
    arrays: dict[str, dict[str, np.ndarray[Any, np.dtype[np.float64]]]] = {}
    scores = frame[SCORE].to_numpy()
    cells: dict[Any, Any] = frame.groupby(["metric", "gain"], sort=False, observed=True).indices
    for (metric, label), rows in sorted(cells.items(), key=lambda item: item[1][0]):
        if not label or label in gains:
            values = np.full((len(runs), len(topics)), np.nan)
            values[run_of[rows], topic_of[rows]] = scores[rows]
            arrays.setdefault(str(metric), {})[label] = values
            _check_size(values, str(metric))
    for metric, by_gain in arrays.items():
        if "" in by_gain and len(by_gain) > 1:
            raise BadInput(f"scores of {metric} both with gain setting {gains[0]} and without one")
        if lacking := [label for label in gains if not by_gain.keys() & {label, ""}]:
            raise BadInput(f"no score of {metric} at gain setting {lacking[0]}, but at others")
    metrics = sorted(arrays, key=lambda metric: bool(gains) and "" in arrays[metric])
    stacked = np.array(
        [
            [arrays[metric].get(label, arrays[metric].get("")) for label in gains or [""]]
            for metric in metrics
        ]
    )
    team_of = teams_of(runs, teams, notify=notify)
    for what, labels in (("run", runs), ("topic", topics), ("name", [*metrics, *team_of])):
        for label in labels:
            _check_text(label, what)
    return cube_dataset(stacked, metrics, gains or [gain], runs, topics, team_of)


def _axis(column: pd.Series[Any]) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int64]]]:
    """Return the labels of a column in sorted order, and the place of each row's label."""
    labels = column.array
    used = np.unique(labels.codes)
    order = sorted(used.tolist(), key=lambda code: str(labels.categories[code]))
    places = np.empty(len(labels.categories), np.int64)
    places[order] = np.arange(len(order))
    return [str(labels.categories[code]) for code in order], places[labels.codes]


def _check_text(label: str, what: str) -> None:
    if not label:
        raise BadInput(f"a {what} is empty")
    refuse_unprintable(label, what)


def _check_size(values: np.ndarray[Any, np.dtype[np.float64]], metric: str) -> None:
    """Refuse a metric whose scores are all below the smallest maximum."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    if 0.0 < largest < SMALLEST_MAXIMUM:
        raise BadInput(
            f"the largest absolute score of {metric} is {largest:g}; it must be 0 or at least "
            f"{SMALLEST_MAXIMUM:g}: scale the scores"
        )
