"""Results of autojudge-evaluate and TIRA: scores that a judge gave to runs; a file a judge.

eval_results/io.py of autojudge-evaluate 1.1.0 (run, measure, topic, value), read 2026-11-25;
`TrecEvalLeaderboard` of tira-io/tira (run, topic, measure, value), read 2026-11-29.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from scorecube.errors import BadInput, option
from scorecube.ingest.formats import File, Row, reader, summary
from scorecube.ingest.input_files import name_in

ALL = "all"
FIELDS = ("run_id", "measure", "topic_id", "value")
LINE = re.compile(r"[^\s,]+\s+(?!-?\d+\.\d+\s)\S+\s+(?!-?\d+\.\d+\s)\S+\s+(\S+)")
"""Run, two labels, and score; a decimal in third place is a mean, beside its deviation."""
JUDGED = re.compile(r"\S+\s+Q?0\s+(\S+)\s+-?\d+")
SECOND = re.compile(r"^[ \t]*\S+[ \t]+(\S+)", re.MULTILINE)
THIRD = re.compile(r"^[ \t]*\S+[ \t]+\S+[ \t]+(\S+)", re.MULTILINE)


def _has_topics(file: File, column: re.Pattern[str]) -> bool:
    """Return whether lines are scores, and a column has ``all``, or numbers, or neither has."""
    from scorecube.ingest.cells import is_score

    rows = [LINE.fullmatch(line.strip()) for line in file.lines[:2]]
    if file.kind or file.is_json or not all(row and is_score(row[1]) for row in rows):
        return False
    marks = {SECOND: 0, THIRD: 0}
    for one in marks:
        labels = set(one.findall(file.text))
        marks[one] = 2 if ALL in labels else int(all(map(str.isdecimal, labels)))
    return marks[column] == max(marks.values())


def _is_judged(file: File) -> bool:
    """Return whether lines are topic, iteration, document and level rather than scores."""
    from scorecube.ingest.headings import is_like_measure

    names = [found[1] for line in file.lines if (found := JUDGED.fullmatch(line.strip()))]
    n_measures = sum(map(is_like_measure, names))
    return len(names) == len(file.lines) and 2 * n_measures < len(names)


summary(
    "judgements: topic, iteration, document, level",
    "scorecube evaluate scores runs with them (if they are run, topic, measure and value: "
    f"{option('layout', 'autojudge_topics')})",
    _is_judged,
    "no scores of runs",
)


@reader(
    "autojudge",
    "results of autojudge-evaluate, JSON lines, or lines of run, measure, topic, value",
    lambda file: file.names >= {*FIELDS} or _has_topics(file, THIRD),
)
def read_autojudge(file: File) -> Iterator[Row]:
    """Yield scores by run_id and topic_id, without all; the file names judge and collection."""
    found: Any = [(line, *map(row.get, FIELDS)) for line, row in file.records]
    for line, run, measure, topic, value in found or _fields(file):
        if topic != ALL:
            yield Row(line, run, topic, value, measure, _judge(file))


@reader(
    "autojudge_topics",
    "lines of run, topic, measure, value, a file a judge",
    lambda file: _has_topics(file, SECOND),
)
def read_by_topic(file: File) -> Iterator[Row]:
    """Yield scores by run and topic, as in TIRA; the file names judge and collection."""
    for line, run, topic, measure, value in _fields(file):
        if topic != ALL:
            yield Row(line, run, topic, value, measure, _judge(file))


def _judge(file: File) -> str:
    return name_in(file.path, r"\.(jsonl|json|txt)$").removesuffix(".eval")


def _fields(file: File) -> Iterator[tuple[Any, ...]]:
    """Yield the number and the four fields of each line."""
    for line, text in enumerate(file.text.split("\n"), 1):
        fields = text.split()
        if fields and len(fields) != len(FIELDS):
            raise BadInput("a line has run, measure, topic and value", file.path, line)
        if fields:
            yield line, *fields
