"""Parts of a page: the rows of leaderboards and tables, and pictures."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

import pandas as pd
from markupsafe import Markup, escape

from scorecube import names
from scorecube.analyses.frames import COLLECTION, KEYS, as_records, merge_gains, with_labels
from scorecube.declare import Answer, is_known, limited, number_range
from scorecube.declare.numbers import NONE, UNKNOWN
from scorecube.declare.tables import LIMITS
from scorecube.errors import visible
from scorecube.report.columns import needless
from scorecube.report.drawing import drawn_bytes
from scorecube.report.readable import TO, Cells, column_decimals, layout_of, readable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_COMPARED = 8
MOST_RUNS = 300
MOST_SHOWN = 300
"""Metrics on a card, rows of a leaderboard, and of a table."""
MEANS = ("mean", "mean_low", "mean_high")
PLACES = "_places"
"""Column with the decimals of a mean, which are those of most rows beside it."""
Row = Mapping[str, Any]


def places(low: float, high: float, point: float, ends: tuple[float, float]) -> str:
    """Return the style of a bar between limits with a mark at a point, in percent of a scale."""
    width = (ends[1] - ends[0]) or 1.0
    left, right, mark = (
        min(100.0, max(0.0, 100 * (end - ends[0]) / width)) for end in (low, high, point)
    )
    return f"--l:{left:.1f};--w:{right - left:.1f};--p:{mark:.1f}"


def boards(frame: pd.DataFrame, baseline: str, collections: int) -> list[dict[str, Any]]:
    """Return the leaderboards of a table by collection and metric, for the template."""
    most = max(10, MOST_RUNS // collections)
    shown = []
    for (collection, label), rows in with_labels(frame).groupby([COLLECTION, "label"], sort=False):
        records = as_records(rows.assign(**{PLACES: column_decimals(rows, *MEANS[1:])}))
        shown.append(
            {
                "collection": str(collection),
                "label": str(label),
                "rows": [_row(row, scale(records), len(records)) for row in records[:most]],
                "runs": len(records),
                "baseline": baseline if "difference" in rows else "",
            }
        )
    return shown


def bars_of(answers: Sequence[Answer]) -> list[dict[str, str]]:
    """Return the numbers of several metrics with bars on one scale, the largest first.

    Nothing of one metric, or of more than `MOST_COMPARED`.
    """
    known = [answer for answer in answers if is_known(answer.value)]
    if not 1 < len(known) <= MOST_COMPARED:
        return []
    rows = []
    for answer in sorted(known, key=lambda answer: -answer.value):
        low = answer.value if answer.low is None else answer.low
        high = answer.value if answer.high is None else answer.high
        number, limits = answer.number
        style = places(low, high, answer.value, (0.0, 1.0))
        ends = dashed(limits).replace("%", "")
        rows.append({"label": answer.label, "bar": style, "number": number, "limits": ends})
    return rows


def scale(rows: Iterable[Row]) -> tuple[float, float]:
    """Return the smallest and largest limit or mean of some rows."""
    means = [row.get(name) for row, name in product(rows, MEANS)]
    known = [mean for mean in means if mean is not None]
    return min(known, default=0.0), max(known, default=1.0)


def _row(row: Row, ends: tuple[float, float], runs: int) -> dict[str, Any]:
    """Return what a row of a leaderboard shows."""
    team = row.get(names.TEAM) or ""
    difference: Any = [row.get(f"difference{end}") for end in LIMITS]
    return {
        "run": row[names.RUN],
        "team": "" if team.casefold() in row[names.RUN].casefold() else team,
        "rank": row["rank"],
        "rank_set": _rank_set(row),
        "ranks": places(row["rank_low"] - 1, row["rank_high"], row["rank"] - 0.5, (0, runs)),
        "difference": limited(*difference) if "difference" in row else (),
        **_interval(row, ends),
    }


def _interval(row: Row, ends: tuple[float, float]) -> dict[str, str]:
    """Return a mean, its limits, and the style of a bar of both."""
    low = row.get("mean_low")
    high = row.get("mean_high")
    mean, limits = limited(row["mean"], low, high, places=row.get(PLACES, UNKNOWN))
    style = "" if low is None or high is None else places(low, high, row["mean"], ends)
    return {"mean": mean, "limits": dashed(limits) or NONE, "bar": style}


def dashed(limits: str) -> str:
    """Return limits with a dash between them, unless one of them is negative."""
    return limits if "-" in limits else limits.replace(" to ", TO)


def _rank_set(row: Row) -> str:
    return dashed(number_range([row["rank_low"], row["rank_high"]], "d"))


def matrices(frame: pd.DataFrame, over: pd.DataFrame) -> list[dict[str, Any]]:
    """Return systems by collections, by metric: means with limits, and those over collections."""
    shown = []
    single = with_labels(frame)
    single[PLACES] = column_decimals(single, *MEANS[1:])
    over = with_labels(over)
    over[PLACES] = column_decimals(over, *MEANS[1:])
    for label, rows in over.groupby("label", sort=False):
        records = as_records(single[single["label"] == label])
        cells = {(row[COLLECTION], row[names.RUN]): row for row in records}
        columns = list(dict.fromkeys(name for name, _ in cells))
        lines = []
        for row in as_records(rows)[:MOST_RUNS]:
            of_run = [row, *(cells[name, row["run"]] for name in columns)]
            intervals = [_interval(cell, scale(records)) for cell in of_run]
            lines.append({"run": row["run"], "rank_set": _rank_set(row), "cells": intervals})
        shown.append({"label": str(label), "collections": columns, "rows": lines})
    return shown


def page_cells(frame: pd.DataFrame) -> Cells:
    """Return the first rows of a table as text, without constant keys and empty columns."""
    frame = merge_gains(frame)
    constant = [key for key in KEYS if key in frame and frame[key].nunique() < 2]
    frame = frame.drop(columns=constant)
    layout = layout_of(frame, words=True)
    cells = readable(frame.head(MOST_SHOWN), layout)
    dropped = needless(frame, layout, cells)
    return cells.only([heading for heading in layout if heading not in dropped])


def picture(figure: Figure, description: str) -> Markup:
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
        return re.sub(needless, "", short)

    svg = re.sub(r"<[^>]*>", plain, f"<svg{svg}")  # text between tags is not changed
    svg = re.sub(r"\s*\n\s*", " ", svg)
    head, inner = svg.split(">", 1)
    width, height = figure.get_size_inches()
    kind = ' class="tall"' if height > width else ""
    head = re.sub(r' (?:width|height)="[^"]*"', "", head).removeprefix("<svg")
    label = f'role="img" aria-label="{escape(visible(description))}"'
    return Markup(f"<svg{kind} {label}{head}>{inner}")  # noqa: S704 - drawn here
