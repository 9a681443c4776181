"""Cubes of the same runs under two sets of judgements, combined into one cube."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.selection import distinct_cells, uses_gains
from scorecube.collection.teams import listed
from scorecube.errors import BadPlan, counted, option

NOT_COMMON = "left_out"
"""Attribute of a combined cube: notes on labels that only one cube has."""
MIN_COMMON = 2
"""Smallest number of common runs, and of common topics."""


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
    kept = {
        str(name): coord for name, coord in parts[0].coords.items() if names.GAIN not in coord.dims
    }
    scores = [part[names.SCORE].transpose(*schema.CUBE[0].dims).values for part in parts]
    uses = uses_gains(parts[0]) | uses_gains(parts[1])
    return combined_sets(labels, setting_labels, kept, scores, uses, notes)


def combined_sets(
    sets: Sequence[str],
    settings: Sequence[str],
    kept: Mapping[str, Any],
    scores: Sequence[np.ndarray[Any, Any]],
    uses_settings: np.ndarray[Any, Any],
    notes: Sequence[str],
) -> xr.Dataset:
    """Return a cube of several sets of judgements, along gain.

    sets, settings: Names of the sets, and of the gain settings within each.
    kept: Coordinates of all sets.
    scores: Of each set: float64 (metric, setting, run, topic).
    uses_settings: bool (metric,): whether a metric uses gains within a set.
    notes: On labels that not all sets have.
    """
    several = len(settings) > 1
    gains = [f"{name} {setting}" if several else name for name in sets for setting in settings]
    coords = {
        **kept,
        names.GAIN: schema.label_array(gains),
        names.JUDGEMENTS: (names.GAIN, schema.label_array(name for name in sets for _ in settings)),
        names.SETTING: (names.GAIN, schema.label_array([*settings] * len(sets))),
        names.USES_GAINS: (names.METRIC, np.ones(len(uses_settings), bool)),
        names.USES_SETTINGS: (names.METRIC, uses_settings),
    }
    values = (schema.CUBE[0].dims, np.concatenate(scores, axis=1))
    cube = xr.Dataset({names.SCORE: values}, coords, {NOT_COMMON: notes})
    schema.check(cube, schema.CUBE, "the combined cube")
    return schema.annotate(cube, schema.CUBE)


def sets_and_settings(cube: xr.Dataset) -> tuple[list[str], list[str]]:
    """Return the names of the sets of a combined cube, and of the gain settings within each; nothing of other cubes."""
    if names.JUDGEMENTS not in cube.coords:
        return [], []
    of_gain, settings = (schema.labels_of(cube, dim) for dim in (names.JUDGEMENTS, names.SETTING))
    sets = list(dict.fromkeys(of_gain))
    own = settings[: len(of_gain) // len(sets)]
    whole = of_gain == [name for name in sets for _ in own] and settings == own * len(sets)
    return (sets, own) if whole else ([], [])


def cells_by_set(
    cube: xr.Dataset, n_sets: int
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the distinct cells of a combined cube, by set of judgements.

    Returns scores: float64 (set, cell, run, topic).
    Returns cell_of: int64 (metric, setting): index, within the cells of a set, of the cell of a metric and gain
        setting.
    """
    uses = (
        cube[names.USES_SETTINGS].values if names.USES_SETTINGS in cube.coords else uses_gains(cube)
    )
    values = cube.variables[names.SCORE].values
    distinct, cell_of = distinct_cells(uses, values.shape[1] // n_sets)
    by_set = values.reshape(len(values), n_sets, -1, *values.shape[2:]).swapaxes(0, 1)
    return np.ascontiguousarray(by_set[:, distinct], np.float64), cell_of


def judgement_set_names(cube: xr.Dataset) -> tuple[str, str]:
    """Return the names of the two sets of a cube from `judgement_sets`; refuse others.

    Raises BadPlan: The cube does not hold two sets of judgements.
    """
    sets, _ = sets_and_settings(cube)
    if len(sets) == 2:
        return sets[0], sets[1]
    raise BadPlan(
        f"two sets of judgements are needed: name two collections of the same runs ({option('collections', ['A', 'B'])}), "
        "or combine their cubes with judgement_sets"
    )


def _common_labels(
    first: xr.Dataset, second: xr.Dataset, dim: str, labels: Sequence[str], notes: list[str]
) -> list[str]:
    """Return the common labels in the order of the first; append notes on others."""
    of_first, of_second = schema.labels_of(first, dim), schema.labels_of(second, dim)
    common = set(of_first) & set(of_second)
    for name, own in zip(labels, (of_first, of_second), strict=True):
        if unmatched := [label for label in own if label not in common]:
            notes.append(f"left out, as only {name} has it ({dim}): {listed(unmatched)}")
    return [label for label in of_first if label in common]


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
