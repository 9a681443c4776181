"""Tables of scores -> tidy frames: what was decided of their columns is read and said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from scorecube.collection import names_of_tools as measures
from scorecube.collection.teams import listed
from scorecube.errors import BadInput, Note
from scorecube.ingest import cells
from scorecube.ingest.cells import is_score
from scorecube.ingest.column_roles import decide, scores_of
from scorecube.ingest.columns import FILE, Column, Columns, choice
from scorecube.ingest.data_frames import labels_of, metric_of_column
from scorecube.ingest.delimited import CellTable, read_delimited
from scorecube.ingest.headings import (
    GROUPS,
    NAME,
    ROLES,
    SCORES,
    TAKEN,
    aggregates,
    header_word,
    runs_in,
)
from scorecube.ingest.input_files import PathLike, name_in
from scorecube.ingest.reading import LONG, MATRIX, Reading, has_ids
from scorecube.ingest.scores import SCORE, ScorePart, only_measures

ENDINGS = r"\.(csv|tsv|tab|txt|jsonl|ndjson|json|parquet)$"
PLURALS = {"collection": "collections", "seed": "repetitions", "topic_group": "groups"}
"""Role -> the word of the line of roles."""


def read_tables(
    tables: Sequence[CellTable],
    *,
    metric: str | None = None,
    chosen: Mapping[str, str] | None = None,
    layout: str = "",
) -> list[ScorePart]:
    """Return the scores of tables, in their order; the first part of equal tables says their roles.

    metric: The only metric to read. Of a table without a metric column, the column of that name;
        without such a column, the name of the column score, or of the scores of a matrix.
    chosen: Role -> its column, see `scorecube.ingest.column_roles`.
    layout: `LONG` or `MATRIX`, if that is not to be found out.
    """
    by_header: dict[tuple[str, ...], list[int]] = {}
    for number, table in enumerate(tables):
        if not len(table.frame):
            raise BadInput("a header without scores", table.path)
        by_header.setdefault(tuple(map(str, table.frame.columns)), []).append(number)
    parts: dict[int, ScorePart] = {}
    for numbers in by_header.values():
        columns = Columns([tables[k] for k in numbers], chosen or {}, layout, metric)
        parts |= zip(numbers, _read(columns, decide(columns), metric), strict=True)
    return [part for _, part in sorted(parts.items())]


def _read(columns: Columns, reading: Reading, metric: str | None) -> list[ScorePart]:
    """Return the scores of tables: labels stand beside a score, or in its heading."""
    is_pyterrier = columns.path is None or NAME in map(header_word, reading.at.get("run", ()))
    label = measures.from_pyterrier if is_pyterrier else measures.from_trec_eval
    headed = _headed(columns, reading, metric, label)
    unread = columns.free({**reading.at, SCORE: tuple(headed)})
    paths = [table.path for table in columns.tables]
    by_file = [SCORE if path is None else measures.metric_of_file(path) for path in paths]
    if reading.across == "topic" and _are_of_runs(columns, reading, by_file):
        by_file = [SCORE] * len(paths)
    said = _said(columns, reading, headed) or [*dict.fromkeys(by_file)]
    notes = [
        _line_of(columns, reading, said, unread),
        *_notes_of(columns, reading, [*headed], unread),
    ]
    for column, labels in headed.items():
        if reading.form == LONG and (why := measures.why_kept(column, labels.get("metric", ""))):
            notes.append(why)
    signed = [name for name in headed if cells.PERCENTS in columns.named[name].numbers.how]
    is_by_file = (FILE,) in reading.at.values() and FILE not in columns.named
    runs = names_of_files(paths) if is_by_file else [""] * len(paths)
    parts: list[ScorePart] = []
    for number, table in enumerate(columns.tables):
        frame = _labels_of(table, reading, runs[number])
        frame = _scores_of(columns, number, frame, headed)
        kept: Sequence[str] = ()
        if "metric" not in frame:
            frame["metric"] = by_file[number]
        elif "metric" in reading.at:
            frame, _, kept, *_ = only_measures(frame, metric, label, table.path)
        percent = frozenset(headed[name].get("metric", by_file[number]) for name in signed)
        rest = table.frame[[column.name for column in unread]]
        said_of = [*table.notes, *notes, *kept]
        of_runs = reading.at.get("run", ())
        parts.append(ScorePart(frame, table.path, said_of, reading.words, rest, percent, of_runs))
    return parts


def _are_of_runs(columns: Columns, reading: Reading, names: Sequence[str]) -> bool:
    """Return whether files of other runs each are called as no measure, and so name no metric."""
    if "run" not in reading.at:
        return False
    (down,) = reading.at["run"]
    runs = [labels_of(table.frame[down]).categories for table in columns.tables]
    is_apart = sum(map(len, runs)) == len({*chain.from_iterable(runs)})
    return len(runs) > 1 and is_apart and not any(map(measures.is_measure, names))


def _headed(
    columns: Columns, reading: Reading, metric: str | None, label: Callable[[str], str]
) -> dict[str, dict[str, str]]:
    """Return the labels in the headings of columns of scores: of a metric, a run, a topic."""
    if reading.form == LONG:
        if "metric" in reading.at:
            return {reading.at[SCORE][0]: {}}
        if SCORE in reading.at:
            (column,) = reading.at[SCORE]
            return {column: {"metric": metric or metric_of_column(column)}}
        named = _metrics(columns, reading, metric, label)
        return {column: {"metric": name} for column, name in named.items()}
    runs = runs_in(reading.values) if reading.across == "run" else {}
    headed: dict[str, dict[str, str]] = {}
    for column in runs or reading.values:
        headed[column] = {reading.across: column}
        if column in runs:
            run, measure = runs[column]
            headed[column] = {"run": run, "metric": label(measure)}
        if metric is not None:
            headed[column]["metric"] = metric
    return headed


def _scores_of(
    columns: Columns, number: int, labels: pd.DataFrame, headed: Mapping[str, Mapping[str, str]]
) -> pd.DataFrame:
    """Return a row for each score of a table, with its labels."""
    n_rows = len(labels)
    rows = slice(columns.starts[number], columns.starts[number] + n_rows)
    scores = [columns.named[name].cells_in(rows) for name in headed]
    if len(headed) > 1:
        labels = labels.take(np.tile(np.arange(n_rows), len(headed)))
    of_headings = pd.DataFrame([*headed.values()], dtype=object)
    for role in of_headings:
        labels[role] = np.repeat(of_headings[role].to_numpy(), n_rows)
    labels[SCORE] = np.concatenate(scores)
    return labels


def _said(columns: Columns, reading: Reading, headed: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Return the metrics of a table that are not named by file, with columns called otherwise."""
    if "metric" in reading.at:
        (column,) = reading.at["metric"]
        labels = columns.named[column].labels
        return labels if reading.form == MATRIX else [f"column {column} ({len(labels)})"]
    named = {column: labels["metric"] for column, labels in headed.items() if "metric" in labels}
    if reading.form == MATRIX:
        return [*dict.fromkeys(named.values())]
    return [name if name == of else f"{name} (column {of})" for of, name in named.items()]


