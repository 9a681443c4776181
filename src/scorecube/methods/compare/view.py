"""Comparisons of two systems, for people: the table, and the answer in one sentence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import KEYS, as_records
from scorecube.collection.schema import labels_of
from scorecube.declare import Table, View, number_range, shown

LOWER = "lower_is_better"
"""Attribute of a comparison: metrics whose smaller scores are better."""
MEAN = "mean"
NOT_JUDGED = "not judged"
"""Verdict on a collection that a gate looks at, and does not judge."""


def table_of(found: xr.Dataset) -> pd.DataFrame:
    """Return a row for each collection, metric and gain setting; the mean has no collection."""
    return found.to_dataframe(dim_order=KEYS).reset_index()


def readable(found: xr.Dataset) -> pd.DataFrame:
    """Return the table as people read it: the mean first, with a name; counts stand together."""
    frame = table_of(found)
    counts = frame[["wins", "ties", "losses"]].astype(str).agg("/".join, axis=1)
    named = frame.assign(**{"wins/ties/losses": counts}).replace({names.COLLECTION: {"": MEAN}})
    lower = {metric: f"{metric} (lower is better)" for metric in found.attrs[LOWER]}
    named[names.METRIC] = named[names.METRIC].replace(lower)
    others = named[names.COLLECTION] != MEAN
    columns = [*KEYS, "difference", "low", "high", "wins/ties/losses", "verdict", "reason"]
    return named[columns].iloc[np.argsort(others, kind="stable")].reset_index(drop=True)


def what_is_shown(found: xr.Dataset) -> str:
    """Return in words how small a difference these topics would show, by metric: in the mean."""
    topics = names.nouns(found.attrs).topics
    smallest = found["smallest_shown"].isel({names.COLLECTION: -1})
    known = []
    for metric in labels_of(found, names.METRIC):
        values = smallest.sel({names.METRIC: metric}).values
        if np.isfinite(values).any():
            number = number_range(values[np.isfinite(values)], ".2g")
            known.append(f"{number} in {metric}")
    if not known:
        return f"these {topics} show no difference"
    return f"these {topics} would show a difference of {', '.join(known)}"


def level_of(found: xr.Dataset) -> str:
    """Return what limits are about."""
    nouns = names.nouns(found.attrs)
    others = nouns.topics
    if found.attrs["retrained"]:
        others += f" and other {names.plural(nouns.repetition)}"
    return f"[95% limits, for other {others} of the same {nouns.collections}]"


def lines_of_comparison(found: xr.Dataset) -> list[str]:
    """Return the answer of a comparison in one sentence: the verdicts on the mean."""
    verdicts = found["verdict"].isel({names.COLLECTION: -1, names.GAIN: 0}).values.tolist()
    by_metric = zip(labels_of(found, names.METRIC), verdicts, strict=True)
    said = ", ".join(f"{metric} {verdict}" for metric, verdict in by_metric)
    compared = f"{found.attrs['run']} against {found.attrs['baseline']}"
    return [f"{compared}: {said}; {what_is_shown(found)} {level_of(found)}"]


def lines_of_gate(found: xr.Dataset) -> list[str]:
    """Return the reasons of the rows that a gate judges, and its answer in one sentence."""
    frame = table_of(found)
    judged = frame[(frame["verdict"] != NOT_JUDGED) & (frame["reason"] != "")]
    reasons = [
        f"{row[names.COLLECTION] or MEAN}, {row[names.METRIC]}: {row['reason']}."
        for row in judged.to_dict("records")
    ]
    metrics = ", ".join(labels_of(found, names.METRIC))
    text = f"{found.attrs['verdict']}: {found.attrs['run']} {asked_for(found)}, by {metrics}"
    if below := found.attrs["below"]:
        text += f"; below the margin in {', '.join(below)}"
    return [*reasons, f"{text}; {what_is_shown(found)} {level_of(found)}"]


def asked_for(found: xr.Dataset) -> str:
    """Return what a gate asks for: a baseline and margins, or numbers."""
    attrs = found.attrs
    if "at_least" in attrs:
        return f"at least {_by_metric(attrs['at_least'])}"
    margins = found["margin"].isel(collection=0, gain=0)
    by_metric = dict(zip(labels_of(found, names.METRIC), margins.values.tolist(), strict=True))
    return f"against {attrs['baseline']}, margin {_by_metric(by_metric)}"


def _by_metric(numbers: Mapping[str, float]) -> str:
    """Return the one number of all metrics, or those of each."""
    if len({*numbers.values()}) == 1:
        return f"{next(iter(numbers.values())):g}"
    return ", ".join(f"{metric}={number:g}" for metric, number in numbers.items())


def document(found: xr.Dataset) -> dict[str, Any]:
    """Return a gate as one JSON object: what was asked, the verdict, the status, and the rows."""
    attrs = found.attrs
    of_question = ("run", "baseline", "at_least", "each", "retrained")
    kept = (*of_question, "verdict", "status", "below", "notes")
    facts = {name: attrs[name] for name in kept if name in attrs}
    return facts | {"rows": as_records(table_of(found))}


WITHOUT_REASON = (
    names.COLLECTION,
    shown("metric", "label"),
    shown("difference", "difference", "low", "high"),
    "wins/ties/losses",
    "verdict",
)
TABLES = {
    "differences": Table((), make=table_of),
    "summary": Table((), make=readable, brief=(*WITHOUT_REASON, "reason")),
}
COMPARISON = View(
    name="compare",
    heading="Two systems compared",
    tables=TABLES,
    shown=("summary",),
    lines=lines_of_comparison,
)
GATE = View(
    name="gate",
    heading="Gate",
    tables=TABLES | {"summary": Table((), make=readable, brief=WITHOUT_REASON)},
    shown=("summary",),
    lines=lines_of_gate,
)
