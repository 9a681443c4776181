"""Collections side by side: headline figures, means, and whether the collections put the metrics into the same order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from scorecube.errors import BadName
from scorecube.report.page.answers import labelled
from scorecube.report.page.html import html_table
from scorecube.report.page.sections import Section
from scorecube.report.tables import COLLECTION, averages
from scorecube.report.tables.orderings import ORDERED_BY, orderings
from scorecube.report.text_formats import merge_gains

NONE = "-"
MOST_NAMED = 5
"""Collections that a sentence names."""


def _power(frame: pd.DataFrame) -> str:
    frame = frame[frame["alpha"] == frame["alpha"].max()].sort_values("share", ascending=False, kind="stable")
    row = frame.iloc[0]
    return f"{row['label']} {row['share']:.1%}"


def _swap(frame: pd.DataFrame) -> str:
    strict = frame[(frame["confidence"] == frame["confidence"].max()) & (frame["size"] == frame["size"].max())]
    found = strict.dropna(subset="share").sort_values("share", ascending=False, kind="stable")
    return f"{found['label'].iloc[0]} {found['required_difference'].iloc[0]:.2f}" if len(found) else NONE


def _stability(frame: pd.DataFrame) -> str:
    frame = frame[frame["size"] == frame["size"].max()].sort_values("error_rate", kind="stable")
    return f"{frame['label'].iloc[0]} {frame['error_rate'].iloc[0]:.2%}"


def _correlate(frame: pd.DataFrame) -> str:
    frame = frame.dropna(subset="tau").sort_values("tau", kind="stable")
    if frame.empty:
        return NONE
    return f"{frame['metric_a'].iloc[0]}, {frame['metric_b'].iloc[0]} {frame['tau'].iloc[0]:.2f}"


def _splits(frame: pd.DataFrame) -> str:
    return f"{frame['label'].iloc[0]} {frame['tau_mean'].iloc[0]:.2f}"


def _agreement(frame: pd.DataFrame) -> str:
    frame = frame.dropna(subset="tau").sort_values("tau", kind="stable")
    return f"{frame['label'].iloc[0]} {frame['tau'].iloc[0]:.2f}" if len(frame) else NONE


def _teams(frame: pd.DataFrame) -> str:
    left_out = frame["left_out"].max()
    return f"up to {left_out}"


def _design(frame: pd.DataFrame) -> str:
    frame = frame.sort_values("topics", kind="stable")
    row = frame.iloc[0]
    most = f" to {frame['topics'].iloc[-1]}" if len(frame) > 1 else ""
    return f"{row['topics']}{most}"


HEADLINE: Mapping[str, tuple[str, Callable[[pd.DataFrame], str]]] = {
    "swap": ("most sensitive metric, required difference", _swap),
    "stability": ("fewest errors", _stability),
    "bootstrap": ("most pairs apart", _power),
    "randomisation": ("most pairs apart", _power),
    "unpaired": ("most pairs apart", _power),
    "tukey": ("most pairs apart", _power),
    "paired": ("most pairs apart", _power),
    "correlate": ("lowest tau of two metrics", _correlate),
    "splits": ("highest tau of two samples", _splits),
    "agreement": ("lowest tau of two judgements", _agreement),
    "teams": ("teams left out", _teams),
    "design": ("topics needed", _design),
}
"""What a column says of an analysis, and how it is made of the first table of one collection."""


def headline_columns(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Return a column for each section: what it tells, its anchor, and a text for each collection."""
    columns = []
    for section in sections:
        heading, tell = HEADLINE[section.kind]
        frame = section.first_table
        cells = {}
        for name, rows in frame.groupby(COLLECTION, sort=False) if len(frame) else ():
            cells[str(name)] = tell(labelled(rows) if "metric" in rows else rows)
        columns.append({"section": section, "heading": heading, "cells": cells})
    return columns


def comparisons(sections: Sequence[Section]) -> list[dict[str, Any]]:
    """Return, for each section with several collections, its means over them and how consistently they order the metrics."""
    made = []
    for section in sections:
        frame = section.first_table
        if not len(frame) or frame[COLLECTION].nunique() < 2:
            continue
        tables, sentence = [], ""
        if section.kind in ORDERED_BY:
            try:
                found = orderings(section.kind, frame)
            except BadName:
                found = pd.DataFrame()
            if len(found):
                sentence = consistency(found)
                # Many names would make the table wider than anyone reads.
                counts = found["collections"].map(lambda names: told(str(names)))
                found = found.assign(collections=counts)
                tables.append(
                    ("Consistency of orderings", html_table(found, f"{section.name}: consistency of orderings"))
                )
        means = averages(merge_gains(frame))
        if len(means):
            tables.append(("Means over the collections", html_table(means, f"{section.name}: means over collections")))
        made.append({"section": section, "tables": tables, "sentence": sentence})
    return made


def told(collections: str) -> str:
    """Return the names of collections, or of many their number.

    Examples
    --------
    >>> told("x, y"), told("a, b, c, d, e, f, g")
    ('x, y', '7 in all')
    """
    names = collections.split(", ")
    return collections if len(names) <= MOST_NAMED else f"{len(names)} in all"


def consistency(found: pd.DataFrame) -> str:
    """Say how alike the collections order the metrics, of the last conditions in the table: the largest alpha, confidence and size.

    Examples
    --------
    >>> rows = pd.DataFrame({"metric": ["Q", "AP"], "gain": ["any", "any"], "collections": ["x, y"] * 2, "mean_rank": [1.0, 2.0],
    ...                      "kendall_w": [1.0, 1.0], "p_value": [0.04, 0.04]})
    >>> consistency(rows)
    'First by mean rank is Q, then AP; the collections (x, y) order the metrics with Kendall W = 1.00 (1 is alike, 0 unrelated; p = 0.040).'
    """
    first = found.iloc[-1]
    conditions = [*found.columns[: list(found.columns).index("metric")], "collections"]
    alike = (found[conditions] == first[conditions]) | (found[conditions].isna() & first[conditions].isna())
    rows = labelled(found[alike.all(axis=1)].assign(**{COLLECTION: ""})).sort_values("mean_rank", kind="stable")
    ranked = ", then ".join(rows["label"][:3])
    if pd.isna(first["kendall_w"]):
        return f"The collections ({told(first['collections'])}) do not order the metrics: all are equal."
    return (
        f"First by mean rank is {ranked}; the collections ({told(first['collections'])}) order the metrics with Kendall W = {first['kendall_w']:.2f} "
        f"(1 is alike, 0 unrelated; p = {first['p_value']:.3f})."
    )
