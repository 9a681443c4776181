"""What the columns of a table are, from the quantities that they show: how numbers are written, headings, which are averaged.

It travels with a table in ``DataFrame.attrs``, as texts, which pandas keeps through selections and writes into files.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from scorecube import names
from scorecube.collection.schema import Variable
from scorecube.errors import BadName, nearest, option

TRAITS = ("role", "of", "form", "heading", "long_name")
"""Of a variable, that its columns have."""
KEYS = ("collection", names.METRIC, names.GAIN)
"""Columns that say of what a row is, and stand in the caption of a printed table where all rows have them in common."""


class _Traits(dict[str, str]):
    """Traits of columns, which are never changed: pandas copies attributes deeply with every selection."""

    def __deepcopy__(self, memo: object) -> _Traits:
        return self


Layout = list[tuple[str, tuple[str, ...]]]
"""Columns as they are printed: the name of each, and the column that it shows, or the two with the limits of an interval."""


def describe_columns(
    frame: pd.DataFrame, quantities: Mapping[str, Variable], sources: Mapping[str, str]
) -> pd.DataFrame:
    """Note what the columns of a table are.

    frame: The table; it is changed in place.
    quantities: What is known of quantities, by name.
    sources: Quantities that columns of other names show, or parts of them at a label in brackets; a name with a dim in
        braces is that of all columns that begin like it.
    """
    sources_of = {each: _source(each, sources, quantities) for each in map(str, frame.columns)}
    column_of = {source: column for column, source in sources_of.items()}
    shown = {column: source.partition("[") for column, source in sources_of.items()}
    for trait in TRAITS:
        found = {
            column: str(getattr(quantities[quantity], trait))
            for column, (quantity, _, _) in shown.items()
            if quantity in quantities
        }
        if trait == "of":  # the estimate at the same label, or that of all labels
            found = {
                column: column_of.get("".join((name, *shown[column][1:])), column_of.get(name, ""))
                for column, name in found.items()
            }
        frame.attrs[trait] = _Traits({column: text for column, text in found.items() if text})
    return frame


def _source(column: str, sources: Mapping[str, str], quantities: Collection[str]) -> str:
    """Return the quantity of a column, and in brackets of which label along a dim it is.

    Examples
    --------
    >>> sources = {"phi": "value[phi]", "top_{k}": "in_top"}
    >>> [_source(column, sources, {"value", "rank"}) for column in ("phi", "top_5", "rank")]
    ['value[phi]', 'in_top[5]', 'rank']
    """
    plain = sources.get(column, column)
    if plain.partition("[")[0] in quantities:
        return plain
    for name, source in sorted(sources.items(), key=lambda each: -len(each[0])):
        before, brace, rest = name.partition("{")
        after = rest.partition("}")[2]
        if brace and before + after and column.startswith(before) and column.endswith(after):
            return f"{source}[{column.removeprefix(before).removesuffix(after)}]"
    return column


def trait_of_columns(frame: pd.DataFrame, trait: str) -> Mapping[str, str]:
    """Return one of `TRAITS` of the columns that have it."""
    found: Mapping[str, str] = frame.attrs.get(trait, {})
    return found


def with_role(frame: pd.DataFrame, roles: Sequence[str]) -> list[str]:
    """Return the columns of some roles."""
    found = trait_of_columns(frame, "role")
    return [str(column) for column in frame.columns if found.get(str(column)) in roles]


def decimals_of(half_width: float) -> int:
    """Return with how many decimals an estimate and its limits are written, given half of their distance.

    The rule of the Particle Data Group (2024, section 5.3), for the half-width in place of the standard error: two of its digits if they
    are at most 35, else one.

    Examples
    --------
    >>> [decimals_of(half) for half in (0.075, 0.021, 14.0, 0.0043)]
    [2, 3, 0, 3]
    """
    return int(all_decimals(np.array([half_width]))[0])


def all_decimals(half_widths: np.ndarray[Any, Any]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Return the same of each of some half-widths; `UNKNOWN` for one that is missing, infinite or not above 0."""
    known = np.isfinite(half_widths) & (half_widths > 0)
    widths = np.where(known, half_widths, 1.0)
    exponent = np.floor(np.log10(widths))
    three = np.rint(widths * 10.0 ** (2 - exponent))
    two = (three < ONE_DIGIT) | (three >= NEXT_POWER)  # .0096 is written as .010
    places: Any = two - exponent - (three >= NEXT_POWER)
    return np.where(known, np.clip(places, 0, 6), UNKNOWN).astype(np.int64)


