"""Tables before anything is known of their columns: cells in columns, their labels and numbers, and what is wrong with them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from scorecube.collection.score_range import LARGEST_SCORE
from scorecube.errors import BadInput, counted
from scorecube.files import label_of_spreadsheet
from scorecube.ingest.delimited import DECIMAL_COMMA, MISSING, score
from scorecube.ingest.files import PathLike

Floats = np.ndarray[Any, np.dtype[np.float64]]
FLAGS = {"true": 1.0, "false": 0.0}
"""Cells of correct and wrong answers, in lower case."""
JOIN = "\x1f"
"""Between the labels of several columns that name collections."""
NESTED = {list, tuple, dict, set, np.ndarray}
SHOWN = 20
"""Problems that a message names; others are counted."""


@dataclass(frozen=True)
class Chunk:
    """Some rows of a table: the cells of each column, texts or values of Python, and the line of each row."""

    columns: Sequence[Sequence[Any]]
    lines: Sequence[int]


@dataclass(frozen=True)
class Table:
    """A file, or a frame, whose path is None: its header, the line of the header, and its rows or what is wrong with some."""

    path: PathLike | None
    header: Sequence[str]
    line: int
    chunks: Iterable[Chunk | BadInput]
    roles: Mapping[str, str] = field(default_factory=dict)
    """Role -> header, where it is known; then all other columns are metrics."""
    unread: Sequence[str] = ()
    """Names in the file that are no columns."""
    notes: Sequence[str] = ()
    advice: str = ""
    """What may have been written as 0, too."""


class Problems:
    """What is wrong with all files, so that one message names the first problems and counts the others."""

    def __init__(self) -> None:
        self._first: list[BadInput] = []
        self._counts: Counter[str] = Counter()

    def add(
        self, kind: str, text: str | BadInput, path: PathLike | None = None, line: int | None = None
    ) -> None:
        """Add a problem of a kind; of a frame, the line is a row; 0 for what has no rows."""
        self._counts[kind] += 1
        if len(self._first) < SHOWN:
            if not isinstance(text, BadInput):
                row = f"row {line}: " if path is None and line else ""
                text = BadInput(row + text, path, line)
            self._first.append(text)

    def count(self, kind: str, number: int) -> None:
        """Count further problems of a kind."""
        self._counts[kind] += number

    def refuse(self, end: str = "") -> None:
        """Raise an error about all problems, if there are any; `end` ends its message."""
        if not self._first:
            return
        lines = [problem.marked for problem in self._first]
        more = sum(self._counts.values()) - len(lines)
        if more:
            kinds = ", ".join(counted(number, kind) for kind, number in (+self._counts).items())
            lines.append(f"and {counted(more, 'further problem')}; in all {kinds}")
        first = self._first[0]
        error = BadInput("\n  ".join(lines) + end, option=first.option)
        error.path, error.line = first.path, first.line
        raise error


class Labels:
    """Labels of one kind, numbered in order of first appearance."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.lacking: list[int] = []
        """Numbers of empty labels, and of those that are empty in one of several columns."""
        self._known: dict[str, int] = {}

    def numbered(self, cells: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.int32]]:
        """Return the numbers of the labels in cells."""
        with suppress(KeyError, TypeError):  # of new ones, and of other values than texts
            return np.fromiter(map(self._known.__getitem__, cells), np.int32, len(cells))
        if set(map(type, cells)) - {str}:
            cells = [label_text(cell) for cell in cells]
        for cell in dict.fromkeys(cells):
            if cell not in self._known:
                label = label_of_spreadsheet(cell.strip())
                if label not in self.numbers and not all(label.split(JOIN)):
                    self.lacking.append(len(self.numbers))
                self._known[cell] = self.numbers.setdefault(label, len(self.numbers))
        return np.fromiter(map(self._known.__getitem__, cells), np.int32, len(cells))


def label_text(cell: Any) -> str:
    """Return the text of a label; '' for a missing one and for nested values."""
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    if cell is None or cell != cell or isinstance(cell, list | tuple | dict | set):
        return ""
    return str(cell)


