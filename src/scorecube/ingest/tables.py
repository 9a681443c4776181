"""Tables as they are stored -> data frames: CSV, TSV, JSON lines, Parquet; labels from CSV files.

The columns of a table are called as in the file, its index `LINE` holds lines, or rows from 1 on.
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scorecube.collection.schema import LARGEST_SCORE
from scorecube.errors import BadInput, counted, kind_of
from scorecube.files import label_of_spreadsheet
from scorecube.ingest.files import PathLike, read_text, refuse_unprintable
from scorecube.ingest.roles import SCORES, header_word
from scorecube.names import SCORE

MISSING = {"", "na", "nan", "-nan", "n/a", "#n/a", "null", "none", "-"}
"""Cells of missing scores, in lower case."""
FLAGS = {"true": 1.0, "false": 0.0}
"""Cells of correct and wrong answers, in lower case."""
DELIMITERS = "\t;,"
LINE = "line"
NESTED = (list, tuple, dict, set, np.ndarray)


def table_of_text(text: str, path: PathLike | None, *, has_header: bool = True) -> pd.DataFrame:
    """Return the table of a text with cells between commas, tabs or semicolons.

    has_header: Without one, columns are numbered, and cells may stand between blanks.
    """
    reader = csv.reader(
        io.StringIO(text), delimiter=delimiter_of(text), strict=True, skipinitialspace=True
    )
    rows: list[list[str]] = []
    lines: list[int] = []
    start = 1
    try:
        for row in reader:
            cells = row[0].split() if len(row) == 1 and not has_header else row
            if len(cells) > 1 or any(map(str.strip, cells)):
                rows.append(cells)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise BadInput(f"not CSV: {error}", path, start) from None
    if not rows:
        raise BadInput("the file has no cell that is not empty", path)
    width = len(rows[0])
    for row, line in zip(rows, lines, strict=True):
        if len(row) != width:
            text = f"{counted(len(row), 'cell')}, the header has {width}"
            raise BadInput(text, path, line)
    if not has_header:
        header = list(map(str, range(1, width + 1)))
        return pd.DataFrame(rows, pd.Index(lines, name=LINE), header, dtype=object)
    header = list(map(str.strip, rows[0]))
    refuse_repeated(header, path, lines[0])
    return pd.DataFrame(rows[1:], pd.Index(lines[1:], name=LINE), header, dtype=object)


def refuse_repeated(header: list[str], path: PathLike | None, line: int | None = None) -> None:
    """Refuse two columns of one name (BadInput)."""
    if repeated := [name for name, count in Counter(header).items() if count > 1]:
        raise BadInput(f"several columns are called {repeated[0]!r}", path, line)


def delimiter_of(text: str) -> str:
    """Return the most frequent delimiter that occurs equally often in the first two lines."""
    lines = [line for line in text[:10_000_000].split("\n", 50) if line.strip()][:2] or [""]
    outside = ["".join(line.split('"')[::2]) for line in lines]  # quotes
    counts = {mark: [line.count(mark) for line in outside] for mark in DELIMITERS}
    fitting = [mark for mark in DELIMITERS if counts[mark][0] and len(set(counts[mark])) == 1]
    return max(fitting or DELIMITERS[::-1], key=lambda mark: counts[mark][0])


def table_of_frame(frame: pd.DataFrame, lines: Sequence[int] = ()) -> pd.DataFrame:
    """Return a data frame as a table: named labels of rows are columns, nested cells are text."""
    named = [name for name in frame.index.names if name is not None]
    if named:
        frame = frame.reset_index(named)
    header = list(map(str, frame.columns))
    refuse_repeated(header, None)
    table = frame.set_axis(header, axis=1)
    table.index = pd.Index(lines or range(1, len(table) + 1), name=LINE)
    return plain_cells(table)


def with_score_column(
    table: pd.DataFrame, column: str, metric: str, path: PathLike | None
) -> pd.DataFrame:
    """Return a table whose column of scores is called as their metric.

    Raises BadInput: The table has no such column.
    """
    header = list(map(str, table.columns))
    same = [name for name in header if name == column]
    alike = same or [name for name in header if header_word(name) == header_word(column)]
    if len(alike) != 1:
        text = f"no column of scores {column!r}; found {', '.join(header)[:200]}"
        raise BadInput(text, path, option="score_column")
    if metric in header and metric != alike[0]:
        table = table.drop(columns=metric)
    return table.rename(columns={alike[0]: metric})


def metric_of_column(column: str) -> str:
    """Return the metric whose scores a column holds: the last part of a name with dots.

    Examples
    --------
    >>> [metric_of_column(name) for name in ("scores.0.value", "scores.f1", "nDCG@10")]
    ['score', 'f1', 'nDCG@10']
    """
    last = column.rpartition(".")[2] or column
    return SCORE if header_word(last) in SCORES else last


def _text_of(cell: object) -> str:
    """Return the text of a nested cell, its kind if it is nested too deep."""
    try:
        return str(cell)
    except RecursionError:
        return kind_of(cell)


def kinds_in(column: pd.Series[Any]) -> set[type]:
    """Return the types of cells."""
    return set(map(type, column.tolist()))


def plain_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose nested cells are text, which is no number and names its row."""
    changed = {}
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        if column.dtype != object:
            continue
        if any(issubclass(kind, NESTED) for kind in kinds_in(column)):
            cells = column.tolist()
            texts = [_text_of(cell) if isinstance(cell, NESTED) else cell for cell in cells]
            changed[name] = pd.Series(texts, frame.index, dtype=object)
    return frame.assign(**changed) if changed else frame


