"""How consistently collections order metrics: ranks of the metrics over collections by the results of an analysis."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from scorecube.analyses.rank_agreement.order_consistency import kendall_w, ranks_of
from scorecube.collection.schema import COORDINATES, variables
from scorecube.errors import BadName
from scorecube.report.columns import describe_columns
from scorecube.report.tables import COLLECTION
from scorecube.report.text_formats import merge_gains
from scorecube.report.view import Order
from scorecube.report.views import view_names, view_of

LEAST_METRICS = 3
"""With fewer metrics the consistency of orderings is not defined."""


COLUMNS = (
    *("metric", "gain", "mean_rank", "best_rank", "worst_rank", "mean"),
    *("collections", "kendall_w", "p_value"),
)
KNOWN = (*COORDINATES, *variables((), "p_value", "1", p_value="of Friedman's test"))
"""Of these, what their numbers are."""


def orderings(analysis: str, frame: pd.DataFrame) -> pd.DataFrame:
    """Return how consistently collections order the metrics.

    analysis: E.g. ``bootstrap``.
    frame: Its first table of several collections, with the column collection.
    Returns ranks: A row for each metric and gain setting: its mean, best and worst rank over the collections (1 is
        best, ties share the mean rank), the mean of the ordering column, the collections, and Kendall's W, 1 if all
        collections order the metrics in the same way, with the p-value of Friedman's test of unrelated orders. Only
        collections with the same metrics are compared, and metrics that have no value in one of them come last there.
    Raises BadName: An analysis that does not order metrics, or no two collections with the same three or more metrics.
    References: Kendall and Babington Smith, "The problem of m rankings", 1939; Sakai 2007, Figures 9-10.

    Examples
    --------
    >>> rows = [{"collection": c, "metric": m, "gain": "auto", "alpha": 0.05, "share": s} for c, m, s in
    ...         [("x", "AP", 0.5), ("x", "Q", 0.6), ("x", "RR", 0.2), ("y", "AP", 0.4), ("y", "Q", 0.5), ("y", "RR", 0.1)]]
    >>> orderings("bootstrap", pd.DataFrame(rows))[["metric", "mean_rank", "kendall_w"]].values.tolist()
    [['Q', 1.0, 1.0], ['AP', 2.0, 1.0], ['RR', 3.0, 1.0]]
    """
    order = view_of(analysis).order
    if order is None:
        others = [name for name in view_names() if view_of(name).order is not None]
        raise BadName(f"{analysis} does not order metrics; these do: {', '.join(others)}")
    merged = merge_gains(frame)
    conditions = [column for column in order.conditions if column in merged.columns]
    if (
        "size" in conditions
        and (merged.groupby([COLLECTION, "sampling"])["size"].nunique() == 1).all()
    ):
        conditions.remove("size")  # each collection has its own, as it has its own number of topics
    rows = (
        [
            row
            for _, group in merged.groupby(conditions, dropna=False, sort=True)
            for row in _rows(group, order, conditions)
        ]
        if conditions
        else list(_rows(merged, order, []))
    )
    if not rows:
        raise BadName(
            f"no two collections have a result of {analysis} for the same {LEAST_METRICS} metrics or more"
        )
    found = pd.DataFrame(rows)[[*conditions, *COLUMNS]]
    return describe_columns(found, {each.name: each for each in KNOWN}, {})


def _rows(group: pd.DataFrame, order: Order, conditions: list[str]) -> Iterator[dict[str, object]]:
    """Yield the rows of each group of collections with the same metrics."""
    wide = group.pivot_table(
        order.column, COLLECTION, ["metric", "gain"], aggfunc="last", dropna=False, sort=False
    )
    has = {
        str(name): frozenset(zip(rows["metric"], rows["gain"], strict=True))
        for name, rows in group.groupby(COLLECTION, sort=False)
    }
    for metrics in dict.fromkeys(has.values()):
        names = [name for name, found in has.items() if found == metrics]
        if len(names) < 2 or len(metrics) < LEAST_METRICS:
            continue
        chosen = [tuple(column) in metrics for column in wide.columns]
        columns = [tuple(column) for column in wide.columns[chosen]]
        values = wide.loc[names].to_numpy(float)[:, chosen]
        ranks = ranks_of(values, order.more_is_better)
        concordance, p_value = kendall_w(ranks)
        shared = {column: group[column].iloc[0] for column in conditions} | {
            "collections": ", ".join(names),
            "kendall_w": concordance,
            "p_value": p_value,
        }
        for k in np.argsort(ranks.mean(axis=0), kind="stable"):
            known, own = values[:, k][~np.isnan(values[:, k])], ranks[:, k]
            found = (
                *columns[k],
                own.mean(),
                own.min(),
                own.max(),
                known.mean() if len(known) else np.nan,
            )
            yield shared | dict(zip(COLUMNS, found, strict=False))
