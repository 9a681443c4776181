"""Rows of a table that a reader asked for: of some metrics, sizes or samplings, sorted; and those of a gate."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from scorecube.collection.selection import parse_known
from scorecube.errors import BadName, BadPlan, nearest, option
from scorecube.report.columns import KEYS

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
