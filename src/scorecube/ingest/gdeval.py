"""Output of TREC's gdeval and ndeval: CSV with the columns runid and topic and one for each measure; means (``amean``) are left out.

A file holds one or more runs, and a run may have several files with other cut-offs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from scorecube.errors import BadInput
from scorecube.ingest.delimited import read_rows, refuse_other_width
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import BUILT_IN, FileHead, Format
from scorecube.ingest.measure_names import NDEVAL, from_gdeval
from scorecube.ingest.one_run import Record, ScoreReader

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

    @property
    def format(self) -> Format:
        """The format of its output."""
        means = f"no scores of topics in the file, only means ({MEAN}) or nothing; judgements and run share no topic"
        reader = ScoreReader(self._records, self.label, summary=MEAN, only_means=means)
        return Format(self.name, BUILT_IN[self.name].about, self.detect, reader.read)

    def _records(self, path: PathLike) -> Iterator[Record]:
        """Yield records (BadInput for another header, a line of another length, a missing label, differences to a baseline)."""
        (first, header), rows = read_rows(path)
        self._check_header(header, path, first)
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
            run, topic = cells[:2]
            if not run or not topic:
                raise BadInput(f"the {'run' if not run else 'topic'} is missing", path, line)
            for measure, cell in zip(header[2:], cells[2:], strict=True):
                yield line, run, topic, measure, cell

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


TOOLS = (
    TrecTool("gdeval", re.compile(r"(ndcg|err)@[1-9]\d*"), from_gdeval, "ndcg@20, err@20"),
    TrecTool("ndeval", NDEVAL, str, "ERR-IA@20, alpha-nDCG@20, NRBP, strec@20"),
)
FORMATS = {tool.name: tool.format for tool in TOOLS}
