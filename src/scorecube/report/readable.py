"""Tables as people read them: limits beside estimates, digits from uncertainty, labels."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, repeat
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scorecube import names
from scorecube.analyses.frames import KEYS, LIMITS_AT, ONE_TRIAL, trait
from scorecube.declare import Marked
from scorecube.declare.numbers import LEAST_P, NONE, UNKNOWN, decimals_between
from scorecube.errors import UnknownName, option, visible

TO = "\N{EN DASH}"
LEAST = 14
"""Letters that a shortened label keeps."""
CUT = "…"
OF_METRICS = ("metric", "label", "metric_a", "metric_b")
"""Columns whose labels tell on which scale numbers are."""
PLAIN = ".4f"
BY_ROLE = {"statistic": ".2f", "share": ".1%"}
"""How numbers are written unless their quantity says otherwise."""


def cell_text(value: object, form: str = PLAIN, role: str = "", least_p: float = LEAST_P) -> str:
    """Return one value as text without control characters; "-" for a missing number.

    least_p: What a p-value of 0 is smaller than.
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NONE
    if not isinstance(value, float):
        return visible(str(value))
    if form.endswith("%"):
        return format(value, form)
    if 0.0 <= value < LEAST_P and role == "p_value":
        return f"<{LEAST_P if value else least_p:g}"
    text = format(value, form)
    is_rounded = float(text) != value
    return f"{value:.4g}" if role == "condition" and (is_rounded or form == PLAIN) else text


def intervals_of(frame: pd.DataFrame) -> dict[str, tuple[str, str, str]]:
    """Return estimate, lower and upper limit by the name of the interval, as ``mean_limits``."""
    roles = trait(frame, "role")
    of = trait(frame, "of")
    intervals = dict[str, tuple[str, str, str]]()
    for estimate in filter(frame.columns.__contains__, dict.fromkeys(of.values())):
        ends = [name for name in map(str, frame) if of.get(name) == estimate]
        lows = [name for name in ends if roles[name] == "low"]
        highs = [name for name in ends if roles[name] == "high"]
        for low, high in zip(lows, highs, strict=False):
            name = "rank_set" if low == "rank_low" else f"{low.removesuffix('_low')}_limits"
            intervals[name] = estimate, low, high
    return intervals


def column_decimals(
    frame: pd.DataFrame, low: str, high: str, *, scale: float = 1.0
) -> np.ndarray[Any, Any]:
    """Return the decimals of each row of an interval, levelled for the rows of one metric."""
    lows = pd.to_numeric(frame[low], errors="coerce").to_numpy()
    highs = pd.to_numeric(frame[high], errors="coerce").to_numpy()
    places = np.full(len(frame), UNKNOWN)
    metrics = [frame[name].astype(str) for name in OF_METRICS if name in frame]
    if not metrics:
        return decimals_between(lows, highs, scale=scale)
    scale_of = metrics[0]
    for labels in metrics[1:]:
        scale_of = scale_of + " " + labels
    for group in pd.unique(scale_of):
        at = (scale_of == group).to_numpy()
        places[at] = decimals_between(lows[at], highs[at], scale=scale, level=True)
    return places


def cell_texts(frame: pd.DataFrame, digits: int | None = None) -> dict[str, list[str]]:
    """Return the cells of a table by column, with the digits that limits of estimates allow."""
    forms = trait(frame, "form")
    roles = trait(frame, "role")
    decimals: dict[str, np.ndarray[Any, Any]] = {}
    for estimate, *ends in intervals_of(frame).values():
        if ".0f" in forms.get(estimate, ""):
            continue  # whole numbers
        scale = 100 if forms.get(estimate, PLAIN).endswith("%") else 1
        places = column_decimals(frame, *ends, scale=scale)
        decimals = dict.fromkeys((estimate, *ends), places) | decimals
    texts = {}
    least_p = float(frame.attrs.get(ONE_TRIAL, LEAST_P))
    for name in map(str, frame.columns):
        role = roles.get(name, "")
        form = forms.get(name, BY_ROLE.get(role, PLAIN))
        numbers = decimals[name].tolist() if name in decimals else repeat(UNKNOWN)
        if digits is not None and role not in ("condition", "p_value") and ".0f" not in form:
            numbers = repeat(digits)
        cells = []
        for value, n in zip(frame[name].tolist(), numbers, strict=False):
            if n == UNKNOWN:
                cells.append(cell_text(value, form, role, least_p))
            else:
                cells.append(cell_text(value, f"z.{n}{form[-1]}"))
        texts[name] = cells
    return texts


class Cells(NamedTuple):
    """A table as text: the cells of each column by its heading, and which have numbers."""

    columns: dict[str, list[str]]
    numeric: frozenset[str]

    def only(self, headings: Collection[str]) -> Cells:
        """Return some of the columns, in the order of the table."""
        columns = {name: cells for name, cells in self.columns.items() if name in headings}
        return self._replace(columns=columns)


