"""Judgements of several judges in one table: a line for each label, with the columns topic, document, judge and label."""

from __future__ import annotations

import math
from pathlib import Path

from scorecube.errors import BadInput
from scorecube.ingest.delimited import read_rows, refuse_other_width
from scorecube.ingest.files import PathLike, bare_name, refuse_unprintable
from scorecube.ingest.roles import TOPIC_HEADERS, header_word
from scorecube.metrics.registry import HIGHEST_LEVEL

HEADERS = {
    "topic": TOPIC_HEADERS,
    "document": ("document", "doc", "docid", "docno", "doc_id", "document_id", "pid", "passage_id"),
    "judge": ("judge", "assessor", "annotator", "model"),
    "label": ("label", "level", "relevance", "rel", "grade", "judgement", "judgment"),
}
NEEDED = ("topic", "document", "label")
Judgements = dict[str, dict[str, int]]
"""Topic -> document -> level."""
NOT_JUDGED = ("", "na", "nan", "none", "null")
"""Labels of a judge that did not answer, in any case: the document counts as not judged."""


def is_label_table(path: PathLike) -> bool:
    """Whether a file begins with a header that has a topic, a document and a label."""
    if Path(path).is_dir():
        return False
    try:
        (_, header), _ = read_rows(path)
    except (BadInput, OSError):
        return False
    return set(NEEDED) <= set(_columns(header))


def read_labels(path: PathLike) -> dict[str, Judgements]:
    """Read a table of labels as judgements of each judge.

    path: Cells between commas, semicolons or tabs, with a header; without a column judge all labels are of one judge,
        named after the file.
    Returns judgements: Judge -> topic -> document -> level, in the order of the table.
    Raises BadInput: Naming file and line: no such header, a line without topic, document or judge, a label that is no
        level, two labels of a judge for a document.
    """
    (first, header), body = read_rows(path)
    columns = _columns(header)
    if not set(NEEDED) <= set(columns):
        raise BadInput(
            f"the header must have the columns topic, document, label and, of several judges, judge; found {','.join(header)[:200]}",
            path,
            first,
        )
    own = bare_name(path).split(".")[0]
    found: dict[str, Judgements] = {}
    for line, cells in body:
        refuse_other_width(cells, header, path, line)
        topic, document = (cells[columns[name]] for name in ("topic", "document"))
        judge = cells[columns["judge"]] if "judge" in columns else own
        for value, what in ((topic, "topic"), (document, "document"), (judge, "judge")):
            refuse_unprintable(value, what, path, line)
            if not value or (what != "judge" and len(value.split()) != 1):
                raise BadInput(f"the {what} is missing or has blanks", path, line)
        levels = found.setdefault(judge, {}).setdefault(topic, {})
        if document in levels:
            raise BadInput(
                f"{judge} has a second label for document {document!r} in topic {topic}; remove one of the lines",
                path,
                line,
            )
        levels[document] = _level(cells[columns["label"]], path, line)
    if not found:
        raise BadInput("a header without labels", path, first)
    return found


def _columns(header: list[str]) -> dict[str, int]:
    """Return the position of each known column; the first of several with its meaning."""
    words = [header_word(cell) for cell in header]
    found = {
        name: [k for k, word in enumerate(words) if word in known]
        for name, known in HEADERS.items()
    }
    return {name: places[0] for name, places in found.items() if places}


def _level(text: str, path: PathLike, line: int) -> int:
    if text.casefold() in NOT_JUDGED:
        return -1
    try:
        number = float(text.removeprefix("L"))
    except ValueError:
        number = math.nan
    if not (number.is_integer() and -HIGHEST_LEVEL <= number <= HIGHEST_LEVEL):
        raise BadInput(
            f"expected a relevance level, an integer up to {HIGHEST_LEVEL}, or nothing for a document that was not judged; found {text!r:.60}",
            path,
            line,
        )
    return int(number)
