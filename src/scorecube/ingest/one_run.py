"""Shared reader of the formats in which a tool writes the scores of one run to one file."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scorecube.errors import BadInput
from scorecube.ingest.collector import Collector, matrices_of
from scorecube.ingest.delimited import read_text, score
from scorecube.ingest.files import PathLike, bare_name
from scorecube.ingest.records import Matrices

Record = tuple[int, str, str, str]
"""Line number, topic, measure and value."""


@dataclass(frozen=True)
class OneRunReader:
    """Reads files of one run each."""

    parse: Callable[[str, PathLike], tuple[str, Iterable[Record]]]
    """Text and path -> name of the run in the text ('' if it has none), and records."""
    label: Callable[[str], str]
    """Measure of the tool -> its name here, or the tool's own name where the names here mean something else."""
    extensions: str
    """Regular expression of file name extensions that are not part of a run's name."""
    counts: re.Pattern[str] | None = None
    """Measures that are read only on request."""
    summary: str | None = None
    """Topic label of means over all topics, which are left out."""
    only_means: str = ""
    """Message for a file that has nothing but such means."""

    def read(self, paths: Sequence[PathLike], metric: str | None = None) -> dict[str, Matrices]:
        """Read files of one run each.

        paths: One file for each run.
        metric: The only measure to read, by its name here or in the tool.
        Returns matrices: '' (no gain settings) -> metric -> runs x topics, NaN for missing scores.
        Raises BadInput: Naming file and line: a malformed line, a value that is not a number, a second value of a
            measure on a topic; two files of one run; a file without scores of topics or of `metric`.
        """
        origin: dict[str, PathLike] = {}
        found = Collector(self.label, metric, self.counts)
        for path in paths:
            name, records = self.parse(read_text(path), path)
            run = name or re.sub(rf"\.({self.extensions})$", "", bare_name(path))
            if run in origin:
                raise BadInput(f"a second file of run {run!r}; the first is {origin[run]}", path)
            origin[run] = path
            self._collect(records, run, path, found)
            if not any(run in scores for scores in found.scores.values()):
                known = f"; there are {', '.join(sorted(found.others))}" if found.others else ""
                raise BadInput(f"no scores of {metric or 'topics'} in the file{known}", path)
        return {"": matrices_of(found.scores)}

    def _collect(
        self, records: Iterable[Record], run: str, path: PathLike, found: Collector
    ) -> None:
        """Collect the scores of a file; means over all topics are no scores."""
        topics, means = 0, False
        for line, topic, measure, value in records:
            if topic != self.summary:
                topics += 1
                if (label := found.wanted(measure)) is not None:
                    number = score(value, path, line)
                    found.add(label, run, sys.intern(topic), number, path, line)
                continue
            means = True
            if self.counts is None or not self.counts.fullmatch(measure):
                score(value, path, line)
        if means and not topics:
            raise BadInput(self.only_means, path)
