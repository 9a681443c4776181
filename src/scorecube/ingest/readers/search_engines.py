"""Ranking evaluation of Elasticsearch and OpenSearch (`_rank_eval`), and measures of TIRA.

The form of the first is that of the reference of Elasticsearch 8; the second as
`parse_prototext_key_values` of tira-io/tira reads it. Both read 2026-11-29.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from scorecube.collection.names_of_tools import from_ir_measures
from scorecube.ingest.formats import File, Row, reader, summary
from scorecube.ingest.input_files import name_in
from scorecube.ingest.json_rows import at

BLOCK = re.compile(r"measure\s*\{([^}]*)\}")
FIELD = re.compile(r'(\w+)\s*:\s*"([^"]*)"')
TOPIC = re.compile(r"(query|topic|q)_?(id)?", re.IGNORECASE)
OUTPUT = {"output", "evaluation", "results"}
"""Folders in which TIRA puts an evaluation, below the run's own."""


def _details(file: File) -> Mapping[str, Any]:
    """Return the queries of an answer; none of another file."""
    found = file.first.get("details")
    details: Mapping[str, Any] = found if isinstance(found, Mapping) else {}
    is_scored = all(isinstance(one, dict) and "metric_score" in one for one in details.values())
    return details if is_scored else {}


@reader("rank_eval", "answer of _rank_eval of Elasticsearch", lambda file: bool(_details(file)))
def read_rank_eval(file: File) -> Iterator[Row]:
    """Yield scores of queries; the file is the run."""
    run = name_in(file.path, r"\.json$")
    for number, (topic, part) in enumerate(_details(file).items(), 1):
        yield Row(number, run, topic, at(part, "metric_score"), "metric_score")


def _blocks(file: File) -> list[tuple[int, dict[str, str]]]:
    """Return the fields of blocks with their lines."""
    if file.kind or not BLOCK.search(file.text[:10_000]):
        return []
    found = BLOCK.finditer(file.text)
    return [
        (1 + file.text.count("\n", 0, one.start()), dict(FIELD.findall(one[1]))) for one in found
    ]


def _has_topics(file: File) -> bool:
    return any(any(map(TOPIC.fullmatch, fields)) for _, fields in _blocks(file)[:1])


summary(
    "measures of TIRA, means of all queries",
    "import evaluation-per-query.prototext, or score the run itself: scorecube evaluate",
    lambda file: bool(_blocks(file)) and not _has_topics(file),
)


@reader("tira", "measures of TIRA by query (prototext), in a folder each run", _has_topics)
def read_tira(file: File) -> Iterator[Row]:
    """Yield scores of queries; the folder is the run."""
    folders = [folder.name for folder in Path(file.path).absolute().parents]
    run = next(name for name in folders if name not in OUTPUT)
    for line, fields in _blocks(file):
        topic = next((fields[name] for name in fields if TOPIC.fullmatch(name)), None)
        metric = fields.get("measure", fields.get("key"))
        named = None if metric is None else from_ir_measures(metric)
        yield Row(line, run, topic, fields.get("value"), named)
