"""Judgements: lines of TREC and NTCIR, NTCIREVAL's files, tables, objects -> `Qrels`."""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scorecube import names
from scorecube.collection.judgements import Qrels
from scorecube.errors import BadInput
from scorecube.ingest.data_frames import label_of
from scorecube.ingest.entries import (
    QRELS,
    Entries,
    entries_of,
    field_lines,
    number_in,
    numbered_topics,
    places_of,
    read_columns,
)
from scorecube.ingest.formats import File
from scorecube.ingest.input_files import PathLike, bare_name, expand, is_json, read_bytes, text_of
from scorecube.metrics.registry import HIGHEST_LEVEL

GRADES = {"S": 3.0, "A": 2.0, "B": 1.0, "C": 0.0}
"""Levels of early NTCIR collections."""
REL = ".rel"
NO_CLASS = b"-"
IR_DATASETS = "ir_datasets:"
TREC = "topic iteration document level"
NTCIR = "topic document level"
NTCIR_GRADES = "topic grade document binary"
CLASSES = "topic class document level"
FIELDS = {TREC: (2, 3), NTCIR: (1, 2), NTCIR_GRADES: (2, 1), CLASSES: (2, 3)}
"""Fields of a line -> the places of the document and the level."""


def read_judgements(path: Any, *, dialect: str = names.AUTO) -> Qrels:
    """Read judgements in any form; a negative level means pooled but not judged.

    path: A file of lines, or a table with a header as of BEIR, also in JSON lines, JSON or Parquet;
        .rel files or a folder of them; ``ir_datasets:NAME``; or judgements in memory, see
        `scorecube.ingest.entries.QRELS`.
    dialect: ``auto``, by the first line, or ``trec-classes``: documents of one class give the same
        answer; a hyphen is no class, 0 is one.
    """
    if isinstance(path, str | os.PathLike) and str(path).startswith(IR_DATASETS):
        path = _of_ir_datasets(str(path))
    if not isinstance(path, str | os.PathLike):
        return qrels_of(QRELS.argument, entries_of(path, QRELS, QRELS.argument))
    if files := _rel_files(path):
        return _read_rel(files)
    if bare_name(path).endswith(".parquet"):
        return qrels_of(path, entries_of(File.read(path).table.frame, QRELS, path))
    content = read_bytes(path)
    if dialect == "trec-classes":
        return _read_lines(content, path, CLASSES)
    first = label_of(content.lstrip().partition(b"\n")[0])
    if is_json(first) or all(places_of(re.split("[\t,]", first), QRELS).values()):
        file = File(path, text_of(content, path))
        return qrels_of(path, entries_of(file.nested or file.table.frame, QRELS, path))
    return _read_lines(content, path)


def _read_lines(content: bytes, path: PathLike, line: str = "") -> Qrels:
    """Read a file of lines, whose fields are those of the first line by default."""
    _, first = next(field_lines(content), (0, []))
    if not line:
        graded = len(first) == 4 and label_of(first[1]) in GRADES and first[3] in (b"0", b"1")
        line = NTCIR_GRADES if graded else TREC
        if len(first) == 3:
            line = NTCIR
    columns, numbers = read_columns(content, "qrels", line, path)
    is_one = [len({*column.tolist()}) == 1 for column in columns]
    if line == TREC and len(numbers) > 1 and is_one[2] and not is_one[1]:
        found = f"the document is {label_of(columns[2][0])!r} in all lines"
        raise BadInput(f"{found}: put columns in the order {TREC}", path, numbers[0])
    topics, documents, levels = (columns[k].tolist() for k in (0, *FIELDS[line]))
    entries = Entries(topics, documents, levels, (), numbers)
    qrels = qrels_of(path, entries, GRADES if line == NTCIR_GRADES else None)
    return _with_classes(qrels, columns[1].tolist()) if line == CLASSES else qrels


