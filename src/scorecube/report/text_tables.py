"""Tables as text: text, csv, json, markdown, latex.

Names come from files, and nothing in them acts where a table is read: control characters are
escaped (in JSON by its own escapes, in CSV not), as are marks of Markdown and LaTeX; in CSV an
apostrophe stands before what a spreadsheet would take for a formula.
"""

from __future__ import annotations

import csv
import textwrap
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

from scorecube import names
from scorecube.analyses.frames import (
    COLLECTION,
    IN_BRIEF,
    KEYS,
    as_records,
    combine,
    frame_of,
    merge_gains,
    place_of,
    rows_at,
    trait,
    with_labels,
)
from scorecube.analyses.printed import AS_PRINTED, MARKS
from scorecube.collection.schema import labels_of
from scorecube.collection.teams import listed
from scorecube.declare import Table
from scorecube.declare.tables import LIMITS, Shown
from scorecube.errors import BadPlan, UnknownName, counted, option, visible
from scorecube.files import is_formula
from scorecube.report.contents import as_json
from scorecube.report.marks import with_marks, written
from scorecube.report.markup import Fit, in_latex, in_markdown
from scorecube.report.readable import (
    LEAST,
    TO,
    Cells,
    aligned,
    check_columns,
    intervals_of,
    layout_of,
    readable,
)
from scorecube.report.result_parts import answers, conditions, gain_of, median_of, view_of_result

LABEL = "label"
"""Column with the metric, and its gain setting where there are several."""
LEAST_BAR = 12
MOST_BAR = 40
"""Columns of drawn limits."""
MOST_ROWS = 12
MOST_MADE = 200_000
"""Rows that are shown, and of a table that is made for them."""
FORMATS = ("text", "csv", "json", "markdown", "latex")
MOST_IN_LATEX = 6
"""Columns where none are chosen."""


def render(
    frame: pd.DataFrame,
    form: str,
    width: int | None = None,
    columns: Sequence[str] | None = None,
    caption: str = "",
    digits: int | None = None,
    mark: str | None = None,
    fit: Fit | None = None,
) -> str:
    """Return a table as text without its last newline.

    csv and json have all rows and columns in full precision, the others rounded numbers.

    frame: The table.
    form: One of `FORMATS`.
    width: Columns of the terminal, for ``text``; None for no limit.
    columns: Columns to show, limits by names such as ``mean_limits``; all by default.
    caption: Of a table in LaTeX or Markdown, in their marks.
    digits: Decimals of rounded numbers; None for those that limits allow.
    fit: Place in an article of two columns that a table in LaTeX fits into.
    mark: ``bold`` or ``superscript``, of what the paper of a table prints in boldface.
    Raises UnknownName: An unknown format, or a column that the table does not have.
    Raises BadPlan: Marks of a table without any.
    """
    if mark is not None and MARKS not in frame.attrs:
        of_papers = "those of correlate that papers have, and its triangle"
        wrong = f"{option('mark', mark)}: tables with boldface in a paper have marks: {of_papers}"
        raise BadPlan(wrong, option="mark")
    if form not in FORMATS:
        raise UnknownName(f"no format {form!r}; known: {', '.join(FORMATS)}")
    if form in ("csv", "json"):
        frame = data_columns(frame, columns)
        return _csv(frame) if form == "csv" else as_json(as_records(frame))
    frame = merge_gains(frame)
    layout = layout_of(frame, columns, words=form != "text")
    cells = readable(frame, layout, TO if form == "latex" else " to ", digits)
    if mark is not None:
        cells = with_marks(cells, frame.attrs[MARKS], form, mark)
    if form == "text":
        return text_table(cells, width)
    if columns is None and caption:  # which says what is constant
        roles = trait(frame, "role")
        printed = frame.attrs.get(AS_PRINTED)
        conditions = [name for name in frame if roles.get(str(name)) in ("condition", "flag")]
        in_caption = {*KEYS, *conditions, *(printed or ())} & {*frame.columns}
        constant = {name for name in in_caption if frame[name].nunique() < 2}
        constant |= needless(frame, layout, cells)
        kept = [name for name, parts in layout.items() if not {name, parts[0]} & constant]
        if form == "latex" and not printed:
            kept = most_telling(kept, frame, layout, cells)
        cells = cells.only(kept)
    text = in_latex(cells, caption, fit) if form == "latex" else in_markdown(cells, caption)
    return written(text, form)


def most_telling(
    headings: Sequence[str], frame: pd.DataFrame, layout: Mapping[str, Sequence[str]], cells: Cells
) -> list[str]:
    """Return as many columns as LaTeX has: first keys that differ and what terminals show."""
    roles = trait(frame, "role")
    in_brief = frame.attrs.get(IN_BRIEF, ())

    def place(heading: str) -> int:
        column = layout[heading][0]
        differs = len({*cells.columns[heading]}) > 1
        if differs and (column in KEYS or column in in_brief):
            return 0
        if roles.get(column) in ("estimate", "p_value"):
            return 1
        return 2 if differs else 3

    chosen = sorted(headings, key=place)[:MOST_IN_LATEX]
    return [heading for heading in headings if heading in chosen]


