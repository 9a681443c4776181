"""Runs and judgements that are objects of other tools or tables -> topics, documents and values."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from scorecube.errors import BadInput, kind_of
from scorecube.ingest.files import refuse_unprintable
from scorecube.ingest.roles import DOCUMENTS, ROLES, SCORES, header_word
from scorecube.ingest.tables import label_of

RANX = "ranx"
ROLE_OF_TOPICS = ROLES["topic"] - DOCUMENTS
DOCUMENT_HEADERS = DOCUMENTS | {"docno", "pid", "passageid", "corpusid"}


class Kind(NamedTuple):
    """What is read: argument, headers of values in tables, their field in records, and forms."""

    argument: str
    headers: frozenset[str]
    field: str
    forms: str

    def refusal(self, what: str) -> BadInput:
        """Return the error about another form."""
        text = f"{self.argument}: {what}; expected {self.forms}"
        return BadInput(text, option=self.argument)


class Entries(NamedTuple):
    """Columns of a run, or of judgements; ranks are empty where there are none."""

    topics: Sequence[bytes]
    documents: Sequence[bytes]
    values: Sequence[Any]
    ranks: Sequence[Any]
    lines: Sequence[int]


RUN = Kind(
    "runs",
    SCORES,
    "score",
    "{run: {topic: {document: score}}}, {run: records with query_id, doc_id and score}, or "
    "{run: data frame with columns qid, docno, score}",
)
QRELS = Kind(
    "qrels",
    frozenset(["label", "level", "relevance", "rel", "grade", "judgement", "judgment"]),
    "relevance",
    "{topic: {document: level}}, records with query_id, doc_id and relevance, or a data frame with "
    "columns qid, docno, label",
)


def entries_of(value: Any, kind: Kind, path: str, first: int = 1) -> Entries:
    """Return the entries of one run, or of judgements, in any form; `first` is its first line."""
    topics, documents, values, ranks = _columns(value, kind)
    lines = range(first, first + len(values))
    return Entries(
        [_word(text, "topic", path, line) for text, line in zip(topics, lines, strict=True)],
        [_word(text, "document", path, line) for text, line in zip(documents, lines, strict=True)],
        values,
        ranks,
        lines,
    )


def _word(value: Any, what: str, path: str, line: int) -> bytes:
    """Return the bytes of a topic or a document (BadInput for one with blanks)."""
    text = label_of(value)
    if len(text.split()) != 1:
        raise BadInput(f"the {what} {text!r} is empty or has blanks; replace them", path, line)
    refuse_unprintable(text, what, path, line)
    return text.encode("utf-8", "surrogatepass")


def _columns(value: Any, kind: Kind) -> tuple[list[Any], list[Any], list[Any], list[Any]]:
    """Return topics, documents, values and ranks (none if there are none)."""
    if isinstance(value, pd.DataFrame):
        places = places_of(map(str, value.columns), kind)
        if lacking := [role for role, columns in places.items() if len(columns) != 1]:
            found = f"{len(places[lacking[0]])} columns name the {lacking[0]}"
            raise kind.refusal(f"{found}; found {', '.join(map(str, value.columns))[:200]}")
        words = [header_word(str(name)) for name in value.columns]
        at = [columns[0] for columns in places.values()]
        ranks = value.iloc[:, words.index("rank")].tolist() if "rank" in words else []
        topics, documents, values = (value.iloc[:, k].tolist() for k in at)
        return topics, documents, values, ranks
    if hasattr(value, "to_dict"):  # of ranx
        value = value.to_dict()
    if isinstance(value, Mapping):
        if any(not isinstance(part, Mapping) for part in value.values()):
            raise kind.refusal("another dictionary")
        rows = [(topic, *item) for topic, part in value.items() for item in part.items()]
    elif isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise kind.refusal(f"found {kind_of(value)}")
    else:
        names = ("query_id", "doc_id", kind.field)
        try:
            rows = [tuple(getattr(item, name) for name in names) for item in value]
        except AttributeError as error:
            raise kind.refusal(str(error)) from None
    topics, documents, values = map(list, zip(*rows, strict=True)) if rows else ([], [], [])
    return topics, documents, values, []


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