def _with_classes(qrels: Qrels, labels: Sequence[bytes]) -> Qrels:
    """Return judgements with the class of each line's document."""
    classes = np.full((len(qrels.topics), int(qrels.document_of.max()) + 1), -1, np.int32)
    numbers: list[dict[bytes, int]] = [{} for _ in qrels.topics]
    for topic, document, name in zip(qrels.topic_of, qrels.document_of, labels, strict=True):
        if name != NO_CLASS:
            classes[topic, document] = numbers[topic].setdefault(name, len(numbers[topic]))
    return dataclasses.replace(qrels, classes=classes)


def qrels_of(path: PathLike, entries: Entries, grades: Mapping[str, float] | None = None) -> Qrels:
    """Return judgements of rows; levels are integers, perhaps with a letter L, or `grades`."""
    topics, documents, levels, _, numbers = entries
    if not topics:
        raise BadInput(f"no line of a qrels file; expected {TREC}", path)
    read: Any = grades.get if grades else level_in
    level_of = {level: read(label_of(level)) for level in dict.fromkeys(levels)}
    for level, number in zip(levels, numbers, strict=True):
        if level_of[level] is None:
            kind = "a grade" if grades else f"an integer up to {HIGHEST_LEVEL}"
            raise BadInput(f"level {label_of(level)!r} is not {kind}", path, number)
    values = np.array([level_of[level] for level in levels], np.int16)
    labels, topic_of = numbered_topics(topics, path, numbers)
    order = np.argsort(np.array(labels, object))
    sorted_labels = [labels[k] for k in order]
    places = np.argsort(order).astype(np.int32)[topic_of]
    qrels = Qrels(str(path), sorted_labels, places, documents, values, numbers)
    qrels.document_numbers  # noqa: B018 - made once for all runs; this refuses repeated documents
    return qrels


def level_in(text: str) -> float | None:
    """Return the relevance level in a field such as 2 or L2; None for other content."""
    number = number_in(text[1:] if re.fullmatch(r"L[0-9]+", text) else text)
    is_level = number is not None and number.is_integer() and abs(number) <= HIGHEST_LEVEL
    return number if is_level else None


def _rel_files(path: PathLike) -> list[Path]:
    """Return the .rel files of a path (BadInput for a folder without); none for another file."""
    files = expand(path, "judgements")
    named = [file for file in files if bare_name(file).endswith(REL)]
    if Path(path).is_dir() and not named:
        raise BadInput("no .rel files in this folder; judgements are one file, or these", path)
    return named


def _read_rel(paths: Sequence[Path]) -> Qrels:
    """Read files of one topic: lines of document, level (L0, L1, ...) and perhaps a class."""
    origin: dict[str, Path] = {}
    rows: list[tuple[bytes, bytes, bytes, int]] = []
    for path in paths:
        base, folder = bare_name(path).removesuffix(REL), path.absolute().parent.name
        topic = folder if base.startswith(f"{folder}.") else base
        if topic in origin:
            raise BadInput(f"a second file of topic {topic}; the first is {origin[topic]}", path)
        origin[topic] = path
        part = []
        for number, fields in field_lines(read_bytes(path)):
            if not 2 <= len(fields) <= 3 or not re.fullmatch(rb"L\d{1,3}", fields[1]):
                text = "not a line of a .rel file: a document and a level, L0 to L127"
                raise BadInput(text, path, number)
            part.append((topic.encode(), fields[0], fields[1], number))
        _qrels_of_rows(path, part)  # refuses what is wrong in this file
        rows += part
    return _qrels_of_rows(paths[0].parent, rows)


def _qrels_of_rows(path: PathLike, rows: Sequence[tuple[bytes, bytes, bytes, int]]) -> Qrels:
    """Return judgements of topic, document, level and line."""
    topics, documents, levels, numbers = zip(*rows, strict=True) if rows else ([], [], [], [])
    return qrels_of(path, Entries(topics, documents, levels, (), numbers))


def _of_ir_datasets(qrels: str) -> list[Any]:
    """Return the judgements of ``ir_datasets:NAME`` (BadInput for none)."""
    try:
        import ir_datasets

        return list(ir_datasets.load(qrels.removeprefix(IR_DATASETS)).qrels_iter())
    except ImportError:
        problem = "ir_datasets is not installed: pip install ir_datasets, or name a file"
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"[:300]
    raise BadInput(f"{qrels}: {problem}", option="qrels")