def needless(frame: pd.DataFrame, layout: Mapping[str, Sequence[str]], cells: Cells) -> set[str]:
    """Return headings of columns without a value, and of teams that are their runs."""
    dropped = {name for name, texts in cells.columns.items() if not {*texts} - {"", "-"}}
    if names.TEAM in frame and frame[names.TEAM].equals(frame[names.RUN]):
        dropped |= {name for name, parts in layout.items() if parts[0] == names.TEAM}
    return dropped


def text_table(cells: Cells, width: int | None = None) -> str:
    """Return a table in columns; those without room in a terminal are named below."""
    below = list[str]()
    if width is not None:
        cells, lost = fitted(cells, width)
        below = textwrap.wrap(left_out(lost), width, break_on_hyphens=False)
    return "\n".join([*aligned(cells, width, rule="-"), *below])


def left_out(headings: Sequence[str]) -> str:
    """Return a line that names columns without room; empty for none."""
    return f"left out: {', '.join(headings)}; --format csv and json have them" if headings else ""


def fitted(
    cells: Cells, width: int, first: Collection[str] = frozenset()
) -> tuple[Cells, list[str]]:
    """Return as many columns as have room, and the headings of the others.

    first: Headings that have room before all others.
    """
    kept = list[str]()
    room = width

    def place(name: str) -> tuple[bool, bool, bool]:
        is_constant = len({*cells.columns[name]}) < 2
        return name not in first, is_constant, name in cells.numeric

    for name in sorted(cells.columns, key=place):
        longest = max(map(len, cells.columns[name]), default=0)
        least = max(len(name), longest if name in cells.numeric else min(longest, LEAST))
        if least <= room or not kept:
            kept.append(name)
            room -= least + 2
    return cells.only(kept), [name for name in cells.columns if name not in kept]


def data_columns(frame: pd.DataFrame, columns: Sequence[str] | None) -> pd.DataFrame:
    """Return the columns that are asked for, of an interval both limits; all for None."""
    if columns is None:
        return frame
    check_columns(frame, columns)
    ends = {name: parts[1:] for name, parts in intervals_of(frame).items()}
    return frame[[*chain.from_iterable(ends.get(name, (name,)) for name in columns)]]


def _csv(frame: pd.DataFrame) -> str:
    """Return CSV; labels that a spreadsheet would take for formulas stand behind an apostrophe."""
    texts = frame.select_dtypes(exclude=["number", "bool"])
    values = chain.from_iterable(texts[name].unique() for name in texts)
    labels = {value for value in values if isinstance(value, str)}
    quoted = {label: f"'{label}" for label in filter(is_formula, labels)}
    safe = frame.assign(
        **{str(name): frame[name].map(lambda value: quoted.get(value, value)) for name in texts}
    )
    # Before Python 3.13 a carriage return gets no quotes, and is read as the end of a line.
    returns = any("\r" in label for label in labels)
    quoting: Any = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    return safe.to_csv(index=False, quoting=quoting).removesuffix("\n")


def summaries(results: Sequence[xr.Dataset], width: int, top: int | None = None) -> list[list[str]]:
    """Return the lines of small tables of results of one analysis with equal options.

    results: One a collection; of several only the first table is shown.
    width: Columns of the terminal.
    top: Rows of each collection; None for as many as are usual.
    """
    view = view_of_result(results[0])
    shown = list[list[str]]()
    for name in view.shown[: 1 if len(results) > 1 else None]:
        frames = [_rows(view.tables[name], result) for result in results]
        frames = [frame for frame in frames if len(frame)]
        if frames:
            title = _title(results) if not shown else f"table {name}"
            lines = _shown(title, frames, view.tables[name], width, top, results[0].attrs)
            others = _other_metrics(view.tables[name], results[0])
            if others:
                hidden = f"not shown: {listed(others)}; scorecube show has them"
                lines = [*lines[:-1], *textwrap.wrap(hidden, width), ""]
            shown.append(lines)
    return shown


def lines_below(results: Sequence[xr.Dataset]) -> list[str]:
    """Return what stands below the table of results, the answer last; of several a median."""
    view = view_of_result(results[0])
    if len(results) > 1:
        noun = names.word(results[0].attrs, COLLECTION)
        medians = median_of([answers(result) for result in results], noun)
        return [answer.sentence for answer in medians[:1] if not view.as_leaderboard]
    if view.lines is not None:
        return list(view.lines(results[0]))
    return [answer.sentence for answer in answers(results[0])[:1]]


def _title(results: Sequence[xr.Dataset]) -> str:
    """Return the collections and under which conditions results were made."""
    several = counted(len(results), names.word(results[0].attrs, COLLECTION))
    place = place_of(results[0].attrs) if len(results) == 1 else several
    gain = gain_of(results[0])
    setting = f"gains {gain}" if gain else ""
    words = [conditions(*(result.attrs for result in results)), setting]
    return visible("  ".join(filter(None, [place, ", ".join(filter(None, words))])))


