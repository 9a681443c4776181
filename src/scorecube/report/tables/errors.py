"""Tables of error rates of tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.tables.rows import parts, where
from scorecube.statistics.proportion_intervals import wilson

TYPE_1, POWER, TYPE_3, FAMILY = "type_1", "power", "type_3", "family"
FAMILIES = ("tukey", "holm", "maxt")
"""Tests of all pairs of runs."""


def rates(result: xr.Dataset) -> pd.DataFrame:
    """Error rates and power of each test, with 95 % Wilson intervals over simulated experiments.

    Type I errors are significant results without a true difference; power is the share of significant results with one, and type III
    errors are two-sided significant results with the wrong sign, as shares of all experiments. The rate of a family of all pairs is the share of
    collections with any error.
    """
    frames = [
        pd.DataFrame(where(result) | {name: cell[name] for name in ("metric", "gain")} | columns)
        for cell, data in parts(result)
        for columns in _columns(data)
    ]
    frame = pd.concat(frames, ignore_index=True)
    low, high = wilson(frame["count"].to_numpy(), frame["trials"].to_numpy())
    with np.errstate(invalid="ignore", divide="ignore"):
        rate = (frame["count"] / frame["trials"]).to_numpy()
    frame = frame.assign(rate=rate, rate_low=low, rate_high=high)
    order = [column for column in frame.columns if column not in ("count", "trials", "gain")]
    return frame[[*order, "trials", "gain"]]


def _columns(data: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield columns over significance levels, for one metric and gain setting."""
    alphas = data[names.ALPHA].values
    for test in labels_of(data, names.TEST):
        for size in data[names.SIZE].values:
            for delta in data[names.DELTA].values:
                at = data.sel({names.TEST: test, names.SIZE: size, names.DELTA: delta})
                found = {
                    (TYPE_1 if delta == 0 else POWER, sided): at["significant"].sel(
                        {names.SIDED: sided}
                    )
                    for sided in (1, 2)
                }
                if test in FAMILIES:
                    found = {(FAMILY, 2): at["significant"].sel({names.SIDED: 2})}
                elif delta != 0:
                    found[TYPE_3, 2] = at["wrong_sign"]
                for (kind, sided), counts in found.items():
                    yield {
                        "test": test,
                        "sided": sided,
                        "n_topics": int(size),
                        "delta": float(delta),
                        "alpha": alphas,
                        "kind": kind,
                        "count": counts.values,
                        "trials": int(at["experiments"]),
                    }
