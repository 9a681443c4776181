"""JSON and lines of JSON -> records and tables; names with dots reach what is nested in them.

``provider.id`` is the field id of the object provider, ``scores.0.value`` one of the first of a
list. Where a file is one object, its rows are its list of objects, or its objects by id, whose ids
are a column `KEY`; a name may begin with the place of the list: ``results.results.testIdx``.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from operator import itemgetter
from sys import intern
from typing import TYPE_CHECKING, Any

from scorecube.errors import BadInput, kind_of, option
from scorecube.ingest.input_files import FILE
from scorecube.names import SCORE

if TYPE_CHECKING:
    from scorecube.files import PathLike
    from scorecube.ingest.delimited import CellTable

KEY = "key"
"""Column of the ids of objects that are rows by id."""
IDS = "resolved"
"""Field of a list of ids that is a whole file."""
DEEPEST = 4
"""Levels of objects in which rows are looked for, and of names of columns."""
Rows = list[dict[str, Any]]
Record = tuple[int, dict[str, Any]]
"""An object, and its line or number."""


def parse_json(text: str, path: PathLike | None) -> list[tuple[int, Any]]:
    """Return the objects of JSON lines with their lines, those of a list, or the only one."""
    lines = [(k, line) for k, line in enumerate(text.split("\n"), 1) if line.strip()]
    try:
        is_lines = isinstance(DECODE(lines[0][1]), dict)
    except (ValueError, RecursionError):
        is_lines = False
    if not is_lines:
        whole = _loaded(text, 1, path)
        return list(enumerate(whole, 1)) if isinstance(whole, list) else [(1, whole)]
    flat = _flat_objects([line for _, line in lines])
    if flat:
        return list(zip(map(itemgetter(0), lines), flat, strict=True))
    return [(number, _loaded(line, number, path)) for number, line in lines]


def _flat_objects(lines: Sequence[str]) -> Rows:
    """Return objects of a line each, read at once; none where each line needs a look.

    Braces at the ends of lines, and nowhere else, tell that each line is an object; as many colons
    as names that none comes twice.
    """
    text = ",\n".join(lines)
    counts = {text.count("},\n{") + 1, text.count("{"), text.count("}")}
    if counts != {len(lines)}:
        return []
    with suppress(ValueError, RecursionError):
        rows: Rows = json.loads(f"[{text}]")
        if text.count(":") == sum(map(len, rows)):
            return rows
    return []


def _object(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object, whose names many share (ValueError for a name that comes again)."""
    found = {intern(name): value for name, value in fields}
    if len(found) < len(fields):
        repeated, _ = Counter(name for name, _ in fields).most_common(1)[0]
        raise ValueError(f"the name {repeated!r} comes twice in an object")
    return found


DECODE = json.JSONDecoder(object_pairs_hook=_object).decode


def _loaded(part: str, number: int, path: PathLike | None) -> Any:
    """Return the value of a text (BadInput for one that is no JSON)."""
    try:
        return DECODE(part)
    except (ValueError, RecursionError) as error:
        end = "" if part.rstrip().endswith(("]", "}")) else "; it may be cut off"
        line = number + getattr(error, "lineno", 1) - 1
        raise BadInput(f"not JSON: {error}{end}", path, line) from None


def objects_of(text: str, path: PathLike | None) -> list[Record]:
    """Return the objects of a text with their lines (BadInput for other values).

    A data frame that pandas wrote gives its rows, in any of its orientations.
    """
    records = parse_json(text, path)
    if len(records) == 1 and (rows := _rows_of_pandas(records[0][1])):
        return list(enumerate(rows, 1))
    if records and all(isinstance(one, str) for _, one in records):
        return [(1, {IDS: [one for _, one in records]})]
    if not any(row for _, row in records):
        raise BadInput("no object with fields; rows are objects in a list, or in lines", path)
    for number, row in records:
        if not isinstance(row, dict):
            place = f"row {number}: " if text.lstrip()[0] == "[" else ""
            line = None if place else number
            raise BadInput(f"{place}an object is expected; found {kind_of(row)}", path, line)
    return records


def _rows_of_pandas(whole: object) -> Rows:
    """Return the rows of a frame as `DataFrame.to_json` writes it; none of another object."""
    if not isinstance(whole, dict):
        return []
    if {"columns", "data"} <= whole.keys() <= {"columns", "index", "data"}:  # index: not of mlflow
        names, rows = (whole[name] for name in ("columns", "data"))
        if isinstance(rows, list) and all(isinstance(row, list) for row in (names, *rows)):
            return [dict(zip(map(str, names), row, strict=False)) for row in rows]
    if whole.keys() == {"schema", "data"}:
        return objects_in(whole["data"])
    columns = list(whole.values())
    if not columns or not all(isinstance(column, dict) and column for column in columns):
        return []
    labels = list(columns[0])
    is_counted = labels == list(map(str, range(len(labels))))
    if not is_counted or any(list(column) != labels for column in columns):
        return []
    return [{name: column[label] for name, column in whole.items()} for label in labels]


