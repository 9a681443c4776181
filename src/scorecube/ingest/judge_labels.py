"""Judgements of several judges in one table: a line for each label, with the columns topic, document, judge and label."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from scorecube.collection.judgements import Qrels
from scorecube.errors import BadInput, counted
from scorecube.ingest.cells import label_text
from scorecube.ingest.columns import floats
from scorecube.ingest.delimited import text_blocks
from scorecube.ingest.files import PathLike, bare_name, is_parquet, refuse_unprintable
from scorecube.ingest.formats import FileHead
from scorecube.ingest.qrels import LevelMap, finish_levels, qrels_of_rows
from scorecube.ingest.roles import DOC_HEADERS, TOPIC_HEADERS, header_word
from scorecube.ingest.tables import header_of, open_table
from scorecube.names import SCORE

HEADERS = {
    "topic": TOPIC_HEADERS,
    "document": (*DOC_HEADERS, "docno", "pid", "passage_id", "corpus_id"),
    "judge": ("judge", "assessor", "annotator", "model"),
    "label": ("label", "level", "relevance", "rel", "grade", "judgement", "judgment"),
}
NEEDED = ("topic", "document", "label")


def is_label_table(path: PathLike) -> bool:
    """Whether a file begins with the names of a topic, a document and a label: a header, or an object of JSON."""
    if not Path(path).is_file():
        return False
    try:
        names = (
            header_of(path) if is_parquet(path) else FileHead(path, next(text_blocks(path))).names
        )
    except (BadInput, OSError):
        return False
    return set(NEEDED) <= set(_columns(list(names)))


def label_rows(path: PathLike) -> Iterator[tuple[int, str, str, str, Any]]:
    """Yield line, topic, document, judge and label of the rows of a table.

    path: A table with a header, JSON lines or Parquet; without a column judge all labels are of one judge, named after the file.
    Raises BadInput: Naming file and line: no such header, a line without topic, document or judge.
    """
    table = open_table(path)
    columns = _columns(table.header)
    if not set(NEEDED) <= set(columns):
        raise BadInput(
            f"the header must have the columns topic, document, label and, of several judges, judge; found {','.join(table.header)[:200]}",
            path,
            table.line,
        )
    own = bare_name(path).split(".")[0]
    n_rows = 0
    for chunk in table.chunks:
        if isinstance(chunk, BadInput):
            raise chunk
        judges = chunk.columns[columns["judge"]] if "judge" in columns else [own] * len(chunk.lines)
        cells = [chunk.columns[columns[name]] for name in NEEDED]
        n_rows += len(chunk.lines)
        for line, judge, *others, label in zip(chunk.lines, judges, *cells, strict=True):
            topic, document, judge = (label_text(cell).strip() for cell in (*others, judge))
            for value, what in ((topic, "topic"), (document, "document"), (judge, "judge")):
                refuse_unprintable(value, what, path, line)
                if not value or (what != "judge" and len(value.split()) != 1):
                    raise BadInput(f"the {what} is missing or has blanks", path, line)
            yield line, topic, document, judge, label
    if not n_rows:
        raise BadInput("a header without labels", path, table.line)


def qrels_of_table(path: PathLike, level_map: LevelMap | None = None) -> Qrels:
    """Read a table of labels of one judge as judgements, such as those of BEIR.

    path: As of `label_rows`.
    level_map: As of `scorecube.ingest.qrels.read_qrels`.
    Raises BadInput: As of `label_rows`; several judges; a label that is no level, a document that is judged twice.
    """
    lines, topics, documents, judges, labels = zip(*label_rows(path), strict=True)
    if len(set(judges)) > 1:
        raise BadInput(
            f"labels of {counted(len(set(judges)), 'judge')}; judgements are of one", path
        )
    levels = finish_levels(
        floats(labels),
        lambda row: label_text(labels[row]).strip(),
        lambda row: int(lines[row]),
        path,
        level_map,
    )
    return qrels_of_rows(str(path), topics, [each.encode() for each in documents], levels, lines)


def _columns(header: Sequence[str]) -> dict[str, int]:
    """Return the position of each known column; the first of several with its meaning."""
    words = [header_word(cell) for cell in header]
    found = {
        name: [k for k, word in enumerate(words) if word in known]
        for name, known in HEADERS.items()
    }
    found["label"] = found["label"] or [k for k, word in enumerate(words) if word == SCORE]
    return {name: places[0] for name, places in found.items() if places}
