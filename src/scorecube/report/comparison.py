"""Comparisons of two systems, for people: the table, and the answer in one sentence."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.readable import KEYS, number_range, with_limits


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
    counts = Counter(found["verdict"].values.ravel().tolist())
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    margin = f", margin {attrs['margin']:g}" if "margin" in attrs else ""
    start = f"{attrs['verdict']}: " if margin else ""
    compared = f"{attrs['run']} against {attrs['baseline']}{margin}"
    return f"{start}{compared}: {verdicts}; {what_is_shown(found)} {level}"