def _labels_of(table: CellTable, reading: Reading, run: str) -> pd.DataFrame:
    """Return the columns of labels of a table, by role; several of one role are joined."""
    frame = pd.DataFrame(index=table.frame.index)
    for role, names in reading.at.items():
        if role == SCORE:
            continue
        if names == (FILE,) and FILE not in table.frame:
            frame[role] = pd.Categorical.from_codes(np.zeros(len(frame), int), pd.Index([run]))
        elif len(names) == 1 and role != "collection":
            frame[role] = table.frame[names[0]]
        else:
            columns = [labels_of(table.frame[name]) for name in names]
            frame[role] = [_joined(parts) for parts in zip(*columns, strict=True)]
    down = "run" if reading.across == "topic" else "topic"
    if down not in frame:
        frame[down] = numbered("", len(frame))
    return frame


def _joined(parts: tuple[str, ...]) -> str:
    """Return labels as one, between slashes; '' if one is missing."""
    return "/".join([part.replace("/", "-") for part in parts]) if all(parts) else ""


def _metrics(
    columns: Columns, reading: Reading, metric: str | None, label: Callable[[str], str]
) -> dict[str, str]:
    """Return the metric of each column that has scores: the only one, if one is asked for."""
    found = scores_of(columns, reading.at)
    scores = [column.name for column in found if column.word in SCORES]
    if metric is None:
        varying = [one for one in found if one.is_like_measure or len(one.labels) > 1]
        names = [column.name for column in varying or found]
        return dict.fromkeys(scores, SCORE) if names == scores else {n: label(n) for n in names}
    exact = [column.name for column in found if column.name == metric]
    alike = [column.name for column in found if column.word == header_word(metric)]
    named = [column.name for column in found if label(column.name) == metric]
    if names := exact or alike or named or scores:
        return dict.fromkeys(names, metric)
    raise columns.refusal(f"no column {metric}, or of numbers beside run and topic")


def _line_of(
    columns: Columns, reading: Reading, metrics: Sequence[str], unread: Sequence[Column]
) -> str:
    """Return the line about what columns were taken for, and which are not read."""
    said = [
        TAKEN + _where(columns, reading, "run"),
        "topics: " + _where(columns, reading, "topic"),
        "metrics: " + ", ".join(metrics),
    ]
    for role, word in PLURALS.items():
        if role in reading.at:
            said.append(f"{word}: {_counted(columns, reading.at[role])}")
    if "system" in reading.at:
        said.append(f"systems: {_counted(columns, reading.at['system'])}")
    if unread:
        said.append("not read: " + ", ".join(column.shown for column in unread))
    return "; ".join(said)


