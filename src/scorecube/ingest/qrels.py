"""Judgements in the dialects of TREC and NTCIR: plain, and with equivalence classes of documents."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import Any

import numpy as np

from scorecube.collection.judgements import Qrels
from scorecube.errors import BadInput, BadName
from scorecube.ingest.columns import (
    Columns,
    Layout,
    finish_numbers,
    label_text,
    number,
    packed,
    read_padded,
    split_columns,
)
from scorecube.ingest.files import PathLike
from scorecube.kernels.parsing.byte_words import PADDING
from scorecube.kernels.workspace import Workspace
from scorecube.metrics.registry import HIGHEST_LEVEL

GRADES = {"S": 3.0, "A": 2.0, "B": 1.0, "C": 0.0}
"""Levels of early NTCIR collections: highly relevant, relevant, partially relevant, not relevant."""


class Dialect(StrEnum):
    """Columns of a judgement file."""

    AUTO = "auto"
    """Detected from the first line."""
    TREC = "trec"
    """``topic iteration document level``; the level may be written L2."""
    NTCIR = "ntcir"
    """``topic document L2``."""
    NTCIR_GRADES = "ntcir-grades"
    """``topic grade document binary`` with the grades S, A, B, C: levels 3, 2, 1, 0."""
    TREC_CLASSES = "trec-classes"
    """``topic class document level``: documents of one class give the same answer; 0 or - is no class."""


LAYOUTS = {
    Dialect.TREC: Layout("qrels", "topic iteration document level", 0, 2, 3),
    Dialect.NTCIR: Layout("qrels", "topic document level", 0, 1, 2),
    Dialect.NTCIR_GRADES: Layout("qrels", "topic grade document binary", 0, 2, 1),
    Dialect.TREC_CLASSES: Layout("qrels", "topic class document level", 0, 2, 3),
}
SECOND = Layout("qrels", "topic label document level", 0, 1, 3)
"""The second field of each line, read as if it were the document."""
NO_CLASS = ("0", "-")
BEGINNING = 2**20
"""Bytes in which the first line of data stands; it is behind a header of comments, if there is one."""


LevelMap = Mapping[int, int]


def read_qrels(
    path: PathLike, *, dialect: str = Dialect.AUTO, level_map: LevelMap | None = None
) -> Qrels:
    """Read judgements, plain or gzip.

    Parameters
    ----------
    path
        Lines of topic, a second column, document and level, or another `Dialect`.
    dialect
        A `Dialect`. ``auto`` never reads the second column as classes, and refuses further columns; with a
        dialect they are ignored. The lines of run files are refused in any case.
    level_map
        Level in the file -> level to use; others stay. TREC robust judgements are read by NTCIR tools with {2: 3}, for
        example. A negative level means pooled but not judged.

    Returns
    -------
    qrels
        Judged documents with their levels, by line of the file.

    Raises
    ------
    BadInput
        Naming file and line: too few or too many columns, a level that is not an integer, a document judged twice in a topic.
    """
    text = read_padded(path, PADDING, Workspace())
    check_level_map(level_map)
    auto = Dialect(dialect) is Dialect.AUTO
    chosen = detect(text[:BEGINNING].tobytes()) if auto else Dialect(dialect)
    columns = split_columns(text, path, LAYOUTS[chosen], more=not auto)
    levels = _levels(columns, chosen, path, level_map)
    order, topic_of = _sorted_topics(columns, path)
    qrels = Qrels(
        str(path), columns.text, order, topic_of, columns.documents, levels, columns.numbers
    )
    if chosen is Dialect.TREC_CLASSES:
        qrels = _with_classes(qrels, _second_fields(columns, path))
    qrels.tables  # noqa: B018 - build the tables once for all runs; this refuses repeated documents
    return qrels


def qrels_of_rows(
    path: str,
    topics: Sequence[str],
    documents: Sequence[bytes],
    levels: np.ndarray[Any, np.dtype[np.int16]],
    numbers: Sequence[int],
) -> Qrels:
    """Return judgements whose rows are in memory.

    Parameters
    ----------
    path
        What messages name as the file.
    topics, documents, levels, numbers
        Of each row; the numbers are those of lines, for messages.

    Returns
    -------
    qrels
        As from `read_qrels`.

    Raises
    ------
    BadInput
        No row; a document that is judged twice in a topic.
    """
    if not topics:
        raise BadInput(f"no line of a qrels file; expected {LAYOUTS[Dialect.TREC].line}", path)
    place = {topic: k for k, topic in enumerate(sorted(set(topics)))}
    text, spans = packed(documents)
    topic_of = np.fromiter(map(place.__getitem__, topics), np.int32, len(topics))
    qrels = Qrels(path, text, list(place), topic_of, spans, levels, np.array(numbers, np.int32))
    qrels.tables  # noqa: B018 - refuses repeated documents
    return qrels


def finish_levels(
    values: np.ndarray[Any, np.dtype[np.float64]],
    field: Callable[[int], str],
    line: Callable[[int], int],
    path: PathLike,
    level_map: LevelMap | None,
) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Turn numbers in judgements into levels; what is no level is read again, or refused, by `finish_numbers`.

    Parameters
    ----------
    values, field, line, path
        As of `scorecube.ingest.columns.finish_numbers`.
    level_map
        As of `read_qrels`.

    Returns
    -------
    levels
        int16, as of `map_levels`.
    """
    values[~((values == np.floor(values)) & (np.abs(values) <= HIGHEST_LEVEL))] = np.nan
    kind = f"an integer up to {HIGHEST_LEVEL}"
    finish_numbers(values, field, line, path, "level", kind, level_of)
    return map_levels(values, level_map)


