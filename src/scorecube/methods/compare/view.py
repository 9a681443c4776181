"""Comparisons of two systems, for people: the table, and the answer in one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import KEYS, as_records
from scorecube.collection.schema import labels_of
from scorecube.declare import number_range, with_limits

NOT_JUDGED = "not judged"
"""Verdict on a collection that a gate looks at, and does not judge."""


def table_of(found: xr.Dataset) -> pd.DataFrame:
    """Return a row for each collection, metric and gain setting; the mean has no collection."""
    return found.to_dataframe(dim_order=KEYS).reset_index()


def readable(found: xr.Dataset) -> pd.DataFrame:
    """Return the table as people read it, without columns that say nothing."""
    frame = table_of(found)
    shown = frame[list(KEYS)].replace({names.COLLECTION: {"": "mean"}})
    shown["difference (limits)"] = [
        "-" if np.isnan(low) else with_limits(value, low, high)
        for value, low, high in frame[["difference", "low", "high"]].to_numpy()
    ]
    shown["wins/ties/losses"] = frame[["wins", "ties", "losses"]].astype(str).agg("/".join, axis=1)
    shown[["verdict", "reason"]] = frame[["verdict", "reason"]]
    dropped = [name for name in (names.COLLECTION, names.GAIN) if found.sizes[name] == 1]
    return shown.drop(columns=dropped if frame["reason"].any() else [*dropped, "reason"])


def reasons(found: xr.Dataset) -> list[str]:
    """Return the reasons of the rows that a gate judges, one sentence each, for a terminal."""
    frame = table_of(found)
    judged = frame[(frame["verdict"] != NOT_JUDGED) & (frame["reason"] != "")]
    return [
        f"{row[names.COLLECTION] or 'mean'}, {row[names.METRIC]}: {row['reason']}."
        for row in judged.to_dict("records")
    ]


def what_is_shown(found: xr.Dataset) -> str:
    """Return in words how small a difference these topics would show."""
    known = found["smallest_shown"].values.ravel()
    known = known[np.isfinite(known)]
    if not known.size:
        return "these topics show no difference"
    return f"these topics would show a difference of {number_range(known, '.2g')}"


def sentence(found: xr.Dataset) -> str:
    """Return the answer of a comparison, or of a gate, in one sentence."""
    attrs = found.attrs
    level = "[95% limits, for other topics of the same collections]"
    if "status" not in attrs:
        counts = Counter(found["verdict"].values.ravel().tolist())
        verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        compared = f"{attrs['run']} against {attrs['baseline']}"
        return f"{compared}: {verdicts}; {what_is_shown(found)} {level}"
    metrics = ", ".join(labels_of(found, names.METRIC))
    text = f"{attrs['verdict']}: {attrs['run']} {asked_for(found)}, by {metrics}"
    if attrs["below"]:
        text += f"; below the margin in {', '.join(attrs['below'])}"
    return f"{text}; {what_is_shown(found)} {level}"


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
    kept = ("run", "baseline", "at_least", "each", "verdict", "status", "below", "notes")
    facts = {name: attrs[name] for name in kept if name in attrs}
    return facts | {"rows": as_records(table_of(found))}
