"""What a terminal shows of results first: a small table, and one sentence."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.errors import counted, visible
from scorecube.report.formats import aligned, fitted, left_out
from scorecube.report.readable import readable, with_labels
from scorecube.report.results import answers, conditions, rows_at, view_of_result
from scorecube.report.tables import COLLECTION, LIMITS, Table, combine, where

MOST_ROWS, MOST_MADE = 12, 200_000
"""Rows that are shown, and of a table that is made for them."""


def summaries(results: Sequence[xr.Dataset], width: int, top: int | None = None) -> list[list[str]]:
    """Return the lines of small tables of results of one analysis with equal options.

    results: One a collection; of several only the first table is shown.
    width: Columns of the terminal.
    top: Rows of each collection; None for as many as are usual.
    """
    view, shown = view_of_result(results[0]), list[list[str]]()
    for name in view.shown[: 1 if len(results) > 1 else None]:
        frames = [_rows(view.tables[name], result) for result in results]
        frames = [frame for frame in frames if len(frame)]
        if frames:
            title = _title(results) if not shown else f"table {name}"
            shown.append(_shown(title, frames, view.tables[name], width, top))
    return shown


def sentence(results: Sequence[xr.Dataset]) -> str:
    """Return the answer of one result in one sentence; of several nothing."""
    found = answers(results[0]) if len(results) == 1 else []
    return found[0].sentence if found else ""


def _title(results: Sequence[xr.Dataset]) -> str:
    """Return the collections and under which conditions results were made."""
    several = counted(len(results), "collection")
    place = where(results[0])[COLLECTION] if len(results) == 1 else several
    words = conditions(*(result.attrs for result in results))
    return visible("  ".join(filter(None, [place, words])))


def _rows(table: Table, result: xr.Dataset) -> pd.DataFrame:
    """Return the rows of a result that may be shown, of a table of runs those of one metric."""
    if names.RUN in table.dims.split() or names.PAIR in table.dims.split():
        result = result.isel({names.METRIC: [0], names.GAIN: [0]}, missing_dims="ignore")
    if table.rows(result) > MOST_MADE:
        return pd.DataFrame()
    frame = table.frame(result)
    if {names.METRIC, COLLECTION} <= {*frame.columns}:
        traits = frame.attrs
        frame = rows_at(with_labels(frame), table.at)
        frame.attrs = traits
    if names.N_TOPICS in result.attrs and names.N_TOPICS not in frame:
        frame[names.N_TOPICS] = int(result.attrs[names.N_TOPICS])
    return frame


def brief_layout(table: Table, frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return the columns that a terminal shows of a table, by heading.

    Examples
    --------
    >>> table = Table("", "", brief="metric tau=tau~ on_the_same_topics=low,high absent")
    >>> brief_layout(table, pd.DataFrame(columns=["metric", "tau", "tau_low", "low", "high"]))
    {'metric': ('metric',), 'tau': ('tau', 'tau_low'), 'on the same topics': ('low', 'high')}
    """
    layout = {}
    for word in (table.brief or " ".join(map(str, frame.columns))).split():
        heading, _, text = word.partition("=")
        text = text or heading
        names_of = [f"{text[:-1]}{end}" for end in LIMITS] if "~" in text else text.split(",")
        if names_of[0] in frame:
            layout[heading.replace("_", " ")] = tuple(name for name in names_of if name in frame)
    return layout


def _shown(
    title: str, frames: Sequence[pd.DataFrame], table: Table, width: int, top: int | None
) -> list[str]:
    """Return a table of the first rows of each collection: of several as many as fit."""
    most = top or max(1, MOST_ROWS // len(frames))
    frame = combine([rows.head(most) for rows in frames])
    frame = frame if top else frame.head(MOST_ROWS)
    first = {COLLECTION: (COLLECTION,)} if len(frames) > 1 else {}
    layout = first | brief_layout(table, frame)
    cells = readable(frame, layout)
    dropped = {name for name, texts in cells.columns.items() if not {*texts} - {"", "-"}}
    for name in {names.METRIC, names.GAIN, names.SAMPLING} & cells.columns.keys():
        texts = cells.columns[name]
        if len({*texts}) == 1 and (len(texts) > 1 or name == names.SAMPLING):
            dropped.add(name)
            title = f"{title}, {texts[0]}" if name == names.METRIC else title
    if names.TEAM in layout and frame[names.TEAM].equals(frame[names.RUN]):
        dropped.add(names.TEAM)
    cells, lost = fitted(cells.only(cells.columns.keys() - dropped), width)
    more = sum(map(len, frames)) - len(frame)
    below = [f"... {more:,} more"] if more else []
    below += textwrap.wrap(left_out(lost), width)
    return [*textwrap.wrap(title, width), "", *aligned(cells, width), *below, ""]
