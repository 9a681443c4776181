"""Systems with repeated runs in tables of scores: names of runs, and long data frames."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from scorecube import names
from scorecube.errors import BadInput, counted, option
from scorecube.ingest.delimited import (
    COLLECTION_HEADERS,
    GAIN_HEADERS,
    METRIC_HEADERS,
    RUN_HEADERS,
    SCORE_HEADERS,
    SEED_HEADERS,
    SYSTEM_HEADERS,
    TOPIC_HEADERS,
    header_word,
)

ROLES = {
    "run": RUN_HEADERS,
    "topic": TOPIC_HEADERS,
    "score": SCORE_HEADERS,
    "metric": METRIC_HEADERS,
    "gain": GAIN_HEADERS,
    "seed": SEED_HEADERS,
}
NEEDED = ("run", "topic", "score")
PYTERRIER_RUN = "name"
"""Column of the run in a frame of PyTerrier's ``Experiment(perquery=True)``; a run column all the same if there is no other."""


def columns_of(header: Iterable[str]) -> dict[str, list[int]]:
    """Return the columns that may be run, topic, score, metric, gain and seed, and the system if there is a run beside it.

    Examples
    --------
    >>> found = columns_of(["system", "run", "query", "score"])
    >>> found["system"], found["run"], found["topic"]
    ([0], [1], [2])
    """
    words = [header_word(cell) for cell in header]
    found = {
        role: [k for k, word in enumerate(words) if word in known] for role, known in ROLES.items()
    }
    if not found["run"]:
        found["run"] = [k for k, word in enumerate(words) if word == PYTERRIER_RUN]
    systems = [k for k in found["run"] if words[k] in SYSTEM_HEADERS]
    runs = [k for k in found["run"] if k not in systems]
    found["system"] = systems if len(systems) == len(runs) == 1 else []
    if found["system"]:
        found["run"], found["seed"] = runs, []
    return found


def named_columns(header: Sequence[str], found: Mapping[str, list[int]], name: str) -> list[int]:
    """Return the columns of a name that have no other role than that of the score: those spelled exactly so, or else alike."""
    free = set(range(len(header))).difference(*(found[role] for role in found if role != "score"))
    exact = [k for k in sorted(free) if header[k] == name]
    return exact or [k for k in sorted(free) if header_word(header[k]) == header_word(name)]


def refuse_pooling(header: str, known: str, found: str, *where: Any) -> None:
    """Refuse a second value of a column that tells collections apart (BadInput)."""
    if known != found:
        raise BadInput(
            f"the column {header} has several values ({known!r}, {found!r}): topics of different collections are not pooled; divide "
            f"the scores by it and import each part under its own {option('name')}",
            *where,
        )


def run_of_seed(system: str, seed: str) -> str:
    """Return the name of the run of a system with a seed."""
    return f"{system}#{seed}"


def named_runs(pairs: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str]:
    """Return the name of the run of each system and seed: the system itself if no system has two seeds."""
    found = list(dict.fromkeys(pairs))
    if len({system for system, _ in found}) == len(found):
        return {pair: pair[0] for pair in found}
    return {pair: run_of_seed(*pair) for pair in found}


def without_levels(frame: pd.DataFrame, metric: object) -> tuple[pd.DataFrame, dict[str, str]]:
    """Return a matrix whose rows have one label, the run, and the system of each run where the rows had two: system and run, or system and seed.

    Raises
    ------
    BadInput
        Rows with more labels.
    """
    if frame.columns.nlevels > 1:
        frame = frame.T
    if frame.index.nlevels == 1:
        return frame, {}
    if frame.index.nlevels > 2:
        raise BadInput(
            f"the matrix of {metric} has {frame.index.nlevels} labels for each row; expected run, or system and seed"
        )
    pairs = [(str(system), str(inner)) for system, inner in frame.index]
    inner = frame.index.names[1]
    are_runs = isinstance(inner, str) and header_word(inner) in RUN_HEADERS
    labels = {pair: pair[1] for pair in pairs} if are_runs else named_runs(pairs)
    axis = pd.Index([labels[pair] for pair in pairs], name=names.RUN)
    systems = {labels[pair]: pair[0] for pair in pairs}
    repeated = len(set(systems.values())) < len(systems) or are_runs
    return frame.set_axis(axis, axis=0), systems if repeated else {}


def matrices_of_records(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the matrices of a data frame with one score a row, columns as of a long table (``system, seed, topic, score``, ...).

    Returns
    -------
    matrices
        Metric -> runs x topics, or (system, run) x topics; a frame without a metric has the metric ``score``.

    Raises
    ------
    BadInput
        No column of run, topic or score, or two; a label that is missing; two scores of one run, topic and metric.
    """
    columns = [str(column) for column in frame.columns]
    at = columns_of(columns)
    for role in NEEDED:
        if len(at[role]) != 1:
            raise BadInput(
                f"the frame has {'no column' if not at[role] else counted(len(at[role]), 'column')} for the {role} ({', '.join(ROLES[role][:4])}, ...); found {', '.join(columns)[:200]}; "
                "expected one row for each score (PyTerrier: Experiment(..., perquery=True)), or a mapping from metrics to data frames of runs x topics",
                option="scores",
            )
    for place, header in enumerate(columns):
        values = (
            list(frame.iloc[:, place].unique()) if header_word(header) in COLLECTION_HEADERS else []
        )
        if len(values) > 1:
            refuse_pooling(header, str(values[0]), str(values[1]))
    chosen = {role: frame.iloc[:, places[0]] for role, places in at.items() if places}
    for role, column in chosen.items():
        if role != "score" and column.isna().any():
            raise BadInput(f"the {role} is missing in row {int(column.isna().argmax()) + 1}")
    labels = {role: column.astype(str) for role, column in chosen.items() if role != "score"}
    outer, inner = ("system", "run") if "system" in labels else ("run", "seed")
    metrics = labels.get("metric", pd.Series(names.SCORE, index=frame.index))
    rows = [labels[outer]] if inner not in labels else [labels[outer], labels[inner]]
    found = {}
    for metric, part in frame.groupby(metrics, sort=False).groups.items():
        keys: Any = [*(row.loc[part] for row in rows), labels["topic"].loc[part]]
        index = pd.MultiIndex.from_arrays(keys, names=[*_axes(len(rows), inner), names.TOPIC])
        if index.has_duplicates:
            first = index[index.duplicated()][0]
            *run, topic = map(repr, first)
            raise BadInput(
                f"a second score of {metric} for run {' with '.join(run)} on topic {topic}",
                option="scores",
            )
        found[str(metric)] = pd.Series(chosen["score"].loc[part].to_numpy(), index).unstack()
    return found


def _axes(count: int, inner: str) -> list[str]:
    return [names.RUN] if count == 1 else [names.SYSTEM, inner]


def rows_of_systems(frame: pd.DataFrame, systems: Mapping[str, str]) -> pd.DataFrame:
    """Return a matrix of runs x topics with the system of each run as a further label of its row; without systems as it is."""
    if not systems:
        return frame
    labels = [[systems[run] for run in frame.index], list(frame.index)]
    return frame.set_axis(
        pd.MultiIndex.from_arrays(labels, names=[names.SYSTEM, names.RUN]), axis=0
    )
