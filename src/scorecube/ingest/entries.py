"""Runs and judgements as lines, tables, or objects of other tools: their fields and entries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scorecube.collection.schema import label_array
from scorecube.errors import BadInput, counted, kind_of
from scorecube.ingest.data_frames import label_of
from scorecube.ingest.delimited import LINE
from scorecube.ingest.headings import DOCUMENTS, ROLES, SCORES, header_word
from scorecube.ingest.input_files import PathLike, refuse_unprintable

Words = np.ndarray[Any, np.dtype[Any]]
"""Fields as bytes, or as objects where some are long."""
LONGEST = 512
"""Bytes of a field of files that are read at once."""
IS_BLANK = np.isin(np.arange(256), list(b" \t\n\v\f\r"))
ROLE_OF_TOPICS = ROLES["topic"] - DOCUMENTS
DOCUMENT_HEADERS = DOCUMENTS | {"docno", "pid", "passageid", "corpusid"}


class Kind(NamedTuple):
    """What is read: argument, headers of values in tables, their field in records, and forms."""

    argument: str
    headers: frozenset[str]
    field: str
    forms: str

    def refusal(self, what: str, path: PathLike | None) -> BadInput:
        """Return the error about another form."""
        return BadInput(f"{what}; expected {self.forms}", path, option=self.argument)


class Entries(NamedTuple):
    """Columns of a run, or of judgements; ranks are empty where there are none."""

    topics: Sequence[bytes] | Words
    documents: Sequence[bytes] | Words
    values: Sequence[Any] | Words
    ranks: Sequence[Any] | Words
    lines: Sequence[int]


RUN = Kind(
    "runs",
    SCORES,
    "score",
    "{run: {topic: {document: score}}}, or {run: data frame with columns qid, docno, score}",
)
QRELS = Kind(
    "qrels",
    frozenset(["label", "level", "relevance", "rel", "grade", "judgement", "judgment"]),
    "relevance",
    "{topic: {document: level}}, or a data frame with columns qid, docno, label",
)


def entries_of(value: Any, kind: Kind, path: PathLike) -> Entries:
    """Return the entries of one run, or of judgements, in any form."""
    topics, documents, values, ranks = _columns(value, kind, path)
    is_table = isinstance(value, pd.DataFrame) and value.index.name == LINE
    lines: Sequence[int] = value.index.tolist() if is_table else range(1, len(values) + 1)
    ids = _words(topics, "topic", path, lines), _words(documents, "document", path, lines)
    return Entries(*ids, values, ranks, lines)


def _words(values: Iterable[Any], what: str, path: PathLike, lines: Sequence[int]) -> list[bytes]:
    """Return topics or documents as bytes (BadInput for one that is empty or has blanks)."""
    texts = list(map(label_of, values))
    for text, line in zip(texts, lines, strict=True):
        if len(text.split()) != 1:
            raise BadInput(f"the {what} {text!r} is empty or has blanks; replace them", path, line)
    return [text.encode("utf-8", "surrogatepass") for text in texts]


def _columns(value: object, kind: Kind, path: PathLike) -> tuple[Sequence[Any], ...]:
    """Return topics, documents, values and ranks (none if there are none)."""
    if isinstance(value, pd.DataFrame):
        header = list(map(str, value.columns))
        places = places_of(header, kind)
        for role, columns in places.items():
            if len(columns) != 1:
                text = f"{len(columns)} columns name the {role}; found {', '.join(header)[:200]}"
                raise kind.refusal(text, path)
        ranks = [k for k, name in enumerate(header) if header_word(name) == "rank"][:1]
        cells = [value.iloc[:, k].tolist() for (k,) in places.values()]
        return (*cells, value.iloc[:, ranks].to_numpy().ravel().tolist())
    if hasattr(value, "to_dict"):  # of ranx
        value = value.to_dict()
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise kind.refusal(f"found {kind_of(value)}", path)
    try:
        if isinstance(value, Mapping):
            rows = [(topic, *item) for topic, part in value.items() for item in part.items()]
        else:
            rows = [(row.query_id, row.doc_id, getattr(row, kind.field)) for row in value]
    except AttributeError as error:
        raise kind.refusal(str(error), path) from None
    return (*zip(*rows, strict=True), ()) if rows else ((),) * 4


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


def field_lines(content: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """Yield line numbers and fields between blanks; comments (#, <SYSDESC>) are left out."""
    for number, line in enumerate(content.split(b"\n"), 1):
        fields = line.split()
        if fields and not fields[0].startswith((b"#", b"<SYSDESC>")):
            yield number, fields


def read_columns(
    content: bytes, what: str, line: str, path: PathLike
) -> tuple[list[Words], Sequence[int]]:
    """Return the fields of lines by column, and the numbers of the lines.

    what, line: Kind of file, and the fields of a line, for messages about others (BadInput).
    """
    width = len(line.split())
    if columns := _split_lines(content, width):
        return columns, range(1, len(columns[0]) + 1)
    rows = list(field_lines(content))
    for number, fields in rows:
        if len(fields) != width:
            found = f"{counted(len(fields), 'column')} in {label_of(b' '.join(fields))[:40]!r}"
            expected = f"a line of a {what} file has {width}, between blanks: {line}"
            raise BadInput(f"{found}; {expected}", path, number)
    if not rows:
        raise BadInput(f"no line of a {what} file; expected {line}", path)
    columns = list(map(label_array, zip(*(fields for _, fields in rows), strict=True)))
    return columns, [number for number, _ in rows]


def _split_lines(content: bytes, width: int) -> list[Words]:
    """Return the fields of lines by column; none unless all lines have as many, and no comment."""
    text = np.frombuffer(content, np.uint8)
    edges = np.flatnonzero(np.diff(IS_BLANK[text], prepend=True, append=True))
    starts, stops = edges[0::2], edges[1::2]
    lines = np.flatnonzero(text == ord("\n"))
    n_lines, rest = divmod(len(starts), width)
    if rest or not n_lines or len(lines) not in (n_lines, n_lines - 1) or b"\0" in content:
        return []
    starts, lengths = (of.reshape(n_lines, width) for of in (starts, stops - starts))
    first, last = (np.searchsorted(lines, starts[:, k]) for k in (0, -1))
    is_plain = (first == np.arange(n_lines)) & (last == first)
    is_plain &= ~np.isin(text[starts[:, 0]], list(b"#<"))  # comments
    longest = lengths.max(axis=0)
    if not is_plain.all() or longest.max() > LONGEST:
        return []
    whole = content + bytes(LONGEST)
    return [_cut(whole, starts[:, k], lengths[:, k], int(longest[k])) for k in range(width)]


def _cut(whole: bytes, starts: Words, lengths: Words, longest: int) -> Words:
    """Return parts of a text, with zeros behind those that are not the longest."""
    parts = np.ndarray(len(whole) - longest + 1, f"S{longest}", whole, strides=(1,))[starts]
    parts.view(np.uint8).reshape(-1, longest)[np.arange(longest) >= lengths[:, np.newaxis]] = 0
    return parts


def as_words(fields: Sequence[bytes] | Words) -> Words:
    """Return fields as an array."""
    return fields if isinstance(fields, np.ndarray) else label_array(fields)


def numbered_topics(
    topics: Sequence[bytes] | Words, path: PathLike, numbers: Sequence[int]
) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int32]]]:
    """Return topics in order of first appearance, and the index of each line's topic."""
    words = as_words(topics)
    starts = np.flatnonzero(np.append(True, words[1:] != words[:-1])[: len(words)])
    places, different = pd.factorize(words[starts].astype(object))
    first = starts[np.unique(places, return_index=True)[1]]
    labels = [
        label_text(topic, "topic", path, numbers[line])
        for topic, line in zip(different, first.tolist(), strict=True)
    ]
    return labels, np.repeat(places.astype(np.int32), np.diff(starts, append=len(words)))