def _where(columns: Columns, reading: Reading, role: str) -> str:
    """Return where the labels of a role stand, and how many there are."""
    if role == reading.across:
        count = len(reading.values)
        return f"column{'s' * (count > 1)} {listed(reading.values)} ({count})"
    names = reading.at.get(role, ())
    if not names:
        return f"by line ({max(len(table.frame) for table in columns.tables)})"
    is_worded = names == ("",) or (names == (FILE,) and FILE not in columns.named)
    word = "" if is_worded else f"column{'s' * (len(names) > 1)} "
    return word + _counted(columns, names)


def _counted(columns: Columns, names: Sequence[str]) -> str:
    """Return columns with the number of their labels, means and the like aside."""
    if names == (FILE,) and FILE not in columns.named:
        return f"the file ({len(columns.tables)})"
    shown = ", ".join(columns.named[name].shown for name in names)
    if len(names) > 1:
        rows = pd.concat([table.frame[[*names]] for table in columns.tables])
        return f"{shown} ({len(rows.drop_duplicates())})"
    labels = [label for label in columns.named[names[0]].labels if label]
    return f"{shown} ({len(labels) - len(aggregates(labels))})"


def _notes_of(
    columns: Columns, reading: Reading, values: Sequence[str], unread: Sequence[Column]
) -> list[str]:
    """Return notes on cells that are not plain, and on what may be a group of topics."""
    ways: dict[str, list[str]] = {}
    for name in values:
        column = columns.named[name]
        if column.numbers.how:
            ways.setdefault(column.numbers.how, []).append(column.shown)
    notes: list[str] = []
    for how, names in ways.items():
        words = how.split("/")
        notes.append(
            f"{listed(names)}: {words[0]} is 1, {words[1]} is 0"
            if len(words) == 2
            else f"{listed(names)}: {how} are read"
        )
    return notes + [line for column in unread if (line := _note_on_group(columns, reading, column))]


def _note_on_group(columns: Columns, reading: Reading, column: Column) -> str:
    """Return a note on a column that may be what several topics have in common; '' for others."""
    topics = reading.at.get("topic", ())
    is_told = reading.form == MATRIX or "topic_group" in reading.at
    if column.word not in GROUPS or is_told or len(topics) != 1:
        return ""
    topic = columns.named[topics[0]]
    n_groups = len(column.labels)
    n_topics = len(topic.labels)
    pairs = {*zip(topic.values.astype(str), column.values.astype(str), strict=True)}
    if not 1 < n_groups < n_topics or len(pairs) > n_topics:
        return ""
    return Note(
        f"{column.name} seems to group topics ({n_groups} groups of {n_topics} topics), which are "
        f"taken as independent: {choice('topic_group', column.name)} makes units of groups"
    )


def names_of_files(paths: Sequence[PathLike | None]) -> list[str]:
    """Return what files are called as runs: by name, else by folder, else by both."""
    names = [name_in(str(path), ENDINGS) for path in paths]
    folders = [Path(str(path)).absolute().parent.name for path in paths]
    both = [f"{folder}/{name}" for folder, name in zip(folders, names, strict=True)]
    for found in (names, folders):
        if len({*found}) == len(found):
            return found
    return both


def numbered(what: str, count: int) -> list[str]:
    """Return labels of topics, or of runs, from 1 on."""
    return [f"{what}{k:0{len(str(count))}}" for k in range(1, count + 1)]


def without_header(text: str, path: PathLike) -> CellTable:
    """Return a matrix without a header as a table: runs are numbered, and topics without ids.

    The first column holds topics where it has other cells than scores, or different whole numbers
    beside scores with a fraction.
    """
    table = read_delimited(text, path, has_header=False)
    columns = Columns([table], {})
    has_labels = columns.all[0].is_text or has_ids(columns)
    header = [*[""] * has_labels, *numbered("run", len(columns.all) - has_labels)]
    frame = table.frame.set_axis(header, axis=1)
    return CellTable(frame, ("no header: runs are numbered",), path)


def is_headerless(rows: Sequence[list[str]]) -> bool:
    """Return whether rows are a matrix without a header: scores, and a fraction first."""
    rows = [cells[0].split() if len(cells) == 1 else cells for cells in rows]
    is_ragged = len({len(row) for row in rows}) != 1
    if is_ragged or header_word(rows[0][0]) in ROLES["run"] | ROLES["topic"] | {""}:
        return False
    firsts = [row[0] for row in rows]
    if len({*firsts}) < len(rows) and not all(map(is_score, firsts)):
        return False  # lines of run, topic and score
    scores = [*chain.from_iterable(row[1:] for row in rows)]
    is_first = any("." in cell and is_score(cell) for cell in rows[0])
    return is_first and bool(scores) and all(map(is_score, scores))
