"""Parts of a page: leaderboards with bars, tables, pictures and downloads, as HTML."""

from __future__ import annotations

import hashlib
import html
import re
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd
from markupsafe import Markup

from scorecube import names
from scorecube.errors import visible
from scorecube.report.drawing import drawn_bytes
from scorecube.report.formats import as_records
from scorecube.report.readable import (
    KEYS,
    TO,
    layout_of,
    limited,
    merge_gains,
    number_range,
    readable,
    with_labels,
)
from scorecube.report.tables import COLLECTION, LIMITS

MOST_RUNS, MOST_SHOWN = 300, 300
"""Rows of a leaderboard, and of a table."""
MEANS = ("mean", "mean_low", "mean_high")
Row = Mapping[str, Any]


def escaped(text: object) -> str:
    """Return a text for a page, without control characters."""
    return html.escape(visible(str(text)))


def bar(low: float, high: float, point: float, ends: tuple[float, float], kind: str = "") -> str:
    """Return a bar between limits with a mark at a point, hidden from readers of screens."""
    width = (ends[1] - ends[0]) or 1.0
    left, right, place = (
        min(100.0, max(0.0, 100 * (end - ends[0]) / width)) for end in (low, high, point)
    )
    places = {"l": left, "w": right - left, "p": place}
    style = ";".join(f"--{name}:{value:.1f}" for name, value in places.items())
    return f'<i class="b{kind}" style="{style}" aria-hidden=true></i>'


def boards(frame: pd.DataFrame, baseline: str, collections: int) -> list[dict[str, Any]]:
    """Return the leaderboards of a table by collection and metric, for the template."""
    most, made = max(10, MOST_RUNS // collections), []
    for (collection, label), rows in with_labels(frame).groupby([COLLECTION, "label"], sort=False):
        records = as_records(rows)
        lines = [_row(row, scale(records), len(records)) for row in records[:most]]
        made.append(
            {
                "collection": str(collection),
                "label": str(label),
                "rows": Markup("\n".join(lines)),  # noqa: S704 - escaped in each row
                "shown": len(lines),
                "runs": len(records),
                "difference": baseline if "difference" in rows else "",
            }
        )
    return made


def scale(rows: Iterable[Row]) -> tuple[float, float]:
    """Return the smallest and largest limit or mean of some rows."""
    known = [row[name] for row in rows for name in MEANS if row.get(name) is not None]
    return min(known, default=0.0), max(known, default=1.0)


def _row(row: Row, ends: tuple[float, float], runs: int) -> str:
    """Return a row of a leaderboard."""
    team = row.get(names.TEAM)
    small = f"<small>{escaped(team)}</small>" if team not in (None, row[names.RUN]) else ""
    ranks = bar(row["rank_low"] - 1, row["rank_high"], row["rank"] - 0.5, (0, runs), " r")
    extra = ""
    if "difference" in row:
        value, limits = limited(*(row[f"difference{end}"] for end in LIMITS))
        extra = f'<td class="n">{value} <small>{limits}</small></td>'
    return (
        f'<tr><td class="n">{row["rank"]}</td>'
        f'<th scope="row">{escaped(row[names.RUN])}{small}</th>{_interval(row, ends, "bar")}'
        f'<td class="bar">{ranks}<span>{_rank_set(row)}</span></td>{extra}</tr>'
    )


def _interval(row: Row, ends: tuple[float, float], kind: str) -> str:
    """Return a cell with a mean, its limits, and both as a bar."""
    _, low, high = (row.get(name) for name in MEANS)
    mean, limits = limited(row["mean"], low, high)
    drawn = "<i></i>" if low is None or high is None else bar(low, high, row["mean"], ends)
    between = limits if limits.startswith("-") else limits.replace(" to ", TO)
    return f'<td class="{kind}"><b>{mean}</b>{drawn}<span>{between}</span></td>'


def _rank_set(row: Row) -> str:
    return number_range([row["rank_low"], row["rank_high"]], "d").replace(" to ", TO)


def matrices(frame: pd.DataFrame, over: pd.DataFrame) -> list[dict[str, Any]]:
    """Return systems by collections, by metric: means with limits, and those over collections."""
    made, single = [], with_labels(frame)
    for label, rows in with_labels(over).groupby("label", sort=False):
        records = as_records(single[single["label"] == label])
        cells = {(row[COLLECTION], row[names.RUN]): row for row in records}
        columns, lines = list(dict.fromkeys(name for name, _ in cells)), []
        for row in as_records(rows)[:MOST_RUNS]:
            of_run = [row, *(cells[name, row["run"]] for name in columns)]
            first, *others = (_interval(cell, scale(records), "bar cell") for cell in of_run)
            head = f'<tr><th scope="row">{escaped(row["run"])}</th>{first}'
            lines.append(f'{head}<td class="n">{_rank_set(row)}</td>{"".join(others)}</tr>')
        markup = Markup("\n".join(lines))  # noqa: S704 - escaped above
        made.append({"label": str(label), "collections": columns, "rows": markup})
    return made


def html_table(frame: pd.DataFrame, label: str) -> Markup:
    """Return the first rows of a table, in a frame that scrolls and can have the focus."""
    frame = merge_gains(frame)
    constant = [key for key in KEYS if key in frame and frame[key].nunique() < 2]
    frame = frame.drop(columns=constant)
    cells = readable(frame.head(MOST_SHOWN), layout_of(frame, words=True))
    ends = [" class=number" * (name in cells.numeric) for name in cells.columns]
    names_and_ends = zip(cells.columns, ends, strict=True)
    head = "".join(f'<th scope="col"{end}>{escaped(name)}</th>' for name, end in names_and_ends)
    columns = [
        [f"<td{end}>{escaped(cell)}</td>" for cell in texts]
        for texts, end in zip(cells.columns.values(), ends, strict=True)
    ]
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in zip(*columns, strict=True))
    below = f'<p class="soft">The first {MOST_SHOWN} of {len(frame):,} rows.</p>'
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    region = f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(label)}">'
    return Markup(f"{region}{table}</div>{below * (len(frame) > MOST_SHOWN)}")  # noqa: S704


