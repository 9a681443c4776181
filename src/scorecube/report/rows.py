"""Rows of a table that a reader asked for: of some metrics, and sorted."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from scorecube.collection.selection import parse_known
from scorecube.errors import BadName, BadPlan, nearest, option
from scorecube.report.readable import KEYS

DESCENDING = ":desc"
METRICS = ("metric", "metric_a", "metric_b")
"""A row of two metrics is of both, where several are chosen, and of either, where one is."""
MANY = ("run", "run_a", "topic")
"""Columns of tables with many rows of each metric."""


def select_rows(
    frame: pd.DataFrame,
    *,
    metrics: Sequence[str] | None = None,
    sort: Sequence[str] | None = None,
    top: int | None = None,
) -> pd.DataFrame:
    """Return the rows with some values, in another order.

    frame: A table.
    metrics: Those to keep; None keeps all.
    sort: Columns, the most important first; with ``:desc`` the largest values come first.
    top: How many of the first rows to keep: of each metric, gain setting and collection in tables
        of runs or topics, else of each collection.
    Raises BadPlan: A table without metrics.
    Raises BadName: A value or a column that the table does not have.

    Examples
    --------
    >>> frame = pd.DataFrame({"metric": ["AP", "RR", "Q"], "share": [0.4, 0.1, 0.5]})
    >>> select_rows(frame, metrics=["Q", "AP"], sort=["share:desc"])["metric"].tolist()
    ['Q', 'AP']
    """
    if metrics is not None:
        frame = _of_metrics(frame, metrics)
    by = [name.removesuffix(DESCENDING) for name in sort or ()]
    for column in by:
        if column not in frame:
            close = nearest(column, list(map(str, frame.columns)))
            raise BadName(
                f"{option('sort')}: no column {column!r}; nearest: {close}", option="sort"
            )
    if by:
        ascending = [not name.endswith(DESCENDING) for name in sort or ()]
        frame = frame.sort_values(by, ascending=ascending, kind="stable", na_position="last")
    if top is not None:
        keys = KEYS if any(name in frame for name in MANY) else KEYS[:1]
        within = [key for key in keys if key in frame]
        frame = frame.groupby(within, sort=False).head(top) if within else frame.head(top)
    return frame.reset_index(drop=True)


def _of_metrics(frame: pd.DataFrame, metrics: Sequence[str]) -> pd.DataFrame:
    """Return the rows of some metrics; the table itself where it has a column for each."""
    shown = [column for column in METRICS if column in frame]
    if not shown and {*metrics} <= {str(name).partition(" (")[0] for name in frame.columns}:
        return frame
    if not shown:
        raise BadPlan(f"{option('metrics')}: this table has no column metric", option="metrics")
    known = list(dict.fromkeys(value for column in shown for value in frame[column]))
    chosen = [name if name in known else str(parse_known(str(name))) for name in metrics]
    for name in chosen:
        if name not in known:
            listed = ", ".join(map(str, known[:10]))
            raise BadName(
                f"{option('metrics')}: no {name!r} in this table; it has: {listed}",
                option="metrics",
            )
    inside = frame[shown].isin(chosen)
    return frame[inside.any(axis=1) if len(chosen) == 1 else inside.all(axis=1)]