def _levels(
    columns: Columns, dialect: Dialect, path: PathLike, level_map: LevelMap | None
) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Return the level of each line."""
    values, field = columns.values, partial(columns.field, LAYOUTS[dialect].value)
    if dialect is not Dialect.NTCIR_GRADES:
        return finish_levels(values, field, columns.line, path, level_map)
    values[:] = np.nan
    kind = "one of the grades S, A, B, C"
    finish_numbers(values, field, columns.line, path, "level", kind, GRADES.get)
    return map_levels(values, level_map)


def map_levels(
    values: np.ndarray[Any, np.dtype[np.float64]], level_map: LevelMap | None
) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Map the levels of judgements.

    Parameters
    ----------
    values
        Levels in the judgements.
    level_map
        As of `read_qrels`.

    Returns
    -------
    levels
        Levels to use.
    """
    mapped: np.ndarray[Any, np.dtype[np.int16]] = values.astype(np.int16)
    for old, new in (level_map or {}).items():
        mapped[values == old] = new
    return mapped


def _second_fields(columns: Columns, path: PathLike) -> list[str]:
    """Return the second field of each line, a class."""
    found = split_columns(columns.text, path, SECOND, more=True)
    return [
        label_text(bytes(found.text[start:stop]), "second field", path, partial(int, n))
        for (start, stop), n in zip(found.documents.tolist(), found.numbers.tolist(), strict=True)
    ]


def _with_classes(qrels: Qrels, labels: Sequence[str]) -> Qrels:
    """Number the equivalence classes within each topic."""
    classes = np.full((len(qrels.topics), int(qrels.document_of.max()) + 1), -1, np.int32)
    numbers: list[dict[str, int]] = [{} for _ in qrels.topics]
    for topic, document, label in zip(qrels.topic_of, qrels.document_of, labels, strict=True):
        if label not in NO_CLASS:
            classes[topic, document] = numbers[topic].setdefault(label, len(numbers[topic]))
    return replace(qrels, classes=classes)


def detect(content: bytes) -> Dialect:
    """Return the dialect, detected from the first line of data."""
    for line in content.splitlines():
        fields = line.decode("utf-8", "replace").split()
        if fields and not fields[0].startswith("#"):
            if len(fields) == 3:
                return Dialect.NTCIR
            if len(fields) == 4 and fields[1] in GRADES and fields[3] in ("0", "1"):
                return Dialect.NTCIR_GRADES
            break
    return Dialect.TREC


def parse_level_map(text: str) -> LevelMap:
    """Parse a mapping of levels.

    Parameters
    ----------
    text
        ``2:3,1:1``: level in the file and level to use.

    Returns
    -------
    level_map
        For `read_qrels`.

    Raises
    ------
    BadName
        A text of another form.

    Examples
    --------
    >>> parse_level_map("2:3,1:1")
    {2: 3, 1: 1}
    """
    pairs = [re.fullmatch(r"\s*(-?[0-9]{1,9}):(-?[0-9]{1,9})\s*", part) for part in text.split(",")]
    if not all(pairs):
        raise BadName(f"level map {text!r} is not pairs of integers like 2:3,1:1")
    return {int(pair[1]): int(pair[2]) for pair in pairs if pair}


def check_level_map(level_map: LevelMap | None) -> None:
    """Refuse a mapping to a level that no judgements can have.

    Parameters
    ----------
    level_map
        As of `read_qrels`.

    Raises
    ------
    BadName
        With the level.
    """
    for old, new in (level_map or {}).items():
        if not -HIGHEST_LEVEL <= new <= HIGHEST_LEVEL:
            raise BadName(
                f"level map {old}:{new}: levels must be between {-HIGHEST_LEVEL} and {HIGHEST_LEVEL}"
            )


def print_level_map(level_map: LevelMap | None) -> str:
    """Return the text that `parse_level_map` reads."""
    return ",".join(f"{old}:{new}" for old, new in (level_map or {}).items())


def level_of(field: str) -> float | None:
    """Return the relevance level in a field such as 2 or L2; None for other texts."""
    value = number(field[1:] if re.fullmatch(r"L[0-9]+", field) else field)
    is_level = value is not None and value.is_integer() and abs(value) <= HIGHEST_LEVEL
    return value if is_level else None


def _sorted_topics(
    columns: Columns, path: PathLike
) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int32]]]:
    topics = columns.topics(path)
    order = sorted(range(len(topics)), key=topics.__getitem__)
    position = np.empty(len(topics), np.int32)
    position[order] = np.arange(len(topics))
    return [topics[k] for k in order], position[columns.topic_of]
