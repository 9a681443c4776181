"""Parts of a page: tables, figures and downloads as self-contained HTML."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from scorecube import names
from scorecube.errors import visible
from scorecube.report.columns import fact_of_columns
from scorecube.report.figures.files import draw_figure
from scorecube.report.figures.style import COLOURS
from scorecube.report.tables import as_records
from scorecube.report.text_formats import NONE, Cells, merge_gains, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SHOWN, MOST_PACKED = 300, 2_000
"""Rows of a table on the page, and of one that can be downloaded from it."""
LIMITS = {"low": "lower limit", "high": "upper limit"}
GREYS, LIGHTEST_GREY = (0x40, 0x90), 0xF0
"""Levels at which the second and third grey of the page's palette begin, and from which on a grey is white."""


def html_table(frame: pd.DataFrame, label: str = "Table") -> Markup:
    """Return a table as HTML, numbers rounded, in a frame that scrolls and can have the keyboard focus.

    A column that is equal in all rows becomes a line above the table.

    frame: Rows; only the first 300 are shown.
    label: Description for screen readers.
    """
    merged, shared = without_equal_columns(merge_gains(frame))
    parts = [f"{heading_of(frame, name)}: {text}" for name, text in shared]
    line = f'<p class="soft">{html.escape("; ".join(parts))}</p>' if parts else ""
    return Markup(line) + _table(merged, label)  # noqa: S704 - escaped above


def heading_of(frame: pd.DataFrame, column: str) -> str:
    """Return what a column holds, in words: what its quantity says, or its name; of a limit those of its estimate."""
    role, of = (fact_of_columns(frame, fact).get(column, "") for fact in ("role", "of"))
    if role in LIMITS and of in frame:
        return f"{heading_of(frame, of)}, {LIMITS[role]}"
    return fact_of_columns(frame, "heading").get(column) or column.replace("_", " ")


def without_equal_columns(frame: pd.DataFrame) -> tuple[pd.DataFrame, list[tuple[str, str]]]:
    """Return a table without the columns that are equal in all rows, and their names and values, but for missing values.

    Teams that are not known are runs, and have no column, either.

    Examples
    --------
    >>> frame = pd.DataFrame({"collection": "c", "metric": ["AP", "Q"], "trials": 500})
    >>> without_equal_columns(frame)[1]
    [('collection', 'c'), ('trials', '500')]
    """
    if len(frame) < 2:
        return frame, []
    if {names.RUN, names.TEAM} <= set(frame.columns) and frame[names.RUN].equals(frame[names.TEAM]):
        frame = frame.drop(columns=names.TEAM)
    cells = Cells(frame)
    rows = [cells.row(record) for record in as_records(frame)]
    texts = {
        name: list(column)
        for name, column in zip(cells.columns, zip(*rows, strict=True), strict=True)
    }
    equal = {name: cells[0] for name, cells in texts.items() if len(set(cells)) == 1}
    if len(equal) == len(texts):
        return frame, []
    return frame.drop(columns=list(equal)), [each for each in equal.items() if each[1] != NONE]


def _table(merged: pd.DataFrame, label: str) -> Markup:
    """Return the rows of a table."""
    cells = Cells(merged)
    columns = cells.columns
    records = as_records(merged[:MOST_SHOWN])
    number = {
        column: " class=number"
        * (
            (
                pd.api.types.is_numeric_dtype(merged[column])
                and not pd.api.types.is_bool_dtype(merged[column])
            )
            or any(_is_number(record[column]) for record in records)
        )
        for column in columns
    }
    head = "".join(
        f'<th scope="col"{number[column]}>{html.escape(heading_of(merged, column))}</th>'
        for column in columns
    )
    rows = []
    for record in records:
        texts = zip(columns, cells.row(record), strict=True)
        row = "".join(f"<td{number[name]}>{html.escape(text)}</td>" for name, text in texts)
        rows.append(f"<tr>{row}</tr>")
    more = len(merged) - MOST_SHOWN
    note = (
        f'<p class="soft">The first {MOST_SHOWN} of {len(merged):,} rows.</p>' if more > 0 else ""
    )
    body = f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody>"
    name = html.escape(label, quote=True)
    return Markup(  # noqa: S704 - cells are escaped above
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table>{body}</table></div>{note}'
    )


def csv_address(frame: pd.DataFrame) -> str:
    """Return the address of a table as packed CSV, which stands in the page: the same as `scorecube show` prints."""
    packed = gzip.compress(render(frame, "csv").encode(), mtime=0)
    return "data:application/gzip;base64," + base64.b64encode(packed).decode()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def picture(figure: Figure, description: str) -> Markup:
    """Return a figure as inline SVG without a background, with a description for screen readers, and what its values are read from."""
    from scorecube.report.figures.hover import hover_data, name_series

    name_series(figure)
    for background in (figure.patch, *(axes.patch for axes in figure.axes)):
        background.set(facecolor="none", edgecolor="none")
    svg = draw_figure(figure, "svg")[0].decode()
    axes = hover_data(figure)
    svg = svg[svg.index("<svg") :]
    # Ids are made unique per figure, because figures on one page share a namespace.
    prefix = f"p{hashlib.sha256((svg + description).encode()).hexdigest()[:8]}-"

    # A figure with an image keeps its colours: they stand for numbers.
    own = "<image" not in svg

    def plain(tag: re.Match[str]) -> str:
        """Return a tag with its own ids, and with coordinates rounded to a hundredth of a point."""
        unique = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{prefix}", tag[0])
        short = re.sub(r"(\d\.\d\d)\d+", r"\1", unique)
        # The page has its own type, a turn by nothing is none, and nothing refers to texts.
        needless = r'font-family: [^;"]*;? ?| transform="rotate\(-?0 [^"]*"| id="p\w+-text_\d+"'
        short = re.sub(needless, "", short)
        short = re.sub(r'\sxmlns:(?:cc|dc|rdf)="[^"]*"', "", short)
        return re.sub(r": #([0-9a-f]{6})\b", _of_palette, short) if own else short

    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Text between tags is not changed.
    svg = re.sub(r"<[^>]*>", plain, svg)
    svg = re.sub(r"\s*\n\s*", " ", svg)
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", svg, count=1)
    svg = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", svg, count=1)
    label = html.escape(visible(description), quote=True)
    width, height = figure.get_size_inches()
    kinds = " ".join(["tall"] * bool(height > width) + ["own"] * own)
    values = f" data-values='{prefix} {embedded_json(axes)}'" if axes else ""
    svg = svg.replace("<svg ", f'<svg class="{kinds}" role="img" aria-label="{label}"{values} ', 1)
    return Markup(svg)  # noqa: S704 - drawn here


def _of_palette(found: re.Match[str]) -> str:
    """Return a colour of a style as one of the page's palette, which is another one in the dark; others as they are."""
    colour = f"#{found[1]}"
    if colour in COLOURS:
        return f": var(--k{COLOURS.index(colour)})"
    red, green, blue = bytes.fromhex(found[1])
    if red == green == blue < LIGHTEST_GREY:
        return f": var(--g{sum(red >= least for least in GREYS)})"
    return found[0]


def embedded_json(data: Any) -> str:
    r"""Return JSON for a script element or an attribute in single quotes: nothing in it can end either of them.

    Examples
    --------
    >>> print(embedded_json(["<it's>", 1]))
    ["\u003cit\u0027s\u003e",1]
    """
    text = json.dumps(data, separators=(",", ":"))
    return re.sub(r"[<>&']", lambda found: f"\\u{ord(found[0]):04x}", text)
