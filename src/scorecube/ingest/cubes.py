"""Matrices of runs x topics that were read -> cubes of scores."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.evaluation import cube_dataset
from scorecube.collection.score_range import LARGEST_SCORE, SMALLEST_MAXIMUM
from scorecube.collection.teams import listed, teams_of, with_systems
from scorecube.collection.topic_groups import with_topic_groups
from scorecube.errors import BadInput, BadPlan, option
from scorecube.ingest.files import PathLike, refuse_unprintable
from scorecube.ingest.reading import Matrices, Reading, refuse_several
from scorecube.ingest.repetitions import without_levels

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
    Returns cubes: Cube of each collection.
    Raises BadInput, BadPlan: As of `cube_from_scores`; no scores of the gain setting.
    """
    for line in reading.taken:
        (notify or LOGGER.info)(line)
    for line in reading.notes:
        (notify or LOGGER.warning)(line)
    lines: list[str] = []
    found = {}
    for name, by_gain in reading.collections.items():
        if gain != names.AUTO and "" not in by_gain:
            if gain not in by_gain:
                raise BadPlan(
                    f"{option('gain', gain)}: the scores have the gain settings {', '.join(by_gain)}",
                    option="gain",
                )
            by_gain = {gain: by_gain[gain]}
        cubes = [
            _cube(matrices, label or gain, teams, systems, lines.append)
            for label, matrices in by_gain.items()
        ]
        found[name] = cubes[0]
        if len(cubes) > 1:
            scores = [cube[names.SCORE] for cube in cubes]
            joined = xr.concat(
                scores, dim=names.GAIN, join="exact", compat="equals", coords="minimal"
            )
            found[name] = joined.transpose(*scores[0].dims).to_dataset(name=names.SCORE)
        groups = reading.topic_groups.get(name)
        found[name] = with_topic_groups(found[name], groups, notify=lines.append)
    for line in dict.fromkeys(lines):
        (notify or LOGGER.warning)(line if path is None else f"{path}: {line}")
    return found


def _cube(
    matrices: Matrices,
    gain: str,
    teams: Mapping[str, str] | None,
    systems: Mapping[str, str] | None,
    notify: Notify,
) -> xr.Dataset:
    """Return the cube of matrices of one gain setting."""
    arrays: list[np.ndarray[Any, np.dtype[np.float64]]] = []
    labels: dict[str, list[str]] = {}
    found: dict[str, str] = {}
    for metric, rows in matrices.items():
        frame, of_rows = without_levels(rows, metric)
        found |= of_rows
        ordered = frame.rename(index=str, columns=str).sort_index(axis=0).sort_index(axis=1)
        new = {names.RUN: list(ordered.index), names.TOPIC: list(ordered.columns)}
        for dim, own in new.items():
            if not own:
                raise BadInput(f"the matrix of {metric} has no {dim}")
            for label in own:
                _check_text(label, dim)
            schema.check_labels(own, dim, f"matrix of {metric}")
        first = next(iter(matrices))
        only = [
            f"{dim} {listed(sorted(set(some) - set(rest)))} only in {where}"
            for dim, known in labels.items()
            for some, rest, where in ((known, new[dim], first), (new[dim], known, metric))
            if set(some) - set(rest)
        ]
        if only:
            raise BadInput(
                f"the matrices of {metric} and {first} have different runs or topics: {', '.join(only)}; give those that all have, or one collection for each"
            )
        labels = new
        try:
            arrays.append(ordered.to_numpy(dtype=np.float64))
        except (TypeError, ValueError) as error:
            raise BadInput(f"matrix of {metric}: a value is not a number: {error}") from None
        _check_range(arrays[-1], metric, *labels.values())
    stacked = np.stack(arrays)[:, np.newaxis]
    team_of = teams_of(labels[names.RUN], teams, notify=notify)
    systems = found | dict(systems or {})
    for label in [*matrices, *team_of, *systems.values()]:
        _check_text(label, "name")
    cube = cube_dataset(
        stacked, list(matrices), [gain], labels[names.RUN], labels[names.TOPIC], team_of
    )
    return with_systems(cube, systems, notify=notify)


def _check_text(label: str, what: str) -> None:
    if not label:
        raise BadInput(f"a {what} is empty")
    refuse_unprintable(label, what)


def _check_range(
    values: np.ndarray[Any, np.dtype[np.float64]],
    metric: str,
    runs: Sequence[str],
    topics: Sequence[str],
) -> None:
    """Refuse scores outside the range in which sums are exact, and metrics whose scores are all below its lower bound."""
    sizes = np.abs(values)
    if (sizes > LARGEST_SCORE).any():
        run, topic = np.argwhere(sizes > LARGEST_SCORE)[0]
        raise BadInput(
            f"{metric} of run {runs[run]!r} on topic {topics[topic]!r} is {values[run, topic]:g}; "
            f"scores must be between {-LARGEST_SCORE:g} and {LARGEST_SCORE:g}: scale them"
        )
    largest = sizes.max(initial=0.0, where=~np.isnan(sizes))
    if 0.0 < largest < SMALLEST_MAXIMUM:
        raise BadInput(
            f"the largest absolute score of {metric} is {largest:g}; it must be 0 or at least {SMALLEST_MAXIMUM:g}: scale the "
            "scores"
        )
