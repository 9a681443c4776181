"""Output of TREC's gdeval: CSV with the columns runid and topic and one for each measure; means (``amean``) are left out.

A file holds one or more runs, and a run may have several files with other cut-offs. `ndeval` writes the same form.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scorecube.errors import BadInput
from scorecube.ingest.collector import Collector, matrices_of
from scorecube.ingest.delimited import read_rows, refuse_other_width, score
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import BUILT_IN, FileHead, Format
from scorecube.ingest.measure_names import from_gdeval
from scorecube.ingest.records import Matrices

LABELS = ["runid", "topic"]
MEAN = "amean"
BASELINE = " (rel to. "
"""In the name of a run that gdeval or ndeval compared with a baseline (-baseline); the numbers are then differences."""


@dataclass(frozen=True)
class TrecTool:
    """A tool that writes this form."""

    name: str
    measures: re.Pattern[str]
    """Headers of its columns."""
    label: Callable[[str], str]
    """Measure of the tool -> name here."""
    examples: str

    def detect(self, head: FileHead) -> bool:
        """Return whether a file has the header of this tool."""
        labels, measures = head.header[:2], head.header[2:]
        return labels == LABELS and bool(measures) and all(map(self.measures.fullmatch, measures))

    def read(self, paths: Iterable[PathLike], metric: str | None = None) -> dict[str, Matrices]:
        """Read the output of this tool; several files are read as one.

        paths: Files of one or more runs.
        metric: The only measure to read, by its name here or in the tool.
        Returns matrices: '' (no gain settings) -> metric -> runs x topics, NaN for missing scores.
        Raises BadInput: Naming file and line: another header, a line of another length, an empty run or topic, a score
            that is not a number, a second score of one run, topic and measure, differences to a baseline; means without
            topics.
        """
        found = Collector(self.label, metric)
        first = ""
        for path in paths:
            first = first or str(path)
            self._read_file(path, found)
        if not found.scores:
            raise BadInput(
                f"no scores of {metric} in the file; there are {', '.join(sorted(found.others))}",
                first,
            )
        return {"": matrices_of(found.scores)}

    def _read_file(self, path: PathLike, found: Collector) -> None:
        (first, header), rows = read_rows(path)
        self._check_header(header, path, first)
        n_topics = 0
        for line, cells in rows:
            if cells[:2] == LABELS:  # the next run of concatenated output
                header = self._check_header(cells, path, line)
                continue
            # The name of a run that was compared with a baseline contains commas, without quotes around it.
            name = ",".join(cells[: len(cells) - len(header) + 1])
            if BASELINE in name and name.endswith(")"):
                raise BadInput(
                    f"differences to a baseline, not scores; run {self.name} without -baseline and -riskAlpha",
                    path,
                    line,
                )
            refuse_other_width(cells, header, path, line)
            run, topic = sys.intern(cells[0]), sys.intern(cells[1])
            if not run or not topic:
                raise BadInput(f"the {'run' if not run else 'topic'} is missing", path, line)
            n_topics += topic != MEAN
            for measure, cell in zip(header[2:], cells[2:], strict=True):
                value, label = score(cell, path, line), found.wanted(measure)
                if topic != MEAN and label is not None:
                    found.add(label, run, topic, value, path, line)
        if not n_topics:
            raise BadInput(
                f"no scores of topics in the file, only means ({MEAN}) or nothing; judgements and run share no topic",
                path,
            )

    def _check_header(self, cells: list[str], path: PathLike, line: int) -> list[str]:
        if cells[:2] != LABELS or len(cells) < 3:
            found = ",".join(cells)[:60]
            raise BadInput(
                f"the header of {self.name} is runid,topic and measures; found {found}", path, line
            )
        seen: set[str] = set()
        for number, measure in enumerate(cells[2:], 3):
            if not self.measures.fullmatch(measure):
                raise BadInput(
                    f"column {number} is {measure!r}, not a measure of {self.name}; expected such as {self.examples}",
                    path,
                    line,
                )
            if measure in seen:
                raise BadInput(f"two columns are called {measure}", path, line)
            seen.add(measure)
        return cells


GDEVAL = TrecTool("gdeval", re.compile(r"(ndcg|err)@[1-9]\d*"), from_gdeval, "ndcg@20, err@20")
FORMAT = Format("gdeval", BUILT_IN["gdeval"].about, GDEVAL.detect, GDEVAL.read)
