"""Collections side by side: main numbers, means, and how consistently the collections order the metrics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from scorecube.errors import BadName
from scorecube.report.orderings import orderings
from scorecube.report.page.html import html_table
from scorecube.report.page.sections import Section
from scorecube.report.tables import COLLECTION, averages
from scorecube.report.text_formats import merge_gains, with_labels

LEAST_P = 0.001
"""A smaller p-value in a sentence is printed as smaller than this."""


def comparisons(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Return, for each section with several collections, its means over them and how consistently they order the metrics."""
    compared = []
    for section in sections:
        frame = section.first_table
        if not len(frame) or frame[COLLECTION].nunique() < 2:
            continue
        tables, sentence = [], ""
        if section.view.order is not None:
            try:
                found = orderings(section.kind, frame)
            except BadName:
                found = pd.DataFrame()
            if len(found):
                sentence = consistency(found)
                # Many names would make the table too wide.
                counts = found["collections"].map(lambda names: name_collections(str(names)))
                found = found.assign(collections=counts)
                tables.append(
                    (
                        "Consistency of orderings",
                        html_table(found, f"{section.name}: consistency of orderings"),
                    )
                )
        means = averages(merge_gains(frame))
        if len(means):
            tables.append(
                (
                    "Means over the collections",
                    html_table(means, f"{section.name}: means over collections"),
                )
            )
        compared.append({"section": section, "tables": tables, "sentence": sentence})
    return compared


def name_collections(collections: str) -> str:
    """Return the names of collections, or of many their number.

    Examples
    --------
    >>> name_collections("x, y"), name_collections("a, b, c, d, e, f, g")
    ('x, y', '7 in all')
    """
    names = collections.split(", ")
    return collections if len(names) <= 5 else f"{len(names)} in all"


def consistency(found: pd.DataFrame) -> str:
    """Return how consistently the collections order the metrics, at the largest alpha, confidence and size.

    Examples
    --------
    >>> rows = pd.DataFrame({"metric": ["Q", "AP"], "gain": ["any", "any"], "collections": ["x, y"] * 2, "mean_rank": [1.0, 2.0],
    ...                      "kendall_w": [1.0, 1.0], "p_value": [0.04, 0.04]})
    >>> consistency(rows)
    'First by mean rank is Q, then AP; the collections (x, y) order the metrics with Kendall W = 1.00 (1: equal orders, 0: unrelated; p = 0.040).'
    """
    first = found.iloc[-1]
    conditions = [*found.columns[: list(found.columns).index("metric")], "collections"]
    equal = (found[conditions] == first[conditions]) | (
        found[conditions].isna() & first[conditions].isna()
    )
    rows = with_labels(found[equal.all(axis=1)].assign(**{COLLECTION: ""})).sort_values(
        "mean_rank", kind="stable"
    )
    ranked = ", then ".join(rows["label"][:3])
    if pd.isna(first["kendall_w"]):
        return f"The collections ({name_collections(first['collections'])}) do not order the metrics: all are equal."
    p_value = float(first["p_value"])
    p = f"p = {p_value:.3f}" if p_value >= LEAST_P else f"p < {LEAST_P}"
    return (
        f"First by mean rank is {ranked}; the collections ({name_collections(first['collections'])}) order the metrics with Kendall W = {first['kendall_w']:.2f} "
        f"(1: equal orders, 0: unrelated; {p})."
    )
