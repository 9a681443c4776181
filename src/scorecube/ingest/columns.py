"""Columns of files with fields between blanks, with errors that name the line."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np

from scorecube.errors import BadInput, counted, option
from scorecube.ingest.files import (
    BYTE_ORDER_MARK,
    MAGIC,
    PathLike,
    content_of,
    opened,
    refuse_binary,
    refuse_unprintable,
)
from scorecube.kernels.parsing.byte_words import PADDING, read_only
from scorecube.kernels.parsing.split_lines import (
    GOOD,
    LONG_LINE,
    OTHER_TAG,
    LineColumns,
    count_lines,
    parse_lines,
    topic_table,
)
from scorecube.kernels.workspace import Workspace

LARGEST_FILE = 2**31 - 2 * PADDING
"""Bytes of a run file or of judgements, decompressed; offsets in a file have 32 bits."""
LARGE = 4096
"""Bytes of a file from which reading without a copy saves time."""
NEWLINE = 10
Buffer = np.ndarray[Any, np.dtype[np.uint8]]
IntArray = np.ndarray[Any, np.dtype[np.int64]]


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
        """Number of fields of a line."""
        return len(self.line.split())

    def advice(self, line: list[bytes]) -> str:
        """Return what to do about a line with more fields, as the end of a message."""
        if self.tag >= 0:
            return "; run tags and document ids have no blanks in them: replace these blanks"
        if is_of_run(line):
            return "; this is a line of a run file, not of judgements"
        return f"; choose the form of the judgements to ignore further columns: {option('dialect', 'trec')}"

    def columns(self, with_ranks: bool) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Return the numbers of fields in the order of the kernel."""
        rank = self.rank if with_ranks else -1
        return np.array([self.topic, self.document, self.tag, self.value, rank], np.int64)


def is_of_run(line: list[bytes]) -> bool:
    """Return whether a line of six fields is one of a run: the second is Q0, or the sixth is no number."""
    if len(line) != 6:
        return False
    return line[1].upper() == b"Q0" or number(line[5].decode("latin-1")) is None


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

    @cached_property
    def _breaks(self) -> IntArray:
        return np.flatnonzero(self.text[:-PADDING] == NEWLINE)

    def line(self, row: int) -> int:
        """Return the number of the line of a row."""
        return int(self.numbers[row])

    def field(self, at: int, row: int) -> str:
        """Return a field of the line of a row."""
        line = line_of(self.text, self.line(row), self._breaks)
        return line.split()[at].decode("utf-8", "replace")

    def word(self, span: Any) -> str:
        """Return the text between two offsets, for messages."""
        return bytes(self.text[span[0] : span[1]]).decode("utf-8", "replace")

    def topics(self, path: PathLike) -> list[str]:
        """Return the topic names in order of first appearance.

        Raises BadInput: As of `label_text`.
        """

        def line(topic: int) -> int:
            return int(self.numbers[np.flatnonzero(self.topic_of == topic)[0]])

        return [
            label_text(bytes(self.text[start:stop]), "topic", path, partial(line, k))
            for k, (start, stop) in enumerate(self.topic_spans.tolist())
        ]

    def run(self, path: PathLike) -> str:
        """Return the run tag. Raises as `topics`."""
        start, stop = self.tag.tolist()
        return label_text(
            bytes(self.text[start:stop]), "run tag", path, lambda: int(self.numbers[0])
        )


def label_text(
    label: bytes, what: str, path: PathLike, line: Callable[[], int | None] = lambda: None
) -> str:
    """Decode the name of a run or a topic.

    label: Bytes of the name.
    what: What it names, for the message.
    path: The file it comes from.
    line: Returns its line; called only for a message.
    Returns text: The name.
    Raises BadInput: Bytes that are not UTF-8, or control characters.
    """
    try:
        text = label.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput(
            f"the {what} {label.decode('latin-1')!r} is not in UTF-8 (it may be in Latin-1); save the file as UTF-8",
            path,
            line(),
        ) from None
    if not text.isprintable():
        refuse_unprintable(text, what, path, line())
    return text


def read_columns(
    path: PathLike,
    layout: Layout,
    *,
    with_ranks: bool = False,
    one_tag: bool = False,
    workspace: Workspace | None = None,
) -> Columns:
    """Read a file of one layout.

    workspace: Memory of the columns, overwritten by the next file; by default, they have their own.
    Raises BadInput: Too few or too many fields in a line, a second run tag, a file without lines.
    """
    space = workspace or Workspace()
    text = read_padded(path, PADDING, space)
    return split_columns(
        text, path, layout, with_ranks=with_ranks, one_tag=one_tag, workspace=space
    )


