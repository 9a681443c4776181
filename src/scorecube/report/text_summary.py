"""What a terminal shows of results first: a small table, as the view declares it, and one sentence."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.errors import counted, visible
from scorecube.report.phrases import noun, value_range
from scorecube.report.results import Tables, findings_of, options_of_result, view_of_result
from scorecube.report.tables import COLLECTION, as_records, combine
from scorecube.report.tables import where as where_of
from scorecube.report.text_formats import NONE, cell_texts, with_labels
from scorecube.report.text_layout import GAP, block, left_out, naming, within
from scorecube.report.view import Summary, View, names_of_variables

MOST_ROWS = 200_000
"""Of a table that is made for its few most important rows."""
LEAST_BAR, MOST_BAR = 12, 40
"""Width of the drawn limits."""
LABEL = "label"
NO_BREAK = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Shown:
    """A small table.

    head: Lines above it.
    table: Its lines, the headings first.
    below: Lines on rows and columns that it does not show.
    """

    head: list[str]
    table: list[str]
    below: list[str]


def summaries(
    results: Sequence[xr.Dataset], width: int, *, bars: bool = False, top: int | None = None
) -> list[Shown]:
    """Return the small tables of results of one analysis with equal options, one a collection.

    results: Of one collection or of several; of several only the first table is shown.
    width: Columns of the terminal.
    bars: Draw limits where there is room.
    top: Rows of each table; None for as many as it declares.
    """
    view = view_of_result(results[0])
    declared = view.summary or (_beginning(view, results[0]),)
    found: list[Shown] = []
    for summary in declared[: 1 if len(results) > 1 else None]:
        frames = [_rows(view, summary, result) for result in results]
        frames = [frame for frame in frames if len(frame)]
        if not frames:
            continue
        own = summary.title and found
        title = summary.title if own else _conditions(view, results)
        if summary.first_metric and LABEL in frames[0]:
            label = frames[0][LABEL].iloc[0]
            where, gap, rest = title.partition("  ")  # the metric behind the collection
            title = f"{title}, {label}" if own else f"{where}{gap}{label}{gap}{rest}"
        head = [line.replace(NO_BREAK, " ") for line in textwrap.wrap(title, width)]
        found.append(_shown(head, frames, summary, width, bars, top))
    return found


def sentence(results: Sequence[xr.Dataset]) -> str:
    """Return what may be concluded from results of one analysis, in one sentence; nothing of results that are not read."""
    found = next((each.sentence for each in findings_of(results, Tables(*results))), "")
    if not found or found.endswith(names_of_variables(results[0])[0].sentence):
        return ""
    return found if found.endswith((".", "?")) else f"{found}."


def _beginning(view: View, result: xr.Dataset) -> Summary:
    frame = view.frame(view.find_table(None)[1], result)
    return Summary({str(name): str(name) for name in frame.columns if name != COLLECTION})


def _conditions(view: View, results: Sequence[xr.Dataset]) -> str:
    attrs = [result.attrs for result in results]
    where = str(where_of(results[0])[COLLECTION])
    if len(results) > 1:
        where = counted(len(results), "collection")
    sizes = [
        f"{value_range([int(each[key]) for each in attrs], ',d')} {word}s"
        for key, word in (("n_runs", noun(attrs[0])), ("n_topics", "topic"))
        if all(key in each for each in attrs)
    ]
    options = [str(attrs[0][key]) for key in ("method", "mode") if key in attrs[0]]
    if "plan" in attrs[0]:
        options = [view.title(options_of_result(attrs[0]))]
    if int(attrs[0].get("trials", 1)) > 1:
        options.append(f"{int(attrs[0]['trials']):,} trials, seed{NO_BREAK}{attrs[0]['seed']}")
    return visible("  ".join(filter(None, [where, ", ".join(sizes + options)])))


def _rows(view: View, summary: Summary, result: xr.Dataset) -> pd.DataFrame:
    """Return the rows of a result that may be shown, the most important first."""
    table = view.find_table(summary.table or None)[1]
    if summary.first_metric:
        result = result.isel({names.METRIC: [0], names.GAIN: [0]}, missing_dims="ignore")
    if table.rows(result) > MOST_ROWS:
        return pd.DataFrame()
    frame = view.frame(table, result)
    for name, wanted in summary.at.items():
        if name in frame and len(frame):
            values = frame[name].dropna().unique().tolist()
            frame = frame[frame[name] == min(values, key=partial(_distance, wanted))]
    if names.N_TOPICS in result.attrs and names.N_TOPICS not in frame:
        frame[names.N_TOPICS] = int(result.attrs[names.N_TOPICS])
    if summary.near in frame:
        level = float(result[names.ALPHA].max())
        nearest = (frame[summary.near] - level).abs().sort_values(kind="stable").index
        frame = frame.loc[nearest]
    return with_labels(frame) if {names.METRIC, COLLECTION} <= set(frame.columns) else frame


def _distance(wanted: Any, value: Any) -> float:
    if isinstance(wanted, str):
        return float(value != wanted)
    return float(-value if math.isinf(wanted) else abs(value - wanted))


def _shown(
    head: list[str],
    frames: Sequence[pd.DataFrame],
    summary: Summary,
    width: int,
    bars: bool,
    top: int | None,
) -> Shown:
    """Return a table of the first rows of each collection: of several as many as fit, unless a number is asked for."""
    most = summary.most if len(frames) == 1 else 12
    frame = combine([rows.head(top or max(1, most // len(frames))) for rows in frames])
    frame = frame if top else frame.head(most)
    frame.attrs = dict(frames[0].attrs)
    columns = ({COLLECTION: COLLECTION} if len(frames) > 1 else {}) | dict(summary.by_heading)
    columns = {
        heading: " ".join(name for name in text.split() if name in frame)
        for heading, text in columns.items()
        if text.split()[0] in frame
    }
    shown = list(dict.fromkeys(name for text in columns.values() for name in text.split()))
    for estimate, *limits in map(str.split, columns.values()):
        frame.attrs["of"] = frame.attrs.get("of", {}) | dict.fromkeys(
            limits[-2:] if len(limits) == 2 else [], estimate
        )
    texts_of, records = cell_texts(frame[shown]), as_records(frame[shown])
    table: list[list[str]] = []
    numeric: list[bool] = []
    for heading, text in columns.items():
        found = text.split()
        right = any(isinstance(record[found[0]], int | float) for record in records)
        own = [heading, *_column([texts_of[name] for name in found])]
        if not _says_nothing(own, table, right):
            table.append(own)
            numeric.append(right)
    texts = [k for k, right in enumerate(numeric) if not right]
    labels = naming(texts, table)
    rest = [k for k in range(len(table)) if k not in labels]
    by_need = [*labels, *sorted(rest, key=texts.__contains__)]
    parts = [sorted(part) for part in within(by_need, labels, table, numeric, width)]
    first = block([table[k] for k in parts[0]], [numeric[k] for k in parts[0]], width, rule=False)
    if bars and summary.bar in columns:
        first = _with_bars(first, records, columns[summary.bar].split(), width)
    more = sum(map(len, frames)) - len(frame)
    below = [f"... {more:,} more"] if more else []
    return Shown(
        head,
        first,
        below
        + left_out([table[k][0] for part in parts[1:] for k in part if k not in labels], width),
    )


def _column(found: Sequence[Sequence[str]]) -> list[str]:
    """Return the cells of a column: a value, a range, or an estimate with its limits."""
    if len(found) == 1:
        return list(found[0])
    if len(found) == 2:
        return [
            low if low == high else f"{low} to {high}" for low, high in zip(*found, strict=True)
        ]
    limits = [_limits(*each) for each in zip(*found, strict=True)]
    widest = max(map(len, limits))
    return [f"{each} {limit:<{widest}}" for each, limit in zip(found[0], limits, strict=True)]


def _limits(estimate: str, low: str, high: str) -> str:
    """Return the limits of an estimate in brackets; nothing where neither is known."""
    if estimate == NONE or low == high == NONE:
        return ""
    low, high = ("no limit" if end == NONE else end for end in (low, high))
    return f"({low.removesuffix('%')} to {high})"


def _says_nothing(column: Sequence[str], others: Sequence[Sequence[str]], right: bool) -> bool:
    """Whether a column repeats a label, has no number, or is a gain setting that all rows share."""
    heading, *cells = column
    if right:
        return False
    empty = all(cell.strip() in ("", NONE) for cell in cells)
    same = any(cells == other[1:] for other in others)
    return empty or same or (heading == names.GAIN and len(set(cells)) == 1)


def _with_bars(
    lines: list[str], records: Sequence[Mapping[str, Any]], found: Sequence[str], width: int
) -> list[str]:
    """Return lines with the limits of their estimates drawn on one scale, where there is room."""
    wide = max(map(len, lines))
    room = min(width - wide - GAP, MOST_BAR)
    known = [
        [None if end is None or math.isinf(end) else end for end in (record[k] for k in found)]
        for record in records
    ]
    ends = [end for row in known if row[0] is not None for end in row if end is not None]
    if room < LEAST_BAR or len(found) < 3 or not ends or min(ends) == max(ends):
        return lines
    scale = (room - 1) / (max(ends) - min(ends))
    drawn = [""]
    for row in known:
        estimate, low, high = (
            None if end is None else round((end - min(ends)) * scale) for end in row
        )
        drawn.append(_bar(estimate, low, high, room))
    return [(line.ljust(wide + GAP) + bar).rstrip() for line, bar in zip(lines, drawn, strict=True)]


def _bar(estimate: int | None, low: int | None, high: int | None, room: int) -> str:
    """Return an estimate between its limits; those that are missing lie at the ends.

    Examples
    --------
    >>> _bar(4, 1, 6, 8), _bar(4, 1, None, 8), _bar(None, 1, 6, 8)
    (' ---|--', ' ---|---', '')
    """
    if estimate is None or low is high is None:
        return ""
    first, last = low or 0, room - 1 if high is None else high
    letters = ["-" if first <= k <= last else " " for k in range(room)]
    letters[estimate] = "|"
    return "".join(letters).rstrip()
