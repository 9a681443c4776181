"""Judgements: dialects of TREC and NTCIR, NTCIREVAL's files, tables, objects -> `Qrels`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any

import numpy as np

from scorecube.collection.judgements import Qrels
from scorecube.errors import BadInput, BadName, counted, option
from scorecube.ingest.files import (
    PathLike,
    bare_name,
    expand,
    is_parquet,
    read_text,
    refuse_unprintable,
)
from scorecube.ingest.lines import field_lines, number_in, numbered_topics, shown
from scorecube.ingest.roles import DOCUMENTS, ROLES, header_word
from scorecube.ingest.run_objects import DOCUMENT_HEADERS, columns_of_object, is_path
from scorecube.ingest.runs import with_suffix
from scorecube.ingest.source import File
from scorecube.ingest.tables import is_json, label_of, parse_json
from scorecube.metrics.registry import HIGHEST_LEVEL

GRADES = {"S": 3.0, "A": 2.0, "B": 1.0, "C": 0.0}
"""Levels of early NTCIR collections."""
REL = ".rel"
NO_CLASS = b"-"
LABELS = frozenset(["label", "level", "relevance", "rel", "grade", "judgement", "judgment"])
JUDGES = frozenset({"judge", "assessor", "annotator", "model"})
IR_DATASETS = ("ir_datasets", "irds")
QRELS_FORMS = (
    "{topic: {document: level}} (pytrec_eval), records with query_id, doc_id and relevance "
    "(ir_measures), "
    "a data frame with columns qid, docno, label (PyTerrier), or Qrels of ranx"
)
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
        .rel files or a folder of them;
        ``ir_datasets:NAME``; or judgements in memory, see `QRELS_FORMS`.
    dialect: A `Dialect`. ``auto`` never reads the second column as classes, and refuses further
        columns; with a dialect they are ignored. The
        lines of run files are refused in any case.
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
        return _of_object(path, "qrels", level_map)
    if Dialect(dialect) is Dialect.AUTO:
        if by_topic := _rel_files(path):
            return _read_rel(by_topic, level_map)
        if Path(path).is_file() and (found := _of_table(path, level_map)) is not None:
            return found
    return read_qrels(path, dialect=dialect, level_map=level_map)


def read_qrels(
    path: PathLike, *, dialect: str = Dialect.AUTO, level_map: LevelMap | None = None
) -> Qrels:
    """Read a file of lines, plain or gzip; see `read_judgements`."""
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
    if not rows:
        raise BadInput(f"no line of a qrels file; expected {line}", path)
    for number, fields in rows:
        if len(fields) < width or (
            len(fields) > width and (dialect == "auto" or is_of_run(fields))
        ):
            problem = (
                f"{counted(len(fields), 'column')}; a line of a qrels file has {width}: {line}"
            )
            if is_of_run(fields):
                problem += "; this is a line of a run file, not of judgements"
            elif len(fields) > width:
                problem += f"; to ignore further columns: {option('dialect', 'trec')}"
            raise BadInput(problem, path, number)
    qrels = qrels_of_rows(
        path,
        [fields[0] for _, fields in rows],
        [fields[document] for _, fields in rows],
        [fields[level] for _, fields in rows],
        [number for number, _ in rows],
        level_map,
        GRADES if chosen is Dialect.NTCIR_GRADES else None,
    )
    if chosen is not Dialect.TREC_CLASSES:
        return qrels
    shape = len(qrels.topics), int(qrels.document_of.max()) + 1
    classes = np.full(shape, -1, np.int32)
    numbers: list[dict[bytes, int]] = [{} for _ in qrels.topics]
    for topic, number, (_, fields) in zip(qrels.topic_of, qrels.document_of, rows, strict=True):
        if fields[1] != NO_CLASS:
            classes[topic, number] = numbers[topic].setdefault(fields[1], len(numbers[topic]))
    return Qrels(
        **{
            **{name: getattr(qrels, name) for name in qrels.__dataclass_fields__},
            "classes": classes,
        }
    )


def is_of_run(fields: Sequence[bytes]) -> bool:
    """Return whether a line is one of a run: six fields, the last no number or Q0 the second."""
    return len(fields) == 6 and (fields[1].upper() == b"Q0" or number_in(fields[5]) is None)


def qrels_of_rows(
    path: PathLike,
    topics: Sequence[bytes],
    documents: Sequence[bytes],
    levels: Iterable[Any],
    numbers: Sequence[int],
    level_map: LevelMap | None = None,
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
    known: dict[Any, int] = {}
    for k, level in enumerate(levels):
        if level not in known:
            number = grades.get(shown(level)) if grades else level_in(level)
            if number is None:
                kind = (
                    f"one of the grades {', '.join(grades)}"
                    if grades
                    else f"an integer up to {HIGHEST_LEVEL}"
                )
                raise BadInput(f"level {shown(level)!r} is not {kind}", path, numbers[k])
            known[level] = (level_map or {}).get(int(number), int(number))
        values[k] = known[level]
    labels, topic_of = numbered_topics(topics, path, numbers)
    order = sorted(range(len(labels)), key=labels.__getitem__)
    place = np.empty(len(labels), np.int32)
    place[order] = np.arange(len(labels))
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
    """Return judgements in memory (BadInput for another form)."""
    topics, documents, levels, _ = columns_of_object(
        qrels, LABELS, "relevance", QRELS_FORMS, "qrels", path
    )
    return qrels_of_rows(path, topics, documents, levels, range(1, len(topics) + 1), level_map)


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
        words = [fields[0] for _, fields in rows]
        levels, numbers = [fields[1] for _, fields in rows], [number for number, _ in rows]
        parts.append(
            qrels_of_rows(path, [topic.encode()] * len(rows), words, levels, numbers, level_map)
        )
    order = sorted(range(len(parts)), key=lambda k: parts[k].topics[0])
    kept = [parts[k] for k in order]
    return Qrels(
        str(paths[0].parent),
        [part.topics[0] for part in kept],
        np.concatenate([np.full(len(part.documents), k, np.int32) for k, part in enumerate(kept)]),
        [document for part in kept for document in part.documents],
        np.concatenate([part.levels for part in kept]),
        [number for part in kept for number in part.numbers],
    )


def _of_table(path: PathLike, level_map: LevelMap | None) -> Qrels | None:
    """Return the judgements of a table, such as of BEIR, or of JSON; None for other files."""
    try:
        text = "" if is_parquet(path) else read_text(path)
        if (
            is_json(text)
            and (document := parse_json(text, path)[0] or _only(text, path)) is not None
        ):
            return _of_object(document, str(path), level_map)
        file = File(path, text)
        if not LABELS & set(map(header_word, file.names)) and not file.names & {"score"}:
            return None
        places = _places([header_word(name) for name in (file.table.header)])
    except BadInput:
        return None
    if not {"topic", "document", "label"} <= places.keys():
        return None
    table = file.table
    cells = {name: [label_of(cell) for cell in table.columns[k]] for name, k in places.items()}
    if len(set(cells.get("judge", []))) > 1:
        raise BadInput(
            f"labels of {counted(len(set(cells['judge'])), 'judge')}; judgements are of one", path
        )
    for line, *row in zip(table.lines, cells["topic"], cells["document"], strict=True):
        for value, what in zip(row, ("topic", "document"), strict=True):
            refuse_unprintable(value, what, path, line)
            if len(value.split()) != 1:
                raise BadInput(f"the {what} is missing or has blanks", path, line)
    if not len(table.lines):
        raise BadInput("a header without labels", path, table.line)
    topics, documents = (
        [value.encode() for value in cells[name]] for name in ("topic", "document")
    )
    return qrels_of_rows(path, topics, documents, cells["label"], table.lines, level_map)


def _only(text: str, path: PathLike) -> Any:
    """Return the only object of a file of one line, if it holds others."""
    records = parse_json(text, path)[1]
    first = records[0][1] if len(records) == 1 else None
    is_nested = isinstance(first, dict) and all(isinstance(part, dict) for part in first.values())
    return first if is_nested else None


def _places(words: Sequence[str]) -> dict[str, int]:
    """Return the place of each known column; the first of several with its meaning."""
    kinds = {
        "topic": ROLES["topic"] - DOCUMENTS,
        "document": DOCUMENT_HEADERS,
        "judge": JUDGES,
        "label": LABELS if LABELS & set(words) else {"score"},
    }
    return {
        name: next(k for k, word in enumerate(words) if word in known)
        for name, known in kinds.items()
        if set(words) & known
    }


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
