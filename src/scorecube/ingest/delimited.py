"""Text, rows of cells, numbers and column headers of score files."""

from __future__ import annotations

import csv
import io
import math
import re

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike, read_bytes

Row = tuple[int, list[str]]
"""Line number and cells, stripped of blanks."""
MISSING = {"", "na", "nan", "-nan", "n/a", "#n/a", "null", "none", "-"}
"""Cells of missing scores, in lower case."""
RUN_HEADERS = (
    "run",
    "runs",
    "run_id",
    "runid",
    "run_name",
    "system",
    "systems",
    "system_id",
    "sys",
)
TOPIC_HEADERS = (
    "topic",
    "topics",
    "topic_id",
    "query",
    "queries",
    "qid",
    "query_id",
    "queryid",
    "q_id",
)
SCORE_HEADERS = ("score", "scores", "value", "values")
METRIC_HEADERS = ("metric", "measure")
GAIN_HEADERS = ("gain", "gains")
DELIMITERS = "\t;,"
DECIMAL_COMMA = re.compile(r"[+-]?\d*,\d+(e[+-]?\d+)?", re.IGNORECASE)


def read_text(path: PathLike) -> str:
    """Return the text of a file, plain or gzip, with newlines as line ends.

    Raises
    ------
    BadInput
        A file that cannot be read, is empty or damaged, or is 16-bit text.
    """
    content = read_bytes(path)
    if b"\0" in content[:1000]:
        raise BadInput("not a text file in UTF-8 (zero bytes in it); save it as UTF-8", path)
    return content.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def fields_of(text: str) -> list[Row]:
    """Return the lines of a text in fields between blanks; empty lines are left out."""
    return [
        (number, line.split()) for number, line in enumerate(text.split("\n"), 1) if line.strip()
    ]


def read_rows(path: PathLike) -> list[Row]:
    """Return the rows of a file with cells between commas, tabs or semicolons; empty lines are left out.

    Raises
    ------
    BadInput
        As of `read_text`; a quote that is never closed.
    """
    return list(split_rows(read_text(path), path))


def split_rows(text: str, path: PathLike) -> list[Row]:
    """Return the rows of a text; see `read_rows`. A first line ``sep=;``, as written for Excel, names the delimiter."""
    declared = re.match(r"\ufeff?sep=([;,\t|])\n", text, re.IGNORECASE)
    body = text[declared.end() :] if declared else text
    delimiter = declared[1] if declared else delimiter_of(text)
    skipped = 1 if declared else 0
    reader = csv.reader(io.StringIO(body), delimiter=delimiter, strict=True, skipinitialspace=True)
    rows, line = [], 1 + skipped
    try:
        for row in reader:
            if any(cell and not cell.isspace() for cell in row) or len(row) > 1:
                rows.append((line, [cell.strip() for cell in row]))
            line = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise BadInput(f"not CSV: {error}", path, line) from None
    return rows


def delimiter_of(text: str) -> str:
    r"""Return the delimiter: the most frequent character that occurs equally often in the first two lines.

    Examples
    --------
    >>> [delimiter_of(text) for text in ("topic,a\n1,0.5\n", "topic;a,1;b\n1;0;1\n", "topic\ta\n1\t1\n", "a\n0.5\n")]
    [',', ';', '\t', ',']
    """
    lines = [line for line in text[:10_000_000].split("\n", 50) if line.strip()][:2]
    counts = {mark: [_outside_quotes(line).count(mark) for line in lines] for mark in DELIMITERS}
    fitting = [mark for mark in DELIMITERS if counts[mark][0] and len(set(counts[mark])) == 1]
    return max(fitting or DELIMITERS[::-1], key=lambda mark: counts[mark][0])


def score(text: str, path: PathLike, line: int) -> float:
    """Return the number in a cell; NaN for an empty cell and for words such as NA.

    Raises
    ------
    BadInput
        A cell of other content that is not a finite number.
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
    return value


def is_score(text: str) -> bool:
    """Return whether a cell is a number, empty, or a word such as NA."""
    try:
        score(text, "", 0)
    except BadInput:
        return False
    return True


def header_word(cell: str) -> str:
    """Return the header of a column in the spelling of `RUN_HEADERS`, `TOPIC_HEADERS`, ...

    Examples
    --------
    >>> header_word("Query-ID")
    'query_id'
    """
    return cell.lower().replace(" ", "_").replace("-", "_")


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])
