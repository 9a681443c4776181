"""Parts of a page: tables, figures and downloads as self-contained HTML."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup

from scorecube import names
from scorecube.errors import visible
from scorecube.report.figures.files import draw_figure
from scorecube.report.figures.hover import hover_data, name_series
from scorecube.report.figures.style import COLOURS
from scorecube.report.tables.rows import as_records
from scorecube.report.text_formats import NONE, Cells, merge_gains, render

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_SHOWN = 300
"""Rows of a table on the page; its download has all."""
TALL = 40
"""Rows from which on a table scrolls in a window of its own."""
FOLDED, BEGINNING = 24, 10
"""Rows of a table from which on its beginning is shown, and all rows are folded; rows of the beginning."""
HEADINGS = {
    "required_difference": "(i) required difference",
    "max_performance": "(ii) largest mean",
    "relative_difference": "(iii) = (i)/(ii)",
    "share": "(iv) share of comparisons",
    "required_difference_first": "(i) by the first bin alone",
    "required_suffix": "(i) with no higher rate above",
    "required_low": "(i) lower limit",
    "required_high": "(i) upper limit",
    "share_low": "(iv) lower limit",
    "share_high": "(iv) upper limit",
    "share_behind_low": "(iv) behind the largest, lower limit",
    "first_probability": "probability of the largest (iv)",
    "max_difference": "largest difference",
    "support": "highest bin begins at",
    "size": "sample size",
    "unique": "distinct topics in a sample",
    "common": "topics in both samples",
    "significant": "significant pairs",
    "estimated_difference": "estimated difference",
    "degenerate_pairs": "pairs with equal scores",
    "constant_pairs": "pairs with a constant difference",
    "paired_width": "width, same topics",
    "erho2": "E rho^2",
    "erho2_low": "E rho^2, lower limit",
    "erho2_high": "E rho^2, upper limit",
    "phi": "Phi",
    "phi_low": "Phi, lower limit",
    "phi_high": "Phi, upper limit",
}
GREYS, LIGHTEST_GREY = (0x40, 0x90), 0xF0
"""Levels at which the second and third grey of the page's palette begin, and from which on a grey is white."""
OF_PAIRS = {"share": "share of pairs"}
"""Headings of tables that count pairs of runs."""


def html_table(frame: pd.DataFrame, label: str = "Table") -> Markup:
    """Return a table as HTML, numbers rounded, in a frame that scrolls and can have the keyboard focus.

    A column that is equal in all rows becomes a line above the table. Of a long table the beginning is shown, and all rows are folded.

    Parameters
    ----------
    frame
        Rows; only the first 300 are shown.
    label
        Description for screen readers.
    """
    headings = HEADINGS | (OF_PAIRS if "significant" in frame.columns else {})
    merged, shared = without_equal_columns(merge_gains(frame))
    parts = [f"{headings.get(name, name.replace('_', ' '))}: {text}" for name, text in shared]
    line = f'<p class="soft">{html.escape("; ".join(parts))}</p>' if parts else ""
    if len(merged) <= FOLDED:
        return Markup(line) + _table(merged, label, headings)  # noqa: S704 - escaped above
    rows = f"All {len(merged):,} rows" if len(merged) <= MOST_SHOWN else f"{MOST_SHOWN} rows"
    return (
        Markup(line)  # noqa: S704 - escaped above
        + _table(merged[:BEGINNING], label, headings)
        + Markup('<details class="rows"><summary>{}</summary>').format(rows)
        + _table(merged, f"{label}, all rows", headings)
        + Markup("</details>")
    )


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


def _table(merged: pd.DataFrame, label: str, headings: Mapping[str, str]) -> Markup:
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
        f'<th scope="col"{number[column]}>{html.escape(headings.get(column, column.replace("_", " ")))}</th>'
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
    tall = " tall" if len(rows) > TALL else ""
    name = html.escape(label, quote=True)
    return Markup(  # noqa: S704 - cells are escaped above
        f'<div class="scroll{tall}" tabindex="0" role="region" aria-label="{name}"><table>{body}</table></div>{note}'
    )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def picture(figure: Figure, description: str) -> Markup:
    """Return a figure as inline SVG without a background, with a description for screen readers, and what its values are read from."""
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


def download(frame: pd.DataFrame) -> str:
    """Return a table as a CSV data address."""
    return "data:text/csv;base64," + base64.b64encode(render(frame, "csv").encode()).decode()