@dataclass
class Cells:
    """What the cells of a column are, in all files."""

    n_numbers: int = 0
    n_nested: int = 0
    others: list[tuple[Any, int, Any]] = field(default_factory=list)
    """Cells that are no numbers: file, line and cell."""
    n_others: int = 0
    flag: tuple[PathLike | None, int] | None = None
    number: tuple[PathLike | None, int] | None = None
    """File and line of the first true or false, and of the first number other than 0 and 1."""

    def read(self, cells: Sequence[Any], path: PathLike | None, lines: Sequence[int]) -> Floats:
        """Return the numbers in cells of the column, NaN for missing ones and for others, which are noted."""
        kinds = set(map(type, cells))
        values = _plain(cells, kinds)
        if values is None:
            if kinds & NESTED:
                cells = [Cells if type(cell) in NESTED else cell for cell in cells]
            # Of cells of one type, equal ones need no type beside them: 1 == True.
            keys = cells if len(kinds) == 1 else list(zip(map(type, cells), cells, strict=True))
            cell_of = {key: (key if len(kinds) == 1 else key[1]) for key in dict.fromkeys(keys)}
            known = {key: _number(cell) for key, cell in cell_of.items()}
            values = np.array(list(map(known.__getitem__, keys)), np.float64)  # None is NaN
            if None in known.values():
                others = [k for k, key in enumerate(keys) if known[key] is None]
                self.n_nested += sum(cells[k] is Cells for k in others)
                self.n_others += len(others)
                some = others[: SHOWN - len(self.others)]
                self.others += [(path, lines[k], cells[k]) for k in some]
            if self.flag is None:
                flags = {
                    key
                    for key, cell in cell_of.items()
                    if isinstance(cell, bool | str) and str(cell).strip().lower() in FLAGS
                }
                first = next((k for k, key in enumerate(keys) if flags and key in flags), None)
                self.flag = None if first is None else (path, lines[first])
        self.n_numbers += int(np.count_nonzero(~np.isnan(values)))
        if self.number is None:
            numbers = np.flatnonzero((values != 0.0) & (values != 1.0) & ~np.isnan(values))
            self.number = (path, lines[numbers[0]]) if len(numbers) else None
        return values

    @property
    def kind(self) -> str:
        """What the column is if it is no metric: text, nested or empty; '' for mostly numbers, also with decimal commas, which are refused."""
        with_comma = [DECIMAL_COMMA.fullmatch(str(cell).strip()) for *_, cell in self.others]
        if self.n_others > self.n_numbers and not (with_comma and all(with_comma)):
            few = f", {counted(self.n_numbers, 'number')}" if self.n_numbers else ""
            return "nested" if self.n_nested == self.n_others else f"text{few}"
        return "" if self.n_numbers or self.n_others else "empty"


def _plain(cells: Sequence[Any], kinds: set[type]) -> Floats | None:
    """Return the numbers of cells if all are plain numbers."""
    if kinds != {str} and not kinds <= {int, float}:
        return None
    try:
        values = np.fromiter(map(float, cells), np.float64, len(cells))
    except (ValueError, OverflowError):
        return None
    is_plain = bool((np.abs(values) <= LARGEST_SCORE).all())  # NaN is not
    return values if is_plain and not (kinds == {str} and "_" in "".join(cells)) else None


def _number(cell: Any) -> float | None:
    """Return the number in a cell, NaN if it is missing; None for other content."""
    text = "" if cell is None else str(cell).strip().lower()
    if text in FLAGS or text in MISSING:
        return FLAGS.get(text, math.nan)
    try:
        value = float(text.replace("_", "x"))
    except ValueError:
        return None
    return value if abs(value) <= LARGEST_SCORE else None


def score_problem(cell: Any) -> str:
    """Return what is wrong with a cell that is no score."""
    if cell is Cells:
        return "a list or an object where a score is expected"
    try:
        score(str(cell).strip(), "", 0)
    except BadInput as error:
        return str(error).removeprefix(":0: ")
    return f"score {cell!r} is not a number"
