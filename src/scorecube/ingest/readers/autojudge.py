"""Results of autojudge-evaluate: scores that a judge gave to runs; a file a judge.

eval_results/io.py of autojudge-evaluate 1.1.0, read 2026-11-25.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from scorecube.errors import BadInput
from scorecube.ingest.files import name_in
from scorecube.ingest.formats import File, Row, reader

FIELDS = ("run_id", "measure", "topic_id", "value")
LINE = re.compile(r"[^\s,]+\s+(?=\S*[A-Za-z])\S+\s+(?!-?\d+\.\d+\s)\S+\s+(\S+)")
"""Run, measure, topic and score; a decimal in third place is a mean, beside its deviation."""


def is_autojudge(file: File) -> bool:
    """Return whether a file has results of autojudge-evaluate."""
    from scorecube.ingest.tables import is_score

    if file.kind:
        return False
    rows = [LINE.fullmatch(line.strip()) for line in file.lines[:2]]
    return file.names >= {*FIELDS} or all(row and is_score(row[1]) for row in rows)


@reader(
    "autojudge",
    "results of autojudge-evaluate, run, measure, topic, value; a file a judge",
    is_autojudge,
)
def read_autojudge(file: File) -> Iterator[Row]:
    """Yield the scores of runs; the file, which is called as the judge, names the collection."""
    judge = name_in(file.path, r"\.(jsonl|json|txt)$").removesuffix(".eval")
    lines = [(k, line.split()) for k, line in enumerate(file.text.split("\n"), 1) if line.strip()]
    samples = [(line, list(map(row.get, FIELDS))) for line, row in file.records]
    for line, sample in samples or lines:
        if len(sample) != len(FIELDS):
            raise BadInput("a line has run, measure, topic and value", file.path, line)
        run, measure, topic, value = sample
        if topic != "all":
            yield Row(line, run, topic, value, measure, judge)
