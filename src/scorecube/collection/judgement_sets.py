"""Cubes of the same runs under two or more sets of judgements, combined into one cube along gain.

The first set is the truth. Topics may be shared, nested or disjoint: scores on topics that a set
lacks are missing. So are those of a topic on which every run scores 0 under a set by every metric,
where all are metrics of rankings: nothing is relevant there. Of others, as accuracy, 0 is a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, product
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.collection import schema
from scorecube.collection.names_of_tools import canonical
from scorecube.collection.schema import labels_of
from scorecube.collection.selection import uses_gains
from scorecube.collection.teams import listed
from scorecube.errors import BadPlan, counted, option

NOT_COMMON = "left_out"
"""Attribute of a combined cube: notes on labels that only one cube has."""
MIN_COMMON = 2
"""Smallest number of common runs."""


def judgement_sets(
    cubes: Mapping[str, xr.Dataset], rankings: Mapping[str, xr.Dataset] | None = None
) -> xr.Dataset:
    """Combine cubes of the same runs, with different judgements, along gain.

    Metrics, runs, topics and gain settings are matched by label; one gain setting of each cube is
    matched whatever its label, as sets of judgements may have different relevance levels.

    cubes: Name of a set of judgements -> cube; the first is the truth.
    rankings: Of some or all sets, by the same names: the agreement of labels needs them; by default
        cubes that hold their rankings.
    Returns cube: With the runs of the truth, and the topics of all sets; the coordinates
        ``judgements`` and ``setting`` along gain. With rankings it also holds ``label_counts``
        (judge, topic, level, judge_level): documents by their levels under truth and judge.
    Raises BadPlan: Fewer than two sets, no common metric or gain setting, or a set with fewer than
        two runs of the truth.
    """
    sets = list(cubes)
    if len(sets) < 2:
        raise BadPlan(f"name a truth and a judge with {option('truth')} and {option('judges')}")
    notes: list[str] = []
    metrics = common_labels(cubes, names.METRIC, notes)
    gains = common_settings(cubes, notes)
    parts = {
        name: cube.sel({names.METRIC: metrics, names.GAIN: gains[name]})
        for name, cube in cubes.items()
    }
    truth = parts[sets[0]]
    runs = labels_of(truth, names.RUN)
    of_each = [labels_of(cube, names.TOPIC) for cube in cubes.values()]
    topics = sorted({*chain.from_iterable(of_each)})
    scores = [_scores(parts[name], (sets[0], name), runs, topics, notes) for name in sets]
    settings = [" | ".join(dict.fromkeys(row)) for row in zip(*gains.values(), strict=True)]
    labels = list(product(sets, settings))
    uses = np.any([uses_gains(cube) for cube in parts.values()], axis=0)
    coords = {
        str(name): coord
        for name, coord in truth.coords.items()
        if coord.dims and not {names.GAIN, names.TOPIC} & set(coord.dims)
    } | {
        names.TOPIC: schema.label_array(topics),
        names.GAIN: schema.label_array(
            " ".join(label) if len(settings) > 1 else label[0] for label in labels
        ),
        names.JUDGEMENTS: (names.GAIN, schema.label_array(name for name, _ in labels)),
        names.SETTING: (names.GAIN, schema.label_array(setting for _, setting in labels)),
        names.USES_GAINS: (names.METRIC, np.ones(len(metrics), bool)),
        names.USES_SETTINGS: (names.METRIC, uses),
        **_groups(cubes, topics),
    }
    values = (schema.CUBE[0].dims, np.concatenate(scores, axis=1))
    cube = xr.Dataset({names.SCORE: values}, coords, {NOT_COMMON: notes})
    schema.check(cube, schema.CUBE, "the combined cube")
    if rankings is None:
        rankings = {name: cube for name, cube in cubes.items() if names.DOCUMENT_KEY in cube}
    if rankings:
        dims = (names.JUDGE, names.TOPIC, names.LEVEL, names.JUDGE_LEVEL)
        cube[names.LABEL_COUNTS] = dims, label_counts(sets, rankings, topics)
    return schema.annotate(cube, schema.CUBE)


def sets_and_settings(cube: xr.Dataset) -> tuple[list[str], list[str]]:
    """Return the names of the sets of a combined cube, and of the gain settings of each."""
    if names.JUDGEMENTS in cube.coords:
        of_gain = labels_of(cube, names.JUDGEMENTS)
        labels = labels_of(cube, names.SETTING)
        sets = list(dict.fromkeys(of_gain))
        settings = labels[: len(of_gain) // len(sets)]
        whole = of_gain == np.repeat(sets, len(settings)).tolist()
        if whole and labels == settings * len(sets) and len(sets) > 1:
            return sets, settings
    raise BadPlan(f"name several sets of judgements of the same runs ({option('truth', 'A')})")


def _groups(cubes: Mapping[str, xr.Dataset], topics: Sequence[str]) -> dict[str, Any]:
    """Return the groups of topics, where a set has any."""
    group = {topic: topic for topic in topics}
    for cube in cubes.values():
        if names.TOPIC_GROUP in cube.coords:
            group |= zip(
                labels_of(cube, names.TOPIC), labels_of(cube, names.TOPIC_GROUP), strict=True
            )
    labels = [group[topic] for topic in topics]
    return {names.TOPIC_GROUP: (names.TOPIC, labels)} if labels != [*topics] else {}


def _scores(
    cube: xr.Dataset,
    sets: tuple[str, str],
    runs: Sequence[str],
    topics: Sequence[str],
    notes: list[str],
) -> NDArray[np.float64]:
    """Return the scores of a set (metric, gain, run, topic), NaN for missing; note what it lacks.

    sets: Names of the truth and of the set.
    """
    truth, name = sets
    has = set(labels_of(cube, names.RUN))
    lacking = [run for run in runs if run not in has]
    others = sorted(has - set(runs))
    if len(runs) - len(lacking) < MIN_COMMON:
        common = counted(len(runs) - len(lacking), "run")
        raise BadPlan(f"{truth} and {name} have {common} in common; {MIN_COMMON} are needed")
    notes += [f"{name} lacks runs of {truth}: {listed(lacking)}"] if lacking else []
    notes += [f"left out, as {truth} lacks them (run): {listed(others)}"] if others else []
    full = cube[names.SCORE].reindex({names.RUN: list(runs), names.TOPIC: list(topics)})
    scores: NDArray[np.float64] = full.transpose(*schema.CUBE[0].dims).values.astype(np.float64)
    empty = (np.nan_to_num(scores) == 0).all(axis=(0, 1, 2)) & (scores == 0).any(axis=(0, 1, 2))
    if empty.any() and all(map(canonical, labels_of(cube, names.METRIC))):
        scores[..., empty] = np.nan
        zero = [topic for topic, is_empty in zip(topics, empty, strict=True) if is_empty]
        count = counted(len(zero), "topic")
        notes.append(f"{count} of {name} left out, as every run scores 0 there: {listed(zero)}")
    return scores


def label_counts(
    sets: Sequence[str], rankings: Mapping[str, xr.Dataset], topics: Sequence[str]
) -> NDArray[np.int64]:
    """Return counts of documents (judge, topic, level under the truth, level under the judge).

    Documents are matched by their keys, a hash of their ids; sets without keys have none in common.
    """
    judged = {k: _judged(of, topics) for k, of in rankings.items() if names.DOCUMENT_KEY in of}
    n_levels = max((int(of["level"].max()) + 1 for of in judged.values() if len(of)), default=1)
    counts = np.zeros((len(sets) - 1, len(topics), n_levels, n_levels), np.int64)
    for of_judge, name in zip(counts, sets[1:], strict=True):
        if {sets[0], name} <= judged.keys():
            both = judged[sets[0]].merge(judged[name], on=["topic", "key"], suffixes=("", "_judge"))
            np.add.at(of_judge, (both["topic"], both["level"], both["level_judge"]), 1)
    return counts


def _judged(rankings: xr.Dataset, topics: Sequence[str]) -> pd.DataFrame:
    """Return place of the topic, key and level of each document that is judged on the topics."""
    place = {topic: k for k, topic in enumerate(topics)}
    places = np.array([place.get(topic, -1) for topic in labels_of(rankings, names.TOPIC)])
    keys, levels = (rankings[name].values for name in (names.DOCUMENT_KEY, names.LEVEL_OF_DOCUMENT))
    judged = np.nonzero((keys != 0) & (levels >= 0) & (places[:, np.newaxis] >= 0))
    columns = {"topic": places[judged[0]], "key": keys[judged], "level": levels[judged]}
    return pd.DataFrame(columns).astype(np.int64)


def common_labels(
    cubes: Mapping[str, xr.Dataset], dim: str, notes: list[str], sets: str = "sets of judgements"
) -> list[str]:
    """Return the labels that all sets have, in the order of the first; note others.

    sets: What the cubes are, in messages.
    Raises BadPlan: None in common.
    """
    labels = [labels_of(cube, dim) for cube in cubes.values()]
    everywhere = set(labels[0]).intersection(*labels[1:])
    common = [label for label in labels[0] if label in everywhere]
    if not common:
        raise BadPlan(f"the {sets} have no {dim} in common; evaluate all with one {dim}")
    if others := sorted({*chain.from_iterable(labels)} - everywhere):
        notes.append(f"left out, as not all {sets} have it ({dim}): {listed(others)}")
    return common


def common_settings(
    cubes: Mapping[str, xr.Dataset], notes: list[str], sets: str = "sets of judgements"
) -> dict[str, list[str]]:
    """Return the gain settings of each set that belong together; one whatever its name."""
    if all(cube.sizes[names.GAIN] == 1 for cube in cubes.values()):
        return {name: labels_of(cube, names.GAIN) for name, cube in cubes.items()}
    return dict.fromkeys(cubes, common_labels(cubes, names.GAIN, notes, sets))
