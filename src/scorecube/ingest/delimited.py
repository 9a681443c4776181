"""Text, rows of cells, numbers and column headers of score files."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import chain, repeat

from scorecube.collection.score_range import LARGEST_SCORE
from scorecube.errors import BadInput, counted
from scorecube.ingest.files import LARGEST_TEXT, PathLike, opened, parts_of, refuse_binary
from scorecube.ingest.roles import header_word

Row = tuple[int, list[str]]
"""Line number and cells, stripped of blanks."""
MISSING = {"", "na", "nan", "-nan", "n/a", "#n/a", "null", "none", "-"}
"""Cells of missing scores, in lower case."""
MOST_CELLS = 10**6
"""Largest number of cells in a line."""
DELIMITERS = "\t;,"
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)


def read_text(path: PathLike) -> str:
    """Return the text of a file, plain or gzip, with newlines as line ends. Raises as `text_blocks`."""
    return "".join(text_blocks(path))


def text_blocks(path: PathLike, largest: int = LARGEST_TEXT) -> Iterator[str]:
    """Yield the text of a file, plain or gzip, in blocks of whole lines, with newlines as line ends.

    Raises BadInput: A file that cannot be read, is empty or damaged, is longer than `largest` bytes, or is not text in
        UTF-8.
    """
    line, is_empty = 1, True
    with opened(path) as file:
        for content in _whole_lines(parts_of(file, path, largest), path):
            try:
                text = content.decode("utf-8")
            except UnicodeDecodeError as error:
                found = content[max(0, error.start - 20) : error.end].rpartition(b"\n")[2]
                raise BadInput(
                    f"not UTF-8 (it may be Latin-1) after {found.decode('latin-1')!r}; save the file as UTF-8",
                    path,
                    line + content.count(b"\n", 0, error.start),
                ) from None
            line += text.count("\n")
            is_empty = is_empty and not text.strip()
            yield text
    if is_empty:
        raise BadInput("the file is empty", path)


def _whole_lines(parts: Iterator[bytes], path: PathLike) -> Iterator[bytes]:
    """Yield parts that end with a line, with newlines as line ends; refuse content that is no text."""
    waiting: list[bytes] = []
    is_first = True
    for part in chain(parts, [b""]):
        if part and b"\n" not in part and b"\r" not in part:
            waiting.append(part)
            continue
        content = b"".join([*waiting, part])
        # A carriage return at the end may be the first half of a line end.
        known = content.removesuffix(b"\r") if part else content
        waiting = [content[len(known) :]]
        if b"\r" in known:
            known = known.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        stop = known.rfind(b"\n") + 1 if part else len(known)
        waiting.insert(0, known[stop:])
        if stop:
            if is_first:
                refuse_binary(known, path)
            is_first = False
            yield known[:stop]


def lines_of(text: str) -> Iterator[str]:
    """Yield the lines of a text with their ends, one at a time: a list of them needs several times the text."""
    start = 0
    while start < len(text):
        stop = text.find("\n", start) + 1 or len(text)
        yield text[start:stop]
        start = stop


def fields_of(text: str) -> Iterator[Row]:
    """Yield the lines of a text in fields between blanks; empty lines are left out."""
    for number, line in enumerate(lines_of(text), 1):
        if fields := line.split():
            yield number, fields


def read_rows(path: PathLike) -> tuple[Row, Iterator[Row]]:
    """Return the rows of a file with cells between commas, tabs or semicolons; empty lines are left out.

    Returns first, others: The first row, and the others as they are read.
    Raises BadInput: As of `text_blocks`; a quote that is never closed; a file without a cell.
    """
    rows = split_rows(text_blocks(path), path)
    return first_row(rows, path), rows


def first_row(rows: Iterator[Row], path: PathLike) -> Row:
    """Return the first of the rows of a file (BadInput if there is none)."""
    first = next(rows, None)
    if first is None:
        raise BadInput("the file has no cell that is not empty", path)
    return first


def read_table(path: PathLike, columns: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of some columns of a table; other columns are ignored.

    path: Cells between commas, semicolons or tabs, with a header; its letter case does not matter.
    columns: Headers of the columns to yield.
    Raises BadInput: As of `read_rows`; a header without a column, or with two; a longer line.
    """
    (first, header), body = read_rows(path)
    words = [header_word(cell) for cell in header]
    if any(words.count(column) != 1 for column in columns):
        *before, last = columns
        problem = "once each" if set(columns) <= set(words) else ""
        raise BadInput(
            f"the header must have the columns {', '.join(before)} and {last}{problem and ' ' + problem}; "
            f"found {','.join(header)[:200]}",
            path,
            first,
        )
    at = [words.index(column) for column in columns]
    for line, cells in body:
        cells = [*cells, *[""] * (len(header) - len(cells))]
        refuse_other_width(cells, header, path, line)
        yield line, [cells[k] for k in at]


