"""Formats of files of per-topic scores: what one is, and their list."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from scorecube.errors import BadInput, BadName, kind_of
from scorecube.ingest.files import PathLike, bare_name, is_json, read_text

if TYPE_CHECKING:
    import pandas as pd

    from scorecube.ingest.scores import Part

AUTO, MATRIX, NUMBERS, LONG = "auto", "matrix", "numbers", "long"
N_LINES = 50
"""Number of lines from which a format is detected."""
BUILT_IN = {
    MATRIX: "topics down, runs across, or exchanged, one file a metric",
    NUMBERS: "a matrix without a header, as of NTCIREVAL: runs are numbered",
    LONG: "columns of run and topic, and of a score or of metrics, also as JSON lines or Parquet",
    "gdeval": "output of gdeval or ndeval",
    "trec_eval": "output of trec_eval -q, one file a run",
    "ir_measures": "output of ir_measures -q, one file a run",
    "nev": "output of NTCIREVAL, one file a run",
    "pytrec_eval": "dictionaries of pytrec_eval or ranx as JSON, one file a run or of runs",
    "every_eval_ever": "samples of Every Eval Ever (JSON lines)",
    "lm_eval": "samples_TASK_DATE.jsonl of lm-evaluation-harness, in a folder for each model",
    "inspect": "log of Inspect in JSON",
    "autojudge": "results of autojudge-evaluate, run, measure, topic, value; a file a judge",
}
"""Formats of this package, general ones first; they are tried from the last."""


@dataclass(frozen=True)
class File:
    """A file of scores, which is read once; the text of Parquet is empty."""

    path: PathLike
    text: str

    @classmethod
    def read(cls, path: PathLike) -> File:
        """Read a file (BadInput for one that cannot be read, or is no text)."""
        return cls(path, "" if bare_name(path).endswith(".parquet") else read_text(path))

    @cached_property
    def lines(self) -> list[str]:
        """First lines that are not empty, at least one."""
        lines = (match.group() for match in re.finditer(r"[^\n]*\S[^\n]*", self.text))
        return list(islice(lines, N_LINES))

    @cached_property
    def rows(self) -> list[list[str]]:
        """Cells of these lines between commas, tabs or semicolons; none of JSON and Parquet."""
        from scorecube.ingest.tables import delimiter_of

        lines = [] if not self.text or is_json(self.text) else self.lines
        delimiter = delimiter_of(self.text)
        return [[cell.strip(' "') for cell in line.split(delimiter)] for line in lines]

    @cached_property
    def records(self) -> list[tuple[int, dict[str, Any]]]:
        """Objects of JSON with their lines; none of other files (BadInput for other values)."""
        from scorecube.ingest.tables import parse_json

        records = parse_json(self.text, self.path) if is_json(self.text) else []
        for line, row in records:
            if not isinstance(row, dict):
                text = f"an object is expected; found {kind_of(row)}"
                raise BadInput(text, self.path, line)
        return records

    @cached_property
    def table(self) -> pd.DataFrame:
        """The file as a table; see `scorecube.ingest.tables`."""
        import pandas as pd

        from scorecube.ingest import tables

        if not self.text:
            return tables.table_of_frame(tables.read_parquet(self.path))
        if self.records:
            lines, rows = zip(*self.records, strict=True)
            return tables.table_of_frame(pd.DataFrame(rows, dtype=object), lines)
        return tables.table_of_text(self.text, self.path)

    @cached_property
    def names(self) -> set[str]:
        """Names in its first object; none of other files than JSON."""
        return {*self.records[0][1]} if self.records else set()

    @cached_property
    def nested(self) -> dict[str, dict[str, Any]]:
        """Its only object, if that holds objects; an empty one of other files."""
        only = self.records[0][1] if len(self.records) == 1 else {}
        return only if all(isinstance(part, dict) for part in only.values()) else {}


@dataclass(frozen=True)
class Format:
    """A format of files of per-topic scores.

    name: Value of the argument `layout`.
    about: Content of a file in a few words, for help and messages.
    detect: Returns whether a `File` has this format. Formats that are registered later are tried
        first.
    read: Reads a `File`, and perhaps only one metric: returns a data frame with a row a score, of
        the columns run, topic and score, and perhaps collection, metric, gain, seed, system and
        topic_group; the index is the line. Formats of this package may return a `Part`.
    """

    name: str
    about: str
    detect: Callable[[File], bool]
    read: Callable[..., pd.DataFrame | Part]


REGISTERED: dict[str, Format] = {}
"""Formats from code outside of the package, by name."""


def register_format(added: Format) -> None:
    """Add a format, which is tried before all others, or replace an added one of its name.

    Raises BadName: The name of a format of this package.
    """
    if added.name in (AUTO, *BUILT_IN):
        raise BadName(f"layout {added.name!r} exists in scorecube; choose another name")
    REGISTERED.pop(added.name, None)
    REGISTERED[added.name] = added


def layouts() -> dict[str, str]:
    """Return the names of all formats, with their content in a few words."""
    return BUILT_IN | {name: added.about for name, added in REGISTERED.items()}
