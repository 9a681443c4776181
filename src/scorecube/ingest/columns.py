"""Files of white-space separated fields -> columns, with errors that name the line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike, read_padded
from scorecube.kernels.parsing.byte_words import PADDING
from scorecube.kernels.parsing.split_lines import GOOD, OTHER_TAG, LineColumns, count_lines, parse_lines
from scorecube.kernels.workspace import Workspace

LARGEST_FILE = 2**31 - 2 * PADDING
"""Places in a file are held in 32 bits."""
Buffer = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True)
class Layout:
    """Which field of a line is what; see `scorecube.kernels.parsing.split_lines.parse_lines`."""

    what: str
    line: str
    topic: int
    document: int
    value: int
    rank: int = -1
    tag: int = -1

    @property
    def width(self) -> int:
        """Fields that a line must have."""
        return len(self.line.split())

    def columns(self, with_ranks: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the columns as the kernel takes them."""
        rank = self.rank if with_ranks else -1
        return np.array([self.width, self.topic, self.document, self.value, rank, self.tag])


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a file without errors, and its text."""

    text: Buffer
    topic_of: np.ndarray[Any, np.dtype[np.int32]]
    topic_places: Any
    documents: Any
    values: Any
    ranks: Any
    numbers: np.ndarray[Any, np.dtype[np.int32]]
    tag: Any

    def word(self, place: Any) -> str:
        """Return the text at a place."""
        return bytes(self.text[place[0] : place[1]]).decode("utf-8", "replace")

    @property
    def topics(self) -> list[str]:
        """Topic names in order of first appearance."""
        return [self.word(place) for place in self.topic_places]


def read_columns(
    path: PathLike,
    layout: Layout,
    *,
    with_ranks: bool = False,
    one_tag: bool = False,
    workspace: Workspace | None = None,
) -> Columns:
    """Read a file of one layout.

    Parameters
    ----------
    workspace
        Where the columns are put, to be overwritten by the next file; by default they are on their own.

    Raises
    ------
    BadInput
        Too few fields in a line, a second run tag, no line at all.
    """
    space = workspace or Workspace()
    text = read_padded(path, PADDING, space)
    length = len(text) - PADDING
    if length > LARGEST_FILE:
        raise BadInput(f"the file has {length:,} bytes, more than {LARGEST_FILE:,}; divide it", path)
    n_lines = count_lines(text, length)
    topic_of, numbers = space.array("topic_of", n_lines, "int32"), space.array("numbers", n_lines, "int32")
    documents, values = space.array("documents", (n_lines, 2), "int32"), space.array("values", n_lines, "float64")
    topics, hashes = space.array("topics", (n_lines, 2), "int64"), space.array("hashes", n_lines, "uint64")
    ranks = space.array("ranks", n_lines if with_ranks else 0, "float64")
    lines = LineColumns(topic_of, topics, hashes, documents, values, ranks, numbers)
    status, bad_line, n, n_topics, tag = parse_lines(text, length, layout.columns(with_ranks), one_tag, lines)
    found = Columns(text, topic_of[:n], topics[:n_topics], documents[:n], values[:n], ranks[:n], numbers[:n], tag)
    if status != GOOD:
        line = text[:length].tobytes().split(b"\n")[bad_line - 1].split()
        if status == OTHER_TAG:
            other = line[layout.tag].decode("utf-8", "replace")
            raise BadInput(
                f"the run tag changes from {found.word(found.tag)!r} to {other!r}; "
                "one file holds one run: divide it, or name runs by file (--run-name file)", path, bad_line,
            )  # fmt: skip
        problem = f"{len(line)} columns; a line of a {layout.what} file has {layout.width}: {layout.line}"
        raise BadInput(problem, path, bad_line)
    if len(found.topic_of) == 0:
        raise BadInput(f"no line of a {layout.what} file in it: {layout.line}", path)
    return found


def finish_numbers(
    columns: Columns, values: Any, at: int, path: PathLike, what: str, kind: str, read: Callable[[str], float | None]
) -> None:
    """Read, in place, the numbers that the kernel left open: field `at` of their lines; `read` returns None for no `kind`."""
    open_ones = np.flatnonzero(np.isnan(values))
    if not len(open_ones):
        return
    lines = columns.text[:-PADDING].tobytes().split(b"\n")
    for row in open_ones:
        number_of_line = int(columns.numbers[row])
        field = lines[number_of_line - 1].split()[at].decode("utf-8", "replace")
        value = read(field)
        if value is None:
            raise BadInput(f"{what} {field!r} is not {kind}", path, number_of_line)
        values[row] = value


def number(field: str) -> float | None:
    """Read a number as trec_eval would; None for anything else, also for NaN and for digits joined by underscores."""
    try:
        value = float(field.replace("_", "x"))
    except ValueError:
        return None
    return None if math.isnan(value) else value


def finite_number(field: str) -> float | None:
    """Read a finite number."""
    value = number(field)
    return value if value is not None and math.isfinite(value) else None
