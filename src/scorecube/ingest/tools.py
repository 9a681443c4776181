"""Reading of files of scores: the format of each, what it holds, and what is left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import BadInput
from scorecube.ingest.columns import no_table
from scorecube.ingest.delimited import Table
from scorecube.ingest.files import PathLike
from scorecube.ingest.formats import AUTO, FILE, SUMMARIES, Asked, File, Format, Row, Summary
from scorecube.ingest.readers import detect, load_format
from scorecube.ingest.readers.general import LONG, MATRIX, NESTED, NUMBERS, TABLE
from scorecube.ingest.scores import SCORE, Part, only_measures
from scorecube.ingest.tabular import read_tables

FORMS = {TABLE: "", LONG: LONG, MATRIX: MATRIX, NUMBERS: MATRIX}
"""Format of tables -> how they are read; empty where that is found out."""


def read_collections(
    paths: Sequence[PathLike],
    *,
    layout: str = AUTO,
    metric: str | None = None,
    chosen: Mapping[str, str] | None = None,
    items: Sequence[str] = (),
) -> list[Part]:
    """Read files of per-topic scores that other tools computed, of one or several collections.

    layout: Name of the format, see `layouts`; ``auto`` detects it from the content of each file.
    metric: Name of the metric where a file does not name it, else the only one to read, by its
        name here or in the tool.
    chosen: Role (run, topic, collection, seed or score) -> its column, of tables with named
        columns and of JSON, see `scorecube.ingest.json_rows`.
    items: Ids of all items, of files that list only those that a run has solved.
    """
    asked = Asked(metric, chosen or {}, tuple(items))
    found: dict[int, Part] = {}
    tables: dict[str, dict[int, Table]] = {}
    beside: dict[Summary, list[str]] = {}
    empty: list[str] = []
    for number, path in enumerate(paths):
        file = File.read(path, asked)
        kind = None if layout != AUTO or chosen else _summary_of(file)
        if kind is not None:
            beside.setdefault(kind, []).append(str(path))
            continue
        name, read = _read(file, layout)
        if read is None:
            empty += file.notes
        elif isinstance(read, Table):
            tables.setdefault(FORMS[name], {})[number] = read
        else:
            found[number] = read
    for form, several in tables.items():
        read_parts = read_tables([*several.values()], metric=metric, chosen=chosen, layout=form)
        found |= zip(several, read_parts, strict=True)
    parts = [part for _, part in sorted(found.items())]
    for kind, files in beside.items():
        if not parts:
            raise BadInput(f"{kind.about}: {kind.why}; {kind.way}", files[0])
        names = listed([Path(file).name for file in files])
        parts[0] = parts[0]._replace(notes=[*parts[0].notes, f"not read: {names} ({kind.about})"])
    if not parts:
        raise BadInput(f"no scores; {'; '.join(empty)}", paths[0])
    parts[0] = parts[0]._replace(notes=[*parts[0].notes, *empty])
    return parts


def _summary_of(file: File) -> Summary | None:
    """Return what a file is that a tool writes beside its scores; None for others."""
    return next((kind for kind in SUMMARIES if kind.detect(file)), None)


def _read(file: File, layout: str) -> tuple[str, Part | Table | None]:
    """Return the name of a file's format, and its scores, or a table; None where notes say why."""
    found = _format_of(file, layout)
    asked = file.asked.chosen
    is_of_file = found.name == NESTED and asked == {"run": FILE}
    if asked and found.name not in FORMS and not is_of_file:
        raise no_table(asked, f"the layout {found.name}")
    read = found.read(file)
    return found.name, read if isinstance(read, Table) else _part_of(found, file, read)


def _part_of(found: Format, file: File, read: Any) -> Part | None:
    """Return what a reader returned as scores; None for none, where its notes say why."""
    if isinstance(read, Part):
        return read._replace(notes=[*read.notes, *file.notes])
    rows = read if isinstance(read, pd.DataFrame) else list(read)
    if not len(rows) and file.notes:
        return None
    frame = rows if isinstance(rows, pd.DataFrame) else frame_of_rows(rows, file.path)
    if lacking := [role for role in ("run", "topic", SCORE) if role not in frame]:
        raise BadInput(f"the layout {found.name} returns no column {lacking[0]!r}", file.path)
    frame = frame.assign(metric=frame.get("metric", file.asked.metric or SCORE))
    if isinstance(read, pd.DataFrame):
        return Part(frame, file.path, file.notes)
    return only_measures(frame, file.asked.metric, str, file.path)._replace(notes=file.notes)


def _format_of(file: File, layout: str) -> Format:
    """Return the format of a file: the asked one, of chosen columns, or by content."""
    if layout != AUTO:
        return load_format(layout)
    is_of_file = file.asked.chosen == {"run": FILE} and bool(file.nested)
    if file.asked.chosen and file.is_json and not is_of_file:
        return load_format(TABLE)
    return detect(file)


def frame_of_rows(rows: Iterable[Row], path: PathLike) -> pd.DataFrame:
    """Return rows as a frame, whose index is the line; columns without a label are left out."""
    frame = pd.DataFrame(list(rows), columns=pd.Index(Row._fields), dtype=object)
    if not len(frame):
        raise BadInput("no samples", path)
    empty = [name for name in ("collection", "seed") if (frame[name] == "").all()]
    return frame.drop(columns=empty).set_index("line")
