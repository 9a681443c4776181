"""Text with cells between commas, tabs or semicolons -> tables, as spreadsheets and tools write it.

Before the header may stand ``sep=;``, lines of comments (#) and a preamble: lines of fewer cells.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd

from scorecube.errors import BadInput, counted
from scorecube.ingest.cells import is_score
from scorecube.ingest.input_files import PathLike

DELIMITERS = "\t;,"
LINE = "line"
ROW = "row"
KEYS = "keys"
"""Names of the index of a table: lines of a text, or rows from 1 on."""
N_LINES = 50
"""Lines from which the delimiter and the number of cells are found."""
LONG_TEXT = 1_000_000
"""Characters from which a text is read by pandas, if all of its lines are alike."""
COMMENT = "#"


class CellTable(NamedTuple):
    """A table: a column each heading; its index is the line, or the row from 1 on."""

    frame: pd.DataFrame
    notes: tuple[str, ...] = ()
    path: PathLike | None = None


def read_delimited(text: str, path: PathLike | None, *, has_header: bool = True) -> CellTable:
    """Return the table of a text, with notes on what stands before its header.

    has_header: Without one, columns are numbered, and cells may stand between blanks.
    """
    delimiter = delimiter_of(text)
    plain, n_comments = without_comments(text, delimiter)
    if not has_header:
        lines, rows = _rows(plain, delimiter, path, is_split=True)
        _refuse_ragged(lines, rows, len(rows[0]), path)
        header = list(map(str, range(1, len(rows[0]) + 1)))
        cells = pd.DataFrame(rows, pd.Index(lines, name=LINE), header, dtype=object)
        return CellTable(cells, (), path)
    notes = [f"{counted(n_comments, 'line')} of comments (#) passed over"] if n_comments else []
    frame = _alike(plain, delimiter)
    if frame is None:
        lines, rows = _rows(plain, delimiter, path)
        n_before = _length_of_preamble(rows)
        if n_before:
            notes.append(f"before the header: {counted(n_before, 'line')} passed over")
        lines = lines[n_before:]
        rows = rows[n_before:]
        _refuse_ragged(lines, rows, len(rows[0]), path)
        index = pd.Index(lines[1:], name=LINE)
        frame = pd.DataFrame(rows[1:], index, _headings(rows[0]), dtype=object)
        frame = _without_empty_columns(frame)
        refuse_repeated([*frame.columns], path, lines[0])
    frame.columns = pd.Index(_headings(list(map(str, frame.columns))), dtype=object)
    return CellTable(frame, tuple(notes), path)


def _headings(cells: Sequence[str]) -> list[str]:
    """Return the headings in the cells of a header, perhaps behind the mark of comments."""
    first, *others = map(str.strip, cells)
    if first.startswith(COMMENT) and len(first) > 1:
        first = first.removeprefix(COMMENT).strip()
    return [first, *others]


def refuse_repeated(header: list[str], path: PathLike | None, line: int | None = None) -> None:
    """Refuse two columns of one name, or without one (BadInput)."""
    repeated = [name for name, count in Counter(header).items() if count > 1]
    if repeated:
        text = f"several columns are called {repeated[0]!r}; a table has one line of headings"
        raise BadInput(text, path, line)


def delimiter_of(text: str) -> str:
    """Return the delimiter that occurs equally often in most of the first lines."""
    first, _, _ = text.partition("\n")
    if first.lower().startswith("sep=") and len(first.strip()) == len("sep=") + 1:
        return first.strip()[-1]
    lines = [line for line in text[:10_000_000].split("\n", N_LINES)[:N_LINES] if line.strip()]
    outside = ["".join(line.split('"')[::2]) for line in lines]  # of quotes
    most: dict[str, tuple[int, int]] = {}
    for mark in DELIMITERS:
        counts = Counter(line.count(mark) for line in outside)
        del counts[0]
        if counts:
            most[mark] = max((n_lines, count) for count, n_lines in counts.items())
    return max(most, key=most.__getitem__, default=",")


def without_comments(text: str, delimiter: str) -> tuple[str, int]:
    """Return a text with empty lines for comments and ``sep=``, and the number of comments.

    A line that begins with # and has as many cells as others is a row; where rows of headings
    follow, a comment.
    """
    lines = text.split("\n", 1)
    if lines[0].lower().startswith("sep="):
        text = "\n".join(["", *lines[1:]])
    if not text.startswith(COMMENT) and f"\n{COMMENT}" not in text:
        return text, 0
    lines = text.split("\n")
    shown = [line for line in lines if line.strip()][: 2 * N_LINES]
    counts = Counter(line.count(delimiter) for line in shown if not line.startswith(COMMENT))
    usual = counts.most_common(1)[0][0] if counts else -1
    others = [line for line in shown if not line.startswith(COMMENT)][:1]
    is_headed = bool(others) and not any(map(is_score, others[0].split(delimiter)))
    n_comments = 0
    is_before = True
    for number, line in enumerate(lines):
        is_before = is_before and (not line.strip() or line.startswith(COMMENT))
        is_row = line.count(delimiter) == usual > 0 and not (is_before and is_headed)
        if line.startswith(COMMENT) and not is_row:
            lines[number] = ""
            n_comments += 1
    return "\n".join(lines), n_comments


def _rows(
    text: str, delimiter: str, path: PathLike | None, *, is_split: bool = False
) -> tuple[list[int], list[list[str]]]:
    """Return the rows that are not empty, and their lines (BadInput for none, and for open quotes).

    is_split: Whether cells may stand between blanks.
    """
    reader = csv.reader(
        io.StringIO(text), delimiter=delimiter, strict=True, skipinitialspace=delimiter != " "
    )
    rows: list[list[str]] = []
    lines: list[int] = []
    start = 1
    try:
        for cells in reader:
            row = cells[0].split() if len(cells) == 1 and is_split else cells
            if any(map(str.strip, row)):
                rows.append(row)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise BadInput(f"not CSV: {error}", path, start) from None
    if not rows:
        raise BadInput("the file has no cell that is not empty", path)
    return lines, rows


def _refuse_ragged(
    lines: Sequence[int], rows: Sequence[list[str]], width: int, path: PathLike | None
) -> None:
    """Refuse a row of more or fewer cells than the header (BadInput)."""
    for line, row in zip(lines, rows, strict=True):
        if len(row) != width:
            text = f"{counted(len(row), 'cell')}, the header has {width}"
            if all(len(other) == width + 1 for other in rows[1:]):
                text += "; row names of R need a heading (col.names=NA, or row.names=FALSE)"
            elif len(row) > width:
                text += "; decimal commas need quotes, or semicolons between cells"
            raise BadInput(text, path, line)


def _length_of_preamble(rows: Sequence[list[str]]) -> int:
    """Return the number of rows before the header: such as titles, of fewer cells."""
    first = rows[:N_LINES]
    width, _ = max(Counter(map(len, first)).items(), key=lambda item: (item[1], item[0]))
    for number, (row, following) in enumerate(pairwise(first)):
        is_title = len(row) > 2 and not any(map(str.strip, row[1:]))
        is_data = any(is_score(cell) for cell in following[1:] if cell.strip())
        if is_title and not is_data and sum(map(bool, following)) > 1:
            continue
        if len(row) == width:
            firsts = [cell.split()[0] for cell in row if cell.strip()]
            is_of_scores = any("." in one and is_score(one) for one in firsts)
            return 0 if is_of_scores or is_score(row[0].strip() or "a") else number
    return 0


def _alike(text: str, delimiter: str) -> pd.DataFrame | None:
    """Return the table of a long text whose lines have equally many cells and no quotes."""
    if len(text) < LONG_TEXT or '"' in text:
        return None
    body = text.rstrip("\n")
    data = np.frombuffer(body.encode("utf-8", "surrogatepass"), np.uint8)
    ends = np.append(np.flatnonzero(data == ord("\n")), len(data))
    marks = np.flatnonzero(data == ord(delimiter))
    n_marks = np.diff(np.searchsorted(marks, ends), prepend=0)
    if n_marks[0] == 0 or (n_marks != n_marks[0]).any():
        return None
    header = body.partition("\n")[0].split(delimiter)
    if not all(map(str.strip, header)) or len({*map(str.strip, header)}) < len(header):
        return None
    frame = pd.read_csv(
        io.StringIO(body),
        sep=delimiter,
        header=None,
        names=header,
        skiprows=1,
        dtype=object,
        na_filter=False,
        quoting=csv.QUOTE_NONE,
        skipinitialspace=True,
        skip_blank_lines=False,
        engine="c",
    )
    filled = frame.iloc[:, 0] != ""
    if not filled.all():
        filled = (frame != "").any(axis=1)
    frame.index = pd.RangeIndex(2, len(frame) + 2, name=LINE)
    return frame if filled.all() else frame[filled]


def _without_empty_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table without columns that have no heading and no cell, behind a last delimiter."""
    kept = [
        place
        for place, name in enumerate(frame.columns)
        if name or any(map(str.strip, frame.iloc[:, place]))
    ]
    return frame if len(kept) == frame.shape[1] else frame.iloc[:, kept]
