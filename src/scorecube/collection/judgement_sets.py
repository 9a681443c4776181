"""Cubes of the same runs under two or more sets of judgements, combined into one cube.

Of any number of sets the first is the truth, and topics may be shared, nested or disjoint: scores on topics that a set lacks are missing. So are those of a
topic on which every run scores 0 under a set by every metric: nothing is judged relevant there, and evaluation leaves such topics out by default, while
imported scores may hold them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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


IntArray = np.ndarray[Any, np.dtype[np.int64]]


def label_counts(truth: xr.Dataset, judge: xr.Dataset, topics: Sequence[str]) -> IntArray:
    """Count documents by topic and by their levels under two sets of judgements.

    truth, judge: Rankings under both sets, as from `read_rankings`.
    topics: Topics to count; one that a set lacks has no documents.
    Returns counts: int64 (topic, level under the truth, level under the judge). Documents are matched by their keys, a
        hash of their ids (`names.DOCUMENT_KEY`); rankings without keys, as simulated ones, have no documents in common.
    """
    if not all(names.DOCUMENT_KEY in each for each in (truth, judge)):
        return np.zeros((len(topics), 1, 1), np.int64)
    n_levels = max(
        int(each[names.LEVEL_OF_DOCUMENT].values.max(initial=0)) + 1 for each in (truth, judge)
    )
    counts = np.zeros((len(topics), n_levels, n_levels), np.int64)
    places = [
        {topic: k for k, topic in enumerate(schema.labels_of(each, names.TOPIC))}
        for each in (truth, judge)
    ]
    for k, topic in enumerate(topics):
        if topic not in places[0] or topic not in places[1]:
            continue
        at = places[0][topic], places[1][topic]
        first, second = _by_key(truth, judge, at)
        levels = [
            each[names.LEVEL_OF_DOCUMENT].values[place][documents].astype(np.int64)
            for each, place, documents in ((truth, at[0], first), (judge, at[1], second))
        ]
        judged = (levels[0] >= 0) & (levels[1] >= 0)
        np.add.at(counts[k], (levels[0][judged], levels[1][judged]), 1)
    return counts


def _by_key(truth: xr.Dataset, judge: xr.Dataset, at: tuple[int, int]) -> tuple[IntArray, IntArray]:
    """Return the numbers of the documents of a topic that both sets judge."""
    keys = [
        each[names.DOCUMENT_KEY].values[place]
        for each, place in zip((truth, judge), at, strict=True)
    ]
    known = [np.flatnonzero(each) for each in keys]  # 0 is behind the last document
    _, first, second = np.intersect1d(keys[0][known[0]], keys[1][known[1]], return_indices=True)
    return known[0][first], known[1][second]


@dataclass(frozen=True, eq=False)
class JudgedScores:
    """Scores under several sets of judgements.

    sets: Names; the first is the truth.
    scores: float64 (set, cell, run, topic); NaN for missing.
    cell_of: int64 (metric, setting): index of the cell of a metric and gain setting.
    settings: Gain settings within a set.
    """

    sets: tuple[str, ...]
    scores: np.ndarray[Any, Any]
    cell_of: np.ndarray[Any, Any]
    settings: tuple[str, ...]


def many_judgement_sets(
    cubes: Mapping[str, xr.Dataset], rankings: Mapping[str, xr.Dataset] | None = None
) -> xr.Dataset:
    """Combine cubes of the same runs, with different judgements, along gain.

    Parameters
    ----------
    cubes
        Name of a set of judgements -> cube, as from `scorecube.evaluate`; the first is the truth.
    rankings
        Of some or all sets, by the same names: the agreement of labels needs them.

    Returns
    -------
    cube
        As from `scorecube.judgement_sets`, of any number of sets; with the runs of the truth, and the topics of all sets. With rankings it also holds
        ``label_counts`` (judge, topic, level, judge_level): documents by their levels under the truth and under each judge.

    Raises
    ------
    BadPlan
        There are fewer than two sets, no common metric or gain setting, or a set with fewer than two runs of the truth.

    Examples
    --------
    >>> from scorecube.testing import simulate_cube
    >>> cube = simulate_cube(n_runs=4)
    >>> many_judgement_sets({"nist": cube, "a": cube, "b": cube.isel(topic=slice(9))}).gain.values.tolist()
    ['nist', 'a', 'b']
    """
    sets = list(cubes)
    if len(sets) < 2:
        raise BadPlan(
            f"a truth and at least one judge are needed; found {', '.join(sets) or 'none'}: name them with {option('truth')} and {option('judges')}"
        )
    notes: list[str] = []
    truth = cubes[sets[0]]
    metrics = common_labels(cubes, names.METRIC, notes)
    settings = common_settings(cubes, notes)
    runs = schema.labels_of(truth, names.RUN)
    topics = sorted(
        {topic for cube in cubes.values() for topic in schema.labels_of(cube, names.TOPIC)}
    )
    parts = []
    for name, cube in cubes.items():
        chosen = cube[[names.SCORE]].sel({names.METRIC: metrics, names.GAIN: settings[name]})
        parts.append(_scores(chosen, name, sets[0], runs, topics, notes))
    shown = [" | ".join(dict.fromkeys(each)) for each in zip(*settings.values(), strict=True)]
    kept = {
        str(name): coord
        for name, coord in truth.sel({names.METRIC: metrics}).coords.items()
        if not {names.GAIN, names.TOPIC} & set(coord.dims) and coord.dims
    }
    of_settings = np.any(
        [uses_gains(cube.sel({names.METRIC: metrics})) for cube in cubes.values()], axis=0
    )
    coords = kept | {names.TOPIC: schema.label_array(topics)}
    combined = combined_sets(sets, shown, coords, parts, of_settings, notes)
    return combined.assign(_labels(sets, rankings, topics)) if rankings else combined


def _scores(
    cube: xr.Dataset,
    name: str,
    truth: str,
    runs: Sequence[str],
    topics: Sequence[str],
    notes: list[str],
) -> np.ndarray[Any, Any]:
    """Return the scores of a set for all runs of the truth and all topics, (metric, gain, run, topic), NaN for missing; note what it lacks."""
    own = set(schema.labels_of(cube, names.RUN))
    lacking, others = [run for run in runs if run not in own], sorted(own - set(runs))
    if len(runs) - len(lacking) < MIN_COMMON:
        raise BadPlan(
            f"{truth} and {name} have {counted(len(runs) - len(lacking), 'run')} in common; {MIN_COMMON} are needed"
        )
    notes += [f"{name} lacks runs of {truth}: {listed(lacking)}"] if lacking else []
    notes += [f"left out, as {truth} lacks them (run): {listed(others)}"] if others else []
    full = cube.reindex({names.RUN: list(runs), names.TOPIC: list(topics)})[names.SCORE]
    scores: np.ndarray[Any, Any] = full.transpose(*schema.CUBE[0].dims).values.astype(np.float64)
    empty = (np.nan_to_num(scores) == 0).all(axis=(0, 1, 2)) & (scores == 0).any(axis=(0, 1, 2))
    scores[..., empty] = np.nan
    if empty.any():
        zero = [topic for topic, is_empty in zip(topics, empty, strict=True) if is_empty]
        notes.append(
            f"{counted(len(zero), 'topic')} of {name} left out, as every run scores 0 by every metric, as without any relevant document: {listed(zero)}"
        )
    return scores


def _labels(
    sets: Sequence[str], rankings: Mapping[str, xr.Dataset], topics: Sequence[str]
) -> dict[str, Any]:
    """Return the counts of labels; none for judges without rankings, or of a truth without."""
    empty = np.zeros((len(topics), 1, 1), np.int64)
    counts = [
        label_counts(rankings[sets[0]], rankings[judge], topics)
        if sets[0] in rankings and judge in rankings
        else empty
        for judge in sets[1:]
    ]
    n_levels = max(each.shape[-1] for each in counts)
    padded = [np.pad(each, [(0, 0), *[(0, n_levels - each.shape[-1])] * 2]) for each in counts]
    dims = (names.JUDGE, names.TOPIC, names.LEVEL, names.JUDGE_LEVEL)
    return {names.LABEL_COUNTS: (dims, np.stack(padded))}


def judged_scores(cube: xr.Dataset) -> JudgedScores:
    """Return the scores of a cube from `many_judgement_sets` or `scorecube.judgement_sets`.

    Raises BadPlan: The cube does not hold several sets of judgements.
    """
    sets, settings = sets_and_settings(cube)
    if len(sets) > 1:
        return JudgedScores(tuple(sets), *cells_by_set(cube, len(sets)), tuple(settings))
    raise BadPlan(
        f"several sets of judgements are needed: name the truth and judges, collections of the same runs ({option('truth', 'A')}), or combine their cubes with "
        "many_judgement_sets"
    )


def common_labels(
    cubes: Mapping[str, xr.Dataset], dim: str, notes: list[str], sets: str = "sets"
) -> list[str]:
    """Return the labels that all sets have, in the order of the first; note others.

    sets: What the cubes are, in messages.
    Raises BadPlan: None in common.
    """
    own = [schema.labels_of(cube, dim) for cube in cubes.values()]
    common = [label for label in own[0] if all(label in each for each in own)]
    if not common:
        has = "; ".join(f"{name}: {', '.join(each)}" for name, each in zip(cubes, own, strict=True))
        raise BadPlan(
            f"the {'sets of judgements' if sets == 'sets' else sets} have no {dim} in common ({has}); evaluate all with one {dim}"
        )
    others = sorted({label for each in own for label in each} - set(common))
    if others:
        notes.append(f"left out, as not all {sets} have it ({dim}): {listed(others)}")
    return common


def common_settings(
    cubes: Mapping[str, xr.Dataset], notes: list[str], sets: str = "sets"
) -> dict[str, list[str]]:
    """Return the gain settings of each set that belong together, in order; one of each whatever its name."""
    if all(cube.sizes[names.GAIN] == 1 for cube in cubes.values()):
        return {name: schema.labels_of(cube, names.GAIN) for name, cube in cubes.items()}
    return dict.fromkeys(cubes, common_labels(cubes, names.GAIN, notes, sets))