def picture(figure: Any, description: str) -> Markup:
    """Return a figure as inline SVG without a background, described for screen readers."""
    for background in (figure.patch, *(axes.patch for axes in figure.axes)):
        background.set(facecolor="none", edgecolor="none")
    svg = drawn_bytes(figure, "svg").decode().partition("<svg")[2]
    # Ids are made unique per figure, because figures on one page share a namespace.
    prefix = f"p{hashlib.sha256((svg + description).encode()).hexdigest()[:8]}-"

    def plain(tag: re.Match[str]) -> str:
        """Return a tag with its own ids, and with coordinates rounded to a hundredth of a point."""
        unique = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{prefix}", tag[0])
        short = re.sub(r"(\d\.\d\d)\d+", r"\1", unique)
        # The page has its own type, a turn by nothing is none, and nothing refers to texts.
        needless = r'font-family: [^;"]*;? ?| transform="rotate\(-?0 [^"]*"| id="p\w+-text_\d+"'
        return re.sub(rf'{needless}|\sxmlns:(?:cc|dc|rdf)="[^"]*"', "", short)

    svg = re.sub(r"<metadata>.*?</metadata>", "", f"<svg{svg}", flags=re.DOTALL)
    svg = re.sub(r"<[^>]*>", plain, svg)  # text between tags is not changed
    svg = re.sub(r"\s*\n\s*", " ", svg)
    head, inner = svg.split(">", 1)
    width, height = figure.get_size_inches()
    kind = ' class="tall"' if height > width else ""
    head = re.sub(r' (?:width|height)="[^"]*"', "", head).removeprefix("<svg")
    label = f'role="img" aria-label="{escaped(description)}"'
    return Markup(f"<svg{kind} {label}{head}>{inner}")  # noqa: S704 - drawn here
