"""Runs and judgements as lines, tables, or objects of other tools: their fields and entries."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scorecube.collection.judgements import LONG, SPARE, Texts
from scorecube.errors import BadInput, kind_of
from scorecube.ingest.files import PathLike, read_bytes, refuse_unprintable
from scorecube.ingest.roles import DOCUMENTS, ROLES, SCORES, header_word
from scorecube.ingest.tables import label_of

RANX = "ranx"
Floats = np.ndarray[Any, np.dtype[np.float64]]
NEWLINE = 10
IS_BLANK = np.zeros(256, bool)
IS_BLANK[[9, 10, 11, 12, 13, 32]] = True
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


def field_lines(path: PathLike, *, may_be_empty: bool = False) -> Iterator[tuple[int, list[bytes]]]:
    """Yield line numbers and fields between blanks; comments (#, <SYSDESC>) are left out."""
    content = content_of(path, may_be_empty=may_be_empty)
    for number, line in enumerate(content.split(b"\n"), 1):
        fields = line.split()
        if fields and not fields[0].startswith((b"#", b"<SYSDESC>")):
            yield number, fields


def content_of(path: PathLike, *, may_be_empty: bool = False) -> bytes:
    """Return the content of a file of lines (BadInput for one that is no text)."""
    content = read_bytes(path, may_be_empty=may_be_empty)
    return content if b"\n" in content else content.replace(b"\r", b"\n")


def split_lines(content: bytes, width: int) -> list[Texts] | None:
    """Return the fields of lines by column; None unless all have as many fields."""
    text = np.frombuffer(content, np.uint8)
    edges = np.flatnonzero(np.diff(IS_BLANK[text], prepend=True, append=True))
    starts, stops = edges[0::2], edges[1::2]
    lines = np.flatnonzero(text == NEWLINE)
    n_lines, rest = divmod(len(starts), width)
    if rest or not n_lines or len(lines) not in (n_lines, n_lines - 1):
        return None
    starts, stops = starts.reshape(n_lines, width), stops.reshape(n_lines, width)
    first, last = (np.searchsorted(lines, starts[:, k]) for k in (0, -1))
    if (first != np.arange(n_lines)).any() or (last != first).any():
        return None
    whole = content + bytes(SPARE)
    return [Texts(whole, starts[:, k].copy(), stops[:, k].copy()) for k in range(width)]


def decimals(fields: Texts, what: str, path: PathLike) -> Floats:
    """Return the numbers in fields, a line each (BadInput for what is none); see `finish`."""
    longest = int((fields.stops - fields.starts).max())
    if longest <= LONG:
        texts = np.stack([fields.words(k) for k in range(-(-longest // 8))], axis=1).view(np.uint8)
        with suppress(ValueError):
            values = texts.view(f"S{texts.shape[1]}").ravel().astype(np.float64)
            # Python reads 1_0, and trec_eval does not.
            if np.isfinite(values).all() and not (texts == ord("_")).any():
                return values
    numbers = range(1, len(fields) + 1)
    return finish([*fields], what, path, numbers)


def numbered_topics(
    topics: Sequence[bytes], path: PathLike, numbers: Sequence[int]
) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int32]]]:
    """Return topics in order of first appearance, and the index of each line's topic."""
    first = dict(zip(reversed(topics), reversed(numbers), strict=True))
    number_of = {topic: k for k, topic in enumerate(dict.fromkeys(topics))}
    labels = [label_text(topic, "topic", path, first[topic]) for topic in number_of]
    return labels, np.fromiter(map(number_of.__getitem__, topics), np.int32, len(topics))


def finish(values: Sequence[Any], what: str, path: PathLike, numbers: Sequence[int]) -> Floats:
    """Return numbers as trec_eval reads them (BadInput for others, NaN, and infinite ranks)."""
    result = np.empty(len(values))
    for k, (value, line) in enumerate(zip(values, numbers, strict=True)):
        number = number_in(value)
        if number is None or (what == "rank" and math.isinf(number)):
            raise BadInput(f"{what} {shown(value)!r} is not a number", path, line)
        result[k] = number
    return result


def number_in(value: Any) -> float | None:
    """Return the number in a field or an object; None for other content."""
    text = shown(value) if isinstance(value, bytes | str) else value
    if isinstance(text, str) and (not text.isascii() or "_" in text):
        return None
    try:
        number = float(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def shown(value: Any) -> str:
    """Return a field as text, for messages."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def label_text(label: bytes, what: str, path: PathLike, line: int | None = None) -> str:
    """Decode the name of a run or a topic (BadInput for what is no text)."""
    try:
        text = label.decode("utf-8")
    except UnicodeDecodeError:
        problem = f"the {what} {label.decode('latin-1')!r} is not in UTF-8; save the file as UTF-8"
        raise BadInput(problem, path, line) from None
    refuse_unprintable(text, what, path, line)
    return text
