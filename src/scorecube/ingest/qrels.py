"""Judgements in the dialects of TREC and NTCIR."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np

from scorecube.errors import BadName
from scorecube.ingest.fields import Columns, Layout, finish_numbers, number, read_columns
from scorecube.ingest.files import PathLike, read_bytes
from scorecube.rankings import Qrels

HIGHEST_LEVEL = 127
GRADES = {"S": 3.0, "A": 2.0, "B": 1.0, "C": 0.0}
"""Levels of early NTCIR collections: highly relevant, relevant, partially relevant, not relevant."""


class Dialect(StrEnum):
    """How a line of a judgement file reads."""

    AUTO = "auto"
    """Told from the first line."""
    TREC = "trec"
    """``topic iteration document level``; the level may be written L2."""
    NTCIR = "ntcir"
    """``topic document L2``."""
    NTCIR_GRADES = "ntcir-grades"
    """``topic grade document binary`` with the grades S, A, B, C: levels 3, 2, 1, 0."""


LAYOUTS = {
    Dialect.TREC: Layout("qrels", "topic iteration document level", 0, 2, 3),
    Dialect.NTCIR: Layout("qrels", "topic document level", 0, 1, 2),
    Dialect.NTCIR_GRADES: Layout("qrels", "topic grade document binary", 0, 2, 1),
}


def read_qrels(path: PathLike, *, dialect: str = Dialect.AUTO, level_map: Mapping[int, int] | None = None) -> Qrels:
    """Read judgements, plain or gzip.

    Parameters
    ----------
    dialect
        A `Dialect`.
    level_map
        Level in the file -> level to use; others stay. TREC robust judgements are read by NTCIR tools with {2: 3}, for
        example. A negative level means pooled but not judged.

    Raises
    ------
    BadInput
        Naming file and line: too few columns, a level that is not an integer, a document judged twice in a topic.
    """
    chosen = detect(read_bytes(path)) if Dialect(dialect) is Dialect.AUTO else Dialect(dialect)
    columns = read_columns(path, LAYOUTS[chosen])
    levels = columns.values
    levels[~_whole(levels)] = np.nan
    graded = chosen is Dialect.NTCIR_GRADES
    if graded:
        levels[:] = np.nan
    kind = "one of the grades S, A, B, C" if graded else f"an integer up to {HIGHEST_LEVEL}"
    finish_numbers(columns, levels, LAYOUTS[chosen].value, path, "level", kind, GRADES.get if graded else _level)
    order, topic_of = _sorted_topics(columns)
    mapped = levels.copy()
    for old, new in (level_map or {}).items():
        mapped[levels == old] = new
    qrels = Qrels(str(path), columns.text, order, topic_of, columns.documents, mapped.astype(np.int16), columns.numbers)
    qrels.tables  # noqa: B018 - built here, once for all runs, and refuses repeated documents
    return qrels


def detect(content: bytes) -> Dialect:
    """Tell the dialect from the first line that holds data."""
    for line in content.splitlines():
        fields = line.decode("utf-8", "replace").split()
        if fields and not fields[0].startswith("#"):
            if len(fields) == 3:
                return Dialect.NTCIR
            if len(fields) == 4 and fields[1] in GRADES and fields[3] in ("0", "1"):
                return Dialect.NTCIR_GRADES
            break
    return Dialect.TREC


def parse_level_map(text: str) -> dict[int, int]:
    """Read a mapping of levels.

    Examples
    --------
    >>> parse_level_map("2:3,1:1")
    {2: 3, 1: 1}
    """
    pairs = [re.fullmatch(r"\s*(-?[0-9]+):(-?[0-9]+)\s*", part) for part in text.split(",")]
    if not all(pairs):
        raise BadName(f"level map {text!r} is not pairs of integers like 2:3,1:1")
    return {int(pair[1]): int(pair[2]) for pair in pairs if pair}


def _level(field: str) -> float | None:
    value = number(field[1:] if re.fullmatch(r"L[0-9]+", field) else field)
    return value if value is not None and bool(_whole(np.array([value]))[0]) else None


def _whole(values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    with np.errstate(invalid="ignore"):
        whole: np.ndarray[Any, np.dtype[np.bool_]] = (values == np.floor(values)) & (np.abs(values) <= HIGHEST_LEVEL)
    return whole


def _sorted_topics(columns: Columns) -> tuple[list[str], np.ndarray[Any, np.dtype[np.int32]]]:
    topics = columns.topics
    order = sorted(range(len(topics)), key=topics.__getitem__)
    position = np.empty(len(topics), np.int32)
    position[order] = np.arange(len(topics))
    return [topics[k] for k in order], position[columns.topic_of]
