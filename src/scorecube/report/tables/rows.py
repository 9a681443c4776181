"""Helpers of all tables: the cells of a result, its collection, rows as plain values."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.columns import fact_of_columns

COLLECTION = "collection"


def combine(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Stack the tables of several collections."""
    if len(frames) == 1:  # a copy of millions of rows otherwise
        return frames[0].reset_index(drop=True)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def where(result: xr.Dataset) -> dict[str, Any]:
    """Return the first columns of every table."""
    return {COLLECTION: str(result.attrs.get(COLLECTION, ""))}


def parts(result: xr.Dataset) -> list[tuple[dict[str, Any], xr.Dataset]]:
    """Return metric, gain setting and the part of the result for each pair of them."""
    return [(cell, result.isel(place)) for cell, place in places(result)]


def places(result: xr.Dataset) -> list[tuple[dict[str, Any], dict[Hashable, int]]]:
    """Return metric, gain setting and their indices for each pair of them."""
    return [
        ({"metric": metric, "gain": gain}, {names.METRIC: i, names.GAIN: j})
        for i, metric in enumerate(labels_of(result, names.METRIC))
        for j, gain in enumerate(labels_of(result, names.GAIN))
    ]


WITHOUT_MEAN = ("low", "high", "p_value", "standard_error", "statistic", "flag")
"""Roles of columns whose means over collections are nothing."""


def averages(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the means of numbers over collections (S4 Tables 7 and 12), of the rows that every collection has.

    Rows belong together if they have the same texts and the same conditions; numbers missing in a collection are missing in the mean.
    Limits of intervals, test statistics and p-values have no mean and are left out.
    """
    roles = fact_of_columns(frame, "role")
    frame = frame.drop(columns=[name for name in frame.columns if roles.get(name) in WITHOUT_MEAN])
    texts = [
        column
        for column in frame.columns
        if column != COLLECTION
        and (
            roles.get(column) in ("condition", "label")
            or not pd.api.types.is_numeric_dtype(frame[column])
        )
    ]
    if "n_topics" in frame and frame.duplicated([COLLECTION, *texts]).any():
        texts.append("n_topics")  # elsewhere it describes the collection
    frame = frame.drop(
        columns=[column for column in frame.columns if pd.api.types.is_bool_dtype(frame[column])]
    )
    collections = list(dict.fromkeys(frame[COLLECTION]))
    groups = frame.groupby(texts, sort=False, dropna=False)
    complete = frame[groups[COLLECTION].transform("nunique") == len(collections)]
    numbers = [column for column in frame.columns if column != COLLECTION and column not in texts]
    parts = complete.groupby(texts, sort=False, dropna=False)[numbers]
    found = parts.mean().where(parts.count().eq(parts.size(), axis=0)).reset_index()
    found.insert(0, COLLECTION, f"mean of {len(collections)}")
    found.attrs = frame.attrs
    return found[[column for column in frame.columns if column in found.columns]]


def as_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as plain values, None for missing numbers."""
    return [
        {
            str(key): None if isinstance(value, float) and np.isnan(value) else value
            for key, value in row.items()
        }
        for row in frame.to_dict("records")
    ]


def values(result: xr.Dataset) -> pd.DataFrame:
    """Every value of every variable, with the labels of its position.

    Examples
    --------
    >>> result = xr.Dataset({"a": ("run", [0.5, 0.25]), "b": 3}, {"run": ["x", "y"]}, {"collection": "c"})
    >>> values(result).values.tolist()
    [['c', 'x', 'a', 0.5], ['c', 'y', 'a', 0.25], ['c', nan, 'b', 3.0]]
    """
    frames = []
    for name, variable in result.reset_coords(drop=True).data_vars.items():
        plain = (
            variable.to_series().rename("value").reset_index()
            if variable.dims
            else pd.DataFrame({"value": [variable.item()]})
        )
        frames.append(plain.assign(variable=str(name)))
    frame = (
        pd.concat(frames, ignore_index=True)
        if frames
        else pd.DataFrame(columns=["variable", "value"])
    )
    first = [dim for dim in (names.METRIC, names.GAIN) if dim in frame]
    labels = [*first, *(column for column in frame if column not in (*first, "variable", "value"))]
    return frame[[*labels, "variable", "value"]].assign(**where(result))[
        [*where(result), *labels, "variable", "value"]
    ]


def number_of_values(result: xr.Dataset) -> int:
    """Return the number of values of all variables."""
    return sum(variable.size for variable in result.data_vars.values())
