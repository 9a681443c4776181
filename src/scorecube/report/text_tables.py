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
    as_records,
    combine,
    frame_of,
    merge_gains,
    place_of,
    rows_at,
    with_labels,
)
from scorecube.analyses.printed import AS_PRINTED, MARKS
from scorecube.collection.schema import labels_of
from scorecube.collection.teams import listed
from scorecube.declare import Table
from scorecube.declare.tables import LIMITS, Shown
from scorecube.errors import BadPlan, UnknownName, counted, option, visible
from scorecube.files import is_formula
from scorecube.report.columns import (
    LABEL,
    SAYS_NOTHING,
    constants,
    fitted,
    left_out,
    most_telling,
    needless,
    telling,
    without_constants,
)
from scorecube.report.contents import as_json
from scorecube.report.marks import with_marks, written
from scorecube.report.markup import Fit, in_latex, in_markdown
from scorecube.report.readable import (
    TO,
    Cells,
    aligned,
    check_columns,
    intervals_of,
    layout_of,
    readable,
)
from scorecube.report.result_parts import answers, conditions, gain_of, median_of, view_of_result

LEAST_BAR = 12
MOST_BAR = 40
"""Columns of drawn limits."""
MOST_ROWS = 12
MOST_MADE = 200_000
"""Rows that are shown, and of a table that is made for them."""
FORMATS = ("text", "csv", "json", "markdown", "latex")


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
        title = ""
        # Programs read whole rows, and tables of papers have the columns that these print.
        if width and columns is None and len(frame) > 1 and AS_PRINTED not in frame.attrs:
            title, cells = without_constants(cells, frame, layout)
        return title + text_table(cells, telling(frame, layout), width)
    if columns is None and caption:  # which says what is constant
        constant = constants(frame) | needless(frame, layout, cells)
        kept = [name for name, parts in layout.items() if not {name, parts[0]} & constant]
        if form == "latex" and AS_PRINTED not in frame.attrs:
            kept = most_telling(kept, frame, layout, cells)
        cells = cells.only(kept)
    text = in_latex(cells, caption, fit) if form == "latex" else in_markdown(cells, caption)
    return written(text, form)


def text_table(cells: Cells, first: Collection[str], width: int | None = None) -> str:
    """Return a table in columns; those without room in a terminal are named below.

    first: Headings that have room before all others.
    """
    cells, lost = (cells, []) if width is None else fitted(cells, width, first)
    below = textwrap.wrap(left_out(lost), width or len(lost) + 1, break_on_hyphens=False)
    return "\n".join([*aligned(cells, width, rule="-"), *below])


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
        said = [each.sentence for each in medians[:1] if not view.as_leaderboard]
        return [*view.of_several(results), *said]
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
    title, moved = _moved_to(title, cells, frame, layout)
    kept = cells.only(cells.columns.keys() - moved - needless(frame, layout, cells))
    cells, lost = fitted(kept, width, telling(frame, layout))
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


def _moved_to(
    title: str, cells: Cells, frame: pd.DataFrame, layout: Mapping[str, Sequence[str]]
) -> tuple[str, set[str]]:
    """Return a title with what all rows have in common, and the headings that it stands for."""
    constant = constants(frame) - {COLLECTION}
    moved = set[str]()
    for heading, texts in cells.columns.items():
        value = texts[0]
        name, *ends = layout[heading]
        is_key = heading in (names.METRIC, names.GAIN)
        if ends or len({*texts}) > 1 or (is_key and len(texts) == 1):
            continue
        told = value if heading == names.METRIC else f"{heading} {value}"
        # Behind a metric may stand that lower is better.
        ways = (
            told,
            f"{name} {value}",
            f"{names.METRIC}s {value.partition(' (')[0]}",
            f"{heading}s {value},",
            f"{value} {heading}",
        )
        is_said = heading == names.GAIN or any(way in f"{title}," for way in ways)
        if is_said or is_key or name in constant:
            moved.add(heading)
            title += f", {told}" * (
                not is_said and value not in SAYS_NOTHING and name != names.GAIN
            )
    return title, moved


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