UNKNOWN = -1
ONE_DIGIT, NEXT_POWER = 355, 950
"""First three digits from which on one digit is written, and from which on it is the first of the next power of ten."""


def with_uncertainty(frame: pd.DataFrame) -> list[tuple[str, str, str]]:
    """Return the columns of estimates with those of their limits, lower and upper; a standard error stands in both places."""
    roles, of = trait_of_columns(frame, "role"), trait_of_columns(frame, "of")
    found = []
    for estimate in dict.fromkeys(of.values()):
        own = {
            role: [
                str(name)
                for name in frame.columns
                if of.get(str(name)) == estimate and roles.get(str(name)) == role
            ]
            for role in ("low", "high", "standard_error")
        }
        pairs = [*zip(own["low"], own["high"], strict=False)]
        pairs += [(name, name) for name in own["standard_error"]]
        found += [(estimate, low, high) for low, high in pairs if estimate in frame.columns]
    return found


def intervals_of(frame: pd.DataFrame) -> dict[str, tuple[str, str, str]]:
    """Return the intervals that a table has, by name: estimate, lower and upper limit.

    Examples
    --------
    >>> frame = pd.DataFrame({"rank": [1], "rank_low": [1], "rank_high": [3]})
    >>> frame.attrs = {"role": {"rank_low": "low", "rank_high": "high"}, "of": {"rank_low": "rank", "rank_high": "rank"}}
    >>> intervals_of(frame)
    {'rank_set': ('rank', 'rank_low', 'rank_high')}
    """
    return {
        "rank_set" if low == "rank_low" else f"{low.removesuffix('_low')}_limits": (of, low, high)
        for of, low, high in with_uncertainty(frame)
        if low != high
    }


def printed_columns(
    frame: pd.DataFrame, columns: Sequence[str] | None, *, joined: bool, without_common: bool
) -> Layout:
    """Return the columns of a table as they are printed.

    frame: The table.
    columns: Those that are asked for, intervals by the names of `intervals_of`; None for all. Where rows cannot be told
        apart without them, `KEYS` stand in front.
    joined: Whether limits stand in one column, beside their estimate, also where only the estimate is asked for.
    without_common: Whether `KEYS` that all rows have in common are left out, unless they are asked for.
    Raises BadName: A column that the table does not have.
    """
    intervals, own = intervals_of(frame), [str(column) for column in frame.columns]
    check_columns(frame, columns)
    common = [key for key in KEYS if key in own and frame[key].nunique() < 2]
    if columns is None:
        left_out = common if without_common else []
        shown = [column for column in own if column not in left_out]
    else:
        keys = [key for key in KEYS if key in own and key not in [*common, *columns]]
        shown = [*keys, *columns]
    layout: Layout = []
    for column in shown:
        of = {name: ends for name, (estimate, *ends) in intervals.items() if estimate == column}
        layout.append((column, tuple(intervals[column][1:] if column in intervals else [column])))
        if joined:
            layout += [(name, (low, high)) for name, (low, high) in of.items() if name not in shown]
    behind = {end for _, sources in layout if len(sources) > 1 for end in sources} if joined else ()
    return [each for each in layout if each[0] not in behind]


def check_columns(frame: pd.DataFrame, columns: Sequence[str] | None) -> None:
    """Refuse columns that a table does not have (BadName)."""
    known = [*map(str, frame.columns), *intervals_of(frame)]
    for column in columns or ():
        if column not in known:
            raise BadName(
                f"{option('columns')}: no column {column!r}; nearest: {nearest(column, known)}; the table has: {', '.join(known)}",
                option="columns",
            )


def data_columns(frame: pd.DataFrame, columns: Sequence[str] | None) -> pd.DataFrame:
    """Return the columns of a table that are asked for, of an interval both limits; all for None."""
    if columns is None:
        return frame
    check_columns(frame, columns)
    intervals = intervals_of(frame)
    return frame[
        [end for each in columns for end in (intervals[each][1:] if each in intervals else [each])]
    ]
