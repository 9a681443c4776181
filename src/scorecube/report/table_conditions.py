"""Conditions on the rows of a table that decide on the exit status, for jobs that run every night."""

from __future__ import annotations

import math
import operator
import re
from typing import Any

import pandas as pd

from scorecube.errors import BadName, BadPlan, counted, nearest

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
    """Return which rows meet one comparison."""
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


def message(condition: str, met: pd.DataFrame, total: int) -> str:
    """Return the message about a condition that is met."""
    return f"{condition}: met by {len(met):,} of {counted(total, 'row')}; exit status {STATUS}"
