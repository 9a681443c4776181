"""Comparisons of two systems, for people: the table, and the answer in one sentence."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.phrases import with_limits

COLUMNS = (
    *("difference", "low", "high", "wins", "ties", "losses", "verdict", "smallest_shown"),
    *("n_topics", "reason"),
)
"""Columns of the table, after collection, metric and gain."""


def table_of(found: xr.Dataset) -> pd.DataFrame:
    """Return a comparison as a table with a row for each collection, metric and gain setting; the mean last, with an empty collection."""
    frame = found[list(COLUMNS)].to_dataframe().reset_index()
    return frame[[names.COLLECTION, names.METRIC, names.GAIN, *COLUMNS]]


def readable(found: xr.Dataset) -> pd.DataFrame:
    """Return the table of a comparison as people read it: limits beside the difference, columns that say nothing left out."""
    frame = table_of(found)
    shown = frame[[names.COLLECTION, names.METRIC, names.GAIN]].copy()
    values = [frame[name].tolist() for name in ("difference", "low", "high")]
    shown["difference (limits)"] = [
        "-" if np.isnan(row[1]) else with_limits(*row) for row in zip(*values, strict=True)
    ]
    counts = [frame[name].astype(str) for name in ("wins", "ties", "losses")]
    shown["wins/ties/losses"] = counts[0] + "/" + counts[1] + "/" + counts[2]
    shown["verdict"] = frame["verdict"]
    shown["reason"] = frame["reason"]
    several = found.sizes[names.COLLECTION] > 1
    shown[names.COLLECTION] = shown[names.COLLECTION].where(shown[names.COLLECTION] != "", "mean")
    dropped = {
        names.COLLECTION: not several,
        names.GAIN: found.sizes[names.GAIN] == 1,
        "reason": not frame["reason"].any(),
    }
    return shown.drop(columns=[name for name, drop in dropped.items() if drop])


def what_is_shown(found: xr.Dataset) -> str:
    """Return in words how small a difference these topics would show."""
    half = found["smallest_shown"]
    if not np.isfinite(half).any():
        return "these topics show no difference"
    smallest, largest = (f"{float(each):.2g}" for each in (half.min(), half.max()))
    if smallest == largest:
        return f"these topics would show a difference of {smallest}"
    return (
        f"these topics would show differences of {smallest} to {largest}, by metric and collection"
    )


def sentence(found: xr.Dataset) -> str:
    """Return the answer of a comparison, or of a gate, in one sentence."""
    run, baseline = found.attrs["run"], found.attrs["baseline"]
    level = (
        f"[{100 * found.attrs['confidence']:g}% limits, for other topics of the same collections]"
    )
    counts = Counter(found["verdict"].values.ravel().tolist())
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    if "margin" not in found.attrs:
        return f"{run} against {baseline}: {counted}; {what_is_shown(found)} {level}"
    overall = found.attrs["verdict"]
    return f"{overall}: {run} against {baseline}, margin {found.attrs['margin']:g}: {counted}; {what_is_shown(found)} {level}"