def _rows(table: Table, result: xr.Dataset) -> pd.DataFrame:
    """Return the rows of a result that may be shown, of a table of runs those of one metric."""
    if names.RUN in table.dims or names.PAIR in table.dims:
        result = result.isel({names.METRIC: [0], names.GAIN: [0]}, missing_dims="ignore")
    if table.n_rows(result) > MOST_MADE:
        return pd.DataFrame()
    frame = frame_of(table, result)
    if table.brief and names.METRIC in frame:
        traits = frame.attrs
        frame = rows_at(with_labels(frame), table.at)
        frame.attrs = traits
    if table.brief and names.N_TOPICS in result.attrs and names.N_TOPICS not in frame:
        frame[names.N_TOPICS] = int(result.attrs[names.N_TOPICS])
    return frame


def _other_metrics(table: Table, result: xr.Dataset) -> list[str]:
    """Return the metrics that are not shown of a table of runs, which shows the first."""
    is_of_runs = names.RUN in table.dims or names.PAIR in table.dims
    return labels_of(result, names.METRIC)[1:] if is_of_runs and names.METRIC in result.dims else []


def brief_layout(table: Table, frame: pd.DataFrame) -> dict[str, tuple[str, ...]]:
    """Return the columns that a terminal shows of a table, by heading."""
    layout = {}
    columns = table.in_brief
    if not columns:
        columns = [Shown(name, (name,)) for name in map(str, frame.columns.drop(COLLECTION))]
    for column in columns:
        if column.columns[0] in frame:
            parts = tuple(name for name in column.columns if name in frame)
            if len(parts) == len(LIMITS) and frame[[*parts[1:]]].isna().all(axis=None):
                parts = parts[:1]  # no row has limits
            layout[column.heading] = parts
    return layout


def _shown(
    title: str,
    frames: Sequence[pd.DataFrame],
    table: Table,
    width: int,
    top: int | None,
    attrs: Mapping[Any, Any],
) -> list[str]:
    """Return a table of the first rows of each collection: of several as many as fit."""
    most = top or max(1, MOST_ROWS // len(frames))
    frame = combine([rows.head(most) for rows in frames])
    frame = frame if top else frame.head(MOST_ROWS)
    first = {COLLECTION: (COLLECTION,)} if len(frames) > 1 else {}
    layout = first | brief_layout(table, frame)
    nouns = names.nouns(attrs)
    layout = {nouns.write(heading): parts for heading, parts in layout.items()}
    cells = readable(frame, layout)
    dropped = needless(frame, layout, cells)
    for name in {names.METRIC, names.GAIN, names.SAMPLING} & cells.columns.keys():
        texts = cells.columns[name]
        if len({*texts}) == 1 and (len(texts) > 1 or name == names.SAMPLING):
            dropped.add(name)
            metric = texts[0].partition(" (")[0]  # lower is better
            if name == names.METRIC and f"{names.METRIC}s {metric}" not in title:
                title = f"{title}, {texts[0]}"
    answers_of = {heading for heading, parts in layout.items() if len(parts) == len(LIMITS)}
    first_to_stay = answers_of | {"verdict"}
    cells, lost = fitted(cells.only(cells.columns.keys() - dropped), width, first_to_stay)
    more = sum(map(len, frames)) - len(frame)
    below = [f"... {more:,} more"] if more else []
    below += textwrap.wrap(left_out(lost), width)
    lines = aligned(cells, width)
    if limited := [parts for parts in layout.values() if len(parts) == len(LIMITS)]:
        labels = frame[LABEL] if LABEL in frame else frame.get(names.METRIC)
        scales = np.zeros(len(frame), int)
        if labels is not None and (labels.value_counts() > 1).any():
            scales = pd.factorize(labels)[0]
        lines = _with_bars(lines, frame[list(limited[0])].to_numpy(float), scales, width)
    return [*textwrap.wrap(title, width), "", *lines, *below, ""]


def _with_bars(
    lines: list[str], limits: NDArray[np.float64], scales: NDArray[np.int64], width: int
) -> list[str]:
    """Return lines with estimates and limits, (row, 3), drawn if there is room.

    scales: By row which others it has a scale with: those of its metric.
    """
    start = max(map(len, lines)) + 2
    room = min(width - start, MOST_BAR)
    if room < LEAST_BAR:
        return lines
    drawn = list(lines)
    for scale in range(scales.max(initial=0) + 1):
        rows = np.flatnonzero(scales == scale)
        known = limits[rows][np.isfinite(limits[rows])]
        if not known.size or known.min() == known.max():
            continue
        places = np.rint((limits[rows] - known.min()) / np.ptp(known) * (room - 1))
        for row, (estimate, low, high) in zip(rows.tolist(), places, strict=True):
            bar = _bar(estimate, *np.nan_to_num([low, high], nan=estimate), room=room)
            drawn[row + 1] = f"{lines[row + 1].ljust(start)}{bar}".rstrip()
    return drawn


def _bar(estimate: float, low: float, high: float, *, room: int) -> str:
    """Return a line between limits with a mark at the estimate, given their columns."""
    bar = ["-" if low <= k <= high else " " for k in range(room)]
    if np.isfinite(estimate):
        bar[int(estimate)] = "|"
    return "".join(bar)
