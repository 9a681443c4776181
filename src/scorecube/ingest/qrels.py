"""Judgements: dialects of TREC and NTCIR, NTCIREVAL's files, tables, objects -> `Qrels`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from scorecube.collection.judgements import Qrels
from scorecube.errors import BadInput, BadName, counted, option
from scorecube.ingest.entries import QRELS, entries_of, is_path, places_of
from scorecube.ingest.files import PathLike, bare_name, expand
from scorecube.ingest.lines import field_lines, number_in, numbered_topics, shown
from scorecube.ingest.runs import with_suffix
from scorecube.ingest.source import File
from scorecube.metrics.registry import HIGHEST_LEVEL

GRADES = {"S": 3.0, "A": 2.0, "B": 1.0, "C": 0.0}
"""Levels of early NTCIR collections."""
REL = ".rel"
NO_CLASS = b"-"
IR_DATASETS = ("ir_datasets", "irds")
LevelMap = Mapping[int, int]


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
    """``topic class document level``: documents of one class give the same answer.

    A hyphen is no class; 0 is one.
    """


FIELDS = {
    Dialect.TREC: ("topic iteration document level", 2, 3),
    Dialect.NTCIR: ("topic document level", 1, 2),
    Dialect.NTCIR_GRADES: ("topic grade document binary", 2, 1),
    Dialect.TREC_CLASSES: ("topic class document level", 2, 3),
}
"""Fields of a line, and the places of the document and the level."""


def read_judgements(
    path: Any, *, dialect: str = Dialect.AUTO, level_map: LevelMap | None = None
) -> Qrels:
    """Read judgements in any form.

    path: A file of lines, or a table with a header as of BEIR, also in JSON lines, JSON or Parquet;
        .rel files or a folder of them; ``ir_datasets:NAME``; or judgements in memory, see
        `scorecube.ingest.entries.QRELS`.
    dialect: A `Dialect`. ``auto`` never reads the second column as classes, and refuses further
        columns; with a dialect they are ignored. The lines of run files are refused in any case.
    level_map: Level in the file -> level to use; others stay. A negative level means pooled but not
        judged.
    Raises BadInput: Naming file and line: too few or too many columns, a level that is not an
        integer, a document judged twice in a topic.
    """
    for old, new in (level_map or {}).items():
        if not -HIGHEST_LEVEL <= new <= HIGHEST_LEVEL:
            raise BadName(
                f"level map {old}:{new}: levels must be between {-HIGHEST_LEVEL} and "
                f"{HIGHEST_LEVEL}"
            )
    path = _of_ir_datasets(path)
    if not is_path(path):
        return _of_object(path, QRELS.argument, level_map)
    if Dialect(dialect) is Dialect.AUTO:
        if files := _rel_files(path):
            return _read_rel(files, level_map)
        if Path(path).is_file() and (content := _object_in(path)) is not None:
            try:
                return _of_object(content, str(path), level_map)
            except BadInput as error:
                raise error if error.path else BadInput(str(error), path) from None
    return _read_lines(path, dialect, level_map)


def _read_lines(path: PathLike, dialect: str, level_map: LevelMap | None) -> Qrels:
    """Read a file of lines, plain or gzip."""
    rows = list(field_lines(path))
    chosen = Dialect(dialect)
    if chosen is Dialect.AUTO:
        first = rows[0][1] if rows else []
        graded = len(first) == 4 and shown(first[1]) in GRADES and first[3] in (b"0", b"1")
        chosen = (
            Dialect.NTCIR if len(first) == 3 else Dialect.NTCIR_GRADES if graded else Dialect.TREC
        )
    line, document, level = FIELDS[chosen]
    width = len(line.split())
    for number, fields in rows:
        # A line of a run has six fields, the last no number or Q0 the second.
        is_of_run = len(fields) == 6 and (
            fields[1].upper() == b"Q0" or number_in(fields[5]) is None
        )
        if len(fields) < width or is_of_run or (len(fields) > width and dialect == Dialect.AUTO):
            problem = (
                f"{counted(len(fields), 'column')}; a line of a qrels file has {width}: {line}"
            )
            if is_of_run:
                problem += "; this is a line of a run file, not of judgements"
            elif len(fields) > width:
                problem += f"; to ignore further columns: {option('dialect', 'trec')}"
            raise BadInput(problem, path, number)
    qrels = _qrels_of(
        path,
        [fields[0] for _, fields in rows],
        [fields[document] for _, fields in rows],
        [fields[level] for _, fields in rows],
        [number for number, _ in rows],
        level_map,
        GRADES if chosen is Dialect.NTCIR_GRADES else None,
    )
    if chosen is Dialect.TREC_CLASSES:
        return _with_classes(qrels, [fields[1] for _, fields in rows])
    return qrels


def _with_classes(qrels: Qrels, names: Sequence[bytes]) -> Qrels:
    """Return judgements with the class of each line's document."""
    classes = np.full((len(qrels.topics), int(qrels.document_of.max()) + 1), -1, np.int32)
    numbers: list[dict[bytes, int]] = [{} for _ in qrels.topics]
    for topic, document, name in zip(qrels.topic_of, qrels.document_of, names, strict=True):
        if name != NO_CLASS:
            classes[topic, document] = numbers[topic].setdefault(name, len(numbers[topic]))
    return dataclasses.replace(qrels, classes=classes)


