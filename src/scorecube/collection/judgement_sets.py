"""Two sets of judgements of the same runs, put together as one cube."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.selection import uses_gains
from scorecube.errors import BadPlan, option

LEFT_OUT = "left_out"
"""Attribute of a joined cube: in words, what only one of the two has."""
FEWEST = 2
"""Runs, and topics."""
NAMED = 5
"""Labels in a note on what is left out."""


def judgement_sets(first: xr.Dataset, second: xr.Dataset, labels: Sequence[str] = ("first", "second")) -> xr.Dataset:
    """Combine two cubes of the same runs, evaluated with different judgements, into one whose gain axis holds both.

    Metrics, runs, topics and gain settings are matched by label. Two cubes of one gain setting each are matched whatever these are called,
    as sets of judgements may have different levels.

    Parameters
    ----------
    first, second
        Cubes as from `scorecube.evaluate`.
    labels
        Names of the two sets of judgements; different.

    Returns
    -------
    cube
        With the gain settings of the first set, then those of the second, in the same order. Gain labels are the set's name and, if there
        are several settings, the setting; the coordinates ``judgements`` and ``setting`` along gain hold both apart. All metrics count as
        using gains; ``uses_settings`` along metric keeps which do within a set. The attribute ``left_out`` says what only one cube has.

    Raises
    ------
    BadPlan
        No common metric or gain setting, fewer than two common runs or topics, equal names of the sets.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=4, gains=("3:2:1", "1:1:1"))
    >>> judgement_sets(cube, cube.isel(run=slice(3)), ("official", "crowd")).gain.values.tolist()
    ['official 3:2:1', 'official 1:1:1', 'crowd 3:2:1', 'crowd 1:1:1']
    """
    if len(labels) != 2 or labels[0] == labels[1]:
        raise BadPlan(f"two sets of judgements need two different names, not {', '.join(labels)}")
    notes: list[str] = []
    matched = {dim: _common(first, second, dim, labels, notes) for dim in (names.METRIC, names.RUN, names.TOPIC)}
    for dim in (names.RUN, names.TOPIC):
        if len(matched[dim]) < FEWEST:
            raise BadPlan(f"{labels[0]} and {labels[1]} have {len(matched[dim])} {dim}s in common; {FEWEST} are needed")
    if not matched[names.METRIC]:
        raise BadPlan(
            f"{labels[0]} and {labels[1]} have no metric in common: {', '.join(schema.labels_of(first, names.METRIC))} and "
            f"{', '.join(schema.labels_of(second, names.METRIC))}"
        )
    settings = _settings(first, second, labels, notes)
    parts = [
        cube.sel(matched).sel({names.GAIN: [pair[k] for pair in settings]})
        for k, cube in enumerate((first, second))
    ]  # fmt: skip
    shown = [a if a == b else f"{a} | {b}" for a, b in settings]
    gains = [label if len(shown) == 1 else f"{label} {setting}" for label in labels for setting in shown]
    metrics = parts[0][names.METRIC].values
    coords = {
        **{str(name): each for name, each in parts[0].coords.items() if names.GAIN not in each.dims and name != names.USES_GAINS},
        names.GAIN: schema.label_array(gains),
        names.JUDGEMENTS: (names.GAIN, schema.label_array(label for label in labels for _ in shown)),
        names.SETTING: (names.GAIN, schema.label_array([*shown, *shown])),
        names.USES_GAINS: (names.METRIC, np.ones(len(metrics), bool)),
        names.USES_SETTINGS: (names.METRIC, uses_gains(parts[0]) | uses_gains(parts[1])),
    }  # fmt: skip
    scores = np.concatenate([part[names.SCORE].transpose(*schema.CUBE[0].dims).values for part in parts], axis=1)
    joined = xr.Dataset({names.SCORE: (schema.CUBE[0].dims, scores)}, coords=coords, attrs={LEFT_OUT: notes})
    schema.check(joined, schema.CUBE, "the joined cube")
    return schema.annotate(joined, schema.CUBE)


def joined_cells(cube: xr.Dataset) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the distinct cells of a joined cube: those of the first set of judgements, then those of the second.

    Returns
    -------
    scores
        float64 (set * cell, run, topic).
    cell_of
        int64 (metric, setting): which of the cells of a set holds the scores of a metric and gain setting.
    """
    n_settings = cube.sizes[names.GAIN] // 2
    cell_of = np.empty((cube.sizes[names.METRIC], n_settings), np.int64)
    kept: list[tuple[int, int]] = []
    uses = cube[names.USES_SETTINGS].values if names.USES_SETTINGS in cube.coords else uses_gains(cube)
    for i, j in np.ndindex(*cell_of.shape):
        if j == 0 or uses[i]:
            kept.append((i, j))
        cell_of[i, j] = len(kept) - 1
    values = cube[names.SCORE].values
    return np.stack([values[i, j + half * n_settings] for half in (0, 1) for i, j in kept]).astype(np.float64), cell_of


def check_joined(cube: xr.Dataset) -> tuple[str, str]:
    """Return the names of the two sets of judgements of a cube; refuse a cube that is not as `judgement_sets` makes it."""
    if names.JUDGEMENTS in cube.coords:
        sets = schema.labels_of(cube, names.JUDGEMENTS)
        half = len(sets) // 2
        settings = schema.labels_of(cube, names.SETTING)
        if (
            len(sets) == 2 * half
            and sets == [sets[0]] * half + [sets[-1]] * half
            and settings[:half] == settings[half:]
        ):
            return sets[0], sets[-1]
    raise BadPlan(
        f"two sets of judgements are needed: name two collections of the same runs ({option('collections', ['A', 'B'])}), "
        "or join their cubes with judgement_sets"
    )


def _common(first: xr.Dataset, second: xr.Dataset, dim: str, labels: Sequence[str], notes: list[str]) -> list[str]:
    """Return the labels that both cubes have, in the order of the first, and note the others."""
    of_first, of_second = schema.labels_of(first, dim), schema.labels_of(second, dim)
    for label, mine, others in ((labels[0], of_first, of_second), (labels[1], of_second, of_first)):
        only = [each for each in mine if each not in set(others)]
        if only:
            more = f" and {len(only) - NAMED} more" if len(only) > NAMED else ""
            notes.append(f"left out, as only {label} has it ({dim}): {', '.join(only[:NAMED])}{more}")
    return [each for each in of_first if each in set(of_second)]


def _settings(first: xr.Dataset, second: xr.Dataset, labels: Sequence[str], notes: list[str]) -> list[tuple[str, str]]:
    """Return which gain setting of the first is compared with which of the second."""
    if first.sizes[names.GAIN] == second.sizes[names.GAIN] == 1:
        return [(schema.labels_of(first, names.GAIN)[0], schema.labels_of(second, names.GAIN)[0])]
    common = _common(first, second, names.GAIN, labels, notes)
    if not common:
        raise BadPlan(
            f"{labels[0]} and {labels[1]} have no gain setting in common: {', '.join(schema.labels_of(first, names.GAIN))} and "
            f"{', '.join(schema.labels_of(second, names.GAIN))}; evaluate both with one gain setting of the same name, e.g. auto"
        )
    return [(each, each) for each in common]
