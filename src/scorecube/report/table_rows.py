"""Rows of a table that a reader asked for: of some metrics, sizes or samplings, sorted; and conditions on rows that decide on the exit status."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from scorecube.collection.selection import parse_known
from scorecube.errors import BadName, BadPlan, counted, nearest, option
from scorecube.report.columns import KEYS
from scorecube.report.phrases import with_limits

DESCENDING = ":desc"
CONFIDENCE = "confidence"
METRICS = ("metric", "metric_a", "metric_b")
"""Columns with metrics; a row of two metrics is of both, where several are chosen, and of either, where one is."""
MANY = ("run", "run_a", "topic")
"""Columns of tables with many rows of each metric."""


def select_rows(
    frame: pd.DataFrame,
    *,
    metrics: Sequence[str] | None = None,
    size: Sequence[int] | None = None,
    sampling: Sequence[str] | None = None,
    sort: Sequence[str] | None = None,
    top: int | None = None,
) -> pd.DataFrame:
    """Return the rows with some values, in another order.

    frame: A table.
    metrics, size, sampling: Values to keep; None keeps all.
    sort: Names of columns, the most important first; with ``:desc`` the largest values come first. Missing values come
        last.
    top: How many of the first rows to keep: of each metric, gain setting and collection in tables of runs or topics,
        else of each collection.
    Returns frame: Rows numbered anew.
    Raises BadPlan: A table without such a column.
    Raises BadName: A value or a column that the table does not have.

    Examples
    --------
    >>> frame = pd.DataFrame({"metric": ["AP", "RR", "Q"], "share": [0.4, 0.1, 0.5]})
    >>> select_rows(frame, metrics=["Q", "AP"], sort=["share:desc"])["metric"].tolist()
    ['Q', 'AP']
    >>> pairs = pd.DataFrame({"metric_a": ["AP", "AP", "RR"], "metric_b": ["RR", "Q", "Q"]})
    >>> select_rows(pairs, metrics=["Q", "AP"]).values.tolist(), len(select_rows(pairs, metrics=["RR"]))
    ([['AP', 'Q']], 2)
    """
    wanted = {
        "metrics": (METRICS, metrics),
        "size": (("size",), size),
        "sampling": (("sampling",), sampling),
    }
    for name, (known, values) in wanted.items():
        columns = [column for column in known if column in frame]
        if values is None:
            continue
        if (
            name == "metrics"
            and not columns
            and {*values} <= {str(column).partition(" (")[0] for column in frame.columns}
        ):
            continue  # a column for each metric, perhaps with its gain setting
        if not columns:
            raise BadPlan(f"{option(name)}: this table has no column {known[0]}", option=name)
        chosen = _known(name, pd.concat([frame[column] for column in columns]), values)
        inside = frame[columns].isin(chosen)
        frame = frame[inside.any(axis=1) if len(chosen) == 1 else inside.all(axis=1)]
    order = [name.removesuffix(DESCENDING) for name in sort or ()]
    for column in order:
        if column not in frame:
            raise BadName(
                f"{option('sort')}: no column {column!r}; nearest: {nearest(column, list(map(str, frame.columns)))}",
                option="sort",
            )
    if order:
        ascending = [not name.endswith(DESCENDING) for name in sort or ()]
        frame = frame.sort_values(order, ascending=ascending, kind="stable", na_position="last")
    if top is not None:
        cells = KEYS if any(column in frame for column in MANY) else KEYS[:1]
        within = [key for key in cells if key in frame]
        frame = frame.groupby(within, sort=False).head(top) if within else frame.head(top)
    return frame.reset_index(drop=True)


def brief_rows(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Return the rows of a long table that one reads first, those of the highest confidence, and a note on the others.

    frame: A table.
    Returns frame, note: All rows and no note of a table that is short, or has one confidence.

    Examples
    --------
    >>> frame = pd.DataFrame({"confidence": [0.95, 0.9] * 30, "metric": "AP"})
    >>> brief_rows(frame)[1]
    'the 30 of 60 rows at 0.95 confidence'
    """
    # A table of several levels may have so many rows on a screen.
    if len(frame) <= 24 or CONFIDENCE not in frame or frame[CONFIDENCE].nunique() < 2:
        return frame, ""
    highest = frame[CONFIDENCE].max()
    kept = frame[frame[CONFIDENCE] == highest].reset_index(drop=True)
    return (kept, f"the {len(kept)} of {len(frame)} rows at {highest:g} confidence")