def _qrels_of(
    path: PathLike,
    topics: Sequence[bytes],
    documents: Sequence[bytes],
    levels: Iterable[Any],
    numbers: Sequence[int],
    level_map: LevelMap | None,
    grades: Mapping[str, float] | None = None,
) -> Qrels:
    """Return judgements of rows.

    path: What messages name as the file.
    topics, documents, levels, numbers: Of each row; the numbers are those of lines, for messages.
    level_map: As of `read_judgements`.
    grades: Spelling of levels; by default they are integers, perhaps with a letter L.
    Raises BadInput: No row; a level that is none; a document that is judged twice in a topic.
    """
    if not topics:
        raise BadInput(f"no line of a qrels file; expected {FIELDS[Dialect.TREC][0]}", path)
    values = np.empty(len(topics), np.int16)
    level_of: dict[Any, int] = {}
    for k, level in enumerate(levels):
        if level not in level_of:
            number = grades.get(shown(level)) if grades else level_in(level)
            if number is None:
                kind = f"one of the grades {', '.join(grades)}" if grades else "an integer up to "
                kind += "" if grades else str(HIGHEST_LEVEL)
                raise BadInput(f"level {shown(level)!r} is not {kind}", path, numbers[k])
            level_of[level] = (level_map or {}).get(int(number), int(number))
        values[k] = level_of[level]
    labels, topic_of = numbered_topics(topics, path, numbers)
    order = sorted(range(len(labels)), key=labels.__getitem__)
    place = np.argsort(order).astype(np.int32)
    qrels = Qrels(
        str(path), [labels[k] for k in order], place[topic_of], documents, values, numbers
    )
    qrels.document_numbers  # noqa: B018 - made once for all runs; this refuses repeated documents
    return qrels


def level_in(value: Any) -> float | None:
    """Return the relevance level in a field such as 2 or L2; None for other content."""
    text = shown(value)
    number = number_in(text[1:] if re.fullmatch(r"L[0-9]+", text) else text)
    is_level = number is not None and number.is_integer() and abs(number) <= HIGHEST_LEVEL
    return number if is_level else None


def _of_object(qrels: Any, path: str, level_map: LevelMap | None) -> Qrels:
    """Return judgements in memory, or of a table (BadInput for another form)."""
    topics, documents, levels, _, lines = entries_of(qrels, QRELS, path)
    return _qrels_of(path, topics, documents, levels, lines, level_map)


