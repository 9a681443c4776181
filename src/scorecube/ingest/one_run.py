"""Shared reader of the formats in which a tool writes scores one by one: rows -> tables, of which `scorecube.ingest.records` makes matrices."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from scorecube.errors import BadInput
from scorecube.ingest.cells import Chunk, Table
from scorecube.ingest.delimited import score
from scorecube.ingest.files import PathLike, bare_name
from scorecube.ingest.reading import Matrices, Reading
from scorecube.ingest.records import Records

COLUMNS = ("run", "topic", "metric", "score")
Row = tuple[str, str, str, Any]
"""Run, topic, metric by its name here, and score."""
Record = tuple[int, str, str, str, str]
"""Line number, run ('' for that of the file's name), topic, measure and value."""


@dataclass(frozen=True)
class ScoreReader:
    """Reads files of scores one by one."""

    parse: Callable[[PathLike], Iterable[Record]]
    """Path -> records."""
    label: Callable[[str], str]
    """Measure of the tool -> its name here, or the tool's own name where the names here mean something else."""
    extensions: str = ""
    """Regular expression of file name extensions that are not part of a run's name; '' where a file may have several runs."""
    counts: re.Pattern[str] | None = None
    """Measures that are read only on request."""
    summary: str | None = None
    """Topic label of means over all topics, which are left out."""
    only_means: str = ""
    """Message for a file that has nothing but such means."""

    def read(self, paths: Sequence[PathLike], metric: str | None = None) -> Reading:
        """Read files; several are read as one.

        metric: The only measure to read, by its name here or in the tool.
        Returns reading: Without gain settings.
        Raises BadInput: All problems of all files: a malformed line, a value that is not a number, a second value of a
            measure for a run on a topic; two files of one run; no scores of topics or of `metric`.
        """
        others: set[str] = set()
        tables = list(self._tables(paths, metric, others))
        if not tables:
            raise _none(metric, others, paths[0])
        return read_tables(tables)

    def _tables(
        self, paths: Sequence[PathLike], metric: str | None, others: set[str]
    ) -> Iterator[Table | BadInput]:
        origin: dict[str, PathLike] = {}
        for path in paths:
            try:
                rows = list(self._rows(path, metric, others))
                for run in dict.fromkeys(run for _, (run, *_) in rows if self.extensions):
                    if (first := origin.setdefault(run, path)) is not path:
                        raise BadInput(f"a second file of run {run!r}; the first is {first}", path)
                if self.extensions and not rows:
                    raise _none(metric, others, path)
                if rows:
                    yield table_of_rows(rows, path)
            except BadInput as error:
                yield error

    def _rows(
        self, path: PathLike, metric: str | None, others: set[str]
    ) -> Iterator[tuple[int, Row]]:
        """Yield the scores of a file with their lines; means over all topics are no scores."""
        topics, means = 0, False
        own = re.sub(rf"\.({self.extensions})$", "", bare_name(path))
        label, counts = cache(self.label), self.counts
        is_count = cache(lambda measure: counts is not None and counts.fullmatch(measure))
        for line, run, topic, measure, value in self.parse(path):
            if topic == self.summary:
                means = True
                if not is_count(measure):
                    score(value, path, line)
                continue
            topics, name = topics + 1, label(measure)
            if metric in (measure, name) or (metric is None and not is_count(measure)):
                yield line, (run or own, topic, name, value)
            else:
                others.add(name)
        if means and not topics:
            raise BadInput(self.only_means, path)


def _none(metric: str | None, others: set[str], path: PathLike) -> BadInput:
    """Return the error for a file without scores that are to be read."""
    known = f"; there are {', '.join(sorted(others))}" if others else ""
    return BadInput(f"no scores of {metric or 'topics'} in the file{known}", path)


def table_of_rows(rows: Iterable[tuple[int, Row]], path: PathLike | None = None) -> Table:
    """Return the table of rows with their lines; the file is for messages."""
    found = list(rows)
    columns = list(zip(*(row for _, row in found), strict=True))
    chunks = [Chunk(columns, [line for line, _ in found])] if found else []
    return Table(path, COLUMNS, 1, chunks, dict(zip(COLUMNS, COLUMNS, strict=True)))


def read_tables(tables: Iterable[Table | BadInput]) -> Reading:
    """Return the scores in tables of `table_of_rows`; what their columns are needs no words."""
    return replace(Records().read(tables), taken=[])


def matrices_of(scores: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> Matrices:
    """Return matrices of numbers by metric, run and topic, all with all runs and topics, NaN for missing numbers.

    scores: Metric -> run -> topic -> score.
    Returns matrices: Metric -> data frame of runs x topics.
    Raises BadInput: A value that is not a number, naming metric, run and topic.

    Examples
    --------
    >>> matrices_of({"AP": {"a": {"1": 0.5}, "b": {"1": 0.25, "2": 1.0}}})["AP"].to_numpy().tolist()
    [[0.5, nan], [0.25, 1.0]]
    """
    return matrices_of_rows(
        (run, topic, metric, value)
        for metric, by_run in scores.items()
        for run, by_topic in by_run.items()
        for topic, value in by_topic.items()
    )


def matrices_of_rows(rows: Iterable[Row]) -> Matrices:
    """Return matrices as `matrices_of`; a second score of a row is refused, too (BadInput)."""
    numbers = ((0, (*row[:3], _number(row[3], row[2], *row[:2]))) for row in rows)
    (found,) = read_tables([table_of_rows(numbers)]).only().values()
    return found


def _number(value: Any, metric: str, run: str, topic: str) -> float:
    try:
        if isinstance(value, str | bytes):
            raise TypeError
        number = math.nan if value is None else float(value)
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number):
        raise BadInput(
            f"{metric} of run {run!r} on topic {topic!r} is {value!r}, not a finite number"
        )
    return number
