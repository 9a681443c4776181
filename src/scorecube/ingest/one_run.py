"""Shared reader of the formats in which a tool writes the scores of one run to one file."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from scorecube.errors import BadInput
from scorecube.ingest.delimited import read_text, score
from scorecube.ingest.files import PathLike, bare_name
from scorecube.ingest.in_memory import matrices_of
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

        Parameters
        ----------
        paths
            One file for each run.
        metric
            The only measure to read, by its name here or in the tool.

        Returns
        -------
        matrices
            '' (no gain settings) -> metric -> runs x topics, NaN for missing scores.

        Raises
        ------
        BadInput
            Naming file and line: a malformed line, a value that is not a number, a second value of a measure on a
            topic; two files of one run; a file without scores of topics or of `metric`.
        """
        origin: dict[str, PathLike] = {}
        nested: dict[str, dict[str, dict[str, float]]] = {}
        for path in paths:
            run, scores = self._read_file(path, metric)
            if run in origin:
                raise BadInput(f"a second file of run {run!r}; the first is {origin[run]}", path)
            origin[run] = path
            for label, row in scores.items():
                nested.setdefault(label, {})[run] = row
        return {"": matrices_of(nested)}

    def _read_file(
        self, path: PathLike, metric: str | None
    ) -> tuple[str, dict[str, dict[str, float]]]:
        """Return the name of the run, and metric -> topic -> score."""
        run, records = self.parse(read_text(path), path)
        scores: dict[str, dict[str, float]] = {}
        others: set[str] = set()
        summary = False
        for line, topic, measure, value in records:
            is_count = self.counts is not None and self.counts.fullmatch(measure)
            if topic == self.summary:
                summary = True
                if not is_count:
                    score(value, path, line)
                continue
            label = self.label(measure)
            if is_count if metric is None else metric not in (measure, label):
                others.add(label)
                continue
            row = scores.setdefault(label, {})
            if topic in row:
                raise BadInput(
                    f"a second value of {label} on topic {topic!r}; one file holds one run",
                    path,
                    line,
                )
            row[sys.intern(topic)] = score(value, path, line)
        if not scores:
            if summary and not others:
                raise BadInput(self.only_means, path)
            known = f"; there are {', '.join(sorted(others))}" if others else ""
            raise BadInput(f"no scores of {metric or 'topics'} in the file{known}", path)
        return run or re.sub(rf"\.({self.extensions})$", "", bare_name(path)), scores