def split_columns(
    text: Buffer,
    path: PathLike,
    layout: Layout,
    *,
    with_ranks: bool = False,
    one_tag: bool = False,
    more: bool = False,
    workspace: Workspace | None = None,
) -> Columns:
    """Split the padded text of a file into columns; see `read_columns`.

    more: Whether further fields of a line are ignored; a run file is refused all the same.
    """
    space = workspace or Workspace()
    length = len(text) - PADDING
    # A line that is kept has a letter and a blank for each field, so that empty lines need no memory.
    view = read_only(text)
    n_lines = min(int(count_lines(view)), length // (2 * layout.width) + 1)
    lines, tag = _room(space, n_lines, with_ranks), np.zeros(2, np.int64)
    status, bad_line, n, n_topics = parse_lines(
        view,
        length,
        layout.columns(with_ranks),
        one_tag,
        more,
        lines,
        topic_table(space, n_lines),
        np.empty((layout.width, 2), np.int64),
        tag,
    )
    found = Columns(
        text,
        lines.topic_of[:n],
        lines.topics[:n_topics],
        lines.documents[:n],
        lines.values[0, :n],
        lines.values[-1, :n] if with_ranks else lines.values[0, :0],
        lines.numbers[:n],
        tag,
    )
    if status != GOOD:
        raise _bad_line(status, line_of(text, bad_line).split(), found, layout, path, bad_line)
    if more and n and is_of_run(line := line_of(text, int(found.numbers[0])).split()):
        raise _bad_line(LONG_LINE, line, found, layout, path, int(found.numbers[0]))
    if n == 0:
        raise BadInput(f"no line of a {layout.what} file; expected {layout.line}", path)
    return found


def _room(space: Workspace, n_lines: int, with_ranks: bool) -> LineColumns:
    return LineColumns(
        space.array("topic_of", n_lines, "int32"),
        space.array("topics", (n_lines, 2), "int64"),
        space.array("hashes", n_lines, "int64"),
        space.array("documents", (n_lines, 2), "int32"),
        space.array("values", (2 if with_ranks else 1, n_lines), "float64"),
        space.array("numbers", n_lines, "int32"),
    )


def _bad_line(
    status: int, line: list[bytes], found: Columns, layout: Layout, path: PathLike, number: int
) -> BadInput:
    """Return the error for a line that the kernel refused."""
    if status == OTHER_TAG:
        other = line[layout.tag].decode("utf-8", "replace")
        return BadInput(
            f"the run tag changes from {found.word(found.tag)!r} to {other!r}; "
            f"one file holds one run: divide it, or name runs by file ({option('run_name', 'file')})",
            path,
            number,
        )
    problem = f"{counted(len(line), 'column')}; a line of a {layout.what} file has {layout.width}: {layout.line}"
    if status == LONG_LINE:
        problem += layout.advice(line)
    return BadInput(problem, path, number)


def line_of(text: Buffer, number: int, breaks: IntArray | None = None) -> bytes:
    """Return a line of a padded text, by its number from 1; `breaks` are the positions of its newlines."""
    if breaks is None:
        breaks = np.flatnonzero(text[:-PADDING] == NEWLINE)
    start = 0 if number == 1 else int(breaks[number - 2]) + 1
    stop = int(breaks[number - 1]) if number <= len(breaks) else len(text) - PADDING
    return text[start:stop].tobytes()


def read_padded(path: PathLike, padding: int, workspace: Workspace) -> Buffer:
    """Return the content of a file with `padding` zero bytes at the end, as the kernels require.

    The file is opened once, so that it may be a pipe. A plain file is read directly into the workspace; old Macintosh
    line ends become newlines. Raises as `read_bytes`.
    """
    with opened(path) as file:
        size = os.fstat(file.fileno()).st_size
        if LARGE < size <= LARGEST_FILE:
            text: Buffer = workspace.array("text", size + padding, "uint8")
            if file.readinto(text[:size].data) == size and _is_plain(text[:size]):
                text[size:] = 0
                return text
            file.seek(0)
        content = content_of(file, path, may_be_empty=False, largest=LARGEST_FILE)
    refuse_binary(content, path)
    if b"\r" in content and b"\n" not in content:
        content = content.replace(b"\r", b"\n")
    return np.frombuffer(content + bytes(padding), np.uint8)


def _is_plain(text: Buffer) -> bool:
    """Return whether the content of a file can be used as it is."""
    head = text[:LARGE].tobytes()
    return (
        not head.startswith((MAGIC, BYTE_ORDER_MARK)) and b"\0" not in head[:1000] and b"\n" in head
    )


def finish_numbers(
    values: Any,
    field: Callable[[int], str],
    line: Callable[[int], int],
    path: PathLike,
    what: str,
    kind: str,
    read: Callable[[str], float | None],
) -> None:
    """Convert, in place, the numbers that are not converted yet (NaN), from the text and the line of their row.

    `read` returns None for a text that is not of the required `kind`.
    """
    for row in np.flatnonzero(np.isnan(values)).tolist():
        value = read(text := field(row))
        if value is None:
            raise BadInput(f"{what} {text!r} is not {kind}", path, line(row))
        values[row] = value


def floats(values: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return finite numbers in memory; NaN for texts and other values, which `finish_numbers` reads or refuses."""

    def plain(value: Any) -> float:
        try:
            number = math.nan if isinstance(value, str) else float(value)
        except (TypeError, ValueError, OverflowError):
            return math.nan
        return number if math.isfinite(number) else math.nan

    return np.fromiter(map(plain, values), np.float64, len(values))


def packed(documents: Sequence[bytes]) -> tuple[Buffer, np.ndarray[Any, np.dtype[np.int32]]]:
    """Return the ids of documents as one padded text, and their offsets in it (document, 2)."""
    text = np.frombuffer(b"\n".join(documents) + bytes(PADDING), np.uint8)
    lengths = np.fromiter(map(len, documents), np.int64, len(documents))
    stops = np.cumsum(lengths + 1) - 1
    return text, np.stack([stops - lengths, stops], axis=1).astype(np.int32)


def number(field: str) -> float | None:
    """Return a number as trec_eval reads it; None for other texts, NaN and digits with underscores."""
    try:
        value = float(field.replace("_", "x")) if field.isascii() else math.nan
    except ValueError:
        return None
    return None if math.isnan(value) else value


def finite_number(field: str) -> float | None:
    """Return a finite number; None for other texts."""
    value = number(field)
    return value if value is not None and math.isfinite(value) else None
