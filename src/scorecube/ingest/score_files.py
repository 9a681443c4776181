"""Reading of files of scores: the format of each, what it holds, and what is left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from scorecube.collection.teams import listed
from scorecube.errors import BadInput
from scorecube.ingest.battles import Battle, frame_of_battles, is_of_battles
from scorecube.ingest.columns import no_table
from scorecube.ingest.delimited import LINE, ROW, CellTable
from scorecube.ingest.formats import AUTO, SUMMARIES, Asked, File, Format, Row, Summary
from scorecube.ingest.input_files import PathLike
from scorecube.ingest.readers import detect, load_format
from scorecube.ingest.score_tables import read_tables
from scorecube.ingest.scores import SCORE, ScorePart, only_measures


def read_collections(
    paths: Sequence[PathLike],
    *,
    layout: str = AUTO,
    metric: str | None = None,
    chosen: Mapping[str, str] | None = None,
    items: Sequence[str] = (),
) -> list[ScorePart]:
    """Read files of per-topic scores that other tools computed, of one or several collections.

    layout: Name of the format, see `layouts`; ``auto`` detects it from the content of each file.
    metric: Name of the metric where a file does not name it, else the only one to read, by its
        name here or in the tool.
    chosen: Role (run, topic, collection, seed or score) -> its column, of tables with named
        columns and of JSON, see `scorecube.ingest.json_rows`.
    items: Ids of all items, of files that list only those that a run has solved.
    """
    asked = Asked(metric, chosen or {}, tuple(items))
    found: dict[int, ScorePart] = {}
    tables: dict[str, dict[int, CellTable]] = {}
    beside: dict[Summary, list[str]] = {}
    empty: list[str] = []
    for number, path in enumerate(paths):
        file = File.read(path, asked)
        is_free = layout == AUTO and not chosen
        kind = next((one for one in SUMMARIES if is_free and one.detect(file)), None)
        if kind is not None:
            beside.setdefault(kind, []).append(str(path))
            continue
        form, read = _read(file, layout)
        if read is None:
            empty += file.notes
        elif isinstance(read, CellTable):
            tables.setdefault(form, {})[number] = read
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


def _read(file: File, layout: str) -> tuple[str, ScorePart | CellTable | None]:
    """Return how tables of a file's format are read, and its scores or its table; None for none."""
    found = detect(file) if layout == AUTO else load_format(layout)
    if file.asked.chosen and found.form is None:
        raise no_table(file.asked.chosen, f"the layout {found.name}")
    read = found.read(file)
    return found.form or "", read if isinstance(read, CellTable) else _part_of(found, file, read)


def _part_of(found: Format, file: File, read: Any) -> ScorePart | None:
    """Return what a reader returned as scores; None for none, where its notes say why."""
    if isinstance(read, ScorePart):
        return read._replace(notes=[*read.notes, *file.notes])
    frame = read if isinstance(read, pd.DataFrame) else _frame_of([*read], file.path)
    if not len(frame):
        if file.notes:
            return None
        raise BadInput("no samples", file.path)
    if is_of_battles(frame):
        return ScorePart(frame, file.path, file.notes)
    if lacking := [role for role in ("run", "topic", SCORE) if role not in frame]:
        raise BadInput(f"the layout {found.name} returns no column {lacking[0]!r}", file.path)
    frame = frame.assign(metric=frame.get("metric", file.asked.metric or SCORE))
    frame = frame.rename_axis(LINE if file.has_lines else ROW)
    part = only_measures(frame, file.asked.metric, str, file.path)
    return part._replace(notes=[*part.notes, *file.notes])


def _frame_of(rows: Sequence[Row | Battle], path: PathLike) -> pd.DataFrame:
    """Return rows as a frame, whose index is the line; columns without a label are left out."""
    if battles := [row for row in rows if isinstance(row, Battle)]:
        return frame_of_battles(battles, path)
    frame = pd.DataFrame(rows, columns=pd.Index(Row._fields), dtype=object)
    empty = [name for name in ("collection", "seed") if (frame[name] == "").all()]
    return frame.drop(columns=empty).set_index("line")
