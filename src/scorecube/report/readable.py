"""Tables as people read them: limits beside estimates, digits from uncertainty, labels."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from scorecube import names
from scorecube.errors import BadName, option, visible
from scorecube.report.tables import COLLECTION, LIMITS_AT, ONE_TRIAL, trait

KEYS = (COLLECTION, names.METRIC, names.GAIN)
ANY_GAIN, NONE, TO = "any", "-", "\N{EN DASH}"
PLAIN = ".4f"
"""How numbers are written unless their quantity says otherwise."""
LEAST_P = 0.0001
"""Below it a p-value is shown as smaller; in csv and json it is exact."""
UNKNOWN = -1


class Marked(str):
    """A number with marks, aligned as numbers are."""

    __slots__ = ()


def decimals_of(half_widths: Any) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return with how many decimals numbers are written, given half-widths of their limits.

    The rule of the Particle Data Group (2024, section 5.3) for standard errors: two digits of the
    half-width if they are at most 35, else one. `UNKNOWN` for a half-width that is not above 0.

    Examples
    --------
    >>> decimals_of([0.075, 0.021, 14.0, 0.0043]).tolist()
    [2, 3, 0, 3]
    """
    widths = np.asarray(half_widths, float)
    known = np.isfinite(widths) & (widths > 0)
    exponent = np.floor(np.log10(widths, where=known, out=np.zeros_like(widths)))
    three = np.rint(np.where(known, widths, 1.0) * 10.0 ** (2 - exponent))
    two = (three < 355) | (three >= 950)  # .0096 is written as .010
    places: Any = two - exponent - (three >= 950)
    return np.where(known, np.clip(places, 0, 6), UNKNOWN).astype(np.int64)


def limited(value: float, low: Any, high: Any, form: str = ".3f") -> tuple[str, str]:
    """Return a number and its limits with the digits that these allow; in a form without them.

    Examples
    --------
    >>> limited(0.6912, 0.6149, 0.7631), limited(0.031, 0.021, 0.0472, "+.1%")
    (('0.69', '0.61 to 0.76'), ('+3.1%', '+2.1% to +4.7%'))
    >>> limited(0.05, 0.04, None, ".2f"), limited(0.5, None, None)
    (('0.05', '0.04 to no limit'), ('0.500', ''))
    """
    if not is_known(value):
        return NONE, ""
    if not is_known(low):
        return format(value, form), ""
    if is_known(high) and high > low and not form.endswith(("d", ".0f")):
        places = decimals_of((high - low) / 2 * (100 if form.endswith("%") else 1))
        form = f"{'+' * form.startswith('+')}z{',' * (',' in form)}.{places}{form[-1]}"
    upper = format(high, form) if is_known(high) else "no limit"
    return format(value, form), f"{low:{form}} to {upper}"


def with_limits(value: float, low: Any, high: Any, form: str = ".3f") -> str:
    """Return a number with its limits in brackets: ``0.69 (0.61 to 0.76)``."""
    number, limits = limited(value, low, high, form)
    return f"{number} ({limits})" if limits else number


def is_known(value: Any) -> bool:
    """Return whether a value is a finite number."""
    return value is not None and math.isfinite(value)


def number_range(numbers: Collection[float], form: str = ",d") -> str:
    """Return the smallest and the largest number, or the one that all are: ``3 to 5``."""
    low, high = format(min(numbers), form), format(max(numbers), form)
    return low if low == high else f"{low} to {high}"


def cell_text(value: Any, form: str = PLAIN, role: str = "", least_p: float = LEAST_P) -> str:
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
    if role == "condition" and float(text) != value:
        return f"{value:.4g}"
    return text


def intervals_of(frame: pd.DataFrame) -> dict[str, tuple[str, str, str]]:
    """Return estimate, lower and upper limit by the name of the interval, as ``mean_limits``."""
    roles, of = trait(frame, "role"), trait(frame, "of")
    intervals = dict[str, tuple[str, str, str]]()
    for estimate in filter(frame.columns.__contains__, dict.fromkeys(of.values())):
        ends = [name for name in map(str, frame) if of.get(name) == estimate]
        lows, highs = ([name for name in ends if roles[name] == end] for end in ("low", "high"))
        for low, high in zip(lows, highs, strict=False):
            name = "rank_set" if low == "rank_low" else f"{low.removesuffix('_low')}_limits"
            intervals[name] = estimate, low, high
    return intervals