def _known(name: str, column: pd.Series, values: Sequence[object]) -> Sequence[object]:
    found = list(dict.fromkeys(column))
    if name == "metrics":
        values = [value if value in found else str(parse_known(str(value))) for value in values]
    for value in values:
        if value not in found:
            shown = ", ".join(map(str, found[:10]))
            raise BadName(
                f"{option(name)}: no {value!r} in this table; it has: {shown}", option=name
            )
    return values


STATUS = 3
"""Exit status of a command whose condition is met."""
COMPARISON = r"""(\w+)\s*(<=|>=|==|!=|<|>)\s*("[^"]*"|'[^']*'|[^\s<>=!"'()&|]+)"""
CONDITION = re.compile(rf"\s*{COMPARISON}(\s+(and|or)\s+{COMPARISON})*\s*")
COMPARE: dict[str, Any] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
}


def rows_that_meet(frame: pd.DataFrame, condition: str) -> pd.DataFrame:
    """Return the rows of a table that meet a condition; missing values meet none.

    frame: A table.
    condition: Comparisons of a column with a value, such as ``required_difference>0.1``, joined by ``and`` and ``or``;
        ``and`` binds more strongly. A value with other characters than those of a plain word is quoted.
    Raises BadPlan: Another text; a number compared with a word; an order asked of words.
    Raises BadName: A column that the table does not have.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"run": ["a", "b", "c"], "share": [0.4, 0.6, None]})
    >>> len(rows_that_meet(frame, "share < 0.5")), len(rows_that_meet(frame, "run=='b' and share>0"))
    (1, 1)
    """
    if CONDITION.fullmatch(condition) is None:
        raise BadPlan(
            f"{condition!r}: expected a column, one of {', '.join(COMPARE)}, and a value: 'share<0.4'; several are joined by "
            "'and' or 'or', without parentheses; a value with spaces or signs is quoted: 'metric==\"AP(rel=2)\" and share<0.4'",
            option="fail_if",
        )
    met = pd.Series(False, index=frame.index)
    together = everywhere = ~met
    for joined, name, sign, text in re.findall(rf"(?:(and|or)\s+)?{COMPARISON}", condition):
        if joined == "or":
            met, together = met | together, everywhere
        together = together & _comparison(frame, name, sign, text)
    return frame[met | together]


def _comparison(frame: pd.DataFrame, name: str, sign: str, text: str) -> pd.Series[bool]:
    if name not in frame:
        raise BadName(
            f"no column {name!r}; nearest: {nearest(name, list(map(str, frame.columns)))}",
            option="fail_if",
        )
    column = frame[name]
    value: object = text[1:-1] if text[0] in "\"'" else text
    if column.dtype.kind in "ifu":
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise BadPlan(f"{name} is a number, found {text!r}", option="fail_if")
    elif sign not in ("==", "!="):
        raise BadPlan(
            f"{name} holds words: expected == or != before {text!r}, found {sign}", option="fail_if"
        )
    elif column.dtype.kind == "b" and value not in ("True", "False"):
        raise BadPlan(f"{name} is True or False, found {text!r}", option="fail_if")
    else:
        column = column.astype(str)
    met: pd.Series[bool] = frame[name].notna() & COMPARE[sign](column, value)
    return met


def of_verdicts(comparisons: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the comparisons of a gate as a terminal shows them, with reasons if there are any."""
    rows = [
        {
            **{name: each[name] for name in ("collection", "metric")},
            "difference": "-"
            if each["low"] is None
            else with_limits(each["difference"], each["low"], each["high"]),
            **{name: each[name] for name in ("topics", "verdict", "reason")},
        }
        for each in comparisons
    ]
    frame = pd.DataFrame(rows)
    return frame if frame["reason"].any() else frame.drop(columns="reason")


def message(condition: str, met: pd.DataFrame, total: int) -> str:
    """Return the message about a condition that is met."""
    return f"{condition}: met by {len(met):,} of {counted(total, 'row')}; exit status {STATUS}"
