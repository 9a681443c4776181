"""Parquet and data frames -> tables; the labels of rows; labels from CSV files.

The columns of a table are called as in the file; its index holds lines, or rows from 1 on.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scorecube.errors import BadInput, kind_of
from scorecube.files import label_of_spreadsheet
from scorecube.ingest.delimited import KEYS, LINE, ROW, read_delimited, refuse_repeated
from scorecube.ingest.headings import SCORES, header_word
from scorecube.ingest.input_files import PathLike, read_text, refuse_unprintable
from scorecube.names import SCORE

NESTED = (list, tuple, dict, set, np.ndarray)


def table_of_frame(frame: pd.DataFrame, lines: Sequence[int] = ()) -> pd.DataFrame:
    """Return a data frame as a table: named labels of rows are columns, nested cells are text."""
    named = [name for name in frame.index.names if name is not None]
    if named:
        frame = frame.reset_index(named)
    header = list(map(str, frame.columns))
    refuse_repeated(header, None)
    table = frame.set_axis(header, axis=1)
    table.index = pd.Index(lines or range(1, len(table) + 1), name=LINE if lines else ROW)
    return plain_cells(table)


def problem_at(text: str, index: pd.Index[Any], row: int, path: PathLike | None) -> BadInput:
    """Return the error about a row of a table, or of scores, by its line if it has one."""
    if index.name == KEYS:  # run, topic and metric are told
        return BadInput(text, path, option=None if path else "scores")
    line = int(index[row])
    if path is None or index.name == ROW:
        return BadInput(f"row {line}: {text}", path, option=None if path else "scores")
    return BadInput(text, path, line)


def metric_of_column(column: str) -> str:
    """Return the metric whose scores a column holds: the last part of a name with dots."""
    last = column.rpartition(".")[2] or column
    return SCORE if header_word(last) in SCORES else last


def _text_of(cell: object) -> object:
    """Return the text of a nested cell, its kind if it is nested too deep; others as they are."""
    try:
        return str(cell) if isinstance(cell, NESTED) else cell
    except RecursionError:
        return kind_of(cell)


def plain_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a frame whose nested cells are text, which is no number and names its row."""
    changed = {}
    for place, name in enumerate(frame.columns):
        column = frame.iloc[:, place]
        kinds = set(map(type, column)) if column.dtype == object else set()
        if any(issubclass(kind, NESTED) for kind in kinds):
            changed[name] = column.map(_text_of)
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
    table = read_delimited(read_text(path), path).frame
    found = ",".join(table.columns)[:200]
    table.columns = pd.Index(list(map(header_word, table.columns)))
    wanted = [header_word(name) for name in (*names, *optional)]
    if not {*wanted[: len(names)]} <= {*table} or not table.columns.is_unique:
        expected = ", ".join(names)
        raise BadInput(f"the header must have the columns {expected}; found {found}", path, 1)
    for line, *cells in table.reindex(columns=wanted, fill_value="").itertuples(name=None):
        yield line, [cell.strip() for cell in cells]


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


def label_of(cell: object) -> str:
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