def cell_texts(frame: pd.DataFrame, digits: int | None = None) -> dict[str, list[str]]:
    """Return the cells of a table by column, with the digits that limits of estimates allow."""
    forms, roles = trait(frame, "form"), trait(frame, "role")
    decimals: dict[str, np.ndarray[Any, Any]] = {}
    for estimate, *ends in intervals_of(frame).values():
        if estimate in decimals or ".0f" in forms.get(estimate, ""):
            continue  # limits that are not shown beside it, or of whole numbers
        low, high = (pd.to_numeric(frame[end], errors="coerce") for end in ends)
        scale = 50 if forms.get(estimate, PLAIN).endswith("%") else 0.5
        places = decimals_of(scale * (high - low))
        decimals |= dict.fromkeys((estimate, *ends), places)
    texts = {}
    least_p = float(frame.attrs.get(ONE_TRIAL, LEAST_P))
    for name in map(str, frame.columns):
        form, role = forms.get(name, PLAIN), roles.get(name, "")
        numbers = decimals[name].tolist() if name in decimals else repeat(UNKNOWN)
        if digits is not None and role not in ("condition", "p_value") and ".0f" not in form:
            numbers = repeat(digits)
        texts[name] = [
            cell_text(value, *((form, role, least_p) if n == UNKNOWN else (f"z.{n}{form[-1]}", "")))
            for value, n in zip(frame[name].tolist(), numbers, strict=False)
        ]
    return texts


def merge_gains(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with one row where all gain settings give the same numbers."""
    if not {names.GAIN, COLLECTION} <= {*frame.columns} or frame[names.GAIN].nunique() < 2:
        return frame
    number = frame.groupby(COLLECTION)[names.GAIN].transform("nunique")
    others = [name for name in frame.columns if name != names.GAIN]
    equal = frame.groupby(others, dropna=False)[names.GAIN].transform("nunique")
    merged = frame[names.GAIN].where((equal < number) | (number < 2), ANY_GAIN)
    return frame.assign(**{names.GAIN: merged}).drop_duplicates(ignore_index=True)


def with_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the merged table with a column ``label``: the metric, with its gain where needed."""
    merged = merge_gains(frame)
    label = merged[names.METRIC]
    if {names.GAIN, COLLECTION} <= {*merged}:
        several = merged.groupby(COLLECTION)[names.GAIN].transform("nunique") > 1
        named = several & (merged[names.GAIN] != ANY_GAIN)
        label = label.where(~named, label + " (" + merged[names.GAIN] + ")")
    return merged.assign(label=label)


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
    texts, columns = cell_texts(frame, digits), {}
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
    intervals, headings = intervals_of(frame), trait(frame, "heading")
    # Of several intervals the first stands beside its estimate; csv has the others.
    beside = {estimate: ends for estimate, *ends in reversed(intervals.values())}
    if columns is None:
        behind = {end for _, *ends in intervals.values() for end in ends}
        shown = [name for name in map(str, frame.columns) if name not in behind]
    else:
        keys = [key for key in KEYS if key in frame and frame[key].nunique() > 1]
        shown = [*(key for key in keys if key not in columns), *columns]
        # An end that is a column of its own does not stand beside the estimate, too.
        beside = {name: ends for name, ends in beside.items() if not {*ends} & {*columns}}
    layout: dict[str, tuple[str, ...]] = {}
    for name in shown:
        heading = headings.get(name, name.replace("_", " ")) if words else name
        parts = intervals[name][1:] if name in intervals else (name, *beside.get(name, ()))
        layout[heading if heading not in layout else name] = parts
    return layout


def check_columns(frame: pd.DataFrame, columns: Sequence[str] | None) -> None:
    """Refuse columns that a table does not have (BadName)."""
    known = [*map(str, frame.columns), *intervals_of(frame)]
    for column in columns or ():
        if column not in known:
            raise BadName(
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
