"""Tables of scores -> tidy frames: what was decided of their columns is read and said."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import BadInput, option
from scorecube.ingest import cells, headings
from scorecube.ingest import measure_names as measures
from scorecube.ingest.cells import is_score
from scorecube.ingest.columns import FILE, Column, Columns, Table, taken_by
from scorecube.ingest.delimited import read_delimited
from scorecube.ingest.files import PathLike, name_in
from scorecube.ingest.headings import ROLES, SCORES, header_word, is_aggregate
from scorecube.ingest.reading import LONG, Reading
from scorecube.ingest.roles import decide
from scorecube.ingest.scores import SCORE, Part, matrix_scores, only_measures
from scorecube.ingest.table_notes import line_of, notes_of
from scorecube.ingest.tables import labels_of, metric_of_column

ENDINGS = r"\.(csv|tsv|tab|txt|jsonl|ndjson|json|parquet)$"


def read_tables(
    tables: Sequence[Table],
    *,
    metric: str | None = None,
    chosen: Mapping[str, str] | None = None,
    layout: str = "",
) -> list[Part]:
    """Return the scores of tables, in their order; the first part of equal tables says their roles.

    metric: The only metric to read. Of a table without a metric column, the column of that name;
        without such a column, the name of the column score, or of the scores of a matrix.
    chosen: Role -> its column, see `scorecube.ingest.roles`.
    layout: `LONG` or `MATRIX`, if that is not to be found out.
    """
    roles = dict(chosen or {})
    column = roles.pop(SCORE, None)
    if column is not None:
        metric = metric or metric_of_column(column)
        tables = [with_score_column(table, column, metric) for table in tables]
    by_header: dict[tuple[str, ...], list[int]] = {}
    for number, table in enumerate(tables):
        if not len(table.frame):
            raise BadInput("a header without scores", table.path)
        by_header.setdefault(tuple(map(str, table.frame.columns)), []).append(number)
    parts: dict[int, Part] = {}
    for numbers in by_header.values():
        columns = Columns([tables[k] for k in numbers], roles, layout, metric)
        reading = decide(columns)
        read = _read_long if reading.form == LONG else _read_matrix
        parts |= zip(numbers, read(columns, reading, metric), strict=True)
    return [part for _, part in sorted(parts.items())]


def with_score_column(table: Table, column: str, metric: str) -> Table:
    """Return a table whose column of scores is called as their metric (BadInput for none)."""
    frame = table.frame
    header = list(map(str, frame.columns))
    same = [name for name in header if name == column]
    alike = same or [name for name in header if header_word(name) == header_word(column)]
    if len(alike) != 1:
        text = f"no column of scores {column!r}; found {', '.join(header)[:200]}"
        raise BadInput(text, table.path, option="score_column")
    if metric in header and metric != alike[0]:
        frame = frame.drop(columns=metric)
    return table._replace(frame=frame.rename(columns={alike[0]: metric}))


def _read_long(columns: Columns, reading: Reading, metric: str | None) -> list[Part]:
    """Return the scores of tables with a row for each, or for those of a run on a topic."""
    label = _names_of_measures(columns, reading)
    runs = names_of_files([table.path for table in columns.tables])
    named: dict[str, str] = {}
    if "metric" not in reading.at:
        named = _metrics(columns, reading, metric, label)
    taken = {*named, *taken_by(reading.at)}
    unread = [column for column in columns.all if column.name not in taken]
    notes = [
        line_of(columns, reading, _said(columns, reading, named), unread),
        *notes_of(columns, reading, [*named], unread),
    ]
    percent = frozenset(named[column] for column in _in_percent(columns, [*named]))
    kept: Sequence[str] = [line for pair in named.items() if (line := measures.why_kept(*pair))]
    parts: list[Part] = []
    start = 0
    for table, run in zip(columns.tables, runs, strict=True):
        rows = slice(start, start + len(table.frame))
        start = rows.stop
        frame = _labels_of(table, reading, run)
        if SCORE in reading.at:
            frame[SCORE] = columns.named[reading.at[SCORE][0]].cells_in(rows)
        if named:
            frames = [
                frame.assign(metric=name, score=columns.named[column].cells_in(rows))
                for column, name in named.items()
            ]
            frame = pd.concat(frames)
        else:
            frame, _, kept, *_ = only_measures(frame, metric, label, table.path)
        rest = table.frame[[column.name for column in unread]]
        said = [*table.notes, *notes, *kept]
        parts.append(Part(frame, table.path, said, reading.words, rest, percent))
    return parts


def _said(columns: Columns, reading: Reading, named: Mapping[str, str]) -> list[str]:
    """Return the metrics of a long table, with their columns where these are called otherwise."""
    if "metric" in reading.at:
        (column,) = reading.at["metric"]
        return [f"column {column} ({len(columns.named[column].labels)})"]
    return [
        name if name == column else f"{name} (column {column})" for column, name in named.items()
    ]


def _names_of_measures(columns: Columns, reading: Reading) -> Callable[[str], str]:
    """Return what names a measure of another tool here."""
    is_pyterrier = columns.path is None or header_word(reading.at["run"][0]) == headings.NAME
    return measures.from_pyterrier if is_pyterrier else measures.from_trec_eval


def _labels_of(table: Table, reading: Reading, run: str) -> pd.DataFrame:
    """Return the columns of labels of a table, by role; several of one role are joined."""
    frame = pd.DataFrame(index=table.frame.index)
    for role, names in reading.at.items():
        if names == (FILE,) and FILE not in table.frame:
            frame[role] = pd.Categorical.from_codes(np.zeros(len(frame), int), pd.Index([run]))
        elif len(names) == 1 and role != "collection":
            frame[role] = table.frame[names[0]]
        else:
            columns = [labels_of(table.frame[name]) for name in names]
            frame[role] = [_joined(parts) for parts in zip(*columns, strict=True)]
    return frame


def _joined(parts: tuple[str, ...]) -> str:
    """Return labels as one, between slashes; '' if one is missing."""
    return "/".join([part.replace("/", "-") for part in parts]) if all(parts) else ""


def _metrics(
    columns: Columns, reading: Reading, metric: str | None, label: Callable[[str], str]
) -> dict[str, str]:
    """Return the metric of each column that has scores."""
    taken = taken_by(reading.at)
    free = [column for column in columns.all if column.name not in taken]
    numbers = [column for column in free if column.is_number or column.word in SCORES]
    scores = [column.name for column in numbers if column.word in SCORES]
    if metric is not None:
        return _asked(numbers, scores, metric, label)
    kept = [column for column in numbers if not column.fact and not is_aggregate(column.name)]
    varying = [column for column in kept if column.is_like_measure or len(column.labels) > 1]
    kept = varying or kept
    if not kept:
        facts = [f"{column.name} ({column.fact or 'a mean'})" for column in numbers]
        advice = f"no metric are {listed(facts)}; {option('metric')} reads one" if facts else ""
        raise columns.refusal(f"no column of scores beside run and topic; {advice}".rstrip("; "))
    if [column.name for column in kept] == scores:
        return dict.fromkeys(scores, SCORE)
    return {column.name: label(column.name) for column in kept}


def _asked(
    numbers: Sequence[Column], scores: Sequence[str], metric: str, label: Callable[[str], str]
) -> dict[str, str]:
    """Return the column of the only metric that is read: of its name, alike, or of scores."""
    for names in (
        [column.name for column in numbers if column.name == metric],
        [column.name for column in numbers if column.word == header_word(metric)],
        [column.name for column in numbers if label(column.name) == metric],
        scores,
    ):
        if names:
            return dict.fromkeys(names, metric)
    found = listed([column.shown for column in numbers])
    raise BadInput(f"no column {metric}, or of numbers beside run and topic; found {found}")


def _read_matrix(columns: Columns, reading: Reading, metric: str | None) -> list[Part]:
    """Return the scores of matrices: topics down and runs across, or exchanged."""
    down = "topic" if reading.across == "run" else "run"
    labels = reading.at.get(down, ())
    names = [metric or _metric_of_matrix(columns, reading, table) for table in columns.tables]
    taken = {*reading.values, *taken_by(reading.at)}
    unread = [column for column in columns.all if column.name not in taken]
    shown = list(dict.fromkeys(names))
    notes = [
        line_of(columns, reading, shown, unread),
        *notes_of(columns, reading, [*reading.values], []),
    ]
    parts: list[Part] = []
    start = 0
    for table, name in zip(columns.tables, names, strict=True):
        rows = slice(start, start + len(table.frame))
        start = rows.stop
        matrix = pd.DataFrame(
            {value: columns.named[value].cells_in(rows) for value in reading.values},
            labels_of(table.frame[labels[0]]) if labels else numbered("", len(table.frame)),
        )
        frame = matrix_scores(name, matrix, down, reading.across)
        frame.index = np.tile(table.frame.index, len(reading.values))
        for role in ("collection", "topic_group"):
            if role in reading.at:
                frame[role] = np.tile(_labels_of(table, reading, "")[role], len(reading.values))
        percent = frozenset([name]) if _in_percent(columns, reading.values) else frozenset[str]()
        said = [*table.notes, *notes]
        parts.append(Part(frame, table.path, said, reading.words, percent=percent))
    return parts


def _in_percent(columns: Columns, names: Sequence[str]) -> list[str]:
    """Return the columns in whose cells a per cent sign was read."""
    return [name for name in names if cells.PERCENTS in columns.named[name].numbers.how]


def _metric_of_matrix(columns: Columns, reading: Reading, table: Table) -> str:
    """Return what names the scores of a matrix: a column, else its file."""
    if "metric" in reading.at:
        return columns.named[reading.at["metric"][0]].labels[0]
    return SCORE if table.path is None else measures.metric_of_file(table.path)


def names_of_files(paths: Sequence[PathLike | None]) -> list[str]:
    """Return what files are called as runs: by name, else by folder, else by both."""
    if None in paths:
        return [""] * len(paths)
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


def without_header(text: str, path: PathLike) -> Table:
    """Return a matrix without a header as a table: runs are numbered, and topics without ids.

    The first column holds topics where it has other cells than scores, or different whole numbers
    beside scores with a fraction.
    """
    frame = read_delimited(text, path, has_header=False).frame
    has_labels = _has_ids(frame)
    header = [*[""] * has_labels, *numbered("run", len(frame.columns) - has_labels)]
    frame.columns = pd.Index(header)
    return Table(frame, ("no header: runs are numbered",), path)


def _has_ids(frame: pd.DataFrame) -> bool:
    """Return whether a first column has ids rather than scores."""
    first = frame.iloc[:, 0].tolist()
    if not all(map(is_score, first)):
        return True
    is_whole = all(map(str.isdigit, first)) and len({*first}) == len(first)
    return is_whole and any("." in cell for cell in frame.iloc[:, 1:].to_numpy().ravel())


def is_headerless(rows: Sequence[list[str]]) -> bool:
    """Return whether rows are a matrix without a header: scores, and a fraction first."""
    rows = [cells[0].split() if len(cells) == 1 else cells for cells in rows]
    widths = {len(row) for row in rows}
    word = header_word(rows[0][0]) if rows and rows[0] else ""
    if len(widths) != 1 or word in ROLES["run"] | ROLES["topic"] | {""}:
        return False
    scores = [cell for row in rows for cell in row[1:]]
    is_first = any("." in cell and is_score(cell) for cell in rows[0])
    return is_first and bool(scores) and all(map(is_score, scores))