def at(value: object, name: str) -> Any:
    """Return what a name with dots reaches; None for nothing.

    Examples
    --------
    >>> row = {"provider": {"id": "m"}, "scores": [{"value": 1}], "a.b": 2}
    >>> [at(row, name) for name in ("provider.id", "scores.0.value", "a.b", "provider.x", "x")]
    ['m', 1, 2, None, None]
    """
    if isinstance(value, Mapping):
        if name in value:
            return value[name]
        # A key may have dots itself: longer ones first.
        for end in [k for k in range(len(name) - 1, 0, -1) if name[k] == "."]:
            if name[:end] in value:
                return at(value[name[:end]], name[end + 1 :])
        return None
    first, _, rest = name.partition(".")
    if isinstance(value, list) and first.isdecimal() and int(first) < len(value):
        return at(value[int(first)], rest) if rest else value[int(first)]
    return None


def objects_in(value: object) -> Rows:
    """Return the objects of a list; none of another value."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def table_of_records(
    records: Sequence[Record],
    wanted: Collection[str] = (),
    path: PathLike | None = None,
    *,
    is_whole: bool = False,
    has_lines: bool = True,
) -> CellTable:
    """Return a table of objects: a column each field, nested ones by names with dots.

    Labels outside of the rows are those of each row; numbers there are left out, and named.

    wanted: Names of columns that may lie in lists, or begin with the place of the rows.
    is_whole: Whether the only object is the whole file, and may hold the rows.
    has_lines: Whether objects are lines.
    """
    import pandas as pd

    from scorecube.collection.teams import listed
    from scorecube.ingest.data_frames import table_of_frame
    from scorecube.ingest.delimited import CellTable

    outside: dict[str, Any] = {}
    prefix = ""
    first = records[0][1]
    is_one_row = not is_whole or _has_all(first, wanted)
    places = {} if is_one_row else _places_of(first, wanted)
    if not is_one_row and (rows := _rows_of_columns(first) or _rows_of_ids(first, wanted, path)):
        records = [*enumerate(rows, 1)]
    elif places:
        place = _chosen_place(places, wanted, path)
        prefix = f"{place}." if place else ""
        outside = {
            name: value
            for name, value in _fields(first)
            if not isinstance(value, list | dict) and prefix and not name.startswith(prefix)
        }
        records = list(enumerate(places[place], 1))
    if not wanted:
        records = _with_inner_rows(records)
    rows = [row for _, row in records]
    frame = pd.DataFrame(rows, dtype=object)
    if any(dict in set(map(type, frame[name])) for name in frame):
        frame = pd.DataFrame([dict(_fields(row)) for row in rows], dtype=object)
    unread: list[str] = []
    for name, value in outside.items():
        if name in wanted or _is_label(name, value):
            frame[name] = frame.get(name, [value] * len(frame))
        elif value is not None:
            unread.append(name)
    for name in wanted:
        if name not in frame:
            own = name.removeprefix(prefix)
            cells = [at(record, own) for _, record in records]
            if any(cell is not None for cell in cells):
                frame[name] = cells
    notes = [f"not read: {listed(unread)}, outside of the rows"] if unread else []
    lines = [line for line, _ in records] if has_lines else []
    return CellTable(table_of_frame(frame, lines), tuple(notes), path)


def _with_inner_rows(records: Sequence[Record]) -> Sequence[Record]:
    """Return the objects in the only lists of objects that have numbers, with the fields beside.

    Objects that have numbers themselves, or names as their inner ones, are rows as they are.
    """
    fields = [*chain.from_iterable(row.items() for _, row in records)]
    lists = {name for name, value in fields if objects_in(value)}
    beside = {name for name, _ in fields if name not in lists}
    if len(lists) != 1 or any(isinstance(value, int | float) for _, value in fields):
        return records
    (place,) = lists
    inner: list[Record] = []
    has_numbers = False
    for line, row in records:
        labels = {name: row.get(name) for name in beside}
        for one in objects_in(row.get(place)):
            if not labels.keys().isdisjoint(one):
                return records
            inner.append((line, labels | one))
            has_numbers |= any(isinstance(value, int | float) for value in one.values())
    return inner if has_numbers else records


def _rows_of_columns(whole: Mapping[str, Any]) -> Rows:
    """Return the rows of an object whose fields are columns: lists of one length; else none."""
    columns = [one for one in whole.values() if isinstance(one, list)]
    sizes = {len(one) for one in columns}
    is_nested = any(isinstance(cell, dict | list) for cell in chain.from_iterable(columns))
    if is_nested or len(columns) < max(2, len(whole)) or len(sizes) > 1:
        return []
    return [dict(zip(whole, cells, strict=True)) for cells in zip(*columns, strict=True)]


def _rows_of_ids(whole: Mapping[str, Any], wanted: Collection[str], path: PathLike | None) -> Rows:
    """Return the rows of a file of numbers by topic, of a run that the file names; else none.

    Raises BadInput: Names that are no ids, so that they may be systems with means.
    """
    from scorecube.ingest.headings import fact, is_like_measure

    rows = _rows_by_id(whole)
    is_flat = len(whole) > 1 and all(isinstance(one, int | float) for one in whole.values())
    are_named = any(_is_label(one, 0) or is_like_measure(one) or fact(one) for one in whole)
    if rows or not is_flat or are_named:
        return rows
    if FILE not in wanted:
        raise means_or_topics(whole, path)
    return [{KEY: name, SCORE: value} for name, value in whole.items()]


def _rows_by_id(value: object) -> Rows:
    """Return the rows of an object of flags, or of scores by id; else none, as of counts."""
    from scorecube.ingest.headings import are_ids

    if not isinstance(value, dict) or len(value) < 2:
        return []
    scores = [*value.values()]
    if not all(isinstance(one, int | float) for one in scores):
        return []
    are_flags = all(isinstance(one, bool) for one in scores)
    are_scores = {*scores} <= {0, 1} or any(one % 1 for one in scores)
    if not are_flags and not (are_scores and are_ids([*value])):
        return []
    return [{KEY: name, SCORE: score} for name, score in value.items()]


def means_or_topics(labels: Iterable[str], path: PathLike | None) -> BadInput:
    """Return the error about numbers by labels that may be systems, or topics of one run."""
    topics = f"topics of one run, called as the file: {option('run_column', FILE)}"
    text = f"{', '.join(labels)[:80]}: systems with means, which have no topics, or {topics}"
    return BadInput(text, path, option="run_column")


def _is_label(name: str, value: object) -> bool:
    """Return whether a field outside of rows labels them: text, or the number of a run or seed."""
    from scorecube.ingest.cells import is_score
    from scorecube.ingest.headings import ROLES, header_word

    word = header_word(name.rpartition(".")[2])
    is_text = isinstance(value, str) and not is_score(value)
    return is_text or any(word in words for words in ROLES.values())


def _has_all(row: Mapping[str, Any], wanted: Collection[str]) -> bool:
    """Return whether an object has the columns that are wanted, if any are."""
    return bool(wanted) and all(at(row, name) is not None for name in wanted)


def _fields(row: Mapping[str, Any], before: str = "", depth: int = 1) -> Iterator[tuple[str, Any]]:
    """Yield the fields of an object by name, with those of objects in it."""
    for name, value in row.items():
        if isinstance(value, dict) and value and depth < DEEPEST:
            yield from _fields(value, f"{before}{name}.", depth + 1)
        else:
            yield f"{before}{name}", value


def _places_of(whole: Mapping[str, Any], wanted: Collection[str]) -> dict[str, Rows]:
    """Return rows in an object by the place nearest to its top; the whole is the place ''.

    wanted: Names of columns, which may begin with a place.
    """
    level: dict[str, Any] = {"": whole}
    for _ in range(DEEPEST + 1):
        inner: dict[str, Any] = {}
        for name, value in level.items():
            if isinstance(value, dict):
                inner |= {f"{name}.{key}".lstrip("."): part for key, part in value.items()}
        is_named = "" in level and any(_counts(inner, wanted).values())
        rows_of = {} if is_named else {name: _rows_in(value) for name, value in level.items()}
        places = {name: rows for name, rows in rows_of.items() if rows}
        if not is_named and not places:
            of_ids = {name: _rows_by_id(value) for name, value in level.items() if name}
            places = {name: rows for name, rows in of_ids.items() if rows}
        if places:
            return places
        level = inner
    return {}


def _counts(places: Iterable[str], wanted: Collection[str]) -> dict[str, int]:
    """Return how many names of columns begin with a place."""
    return {place: sum(name.startswith(f"{place}.") for name in wanted) for place in places}


def _rows_in(value: object) -> Rows:
    """Return the rows in a list of objects, or in objects, or lists of them, by id; else none."""
    if isinstance(value, list):
        return objects_in(value) if all(isinstance(one, dict) for one in value) else []
    if not isinstance(value, dict) or len(value) < 2:
        return []
    rows: Rows = []
    for key, part in value.items():
        several = part if isinstance(part, list) else [part]
        if not all(isinstance(row, dict) and row for row in several):
            return []
        for number, row in enumerate(several, 1):
            place = {KEY: key} if len(several) == 1 else {KEY: key, "row": number}
            rows.append(place | row)
    return rows if all(row.keys() == rows[0].keys() for row in rows) else []


def _chosen_place(
    places: Mapping[str, Rows], wanted: Collection[str], path: PathLike | None
) -> str:
    """Return the place that names of columns begin with, or else whose rows have most of them."""
    counts = _counts(places, wanted)
    if not any(counts.values()):
        for place, rows in places.items():
            counts[place] = sum(at(rows[0], name) is not None for name in wanted)
    fitting = [place for place, count in counts.items() if count == max(counts.values())]
    if len(fitting) == 1:
        return fitting[0]
    shown = ", ".join(f"{place} ({len(places[place])})" for place in fitting[:8])
    text = f"several lists may hold the rows: {shown}"
    example = option("topic_column", f"{fitting[0]}.NAME")
    raise BadInput(f"{text}; begin a name of a column with one: {example}", path)
