"""Columns of files with fields between blanks, with errors that name the line."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from scorecube.errors import BadInput, counted, option
from scorecube.ingest.files import BYTE_ORDER_MARK, MAGIC, PathLike, read_bytes
from scorecube.kernels.parsing.byte_words import PADDING
from scorecube.kernels.parsing.split_lines import (
    GOOD,
    OTHER_TAG,
    LineColumns,
    count_lines,
    parse_lines,
)
from scorecube.kernels.workspace import Workspace

LARGEST_FILE = 2**31 - 2 * PADDING
"""Bytes; offsets in a file have 32 bits."""
LARGE = 4096
"""Bytes of a file from which reading without a copy saves time."""
NEWLINE = 10
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
        """Smallest number of fields of a line."""
        return len(self.line.split())

    def columns(self, with_ranks: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of fields in the order of the kernel."""
        rank = self.rank if with_ranks else -1
        return np.array([self.width, self.topic, self.document, self.value, rank, self.tag])


@dataclass(frozen=True, eq=False)
class Columns:
    """The columns of a file without errors, and its text."""

    text: Buffer
    topic_of: np.ndarray[Any, np.dtype[np.int32]]
    topic_spans: Any
    documents: Any
    values: Any
    ranks: Any
    numbers: np.ndarray[Any, np.dtype[np.int32]]
    tag: Any

    def word(self, span: Any) -> str:
        """Return the text between two offsets."""
        return bytes(self.text[span[0] : span[1]]).decode("utf-8", "replace")

    @property
    def topics(self) -> list[str]:
        """Topic names in order of first appearance."""
        return [self.word(span) for span in self.topic_spans]


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
        Memory of the columns, overwritten by the next file; by default, they have their own.

    Raises
    ------
    BadInput
        Too few fields in a line, a second run tag, a file without lines.
    """
    space = workspace or Workspace()
    text = read_padded(path, PADDING, space)
    length = len(text) - PADDING
    if length > LARGEST_FILE:
        raise BadInput(
            f"the file has {length:,} bytes, more than {LARGEST_FILE:,}; divide it", path
        )
    n_lines = count_lines(text, length)
    topic_of, numbers = (
        space.array("topic_of", n_lines, "int32"),
        space.array("numbers", n_lines, "int32"),
    )
    documents, values = (
        space.array("documents", (n_lines, 2), "int32"),
        space.array("values", n_lines, "float64"),
    )
    topics, hashes = (
        space.array("topics", (n_lines, 2), "int64"),
        space.array("hashes", n_lines, "uint64"),
    )
    ranks = space.array("ranks", n_lines if with_ranks else 0, "float64")
    lines = LineColumns(topic_of, topics, hashes, documents, values, ranks, numbers)
    status, bad_line, n, n_topics, tag = parse_lines(
        text, length, layout.columns(with_ranks), one_tag, lines
    )
    found = Columns(
        text,
        topic_of[:n],
        topics[:n_topics],
        documents[:n],
        values[:n],
        ranks[:n],
        numbers[:n],
        tag,
    )
    if status != GOOD:
        line = text[:length].tobytes().split(b"\n")[bad_line - 1].split()
        if status == OTHER_TAG:
            other = line[layout.tag].decode("utf-8", "replace")
            raise BadInput(
                f"the run tag changes from {found.word(found.tag)!r} to {other!r}; "
                f"one file holds one run: divide it, or name runs by file ({option('run_name', 'file')})",
                path,
                bad_line,
            )
        problem = f"{counted(len(line), 'column')}; a line of a {layout.what} file has {layout.width}: {layout.line}"
        raise BadInput(problem, path, bad_line)
    if len(found.topic_of) == 0:
        raise BadInput(f"no line of a {layout.what} file; expected {layout.line}", path)
    return found


def read_padded(path: PathLike, padding: int, workspace: Workspace) -> Buffer:
    """Return the content of a file with `padding` zero bytes at the end, as the kernels require.

    A plain file is read directly into the workspace; old Macintosh line ends become newlines. Raises as `read_bytes`.
    """
    try:
        with Path(path).open("rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            text = workspace.array("text", size + padding, "uint8")
            whole = size > LARGE and file.readinto(text.data[:size]) == size
    except OSError:
        whole = False
    if whole:
        text[size:] = 0
        head = text[:3].tobytes()
        if (
            not head.startswith(MAGIC)
            and head != BYTE_ORDER_MARK
            and (text[:LARGE] == NEWLINE).any()
        ):
            return text
    content = read_bytes(path)
    if b"\r" in content and b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    return np.frombuffer(content + bytes(padding), np.uint8)


def finish_numbers(
    columns: Columns,
    values: Any,
    at: int,
    path: PathLike,
    what: str,
    kind: str,
    read: Callable[[str], float | None],
) -> None:
    """Convert, in place, the numbers that the kernel did not convert: field `at` of their lines.

    `read` returns None for a text that is not of the required `kind`.
    """
    unread = np.flatnonzero(np.isnan(values))
    if not len(unread):
        return
    lines = columns.text[:-PADDING].tobytes().split(b"\n")
    for row in unread:
        number_of_line = int(columns.numbers[row])
        field = lines[number_of_line - 1].split()[at].decode("utf-8", "replace")
        value = read(field)
        if value is None:
            raise BadInput(f"{what} {field!r} is not {kind}", path, number_of_line)
        values[row] = value


def number(field: str) -> float | None:
    """Return a number as trec_eval reads it; None for other texts, NaN and digits with underscores."""
    try:
        value = float(field.replace("_", "x"))
    except ValueError:
        return None
    return None if math.isnan(value) else value


def finite_number(field: str) -> float | None:
    """Return a finite number; None for other texts."""
    value = number(field)
    return value if value is not None and math.isfinite(value) else None
