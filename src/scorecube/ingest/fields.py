"""Files of white-space separated fields -> columns, with errors that name the line."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorecube.errors import BadInput
from scorecube.ingest.files import PathLike, read_bytes
from scorecube.kernels.lines import GOOD, OTHER_TAG, count_lines, parse_lines
from scorecube.kernels.words import PADDING

Buffer = np.ndarray[Any, np.dtype[np.uint8]]


@dataclass(frozen=True)
class Layout:
    """Which field of a line is what; see `kernels.lines.parse_lines`."""

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
    """What `kernels.lines.parse_lines` returns of a good file, and the file's text."""

    text: Buffer
    topic_of: np.ndarray[Any, np.dtype[np.int32]]
    topic_places: Any
    documents: Any
    values: Any
    ranks: Any
    value_places: Any
    rank_places: Any
    numbers: np.ndarray[Any, np.dtype[np.int32]]
    tag: Any

    def word(self, place: Any) -> str:
        """Return the text at a place."""
        return bytes(self.text[place[0] : place[1]]).decode("utf-8", "replace")

    @property
    def topics(self) -> list[str]:
        """Topic names in order of first appearance."""
        return [self.word(place) for place in self.topic_places]


def padded(content: bytes) -> Buffer:
    """Return a file's bytes as the kernels take them; old Macintosh line ends become newlines."""
    if b"\r" in content and b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    return np.frombuffer(content + bytes(PADDING), np.uint8)


def read_columns(path: PathLike, layout: Layout, *, with_ranks: bool = False, one_tag: bool = False) -> Columns:
    """Read a file of one layout.

    Raises
    ------
    BadInput
        Too few fields in a line, a second run tag, no line at all.
    """
    text = padded(read_bytes(path))
    length = len(text) - PADDING
    status, bad_line, *columns = parse_lines(
        text, length, count_lines(text, length), layout.columns(with_ranks), one_tag
    )
    found = Columns(text, *columns)
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
    columns: Columns,
    values: Any,
    places: Any,
    path: PathLike,
    what: str,
    kind: str,
    read: Callable[[str], float | None],
) -> None:
    """Read, in place, the numbers that the kernel left open; `read` returns None for a field that is no `kind`."""
    for line in np.flatnonzero(np.isnan(values)):
        field = columns.word(places[line])
        value = read(field)
        if value is None:
            raise BadInput(f"{what} {field!r} is not {kind}", path, int(columns.numbers[line]))
        values[line] = value


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
