"""Cubes of the same runs under two sets of judgements, combined into one cube."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.selection import uses_gains
from scorecube.errors import BadPlan, counted, option

NOT_COMMON = "left_out"
"""Attribute of a combined cube: notes on labels that only one cube has."""
MIN_COMMON = 2
"""Smallest number of common runs, and of common topics."""
MAX_LISTED = 5
"""Largest number of labels listed in a note."""


def judgement_sets(
    first: xr.Dataset, second: xr.Dataset, labels: Sequence[str] = ("first", "second")
) -> xr.Dataset:
    """Combine two cubes of the same runs, with different judgements, along gain.

    Metrics, runs, topics and gain settings are matched by label. If both cubes have one gain setting, these
    are matched whatever their labels, as sets of judgements may have different relevance levels.

    Parameters
    ----------
    first, second
        Cubes as from `scorecube.evaluate`.
    labels
        Names of the two sets of judgements.

    Returns
    -------
    cube
        Holds the gain settings of the first set, then those of the second, in the same order. Gain labels are
        the name of the set and, if there are several settings, the setting; the coordinates ``judgements``
        and ``setting`` along gain hold both separately. `uses_gains` is true for all metrics;
        ``uses_settings`` (metric) holds which metrics use gains within a set. The attribute ``left_out``
        lists labels that only one cube has.

    Raises
    ------
    BadPlan
        There is no common metric or gain setting, there are fewer than two common runs or topics, or the
        names are equal.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=4, gains=("3:2:1", "1:1:1"))
    >>> judgement_sets(cube, cube.isel(run=slice(3)), ("official", "crowd")).gain.values.tolist()
    ['official 3:2:1', 'official 1:1:1', 'crowd 3:2:1', 'crowd 1:1:1']
    """
    if len(labels) != 2 or labels[0] == labels[1]:
        raise BadPlan(f"two sets of judgements need two different names; found {', '.join(labels)}")
    notes: list[str] = []
    matched = {
        dim: _common_labels(first, second, dim, labels, notes)
        for dim in (names.METRIC, names.RUN, names.TOPIC)
    }
    for dim in (names.RUN, names.TOPIC):
        if len(matched[dim]) < MIN_COMMON:
            raise BadPlan(
                f"{labels[0]} and {labels[1]} have {counted(len(matched[dim]), dim)} in common; {MIN_COMMON} are needed"
            )
    if not matched[names.METRIC]:
        raise BadPlan(
            f"{labels[0]} and {labels[1]} have no metric in common: {', '.join(schema.labels_of(first, names.METRIC))} and "
            f"{', '.join(schema.labels_of(second, names.METRIC))}; evaluate both with one metric"
        )
    settings = _matched_settings(first, second, labels, notes)
    parts = [
        cube.sel(matched).sel({names.GAIN: [pair[k] for pair in settings]})
        for k, cube in enumerate((first, second))
    ]
    setting_labels = [a if a == b else f"{a} | {b}" for a, b in settings]
    gains = [
        label if len(settings) == 1 else f"{label} {setting}"
        for label in labels
        for setting in setting_labels
    ]
    metrics = parts[0][names.METRIC].values
    kept = {
        str(name): coord for name, coord in parts[0].coords.items() if names.GAIN not in coord.dims
    }
    coords = kept | {
        names.GAIN: schema.label_array(gains),
        names.JUDGEMENTS: (
            names.GAIN,
            schema.label_array(label for label in labels for _ in settings),
        ),
        names.SETTING: (names.GAIN, schema.label_array([*setting_labels, *setting_labels])),
        names.USES_GAINS: (names.METRIC, np.ones(len(metrics), bool)),
        names.USES_SETTINGS: (names.METRIC, uses_gains(parts[0]) | uses_gains(parts[1])),
    }
    scores = np.concatenate(
        [part[names.SCORE].transpose(*schema.CUBE[0].dims).values for part in parts], axis=1
    )
    combined = xr.Dataset(
        {names.SCORE: (schema.CUBE[0].dims, scores)}, coords=coords, attrs={NOT_COMMON: notes}
    )
    schema.check(combined, schema.CUBE, "the combined cube")
    return schema.annotate(combined, schema.CUBE)


def judgement_set_cells(cube: xr.Dataset) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the distinct cells of a combined cube, by set of judgements.

    Returns scores: float64 (set * cell, run, topic).
    Returns cell_of: int64 (metric, setting): index, within the cells of a set, of the cell of a metric and gain
        setting.
    """
    n_settings = cube.sizes[names.GAIN] // 2
    cell_of = np.empty((cube.sizes[names.METRIC], n_settings), np.int64)
    kept: list[tuple[int, int]] = []
    uses = (
        cube[names.USES_SETTINGS].values if names.USES_SETTINGS in cube.coords else uses_gains(cube)
    )
    for i, j in np.ndindex(*cell_of.shape):
        if j == 0 or uses[i]:
            kept.append((i, j))
        cell_of[i, j] = len(kept) - 1
    values = cube[names.SCORE].values
    return np.stack([values[i, j + half * n_settings] for half in (0, 1) for i, j in kept]).astype(
        np.float64
    ), cell_of


def judgement_set_names(cube: xr.Dataset) -> tuple[str, str]:
    """Return the names of the two sets of a cube from `judgement_sets`; refuse others.

    Raises BadPlan: The cube does not hold two sets of judgements.
    """
    if names.JUDGEMENTS in cube.coords:
        sets = schema.labels_of(cube, names.JUDGEMENTS)
        half = len(sets) // 2
        settings = schema.labels_of(cube, names.SETTING)
        if sets == [sets[0]] * half + [sets[-1]] * half and settings[:half] == settings[half:]:
            return sets[0], sets[-1]
    raise BadPlan(
        f"two sets of judgements are needed: name two collections of the same runs ({option('collections', ['A', 'B'])}), "
        "or combine their cubes with judgement_sets"
    )


def _common_labels(
    first: xr.Dataset, second: xr.Dataset, dim: str, labels: Sequence[str], notes: list[str]
) -> list[str]:
    """Return the common labels in the order of the first; append notes on others."""
    of_first, of_second = schema.labels_of(first, dim), schema.labels_of(second, dim)
    for name, own, other in (
        (labels[0], of_first, set(of_second)),
        (labels[1], of_second, set(of_first)),
    ):
        unmatched = [label for label in own if label not in other]
        if unmatched:
            more = f" and {len(unmatched) - MAX_LISTED} more" if len(unmatched) > MAX_LISTED else ""
            notes.append(
                f"left out, as only {name} has it ({dim}): {', '.join(unmatched[:MAX_LISTED])}{more}"
            )
    second_labels = set(of_second)
    return [label for label in of_first if label in second_labels]


def _matched_settings(
    first: xr.Dataset, second: xr.Dataset, labels: Sequence[str], notes: list[str]
) -> list[tuple[str, str]]:
    """Return the pairs of gain settings that are compared."""
    if first.sizes[names.GAIN] == second.sizes[names.GAIN] == 1:
        return [(schema.labels_of(first, names.GAIN)[0], schema.labels_of(second, names.GAIN)[0])]
    common = _common_labels(first, second, names.GAIN, labels, notes)
    if not common:
        raise BadPlan(
            f"{labels[0]} and {labels[1]} have no gain setting in common: {', '.join(schema.labels_of(first, names.GAIN))} and "
            f"{', '.join(schema.labels_of(second, names.GAIN))}; evaluate both with one gain setting of the same name, e.g. auto"
        )
    return [(label, label) for label in common]