def _rel_files(path: PathLike) -> list[Path]:
    """Return the .rel files of a path (BadInput for a folder without); none for another file."""
    if Path(path).is_dir():
        files = with_suffix(Path(path), REL)
        if not files:
            problem = "no .rel files in this folder; judgements are one file, or such a folder"
            raise BadInput(problem, path)
        return files
    is_other = Path(path).exists() or not bare_name(path).endswith(REL)
    files = [Path(path)] if is_other else expand(path, "judgements")
    return files if all(bare_name(file).endswith(REL) and _is_rel(file) for file in files) else []


def _is_rel(path: Path) -> bool:
    _, first = next(field_lines(path), (0, []))
    return len(first) <= 2 or (len(first) == 3 and bool(re.fullmatch(rb"L\d{1,3}", first[1])))


def _read_rel(paths: Sequence[Path], level_map: LevelMap | None) -> Qrels:
    """Read files of one topic: lines of document, level (L0, L1, ...) and perhaps a class."""
    origin: dict[str, Path] = {}
    parts = []
    for path in paths:
        base, folder = bare_name(path).removesuffix(REL), path.absolute().parent.name
        topic = folder if base.startswith(f"{folder}.") or base.endswith(f".{folder}") else base
        if topic in origin:
            raise BadInput(f"a second file of topic {topic}; the first is {origin[topic]}", path)
        origin[topic] = path
        rows = list(field_lines(path))
        for number, fields in rows:
            if not 2 <= len(fields) <= 3 or not re.fullmatch(rb"L\d{1,3}", fields[1]):
                line = shown(b" ".join(fields))[:60]
                problem = (
                    f"{line!r} is not a line of a .rel file: a document and a level, L0 to L127"
                )
                raise BadInput(problem, path, number)
        documents, levels = ([fields[k] for _, fields in rows] for k in (0, 1))
        topics, numbers = [topic.encode()] * len(rows), [number for number, _ in rows]
        parts.append(_qrels_of(path, topics, documents, levels, numbers, level_map))
    parts.sort(key=lambda part: part.topics[0])
    return Qrels(
        str(paths[0].parent),
        [part.topics[0] for part in parts],
        np.repeat(np.arange(len(parts), dtype=np.int32), [len(part.documents) for part in parts]),
        [document for part in parts for document in part.documents],
        np.concatenate([part.levels for part in parts]),
        [number for part in parts for number in part.numbers],
    )


def _object_in(path: PathLike) -> Any:
    """Return what a file of JSON holds, or its table, such as of BEIR; None for other files."""
    try:
        file = File.read(path)
        document = file.records[0][1] if len(file.records) == 1 else None
        if isinstance(document, dict) and all(isinstance(v, dict) for v in document.values()):
            return document
        if file.records or not file.text or len(file.rows[0]) > 1:
            is_table = all(places_of(file.table.header, QRELS).values())
            return file.table if is_table else None
    except BadInput:
        pass  # it is said of the lines
    return None


def _of_ir_datasets(qrels: Any) -> Any:
    """Return the judgements of ``ir_datasets:NAME`` (BadInput for none), others as they are."""
    start, _, name = str(qrels).partition(":")
    if not is_path(qrels) or start not in IR_DATASETS or not name:
        return qrels
    try:
        import ir_datasets

        return list(ir_datasets.load(name).qrels_iter())
    except ImportError:
        problem = "ir_datasets is not installed: pip install ir_datasets, or name a file"
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"[:300]
    raise BadInput(f"{qrels}: {problem}", option="qrels")


def parse_level_map(text: str) -> LevelMap:
    """Parse a mapping of levels: level in the file and level to use (BadName for another form).

    Examples
    --------
    >>> parse_level_map("2:3,1:1")
    {2: 3, 1: 1}
    """
    pairs = [re.fullmatch(r"\s*(-?[0-9]{1,9}):(-?[0-9]{1,9})\s*", part) for part in text.split(",")]
    if not all(pairs):
        raise BadName(f"level map {text!r} is not pairs of integers like 2:3,1:1")
    return {int(pair[1]): int(pair[2]) for pair in pairs if pair}


def print_level_map(level_map: LevelMap | None) -> str:
    """Return the text that `parse_level_map` reads."""
    return ",".join(f"{old}:{new}" for old, new in (level_map or {}).items())
