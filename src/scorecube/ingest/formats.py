"""Formats of files of per-topic scores: a file, and the decorator that declares a reader of one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scorecube.errors import BadName
from scorecube.ingest.input_files import PathLike, is_json, read_text
from scorecube.ingest.kinds import readable_kind

if TYPE_CHECKING:
    from scorecube.ingest.delimited import CellTable


AUTO = "auto"
LONG, MATRIX = "long", "matrix"
"""Ways to read tables, and formats that choose them."""
N_LINES = 50
"""Number of lines from which a format is detected."""


class Asked(NamedTuple):
    """What is asked of files.

    metric: Name of the metric where a file does not name it, else the only one to read.
    chosen: Role (run, topic, collection, seed, score) -> its column.
    items: Ids of all items, of files that list only those that a run has solved.
    """

    metric: str | None = None
    chosen: Mapping[str, str] = {}
    items: tuple[str, ...] = ()


class Row(NamedTuple):
    """A score of a file: its line, or its number from 1 on, and its labels."""

    line: int
    run: object
    topic: object
    score: object
    metric: object = "score"
    collection: object = ""
    seed: object = ""


@dataclass(frozen=True)
class File:
    """A file of scores, which is read once; the text of a binary file is empty.

    kind: What a binary file, or a folder, is; see `scorecube.ingest.kinds`.
    """

    path: PathLike
    text: str
    kind: str = ""
    asked: Asked = field(default_factory=Asked)
    notes: list[str] = field(default_factory=list)
    """Lines that a reader adds, about what it did not read."""

    @classmethod
    def read(cls, path: PathLike, asked: Asked | None = None) -> File:
        """Read a file (BadInput for one that cannot be read, or is no text)."""
        kind = readable_kind(path)
        return cls(path, "" if kind else read_text(path), kind, asked or Asked())

    @cached_property
    def lines(self) -> list[str]:
        """First lines that are not empty, at least one of a text."""
        lines = (match.group() for match in re.finditer(r"[^\n]*\S[^\n]*", self.text))
        return list(islice(lines, N_LINES))

    @cached_property
    def rows(self) -> list[list[str]]:
        """Cells of these lines between commas, tabs or semicolons; none of other files."""
        from scorecube.ingest.delimited import delimiter_of, without_comments

        if self.is_json or not self.text:
            return []
        delimiter = delimiter_of(self.text)
        text, _ = without_comments("\n".join(self.lines), delimiter)
        lines = [line for line in text.split("\n") if line.strip()]
        return [[cell.strip(' "') for cell in line.split(delimiter)] for line in lines]

    @property
    def is_json(self) -> bool:
        """Whether the text is JSON, or lines of it."""
        return is_json(self.text)

    @cached_property
    def records(self) -> list[tuple[int, dict[str, Any]]]:
        """Objects of JSON with their lines; none of other files (BadInput for other values)."""
        from scorecube.ingest.json_rows import objects_of

        return objects_of(self.text, self.path) if self.is_json else []

    @property
    def first(self) -> Mapping[str, Any]:
        """The first object of JSON; an empty one of other files."""
        return self.records[0][1] if self.records else {}

    @cached_property
    def table(self) -> CellTable:
        """The file as a table; see `delimited` and `json_rows`."""
        from scorecube.ingest import data_frames as tables
        from scorecube.ingest import delimited, json_rows
        from scorecube.ingest.delimited import CellTable
        from scorecube.ingest.kinds import PARQUET

        if self.kind == PARQUET:
            return CellTable(tables.table_of_frame(tables.read_parquet(self.path)), path=self.path)
        if self.is_json:
            wanted = list(self.asked.chosen.values())
            is_whole = len(self.records) == 1 and self.text.lstrip()[0] == "{"
            how = {"is_whole": is_whole, "has_lines": self.has_lines}
            return json_rows.table_of_records(self.records, wanted, self.path, **how)
        return delimited.read_delimited(self.text, self.path)

    @property
    def has_lines(self) -> bool:
        """Whether its rows are lines; those of JSON as a whole are numbered from 1 on."""
        return not self.is_json or (len(self.records) > 1 and self.text.lstrip()[0] == "{")

    @property
    def names(self) -> set[str]:
        """Names in its first object; none of other files than JSON."""
        return {*self.first}

    @cached_property
    def nested(self) -> dict[str, dict[str, Any]]:
        """Its only object, if that holds objects; an empty one of other files."""
        only = self.records[0][1] if len(self.records) == 1 else {}
        return only if all(isinstance(part, dict) for part in only.values()) else {}


Detect = Callable[[File], bool]


@dataclass(frozen=True)
class Format:
    """A format of files of per-topic scores.

    name: Value of the argument `layout`.
    about: Content of a file in a few words, for help and messages.
    detect: Returns whether a `File` has this format, from its first lines or objects.
    read: Returns the scores of a `File`: rows; a table whose columns are decided with those of
        other files; or a frame with the columns run, topic and score, and perhaps further fields of
        `Row`, system, gain and topic_group, whose index is the line.
    is_general: Whether it is tried only if no other format fits.
    form: Where options may name columns: how its tables are read, `LONG` or `MATRIX`; empty where
        that is found out.
    """

    name: str
    about: str
    detect: Detect
    read: Callable[[File], Any]
    is_general: bool = False
    form: str | None = None

    @property
    def what(self) -> str:
        """What is read, as the docstring of its reader says behind the verb."""
        first = (self.read.__doc__ or "").partition("\n\n")[0]
        return " ".join(first.split()[1:]).rstrip(".")

    @property
    def is_ours(self) -> bool:
        """Whether this package declares it."""
        return self.read.__module__.startswith("scorecube.")


class Summary(NamedTuple):
    """A file of a tool that has no scores of single topics, why, and what to do instead."""

    about: str
    way: str
    detect: Detect
    why: str


DECLARED: dict[str, Format] = {}
"""Name -> format, of this package and of others."""
SUMMARIES: list[Summary] = []
"""Files beside those of scores: left out of folders with a note, refused alone."""


def summary(about: str, way: str, detect: Detect, why: str = "means have no topics") -> None:
    """Declare files that a tool writes beside its scores; see `Summary`."""
    SUMMARIES.append(Summary(about, way, detect, why))


def never(_: File) -> bool:
    """Return that no file has a format: only an option chooses it."""
    return False


def reader(
    name: str, about: str, detect: Detect, *, is_general: bool = False, form: str | None = None
) -> Callable[[Callable[[File], Any]], Callable[[File], Any]]:
    """Declare a function as the reader of a format; see `Format`.

    The decorator is all that a format needs: it is detected, listed, and a choice of ``--layout``.
    Formats of other packages are tried before those of this one.

    Raises
    ------
    BadName
        The name of a format of this package, for another one.

    Examples
    --------
    >>> @reader("pairs", "topic=score, one file a run", lambda file: "=" in file.lines[0])
    ... def read_pairs(file):
    ...     for line, text in enumerate(file.text.split(), 1):
    ...         topic, score = text.split("=")
    ...         yield Row(line, "mine", topic, score)
    >>> list(read_pairs(File("x", "t1=0.5")))[0].score
    '0.5'
    >>> del DECLARED["pairs"]
    """

    def declare(function: Callable[[File], Any]) -> Callable[[File], Any]:
        added = Format(name, about, detect, function, is_general, form)
        if name == AUTO or (name in DECLARED and DECLARED[name].is_ours and not added.is_ours):
            raise BadName(f"layout {name!r} exists in scorecube; choose another name")
        DECLARED[name] = added
        return function

    return declare
