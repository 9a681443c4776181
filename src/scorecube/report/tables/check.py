"""Tables of checks against simulated truth."""

from __future__ import annotations

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.tables.rows import parts, where

NUMBERS = ("truth", "estimate", "bias", "error", "width", "held", "held_low", "held_high")
COUNTS = {"n_below": "below", "n_above": "above", "n_judged": "samples"}
COLUMNS = (
    "collection",
    "metric",
    "subject",
    "quantity",
    "size",
    *NUMBERS,
    "nominal",
    *COUNTS.values(),
    "gain",
)


def claims(result: xr.Dataset) -> pd.DataFrame:
    """What an analysis says of simulated samples against the truth, those that hold least often first.

    `held` is the share of samples whose interval or set holds the truth, with a 95 % Wilson interval; `below` and `above` count the
    intervals that lie below and above it. For sets, `truth` and `estimate` are sizes. `power` rows have the mean power over pairs of runs, and in `held` the
    share of pairs with the nominal power.
    """
    frames = [
        pd.DataFrame(
            where(result)
            | cell
            | {
                "subject": str(result.attrs["subject"]),
                "quantity": labels_of(result, names.CLAIM),
                "size": result[names.SIZE].values,
                "nominal": result["nominal"].values,
            }
            | {name: data[name].values for name in NUMBERS}
            | {column: data[name].values for name, column in COUNTS.items()}
            | {"estimated": data["n_estimated"].values}
        )
        for cell, data in parts(result)
    ]
    frame = pd.concat(frames, ignore_index=True)
    frame = frame[(frame["samples"] > 0) | (frame["estimated"] > 0)]
    frame = frame.assign(samples=np.maximum(frame["samples"], frame["estimated"]))
    frame = frame.assign(short=frame["held"] - frame["nominal"], far=-frame["bias"].abs())
    frame = frame.sort_values(["short", "far"], kind="stable", ignore_index=True)
    return frame[list(COLUMNS)]
