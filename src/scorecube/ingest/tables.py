"""Tables as they are stored: CSV, TSV, a JSON object a line, Parquet, and data frames."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from scorecube.collection.schema import LARGEST_SCORE
from scorecube.errors import BadInput, counted, kind_of
from scorecube.ingest.files import PathLike, read_text
from scorecube.ingest.roles import header_word

MISSING = {"", "na", "nan", "-nan", "n/a", "#n/a", "null", "none", "-"}
"""Cells of missing scores, in lower case."""
FLAGS = {"true": 1.0, "false": 0.0}
"""Cells of correct and wrong answers, in lower case."""
DELIMITERS = "\t;,"
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)
MOST_CELLS = 10**6
"""Largest number of cells in a line."""
SHOWN = 5
"""Problems that a message names; others are counted."""
Floats = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Table:
    """A file, or a frame, whose path is None.

    header: Names of the columns, which may be repeated.
    columns: Cells of each column: a category for each different text, numbers, or any values.
    lines: Line of each row; of a frame, its number.
    line: Line of the header.
    """

    path: PathLike | None
    header: Sequence[str]
    columns: Sequence[Any]
    lines: Sequence[int]
    line: int = 1

    def rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the line and the cells by name of each row."""
        for line, *cells in zip(self.lines, *self.columns, strict=True):
            yield line, dict(zip(self.header, cells, strict=True))


def refuse(problems: Sequence[BadInput], number: int | None = None, end: str = "") -> None:
    """Raise one error about all problems, if any: it names the first and counts the others."""
    if not problems:
        return
    lines = [problem.marked for problem in problems[:SHOWN]]
    if (more := (number or len(problems)) - len(lines)) > 0:
        lines.append(f"and {counted(more, 'further problem')}")
    error = BadInput("\n  ".join(lines) + end, option=problems[0].option)
    error.path, error.line = problems[0].path, problems[0].line
    raise error


def table_of_text(text: str, path: PathLike | None, *, has_header: bool = True) -> Table:
    """Return the table of a text with cells between commas, tabs or semicolons.

    has_header: Whether the first line names the columns; otherwise they are numbered, and cells may
        stand between blanks.
    Raises BadInput: No cell; a line with another number of cells than the first; a quote that is
        never closed.
    """
    delimiter = delimiter_of(text)
    first = text[: max(0, text.find("\n"))]
    width = first.count(delimiter) + 1
    n_lines = text.count("\n") - text.endswith("\n")  # behind the first
    is_plain = '"' not in text and 1 < width <= MOST_CELLS and first.strip() and has_header
    # Delimiters of all lines alone do not tell that each line has as many: pandas refuses longer
    # lines, so that none is shorter either.
    if is_plain and n_lines and text.count(delimiter) == (width - 1) * (n_lines + 1):
        try:
            frame = pd.read_csv(
                io.BytesIO(text.encode()),
                sep=delimiter,
                header=None,
                skiprows=1,
                dtype=object,
                na_filter=False,
                skipinitialspace=True,
                quoting=csv.QUOTE_NONE,
                skip_blank_lines=False,
            )
        except (pd.errors.ParserError, ValueError):
            return _read_plainly(text, delimiter, path, has_header)
        if frame.shape == (n_lines, width):
            header = [cell.strip() for cell in first.split(delimiter)]
            columns = [coded(*pd.factorize(frame[k].to_numpy())) for k in range(width)]
            return Table(path, header, columns, range(2, n_lines + 2))
    return _read_plainly(text, delimiter, path, has_header)


def coded(codes: Any, labels: Any) -> Any:
    """Return a column of categories."""
    return pd.Categorical.from_codes(codes, pd.Index(labels, dtype=object))


def _read_plainly(text: str, delimiter: str, path: PathLike | None, has_header: bool) -> Table:
    """Return the table of a text, line by line, or say what is wrong with it."""
    rows: list[list[str]] = []
    lines: list[int] = []
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MOST_CELLS and line.count(delimiter) >= MOST_CELLS:
            raise BadInput(f"more than {MOST_CELLS:,} cells in a line", path, number)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True, skipinitialspace=True)
    start = 1
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if len(cells) == 1 and not has_header:
                cells = cells[0].split()
            if any(cells) or len(cells) > 1:
                rows.append(cells)
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise BadInput(f"not CSV: {error}", path, start) from None
    if not rows:
        raise BadInput("the file has no cell that is not empty", path)
    width = len(rows[0])
    refuse(
        [
            BadInput(f"{counted(len(row), 'cell')}, the header has {width}", path, line)
            for row, line in zip(rows, lines, strict=True)
            if len(row) != width
        ]
    )
    header = rows.pop(0) if has_header else [str(k) for k in range(1, width + 1)]
    first = lines.pop(0) if has_header else lines[0]
    return Table(path, header, list(zip(*rows, strict=True)) or [()] * width, lines, first)


