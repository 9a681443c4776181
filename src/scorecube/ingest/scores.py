"""Scores in one tidy frame, a row a score, and the collector that refuses what is none."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import union_categoricals

from scorecube import names
from scorecube.collection.teams import listed
from scorecube.errors import BadInput, BadPlan, option
from scorecube.files import label_of_spreadsheet
from scorecube.ingest.files import PathLike
from scorecube.ingest.roles import TAKEN
from scorecube.ingest.tables import coded, label_of, numbers_of, problem_of, refuse

GROUP, SCORE = "topic_group", names.SCORE
KEYS = ("collection", "metric", "gain", "run", "seed", "system", "topic")
"""Labels of which no two scores have the same."""
LABELS = (*KEYS, GROUP)
NEEDED = ("run", "system", "topic", "collection", "metric")
"""Labels that may not be empty where a column has them."""


@dataclass(frozen=True)
class Scores:
    """Scores of one file or object.

    frame: Columns `LABELS`, categories of text, '' for none, and ``score``, float64; the index is
        the line in the file, or the row of an object, and 0 where rows have none.
    path: The file; None for an object.
    problems: What is wrong with single rows.
    taken: What the columns were taken for; '' where there was nothing to tell.
    notes: What is not read, and other things that a user should know.
    others: Metrics that are not wanted.
    roles: Labels that the file has.
    """

    frame: pd.DataFrame
    path: PathLike | None
    problems: Sequence[BadInput]
    taken: str
    notes: Sequence[str]
    others: Sequence[str]
    roles: frozenset[str]


def scores_of(
    labels: Mapping[str, Any],
    values: Mapping[str, Any],
    path: PathLike | None = None,
    lines: Any = (),
    *,
    across: str = "metric",
    taken: str = "",
    notes: Sequence[str] = (),
    others: Sequence[str] = (),
) -> Scores:
    """Return scores as a tidy frame.

    labels: Role, of `LABELS` -> its cells, or its only label.
    values: Label across, a metric or a run -> cells; '' -> cells whose label is in `labels`.
    path, lines, taken, notes, others: As of `Scores`.
    across: Role of the names of `values`.
    """
    n_rows, n_values = len(next(iter(values.values()))), len(values)
    columns: dict[str, Any] = {}
    for role in LABELS:
        cells = labels.get(role, "")
        column = coded(np.zeros(n_rows, np.int8), [cells]) if isinstance(cells, str) else None
        column = categories(cells) if column is None else column
        columns[role] = coded(np.tile(column.codes, n_values), column.categories)
    if "" not in values:
        columns[across] = coded(np.repeat(np.arange(n_values), n_rows), list(values))
    columns_across = list(values.values())
    if all(isinstance(cells, np.ndarray) and cells.dtype != object for cells in columns_across):
        columns_across = [np.concatenate(columns_across)]  # many columns of numbers, read at once
    numbers = [numbers_of(cells) for cells in columns_across]
    columns[SCORE] = np.concatenate([part for part, _ in numbers])
    of_lines = np.asarray(lines if len(lines) else np.zeros(n_rows), np.int64)
    frame = pd.DataFrame(columns, np.tile(of_lines, n_values))
    roles = frozenset(labels) | {"metric"}
    wrong = {
        k * n_rows + row: cells[row]
        for k, (cells, (_, bad)) in enumerate(zip(columns_across, numbers, strict=True))
        for row in bad
    }
    return Scores(frame, path, _bad_rows(frame, path, roles, wrong), taken, notes, others, roles)


def _bad_rows(
    frame: pd.DataFrame, path: PathLike | None, roles: frozenset[str], wrong: Mapping[int, Any]
) -> list[BadInput]:
    """Return what is wrong with single rows of a file, one problem a line, in their order."""
    texts: dict[int, str] = {}
    for role in NEEDED:
        column = frame[role].array
        if role in roles and "" in column.categories:
            empty = np.flatnonzero(column.codes == column.categories.get_loc(""))
            texts |= dict.fromkeys(empty.tolist(), f"the {role} is missing")
    for row, cell in wrong.items():
        metric = frame["metric"].iloc[row]
        texts.setdefault(row, problem_of(cell) + (f" ({metric})" if metric else ""))
    first: dict[int, int] = {}
    for row in sorted(texts):
        first.setdefault(int(frame.index[row]) or -row, row)
    return [problem_at(frame, path, first[line], texts[first[line]]) for line in sorted(first)]


def problem_at(frame: pd.DataFrame, path: PathLike | None, row: int, text: str) -> BadInput:
    """Return the error about a row of a frame."""
    line = int(frame.index[row]) or None
    return BadInput(f"row {line}: {text}" if path is None and line else text, path, line)


def scores_of_frame(frame: pd.DataFrame, metric: str | None, path: PathLike) -> Scores:
    """Return the scores of a frame with columns named as the roles, such as of an added format."""
    labels = {str(name): frame[name] for name in frame if name != SCORE}
    return scores_of(labels, {"" if "metric" in labels else metric or SCORE: frame[SCORE]}, path)


def categories(cells: Any) -> Any:
    """Return the labels in cells as categories."""
    is_coded = isinstance(cells, pd.Categorical)
    different = cells.categories.tolist() if is_coded else list(cells)
    labels = [label_of_spreadsheet(label_of(cell)) for cell in different]
    codes, unique = pd.factorize(np.array(labels, object), use_na_sentinel=False)
    return coded(codes[cells.codes] if is_coded else codes, unique)


def collections_of(columns: Sequence[Any]) -> Any:
    """Return the names of collections that stand in one column or in several."""
    rows = pd.DataFrame({k: categories(cells) for k, cells in enumerate(columns)})
    numbers = rows.groupby(list(rows), sort=False, observed=True).ngroup().to_numpy()
    named: dict[str, tuple[str, ...]] = {}
    labels = []
    different = rows.drop_duplicates().astype(str)
    for parts in different.itertuples(index=False, name=None):
        label = "-".join(parts).replace("/", "-").replace("\\", "-") if all(parts) else ""
        if label and named.setdefault(label, parts) != parts:
            raise BadInput(f"two collections would be called {label!r}; rename one of them")
        labels.append(label)
    codes, unique = pd.factorize(np.array(labels, object), use_na_sentinel=False)
    return coded(codes[numbers], unique)


def scores_of_rows(
    columns: Mapping[str, Any],
    metric: str | None,
    label: Callable[[str], str],
    path: PathLike | None = None,
    lines: Any = (),
    *,
    counts: re.Pattern[str] | None = None,
    **facts: Any,
) -> Scores:
    """Return the scores of rows that name their measures.

    columns: Role -> cells, or the only label; with ``metric``, measures of a tool, and ``score``.
    metric: The only metric to read, by its name here or in the tool; None for all.
    label: Measure of the tool -> its name here, or the tool's own name where the names here mean
        something else.
    path, lines, facts: As of `scores_of`.
    counts: Measures that are read only on request.
    """
    measures = categories(columns["metric"])
    named = {measure: label(measure) for measure in measures.categories}
    wanted = {measure: name for measure, name in named.items() if metric in (None, measure, name)}
    others = sorted({named[measure] for measure in named if measure not in wanted})
    if metric is None and counts is not None:
        wanted = {name: wanted[name] for name in wanted if not counts.fullmatch(name)} or wanted
    kept = np.isin(measures, list(wanted))
    labels = {role: _rows(cells, kept) for role, cells in columns.items()}
    labels["metric"] = [wanted[measure] for measure in measures[kept]]
    values = {"": labels.pop(SCORE)}
    numbers = np.asarray(lines)[kept] if len(lines) else ()
    return scores_of(labels, values, path, numbers, others=others, **facts)


def _rows(cells: Any, kept: Any) -> Any:
    """Return some of the cells of a column, or its only label."""
    if isinstance(cells, str | np.ndarray | pd.Categorical):
        return cells if isinstance(cells, str) else cells[kept]
    return list(compress(cells, kept))


def refuse_several(collections: Sequence[str]) -> None:
    """Refuse scores of several collections where those of one are expected (BadInput)."""
    if len(collections) > 1:
        raise BadInput(
            f"scores of {len(collections)} collections ({listed(collections)}), which are not "
            "pooled: collections=True reads each by itself, as the command import does without "
            f"{option('name')}; or choose the column that names collections: "
            f"{option('collection_column')}"
        )


@dataclass(frozen=True)
class Reading:
    """Scores that were read.

    frame: As of `Scores`; runs are named.
    taken: What the columns were taken for.
    notes: What is not read, and other things that a user should know.
    """

    frame: pd.DataFrame
    taken: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def only(self) -> None:
        """Refuse scores of several collections where those of one are expected (BadInput)."""
        refuse_several(list(self.frame["collection"].unique()))


def collect(
    parts: Sequence[Scores], problems: Sequence[BadInput] = (), metric: str | None = None
) -> Reading:
    """Return the scores of files and objects as one.

    problems: What is wrong with other files.
    metric: The only one that was wanted, for messages.
    Raises BadInput: All problems: a label that is missing, a score that is no number, a second
        score of a run on a topic, a topic of two groups, a run of two systems; no scores.
    """
    taken = _by_file(parts, [[part.taken] for part in parts], TAKEN)
    notes = _by_file(parts, [part.notes for part in parts], "")
    problems = [*problems, *(problem for part in parts for problem in part.problems)]
    end = "".join(f"\n  {note}" for note in notes)
    refuse(problems, end=end)
    if not parts:
        raise BadInput("no scores in the files")
    for role, what in (("system", "systems"), ("collection", "collections")):
        if len({role in part.roles for part in parts}) > 1:
            text = f"one file has a column of {what} and another none; give all the same"
            raise BadInput(text, parts[0].path)
    columns = {role: _union([part.frame[role].array for part in parts]) for role in LABELS}
    columns[SCORE] = np.concatenate([part.frame[SCORE] for part in parts])
    frame = pd.DataFrame(columns, np.concatenate([part.frame.index for part in parts]))
    others = sorted({name for part in parts for name in part.others})
    if not len(frame):
        known = f"; there are {', '.join(others)}" if others else ""
        raise BadInput(f"no score of {metric or 'a topic'}{known}", parts[0].path)
    _refuse_contradictions(frame, parts, end)
    if others:
        notes.append(f"not read: scores of {listed(others)}")
    return Reading(_with_runs(frame, parts[0]), taken, notes)


def _union(columns: list[Any]) -> Any:
    """Return columns of categories as one."""
    return columns[0] if len(columns) == 1 else union_categoricals(columns)


def _by_file(parts: Sequence[Scores], texts: Sequence[Sequence[str]], start: str) -> list[str]:
    """Return texts about files, once each, with the files unless these are all."""
    paths_of: dict[str, list[str]] = {}
    for part, some in zip(parts, texts, strict=True):
        for text in filter(None, some):
            paths_of.setdefault(text, []).append(str(part.path))
    lines = []
    for text, paths in paths_of.items():
        where = listed(paths) if len(paths) < len(parts) else ""
        head = " of ".join(filter(None, [start, where]))
        lines.append(f"{head}: {text}" if head else text)
    return lines


def _refuse_contradictions(frame: pd.DataFrame, parts: Sequence[Scores], end: str) -> None:
    """Refuse a second score of a run on a topic, and topics of two groups."""
    of_part = np.repeat(np.arange(len(parts)), [len(part.frame) for part in parts])
    keys = [role for role in KEYS if len(frame[role].array.categories) > 1] or ["run"]
    again = frame.duplicated(keys).to_numpy().nonzero()[0]
    problems = []
    for row in again[:20].tolist():
        labels, path = frame.iloc[row], parts[of_part[row]].path
        same = np.logical_and.reduce([(frame[role] == labels[role]).to_numpy() for role in keys])
        first = int(same.argmax())
        text = f"a second score of {labels['metric']} for run {labels['run']!r} on topic "
        text += repr(labels["topic"])
        text += f" with seed {labels['seed']!r}" if labels["seed"] else ""
        text += f" at gain setting {labels['gain']}" if labels["gain"] else ""
        text += f" in {labels['collection']}" if labels["collection"] else ""
        if line := int(frame.index[first]):
            other = parts[of_part[first]].path
            where = f"in row {line}" if other is None else f"in line {line}"
            text += f"; the first is {where if other == path else f'{other}:{line}'}"
        problems.append(problem_at(frame, path, row, text))
    of_topic = ["collection", "topic"]
    grouped = frame.reset_index(drop=True)[(frame[GROUP] != "").to_numpy()]
    grouped = grouped.drop_duplicates([*of_topic, GROUP])
    for row in grouped.index[grouped.duplicated(of_topic)].tolist():
        topic, group = grouped.loc[row, "topic"], grouped.loc[row, GROUP]
        first_group = grouped.loc[grouped["topic"] == topic, GROUP].iloc[0]
        text = f"topic {topic!r} is of the topic groups {first_group!r} and {group!r}"
        problems.append(problem_at(frame, parts[of_part[row]].path, row, text))
    refuse(problems, len(problems) + max(0, len(again) - 20), end)


def _with_runs(frame: pd.DataFrame, part: Scores) -> pd.DataFrame:
    """Return scores with runs named by system and seed, ``a#1``, where these are repetitions."""
    pairs = frame[["run", "seed", "system"]].drop_duplicates().astype(str)
    role = "system" if "system" in part.roles else "seed"
    for run, labels in pairs.groupby("run")[role]:
        if role == "system" and len(labels) > 1:
            raise BadInput(
                f"run {run!r} has two systems: {labels.iloc[0]!r} and {labels.iloc[1]!r}; if it "
                "is a repetition of both, choose the column of the systems as "
                f"{option('run_column')} and that of the runs as {option('seed_column')}",
                part.path,
            )
        if role == "seed" and len(labels) > 1 and "" in set(labels):
            raise BadInput(f"run {run!r} has rows with a seed and rows without one", part.path)
    if role == "system" or pairs["run"].is_unique:
        return frame
    numbers = frame.groupby(["run", "seed"], sort=False, observed=True).ngroup().to_numpy()
    named = [
        f"{run}#{seed}" if seed else run
        for run, seed in zip(pairs["run"], pairs["seed"], strict=True)
    ]
    return frame.assign(run=coded(numbers, named), system=frame["run"].array)


def refuse_other_matrices(parts: Sequence[Scores]) -> None:
    """Refuse matrices of one metric (BadPlan), or of other runs or topics (BadInput)."""
    first: dict[str, Scores] = {}
    for part in parts:
        metric = str(part.frame["metric"].iloc[0])
        if first.setdefault(metric, part) is not part:
            raise BadPlan(f"two files of metric {metric}: {part.path} is the second")
    start = next(iter(first), "")
    for metric, part in first.items():
        only = []
        for dim in ("run", "topic"):
            ours, others = (set(frame[dim].unique()) for frame in (part.frame, first[start].frame))
            only += [
                f"{dim} {listed(sorted(labels))} only in {where}"
                for labels, where in ((others - ours, start), (ours - others, metric))
                if labels
            ]
        if only:
            raise BadInput(
                f"the matrices of {metric} and {start} have different runs or topics: "
                f"{', '.join(only)}; give those that all have, or one collection for each"
            )