def numbers_in(
    values: Sequence[Any] | Words, what: str, path: PathLike, numbers: Sequence[int]
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return numbers as trec_eval reads them (BadInput for others, NaN, and infinite ranks)."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "S":
        with suppress(ValueError):
            floats = values.astype(np.float64)
            # Python reads 1_0, and trec_eval does not.
            if np.isfinite(floats).all() and not (values.view(np.uint8) == ord("_")).any():
                return floats
    result = [number_in(value) for value in values]
    for value, number, line in zip(values, result, numbers, strict=True):
        if number is None or (what == "rank" and math.isinf(number)):
            raise BadInput(f"{what} {label_of(value)!r} is not a number", path, line)
    return np.array(result, np.float64)


def number_in(value: Any) -> float | None:
    """Return the number in a field or an object; None for other content."""
    text = label_of(value) if isinstance(value, bytes | str) else value
    if isinstance(text, str) and (not text.isascii() or "_" in text):
        return None
    try:
        number = float(text)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if math.isnan(number) else number


def label_text(label: bytes, what: str, path: PathLike, line: int | None = None) -> str:
    """Decode the name of a run or a topic (BadInput for what is no text)."""
    try:
        text = label.decode("utf-8")
    except UnicodeDecodeError:
        problem = f"the {what} {label.decode('latin-1')!r} is not in UTF-8; save the file as UTF-8"
        raise BadInput(problem, path, line) from None
    refuse_unprintable(text, what, path, line)
    return text
