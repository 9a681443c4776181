"""A file of scores that is read once, and what a format of such files is."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from scorecube.ingest.files import PathLike, is_parquet, read_text

if TYPE_CHECKING:
    import pandas as pd

    from scorecube.ingest.scores import Scores
    from scorecube.ingest.tables import Table

AUTO, MATRIX, NUMBERS, LONG = "auto", "matrix", "numbers", "long"
N_LINES = 50
"""Number of lines from which a format is detected."""
BUILT_IN = {
    MATRIX: "topics down, runs across, one file a metric",
    NUMBERS: "a matrix without a header, as of NTCIREVAL: runs are numbered",
    LONG: "columns of run and topic, and of a score or of metrics, also as JSON lines or Parquet",
    "ndeval": "output of ndeval",
    "gdeval": "output of gdeval",
    "trec_eval": "output of trec_eval -q, one file a run",
    "ir_measures": "output of ir_measures -q, one file a run",
    "nev": "output of NTCIREVAL, one file a run",
    "pytrec_eval": "dictionaries of pytrec_eval or ranx as JSON, one file a run or of runs",
    "every_eval_ever": "samples of Every Eval Ever (JSON lines, or a table of them)",
    "lm_eval": "samples_TASK_DATE.jsonl of lm-evaluation-harness, in a folder for each model",
    "inspect": "log of Inspect in JSON, or its samples_df with EvalModel and EvalTask",
    "autojudge": "results of autojudge-evaluate, run, measure, topic, value; a file a judge",
}
"""Formats of this package, general ones first; they are tried from the last."""


@dataclass(frozen=True)
class File:
    """A file of scores, which is read once.

    path: Its path.
    text: Its text; '' of Parquet.
    """

    path: PathLike
    text: str

    @classmethod
    def read(cls, path: PathLike) -> File:
        """Read a file (BadInput for one that cannot be read, or is no text)."""
        return cls(path, "" if is_parquet(path) else read_text(path))

    @cached_property
    def lines(self) -> list[str]:
        """First lines that are not empty, at least one."""
        lines = (match.group() for match in re.finditer(r"[^\n]*\S[^\n]*", self.text))
        return list(islice(lines, N_LINES))

    @cached_property
    def fields(self) -> list[list[str]]:
        """Fields between blanks of these lines."""
        return [line.split() for line in self.lines]

    @cached_property
    def rows(self) -> list[list[str]]:
        """Cells of these lines between commas, tabs or semicolons; none of JSON and Parquet."""
        from scorecube.ingest.tables import delimiter_of, is_json, split_cells

        if not self.text or is_json(self.text):
            return []
        return split_cells("\n".join(self.lines), delimiter_of(self.text))

    @cached_property
    def records(self) -> list[tuple[int, Any]]:
        """Objects of JSON with their lines; none of other files."""
        from scorecube.ingest.tables import is_json, parse_json

        return parse_json(self.text, self.path) if is_json(self.text) else []

    @cached_property
    def table(self) -> Table:
        """The file as a table; see `scorecube.ingest.tables`."""
        from scorecube.ingest import tables

        if not self.text:
            return tables.table_of_frame(tables.read_parquet(self.path), self.path)
        if self.records or tables.is_json(self.text):
            return tables.table_of_records(self.records, self.path)
        return tables.table_of_text(self.text, self.path)

    @cached_property
    def names(self) -> set[str]:
        """Names of its columns, or of its first object."""
        if self.records:
            first = self.records[0][1]
            return set(first) if isinstance(first, dict) else set()
        return set((self.rows or [[]])[0] if self.text else self.table.header)


@dataclass(frozen=True)
class Format:
    """A format of files of per-topic scores.

    name: Value of the argument `layout`.
    about: Content of a file in a few words, for help and messages.
    detect: Returns whether a `File` has this format. Formats that are registered later are tried
        first.
    read: Reads a `File`: returns a data frame with a row a score, of the columns run, topic and
        score, and perhaps collection, metric, gain, seed, system and topic_group. Formats of this
        package return `Scores`.
    options: Arguments of `read` beside the file and the metric.
    is_run: Whether a file holds one run.
    """

    name: str
    about: str
    detect: Callable[[File], bool]
    read: Callable[..., pd.DataFrame | Scores]
    options: frozenset[str] = frozenset()
    is_run: bool = False