def readable(
    frame: pd.DataFrame,
    layout: Mapping[str, Sequence[str]] | None = None,
    to: str = " to ",
    digits: int | None = None,
) -> Cells:
    """Return a table as text, the limits of an estimate beside it."""
    layout = layout_of(frame) if layout is None else layout
    texts = cell_texts(frame, digits)
    columns = {}
    numeric = set[str]()
    for heading, (first, *ends) in layout.items():
        rows = zip(texts[first], *(texts[end] for end in ends), strict=True)
        if len(ends) == 1:
            columns[heading] = [low if low == high else f"{low}{to}{high}" for low, high in rows]
        else:
            printed = _limits_are_printed(frame, ends)
            columns[heading] = [
                _beside(*(cells if shown else cells[:1]), to=to)
                for cells, shown in zip(rows, printed, strict=True)
            ]
        values = frame[first].dropna().tolist()
        if any(isinstance(v, int | float | Marked) and not isinstance(v, bool) for v in values):
            numeric.add(heading)
    return Cells(columns, frozenset(numeric))


def _limits_are_printed(frame: pd.DataFrame, ends: Sequence[str]) -> list[bool]:
    """Return whether limits stand beside the estimate in each row, see `Table.limits_at`."""
    rule = frame.attrs.get(LIMITS_AT, {}).get(ends[0]) if ends else None
    if rule is None:
        return [True] * len(frame)
    column, value = rule
    shown: list[bool] = (frame[column] == value).tolist() if column in frame else []
    return shown or [False] * len(frame)


def layout_of(
    frame: pd.DataFrame, columns: Sequence[str] | None = None, *, words: bool = False
) -> dict[str, tuple[str, ...]]:
    """Return the columns of a table by heading, as they are printed."""
    check_columns(frame, columns)
    intervals = intervals_of(frame)
    headings = trait(frame, "heading")
    # Of several intervals the first stands beside its estimate; csv has the others.
    beside = {estimate: ends for estimate, *ends in reversed(intervals.values())}
    if columns is None:
        behind = {*chain.from_iterable(ends for _, *ends in intervals.values())}
        shown = [name for name in map(str, frame.columns) if name not in behind]
    else:
        keys = [key for key in KEYS if key in frame and frame[key].nunique() > 1]
        shown = [*(key for key in keys if key not in columns), *columns]
        # An end that is a column of its own does not stand beside the estimate, too.
        beside = {name: ends for name, ends in beside.items() if not {*ends} & {*columns}}
    layout: dict[str, tuple[str, ...]] = {}
    for name in shown:
        heading = headings.get(name, names.heading(name)) if words else name
        parts = intervals[name][1:] if name in intervals else (name, *beside.get(name, ()))
        layout[heading if heading not in layout else name] = parts
    return layout


def check_columns(frame: pd.DataFrame, columns: Sequence[str] | None) -> None:
    """Refuse columns that a table does not have (UnknownName)."""
    known = [*map(str, frame.columns), *intervals_of(frame)]
    for column in columns or ():
        if column not in known:
            raise UnknownName(
                f"{option('columns')}: no column {column!r}; the table has: {', '.join(known)}",
                option="columns",
            )


def _beside(value: str, *ends: str, to: str) -> str:
    """Return an estimate with its limits in brackets, "-" where neither is known."""
    if value == NONE or not ends:
        return value
    if set(ends) == {NONE}:
        return f"{value} ({NONE})"
    low, high = ("no limit" if end == NONE else end for end in ends)
    to = " to " if "-" in low[:1] + high[:1] else to  # a dash is no minus
    return f"{value} ({low.removesuffix('%')}{to}{high})"


def aligned(cells: Cells, width: int | None = None, rule: str = "", gap: str = "  ") -> list[str]:
    """Return the lines of a table, the headings first; labels are shortened to a width."""
    widths = {name: max(map(len, [name, *texts])) for name, texts in cells.columns.items()}
    needed = sum(widths.values()) + 2 * (len(widths) - 1)
    over = needed - (math.inf if width is None else width)
    labels = [name for name in widths if name not in cells.numeric]
    for name in sorted(labels, key=lambda name: -widths[name]):
        can_be_cut = max(0, widths[name] - max(len(name), LEAST))
        cut = int(min(max(over, 0), can_be_cut))
        widths[name] -= cut
        over -= cut
    sides = [">" if name in cells.numeric else "<" for name in widths]
    lines = [
        "-" * (wide - 1) + (rule if side == ">" else "-")
        for wide, side in zip(widths.values(), sides, strict=True)
    ]

    def line(row: Sequence[str]) -> str:
        cells = zip(row, widths.values(), sides, strict=True)
        padded = [f"{shorten(cell, wide):{side}{wide}}" for cell, wide, side in cells]
        return gap.join(padded).rstrip()

    above = [line([*widths])]
    if rule:
        above.append(line(lines))
    return [*above, *map(line, zip(*cells.columns.values(), strict=True))]


def shorten(text: str, width: int) -> str:
    """Return the beginning and the end of a text, as labels differ in either."""
    if len(text) <= width:
        return text
    behind = (width - 1) // 2
    before = width - 1 - behind
    end = text[-behind:] if behind else ""
    return text[:before] + CUT + end