def refuse_other_width(cells: Sized, header: Sized, path: PathLike, line: int) -> None:
    """Refuse a line with more or fewer cells than the header (BadInput)."""
    if len(cells) != len(header):
        raise BadInput(f"{counted(len(cells), 'cell')}, the header has {len(header)}", path, line)


def split_rows(blocks: Iterable[str], path: PathLike) -> Iterator[Row]:
    """Yield the rows of a text; see `read_rows`."""
    parts, delimiter = delimited(blocks)
    for line, row in raw_rows(parts, delimiter, 1, path):
        yield line, [cell.strip() for cell in row]


def delimited(blocks: Iterable[str]) -> tuple[Iterator[str], str]:
    """Return the blocks of a text, and its delimiter."""
    parts = iter(blocks)
    text = next(parts, "")
    return chain([text], parts), delimiter_of(text)


def raw_rows(blocks: Iterable[str], delimiter: str, start: int, path: PathLike) -> Iterator[Row]:
    """Yield the rows of a text with their blanks, and their lines; the first has the number `start`."""
    reader = csv.reader(
        _short_lines(blocks, delimiter, path, start),
        delimiter=delimiter,
        strict=True,
        skipinitialspace=True,
    )
    line = start
    try:
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                yield line, row
            line = start + reader.line_num
    except csv.Error as error:
        raise BadInput(f"not CSV: {error}", path, line) from None


def regular_columns(block: str, delimiter: str, width: int) -> list[list[str]] | None:
    """Return the columns of whole lines that are split as `raw_rows` does by splitting the text; None for others.

    These have a quote, a blank before a cell, or another number of cells than `width`, or one.
    """
    if width < 2 or any(mark in block for mark in ('"', f"{delimiter} ", "\n ")):
        return None
    text = block.removesuffix("\n")
    lines = text.split("\n")
    if text[:1] == " " or max(map(len, lines)) > csv.field_size_limit():
        return None
    if set(map(str.count, lines, repeat(delimiter))) != {width - 1}:
        return None
    cells = text.replace("\n", delimiter).split(delimiter)
    return [cells[k::width] for k in range(width)]


def _short_lines(
    blocks: Iterable[str], delimiter: str, path: PathLike, start: int
) -> Iterator[str]:
    """Yield the lines of a text; refuse one with too many cells before they are made."""
    lines = chain.from_iterable(io.StringIO(block, newline="\n") for block in blocks)
    for number, line in enumerate(lines, start):
        if len(line) > MOST_CELLS and line.count(delimiter) >= MOST_CELLS:
            raise BadInput(f"more than {MOST_CELLS:,} cells in a line", path, number)
        yield line


def delimiter_of(text: str) -> str:
    r"""Return the delimiter: the most frequent character that occurs equally often in the first two lines.

    Examples
    --------
    >>> [delimiter_of(text) for text in ("topic,a\n1,0.5\n", "topic;a,1;b\n1;0;1\n", "topic\ta\n1\t1\n", "a\n0.5\n")]
    [',', ';', '\t', ',']
    """
    lines = [line for line in text[:10_000_000].split("\n", 50) if line.strip()][:2] or [""]
    outside = ["".join(line.split('"')[::2]) for line in lines]  # quotes
    counts = {mark: [line.count(mark) for line in outside] for mark in DELIMITERS}
    fitting = [mark for mark in DELIMITERS if counts[mark][0] and len(set(counts[mark])) == 1]
    return max(fitting or DELIMITERS[::-1], key=lambda mark: counts[mark][0])


def score(text: str, path: PathLike, line: int) -> float:
    """Return the number in a cell; NaN for an empty cell and for words such as NA.

    Raises BadInput: A cell of other content that is not a finite number, or is out of range.
    """
    if text.lower() in MISSING:
        return math.nan
    try:
        value = float(text.replace("_", "x"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        point = (
            f"; write it with a decimal point: {text.replace(',', '.')}"
            if DECIMAL_COMMA.fullmatch(text)
            else ""
        )
        raise BadInput(f"score {text!r} is not a finite number{point}", path, line)
    if abs(value) > LARGEST_SCORE:
        raise BadInput(
            f"score {text!r} is not between {-LARGEST_SCORE:g} and {LARGEST_SCORE:g}; scale the scores",
            path,
            line,
        )
    return value


def is_score(text: str) -> bool:
    """Return whether a cell is a number, empty, or a word such as NA."""
    try:
        score(text, "", 0)
    except BadInput:
        return False
    return True
