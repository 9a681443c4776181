"""What all score files share: text, rows of cells, numbers, words for columns."""

from __future__ import annotations

import csv
import io
import math
import re

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike, read_bytes

Row = tuple[int, list[str]]
"""Line number and cells, without blanks around them."""
MISSING = {"", "na", "nan", "-nan", "n/a", "#n/a", "null", "none", "-"}
RUN_HEADERS = ("run", "runs", "run_id", "runid", "run_name", "system", "systems", "system_id", "sys")
TOPIC_HEADERS = ("topic", "topics", "topic_id", "query", "queries", "qid", "query_id", "queryid", "q_id")
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


def read_fields(path: PathLike) -> list[Row]:
    """Return the lines of a file in fields between blanks; empty lines are left out."""
    return fields_of(read_text(path))


def fields_of(text: str) -> list[Row]:
    """Return the lines of a text in fields between blanks; empty lines are left out."""
    return [(number, line.split()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def read_rows(path: PathLike) -> list[Row]:
    """Return the rows of a file with cells between commas, tabs or semicolons; empty lines are left out.

    Raises
    ------
    BadInput
        As of `read_text`; a quote that is never closed.
    """
    return list(split_rows(read_text(path), path))


def split_rows(text: str, path: PathLike) -> list[Row]:
    """Return the rows of a text; see `read_rows`. A first line ``sep=;``, as for Excel, says what separates cells."""
    said = re.match(r"\ufeff?sep=([;,\t|])\n", text, re.IGNORECASE)
    body = text[said.end() :] if said else text
    delimiter = said[1] if said else delimiter_of(text)
    skipped = 1 if said else 0
    reader = csv.reader(io.StringIO(body), delimiter=delimiter, strict=True, skipinitialspace=True)
    rows, line = [], 1 + skipped
    try:
        for row in reader:
            if any(cell and not cell.isspace() for cell in row) or len(row) > 1:
                rows.append((line, [cell.strip() for cell in row]))
            line = reader.line_num + 1 + skipped
    except csv.Error as error:
        raise BadInput(f"not in the form of CSV: {error}", path, line) from None
    return rows


def delimiter_of(text: str) -> str:
    r"""Return what separates cells: what stands as often in the first line as in the second, most often if several do.

    Examples
    --------
    >>> [delimiter_of(text) for text in ("topic,a\n1,0.5\n", "topic;a,1;b\n1;0;1\n", "topic\ta\n1\t1\n", "a\n0.5\n")]
    [',', ';', '\t', ',']
    """
    lines = [line for line in text[:10_000_000].split("\n", 50) if line.strip()][:2]
    counts = {each: [_outside_quotes(line).count(each) for line in lines] for each in DELIMITERS}
    fitting = [each for each in DELIMITERS if counts[each][0] and len(set(counts[each])) == 1]
    return max(fitting or DELIMITERS[::-1], key=lambda each: counts[each][0])


def score(text: str, path: PathLike, line: int) -> float:
    """Return a cell's number; NaN for an empty cell and the words for none.

    Raises
    ------
    BadInput
        Anything else that is not a finite number.
    """
    if text.lower() in MISSING:
        return math.nan
    try:
        value = float(text.replace("_", "x"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        point = f"; write it with a decimal point: {text.replace(',', '.')}" if DECIMAL_COMMA.fullmatch(text) else ""
        raise BadInput(f"score {text!r} is not a finite number{point}", path, line)
    return value


def is_score(text: str) -> bool:
    """Whether a cell is a number or the word for none."""
    try:
        score(text, "", 0)
    except BadInput:
        return False
    return True


def _outside_quotes(line: str) -> str:
    return "".join(line.split('"')[::2])
