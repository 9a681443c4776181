"""Parts of a page: tables, figures and downloads as self-contained HTML, and the environment of templates."""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from importlib.resources import files
from typing import Any

import pandas as pd
from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from scorecube import names
from scorecube.errors import visible
from scorecube.report.columns import trait_of_columns
from scorecube.report.figures.files import draw_figure
from scorecube.report.figures.style import Figure
from scorecube.report.text_formats import NONE, cell_texts, merge_gains, render

MOST_SHOWN, MOST_PACKED = 300, 2_000
"""Rows of a table on the page, and of one that can be downloaded from it."""
LIMITS = {"low": "lower limit", "high": "upper limit"}


def html_table(frame: pd.DataFrame, label: str = "Table") -> Markup:
    """Return a table as HTML, numbers rounded, in a frame that scrolls and can have the keyboard focus.

    A column that is equal in all rows becomes a line above the table. Teams that are not known are runs, and have no column.

    frame: Rows; only the first 300 are shown.
    label: Description for screen readers.

    Examples
    --------
    >>> print(html_table(pd.DataFrame({"metric": ["AP", "Q"], "trials": 500})).partition("<div")[0])
    <p class="soft">trials: 500</p>
    """
    frame = merge_gains(frame)
    if (
        len(frame) > 1
        and {names.RUN, names.TEAM} <= {*frame}
        and frame[names.RUN].equals(frame[names.TEAM])
    ):
        frame = frame.drop(columns=names.TEAM)
    headings, texts = headings_of(frame), cell_texts(frame)
    several = len(frame) > 1
    equal = {name: cells[0] for name, cells in texts.items() if several and len({*cells}) == 1}
    if len(equal) == len(texts):
        equal = {}
    shared = [f"{headings[name]}: {text}" for name, text in equal.items() if text != NONE]
    line = f'<p class="soft">{html.escape("; ".join(shared))}</p>' if shared else ""
    ends = {
        name: " class=number" * _has_numbers(frame[name]) for name in texts if name not in equal
    }
    head = "".join(
        f'<th scope="col"{end}>{html.escape(headings[name])}</th>' for name, end in ends.items()
    )
    body = "".join(
        f"<tr>{''.join(f'<td{end}>{html.escape(texts[name][k])}</td>' for name, end in ends.items())}</tr>"
        for k in range(min(len(frame), MOST_SHOWN))
    )
    more = len(frame) - MOST_SHOWN
    note = f'<p class="soft">The first {MOST_SHOWN} of {len(frame):,} rows.</p>' if more > 0 else ""
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    name = html.escape(label, quote=True)
    return Markup(  # noqa: S704 - cells are escaped above
        f'{line}<div class="scroll" tabindex="0" role="region" aria-label="{name}">{table}</div>{note}'
    )


def headings_of(frame: pd.DataFrame) -> dict[str, str]:
    """Return what each column holds, in words: what its quantity says, or its name; of a limit those of its estimate."""
    role, of, words = (trait_of_columns(frame, trait) for trait in ("role", "of", "heading"))
    found = {name: words.get(name) or name.replace("_", " ") for name in map(str, frame.columns)}
    return found | {
        name: f"{found[of[name]]}, {LIMITS[role[name]]}"
        for name in found
        if role.get(name) in LIMITS and of.get(name) in found
    }


def _has_numbers(values: pd.Series[Any]) -> bool:
    """Return whether a column has a number that is shown, or only numbers."""
    if values.dtype.kind != "O":
        return values.dtype.kind in "iuf"
    return any(
        isinstance(each, int | float) and not isinstance(each, bool) and each == each
        for each in values[:MOST_SHOWN]
    )


def csv_address(frame: pd.DataFrame) -> str:
    """Return the address of a table as packed CSV, which stands in the page: the same as `scorecube show` prints."""
    packed = gzip.compress(render(frame, "csv").encode(), mtime=0)
    return "data:application/gzip;base64," + base64.b64encode(packed).decode()


def picture(figure: Figure, description: str) -> Markup:
    """Return a figure as inline SVG without a background, with a description for screen readers."""
    for background in (figure.patch, *(axes.patch for axes in figure.axes)):
        background.set(facecolor="none", edgecolor="none")
    svg = draw_figure(figure, "svg")[0].decode()
    svg = svg[svg.index("<svg") :]
    # Ids are made unique per figure, because figures on one page share a namespace.
    prefix = f"p{hashlib.sha256((svg + description).encode()).hexdigest()[:8]}-"

    def plain(tag: re.Match[str]) -> str:
        """Return a tag with its own ids, and with coordinates rounded to a hundredth of a point."""
        unique = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{prefix}", tag[0])
        short = re.sub(r"(\d\.\d\d)\d+", r"\1", unique)
        # The page has its own type, a turn by nothing is none, and nothing refers to texts.
        needless = r'font-family: [^;"]*;? ?| transform="rotate\(-?0 [^"]*"| id="p\w+-text_\d+"'
        short = re.sub(needless, "", short)
        return re.sub(r'\sxmlns:(?:cc|dc|rdf)="[^"]*"', "", short)

    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Text between tags is not changed.
    svg = re.sub(r"<[^>]*>", plain, svg)
    svg = re.sub(r"\s*\n\s*", " ", svg)
    svg = re.sub(r'<svg ([^>]*?)width="[^"]*"', r"<svg \1", svg, count=1)
    svg = re.sub(r'<svg ([^>]*?)height="[^"]*"', r"<svg \1", svg, count=1)
    label = html.escape(visible(description), quote=True)
    width, height = figure.get_size_inches()
    kind = ' class="tall"' if height > width else ""
    svg = svg.replace("<svg ", f'<svg{kind} role="img" aria-label="{label}" ', 1)
    return Markup(svg)  # noqa: S704 - drawn here


def embedded_json(data: Any) -> str:
    r"""Return JSON for an attribute in single quotes: nothing in it can end it.

    Examples
    --------
    >>> print(embedded_json(["<it's>", 1]))
    ["\u003cit\u0027s\u003e",1]
    """
    text = json.dumps(data, separators=(",", ":"))
    return re.sub(r"[<>&']", lambda found: f"\\u{ord(found[0]):04x}", text)


def page_file(name: str) -> str:
    """Return the text of a template, style sheet or script of a page."""
    return files("scorecube").joinpath("report/page").joinpath(name).read_text(encoding="utf-8")


def script_and_hash(script: str) -> dict[str, Any]:
    """Return a script of this package for a template, and the hash by which the page's policy allows it and no other."""
    hashed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"script": Markup(script), "script_hash": hashed}  # noqa: S704 - a file of this package


def template() -> Any:
    """Return the template of a page: everything is escaped, and control characters of names are shown as escapes."""
    environment = Environment(
        loader=FunctionLoader(page_file),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        # Names may hold characters that turn the direction of the text behind them.
        finalize=lambda value: visible(value, keep="\n") if type(value) is str else value,
    )
    # Our own file: its quotes and signs are not escaped, because HTML decodes nothing in a style sheet.
    environment.globals["style"] = Markup(page_file("page.css"))  # noqa: S704
    return environment.get_template("page.html")
