"""Conditions on the rows of a table that decide on the exit status, for jobs that run every night."""

from __future__ import annotations

import operator
import re
from typing import Any

import pandas as pd

from scorecube.errors import BadName, BadPlan, counted, nearest

STATUS = 3
"""Exit status of a command whose condition is met."""
CONDITION = re.compile(r"\s*(\w+)\s*(<=|>=|==|!=|<|>)\s*(.+?)\s*")
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

    Parameters
    ----------
    frame
        A table.
    condition
        Column, comparison and value, as ``required_difference>0.1``.

    Raises
    ------
    BadPlan
        Another text; a number compared with a word.
    BadName
        A column that the table does not have.

    Examples
    --------
    >>> import pandas as pd
    >>> len(rows_that_meet(pd.DataFrame({"share": [0.4, 0.6, None]}), "share < 0.5"))
    1
    """
    shape = CONDITION.fullmatch(condition)
    if shape is None:
        raise BadPlan(
            f"{condition!r}: expected a column, one of {', '.join(COMPARE)}, and a value: 'share<0.4'",
            option="fail_if",
        )
    name, sign, text = shape.groups()
    if name not in frame:
        raise BadName(
            f"no column {name!r}; nearest: {nearest(name, list(map(str, frame.columns)))}",
            option="fail_if",
        )
    column = frame[name]
    value: object = text
    if column.dtype.kind in "ifu":
        try:
            value = float(text)
        except ValueError:
            raise BadPlan(f"{name} is a number, found {text!r}", option="fail_if") from None
    else:
        column = column.astype(str)
    met: pd.DataFrame = frame[frame[name].notna() & COMPARE[sign](column, value)]
    return met


def message(condition: str, met: pd.DataFrame, total: int) -> str:
    """Return the message about a condition that is met."""
    return f"{condition}: met by {len(met):,} of {counted(total, 'row')}; exit status {STATUS}"
