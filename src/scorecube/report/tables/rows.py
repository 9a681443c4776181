"""What all tables are made with: the parts of a result, the collection it belongs to, rows as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.schema import labels_of

COLLECTION = "collection"


def combine(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Stack the tables of several collections."""
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def where(result: xr.Dataset) -> dict[str, Any]:
    """Return the first columns of every table."""
    return {COLLECTION: str(result.attrs.get(COLLECTION, ""))}


def parts(result: xr.Dataset) -> list[tuple[dict[str, Any], xr.Dataset]]:
    """Return metric, gain setting and the part of the result for each pair of them."""
    return [
        ({"metric": metric, "gain": gain}, result.isel(metric=i, gain=j))
        for i, metric in enumerate(labels_of(result, names.METRIC))
        for j, gain in enumerate(labels_of(result, names.GAIN))
    ]


def as_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as plain values, None for missing numbers."""
    return [
        {str(key): None if isinstance(value, float) and np.isnan(value) else value for key, value in row.items()}
        for row in frame.to_dict("records")
    ]