def read_parquet(path: PathLike) -> pd.DataFrame:
    """Return the frame of a Parquet file (BadInput for a damaged one, and without pyarrow)."""
    try:
        return pd.read_parquet(path)
    except Exception as error:  # of many types
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadInput(f"the Parquet file cannot be read: {text}", path) from None


def columns_of(
    path: PathLike, names: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of columns of a CSV file, empty for optional ones it lacks."""
    table = table_of_text(read_text(path), path)
    found = ",".join(table.columns)[:200]
    table.columns = pd.Index(list(map(header_word, table.columns)))
    wanted = [header_word(name) for name in (*names, *optional)]
    if not {*wanted[: len(names)]} <= {*table} or not table.columns.is_unique:
        expected = ", ".join(names)
        raise BadInput(f"the header must have the columns {expected}; found {found}", path, 1)
    for line, *cells in table.reindex(columns=wanted, fill_value="").itertuples(name=None):
        yield line, [cell.strip() for cell in cells]


def number_of(cell: Any) -> float:
    """Return the number in a cell, NaN if it is missing; infinity for other content."""
    text = "" if cell is None else str(cell).strip().lower()
    if text in FLAGS or text in MISSING:
        return FLAGS.get(text, math.nan)
    try:
        return float(text.replace("_", "x"))
    except ValueError:
        return math.inf


def numbers_of(cells: pd.Series[Any]) -> tuple[Any, Any]:
    """Return the numbers in cells, NaN for missing ones, and the rows of cells that are none."""
    if pd.api.types.is_numeric_dtype(cells):
        numbers = cells.to_numpy(np.float64, na_value=np.nan)
    else:
        codes, different = pd.factorize(cells)
        numbers = np.array([*map(number_of, different), math.nan])[codes]
    return numbers, np.flatnonzero(np.abs(numbers) > LARGEST_SCORE)


def is_score(text: str) -> bool:
    """Return whether a cell is a number, empty, or a word such as NA."""
    return text.lower() not in FLAGS and not abs(number_of(text)) > LARGEST_SCORE


def labels_of(cells: pd.Series[Any]) -> pd.Categorical:
    """Return the labels in cells as categories of text, '' for missing ones."""
    codes, different = pd.factorize(cells)
    texts = [label_of_spreadsheet(label_of(cell)) for cell in different]
    texts += [""] * bool((codes < 0).any())
    again, labels = pd.factorize(np.array(texts, object))
    return pd.Categorical.from_codes(again[codes], pd.Index(labels, dtype=object))


def in_one_line(labels: pd.Categorical) -> pd.Categorical:
    """Return labels whose line ends and tabs are blanks, with the text between them."""
    texts = [str(label) for label in labels.categories]
    if not any("\n" in text or "\t" in text or "\r" in text for text in texts):
        return labels
    codes, found = pd.factorize(
        np.array([re.sub(r"\s*[\n\r\t]\s*", " ", text) for text in texts], object)
    )
    return pd.Categorical.from_codes(codes[labels.codes], pd.Index(found, dtype=object))


def label_of(cell: Any) -> str:
    """Return the text of a label; '' for a missing one."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    return "" if cell is None or cell != cell else str(cell).strip()


Labels = dict[str, str]


def read_run_labels(path: PathLike) -> tuple[Labels | None, Labels | None]:
    """Read a CSV file of runs: run -> team, and run -> system, or None without such a column."""
    teams, systems = (_labels(path, ("run",), (kind,)) or None for kind in ("team", "system"))
    if not teams and not systems:
        raise BadInput("no team, and no system: the columns are run and team", path, 1)
    return teams, systems


def read_topic_groups(path: PathLike) -> Labels:
    """Read a CSV file with the columns topic and topic_group, which may be empty."""
    return _labels(path, ("topic", "topic_group"))


def _labels(path: PathLike, columns: tuple[str, ...], optional: tuple[str, ...] = ()) -> Labels:
    """Read the columns of a name and its label."""
    labels: Labels = {}
    of, kind = (*columns, *optional)
    for line, (name, label) in columns_of(path, columns, optional):
        refuse_unprintable(name, of, path, line)
        refuse_unprintable(label, kind, path, line)
        if label and labels.setdefault(name, label) != label:
            two = f"{label!r} here and {labels[name]!r} before"
            raise BadInput(f"{of} {name!r} has two {kind}s: {two}", path, line)
    return labels