def split_cells(text: str, delimiter: str) -> list[list[str]]:
    """Return the cells of some lines, from which a format is detected."""
    lines = text.split("\n")
    try:
        reader = csv.reader(lines, delimiter=delimiter, strict=True, skipinitialspace=True)
        return [[cell.strip() for cell in row] for row in reader]
    except csv.Error:  # it is said when the file is read
        return [line.split(delimiter) for line in lines]


def delimiter_of(text: str) -> str:
    r"""Return the most frequent delimiter that occurs equally often in the first two lines.

    Examples
    --------
    >>> [delimiter_of(text) for text in ("topic,a\n1,0.5\n", "topic;a,1;b\n1;0;1\n", "a\n0.5\n")]
    [',', ';', ',']
    """
    lines = [line for line in text[:10_000_000].split("\n", 50) if line.strip()][:2] or [""]
    outside = ["".join(line.split('"')[::2]) for line in lines]  # quotes
    counts = {mark: [line.count(mark) for line in outside] for mark in DELIMITERS}
    fitting = [mark for mark in DELIMITERS if counts[mark][0] and len(set(counts[mark])) == 1]
    return max(fitting or DELIMITERS[::-1], key=lambda mark: counts[mark][0])


def table_of_records(records: Iterable[tuple[int, Any]], path: PathLike | None) -> Table:
    """Return the table of objects with their lines; a name that one lacks is missing."""
    rows = list(records)
    refuse(
        [
            BadInput(f"an object is expected; found {kind_of(row)}", path, line)
            for line, row in rows
            if not isinstance(row, Mapping)
        ]
    )
    header = list(dict.fromkeys(name for _, row in rows for name in row))
    columns = [[row.get(name) for _, row in rows] for name in header]
    return Table(path, header, columns, [line for line, _ in rows])


def table_of_frame(frame: Any, path: PathLike | None = None) -> Table:
    """Return the table of a data frame; named labels of its rows are columns.

    Raises BadInput: A frame that needs pyarrow, which is not installed.
    """
    frame = pandas_frame(frame)
    whole = frame.reset_index([name for name in frame.index.names if name is not None])
    columns = []
    for k in range(whole.shape[1]):
        cells = whole.iloc[:, k]
        is_numeric = isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "fiub"
        texts = cells.astype(object)
        columns.append(
            cells.to_numpy() if is_numeric else texts.where(texts.notna(), None).tolist()
        )
    return Table(path, list(map(str, whole.columns)), columns, range(1, len(whole) + 1))


def pandas_frame(frame: Any) -> pd.DataFrame:
    """Return a data frame of any library as one of pandas (BadInput without pyarrow)."""
    if isinstance(frame, pd.DataFrame):
        return frame
    if hasattr(frame, "to_dict"):  # polars, whose frames become pandas' only with pyarrow
        return pd.DataFrame(frame.to_dict(as_series=False))
    try:
        import pyarrow as pa
    except ImportError:
        raise BadInput(
            f"{kind_of(frame)} needs pyarrow, which is not installed: pip install pyarrow, or "
            "pass a data frame of pandas",
            option="scores",
        ) from None
    table: pd.DataFrame = pa.table(frame).to_pandas()
    return table


def read_parquet(path: PathLike) -> pd.DataFrame:
    """Return the frame of a Parquet file (BadInput for a damaged one, and without pyarrow)."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise BadInput(
            "a Parquet file needs pyarrow, which is not installed: pip install pyarrow, or save "
            "the table as CSV or JSONL",
            path,
        ) from None
    try:
        return pd.read_parquet(path, engine="pyarrow")
    except Exception as error:  # of many types
        text = (str(error).splitlines() or [type(error).__name__])[0]
        raise BadInput(f"the Parquet file is damaged: {text}", path) from None


def is_frame(value: Any) -> bool:
    """Return whether something is a data frame, of pandas or of another library."""
    return isinstance(value, pd.DataFrame) or (
        hasattr(value, "columns") and hasattr(value, "__arrow_c_stream__")
    )


def is_json(text: str) -> bool:
    """Return whether a text begins with an object or a list of JSON."""
    return text.lstrip().startswith(("{", "["))


def parse_json(text: str, path: PathLike | None) -> list[tuple[int, Any]]:
    """Return the objects of JSON lines with their lines, those of a list, or the only one.

    Raises BadInput: What is no JSON, with its line; an object with two values of one name.
    """
    lines = [(k, line) for k, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        is_lines = isinstance(json.loads(lines[0][1]), dict)
    except (ValueError, RecursionError):
        is_lines = False
    records = []
    for number, part in lines if is_lines else [(1, text)]:
        try:
            records.append((number, json.loads(part, object_pairs_hook=_once)))
        except RecursionError:
            raise BadInput("the JSON is nested too deeply for a table", path, number) from None
        except ValueError as error:
            line = number if is_lines else getattr(error, "lineno", None)
            end = "" if part.rstrip().endswith(("]", "}")) else "; it may be cut off"
            raise BadInput(f"not JSON: {error}{end}", path, line) from None
    if not is_lines and isinstance(records[0][1], list):
        return list(enumerate(records[0][1], 1))
    return records


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object of JSON (ValueError for two values of a name)."""
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError(f"{len(pairs) - len(content) + 1} values of one name")
    return content


