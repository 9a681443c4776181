"""Runs and judgements that are objects of other tools or tables -> topics, documents and values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from scorecube.errors import BadInput, kind_of
from scorecube.ingest.files import refuse_unprintable
from scorecube.ingest.roles import DOCUMENTS, ROLES, SCORES, header_word
from scorecube.ingest.tables import Table, is_frame, label_of, table_of_frame

RANX = "ranx"
ROLE_OF_TOPICS = ROLES["topic"] - DOCUMENTS
DOCUMENT_HEADERS = DOCUMENTS | {"docno", "pid", "passageid", "corpusid"}


class Kind(NamedTuple):
    """What is read: runs or judgements.

    argument: Its name.
    headers, field: Headers of the values in tables, and the attribute of records that has them.
    forms: The forms that are read, for messages.
    """

    argument: str
    headers: frozenset[str]
    field: str
    forms: str

    def refusal(self, what: str) -> BadInput:
        """Return the error about another form."""
        text = f"{self.argument}: {what}; expected {self.forms}"
        return BadInput(text, option=self.argument)


class Entries(NamedTuple):
    """Columns of a run, or of judgements; ranks are None where there are none."""

    topics: list[bytes]
    documents: list[bytes]
    values: list[Any]
    ranks: list[Any]
    lines: list[int]


RUN = Kind(
    "runs",
    SCORES,
    "score",
    "{run: {topic: {document: score}}} (pytrec_eval), "
    "{run: records with query_id, doc_id and score} (ir_measures), "
    "{run: data frame with columns qid, docno, score} (PyTerrier), or Run objects of ranx",
)
QRELS = Kind(
    "qrels",
    frozenset(["label", "level", "relevance", "rel", "grade", "judgement", "judgment"]),
    "relevance",
    "{topic: {document: level}} (pytrec_eval), records with query_id, doc_id and relevance "
    "(ir_measures), a data frame with columns qid, docno, label (PyTerrier), or Qrels of ranx",
)


def entries_of(value: Any, kind: Kind, path: str) -> Entries:
    """Return the entries of one run, or of judgements, in any form.

    value: An object as of `Kind.forms`, or a `Table`.
    path: Its file, or what messages name.
    Raises BadInput: Another form; a topic or document that is empty or has blanks.
    """
    entries = Entries([], [], [], [], [])
    columns: tuple[list[Any], ...] = tuple(entries)
    for line, topic, document, number, rank in _rows(value, kind):
        words = []
        for text, what in ((topic, "topic"), (document, "document")):
            if len(text.split()) != 1 or text.strip() != text:
                problem = f"the {what} {text!r} is empty or has blanks; replace them"
                raise BadInput(problem, path, line)
            refuse_unprintable(text, what, path, line)
            words.append(text.encode("utf-8", "surrogatepass"))
        for column, cell in zip(columns, (*words, number, rank, line), strict=True):
            column.append(cell)
    return entries


def _rows(value: Any, kind: Kind) -> Iterator[tuple[int, str, str, Any, Any]]:
    """Yield line, topic, document, value and rank of one run, or of judgements."""
    if package_of(value) == RANX and hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, Table) or is_frame(value):
        table = value if isinstance(value, Table) else table_of_frame(value)
        places = places_of(table.header, kind)
        if lacking := [name for name, columns in places.items() if len(columns) != 1]:
            raise kind.refusal(
                f"{len(places[lacking[0]])} columns of the frame name the {lacking[0]}; found "
                f"{', '.join(table.header)[:200]}"
            )
        topics, documents, values = (table.columns[places[name][0]] for name in places)
        words = [header_word(name) for name in table.header]
        no_rank = [None] * len(table.lines)
        ranks = table.columns[words.index("rank")] if "rank" in words else no_rank
        for line, topic, *rest in zip(table.lines, topics, documents, values, ranks, strict=True):
            yield line, label_of(topic), label_of(rest[0]), rest[1], rest[2]
        return
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise kind.refusal(f"found {kind_of(value)}")
    line = 0
    for item in value:
        if not isinstance(value, Mapping):
            if not all(hasattr(item, name) for name in ("query_id", "doc_id", kind.field)):
                raise kind.refusal(f"{item!r:.80} has no query_id, doc_id and {kind.field}")
            line += 1
            yield line, str(item.query_id), str(item.doc_id), getattr(item, kind.field), None
            continue
        documents = value[item]
        if not isinstance(documents, Mapping):
            raise kind.refusal(f"{item!r} holds {type(documents).__name__}, not documents")
        for document, number in documents.items():
            if isinstance(number, Mapping):
                raise kind.refusal(f"{item!r} has one level of dictionaries too many")
            line += 1
            yield line, str(item), str(document), number, None


def places_of(header: Iterable[str], kind: Kind) -> dict[str, list[int]]:
    """Return the columns of topics, documents and values."""
    words = [header_word(name) for name in header]
    values = kind.headers if kind.headers & set(words) else SCORES
    roles = {"topic": ROLE_OF_TOPICS, "document": DOCUMENT_HEADERS, "value": values}
    places = {
        name: [k for k, word in enumerate(words) if word in spellings]
        for name, spellings in roles.items()
    }
    # PyTerrier has the text of a query beside its id.
    ids = [k for k in places["topic"] if words[k] != "query"]
    return places | {"topic": ids or places["topic"]}


def is_path(value: Any) -> bool:
    """Return whether something is a path."""
    return isinstance(value, str | os.PathLike)


def package_of(value: Any) -> str:
    """Return the package that defines the type of an object."""
    return type(value).__module__.partition(".")[0]