def columns_of(
    path: PathLike, names: Sequence[str], optional: Sequence[str] = ()
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of some columns of a CSV file (BadInput without one).

    optional: Columns whose cells are empty where the file does not have them.
    """
    table = table_of_text(read_text(path), path)
    words = [header_word(cell) for cell in table.header]
    wanted = [header_word(name) for name in names]
    if any(words.count(word) != 1 for word in wanted):
        once = " once each" if set(wanted) <= set(words) else ""
        raise BadInput(
            f"the header must have the columns {', '.join(names[:-1])} and {names[-1]}{once}; "
            f"found {','.join(table.header)[:200]}",
            path,
            table.line,
        )
    wanted += map(header_word, optional)
    empty = [""] * len(table.lines)
    cells = [table.columns[words.index(word)] if word in words else empty for word in wanted]
    for line, *row in zip(table.lines, *cells, strict=True):
        yield line, [cell.strip() for cell in row]


def number_of(cell: Any) -> float | None:
    """Return the number in a cell, NaN if it is missing; None for other content.

    Examples
    --------
    >>> [number_of(cell) for cell in ("0.5", "true", "NA", None, "1_0", "inf", [1])]
    [0.5, 1.0, nan, nan, None, None, None]
    """
    text = "" if cell is None else str(cell).strip().lower()
    if text in FLAGS or text in MISSING:
        return FLAGS.get(text, math.nan)
    try:
        value = float(text.replace("_", "x"))
    except ValueError:
        return None
    return value if abs(value) <= LARGEST_SCORE else None


def numbers_of(cells: Any) -> tuple[Floats, list[int]]:
    """Return the numbers in cells, NaN for missing ones, and the rows of cells that are none."""
    if isinstance(cells, pd.Categorical):  # each different text once
        values, bad = numbers_of(cells.categories.tolist())
        return values[cells.codes], np.flatnonzero(np.isin(cells.codes, bad)).tolist()
    if isinstance(cells, np.ndarray) and cells.dtype != object:
        values = cells.astype(np.float64)
        return values, np.flatnonzero(np.abs(values) > LARGEST_SCORE).tolist()
    if set(map(type, cells)) == {str} and "_" not in "".join(cells):
        try:
            values = np.fromiter(map(float, cells), np.float64, len(cells))
        except ValueError:
            values = np.full(len(cells), np.nan)
        if (np.abs(values) <= LARGEST_SCORE).all():
            return values, []
    numbers = [number_of(cell) for cell in cells]
    bad = [row for row, number in enumerate(numbers) if number is None]
    return np.array(numbers, np.float64), bad  # None is NaN


def problem_of(cell: Any) -> str:
    """Return what is wrong with a cell that is no score."""
    if isinstance(cell, list | tuple | dict | set | np.ndarray):
        return "a list or an object where a score is expected"
    text = str(cell).strip()
    try:
        value = float(text.replace("_", "x"))
    except ValueError:
        value = math.nan
    if math.isfinite(value):
        return f"score {text!r} is not between -1e12 and 1e12; scale the scores"
    comma = DECIMAL_COMMA.fullmatch(text)
    point = f"; write it with a decimal point: {text.replace(',', '.')}" if comma else ""
    return f"score {text!r} is not a finite number{point}"


def is_score(text: str) -> bool:
    """Return whether a cell is a number, empty, or a word such as NA."""
    return text.lower() not in FLAGS and number_of(text) is not None


def label_of(cell: Any) -> str:
    """Return the text of a label; '' for a missing one and for nested values."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    if cell is None or isinstance(cell, list | tuple | dict | set) or cell != cell:
        return ""
    return str(cell).strip()
