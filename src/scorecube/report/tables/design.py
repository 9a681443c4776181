"""Tables of topic set size design and of confidence interval widths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables.rows import COLLECTION

SIZES = (
    "method",
    "mode",
    "variance",
    "min_diff",
    "width",
    "systems",
    "alpha",
    "beta",
    "topics",
    "power",
)
WIDTHS = ("route", "variance", "systems", "alpha", "beta", "topics", "width")
WHERE = (COLLECTION, names.METRIC, names.GAIN)
WHOLE = ("systems", "topics")


def sizes(result: xr.Dataset) -> pd.DataFrame:
    """Numbers of topics, with the requirements.

    Parameters
    ----------
    result
        Of `topic_set_size` or one of the inverse questions.
    """
    frame = _rows(
        result, SIZES, {**_facts(result), **{key: result.attrs[key] for key in ("method", "mode")}}
    )
    if "expected_width" in result:
        frame["expected_width"] = _column(result, "expected_width")
    return frame[[*SIZES, *(column for column in frame if column not in SIZES)]]


def widths(result: xr.Dataset) -> pd.DataFrame:
    """Confidence interval widths by number of topics.

    Parameters
    ----------
    result
        Of `wcw`.
    """
    frame = _rows(result, WIDTHS, _facts(result))
    intervals = frame["route"] == "ci"
    for column in ("systems", "beta"):  # the closed form does not use them
        if intervals.any():
            frame[column] = frame[column].astype(object).where(~intervals, None)
    return frame


def _facts(result: xr.Dataset) -> dict[str, Any]:
    return {COLLECTION: str(result.attrs[COLLECTION])} if COLLECTION in result.attrs else {}


def _rows(result: xr.Dataset, columns: tuple[str, ...], facts: dict[str, Any]) -> pd.DataFrame:
    """Return one row for each combination of parameters; parameters that a method does not use are missing."""
    first = next(iter(result.data_vars))
    n_rows = result[first].size
    frame = pd.DataFrame(index=range(n_rows))
    for column in [*WHERE, *columns]:
        if column in facts:
            frame[column] = [facts[column]] * n_rows
        elif column in result.variables:
            frame[column] = _column(result, column)
        elif column not in WHERE:
            frame[column] = pd.Series([None] * n_rows, dtype=object)
    further = [
        str(dim) for dim in result.dims if str(dim) not in frame and str(dim) in result.coords
    ]
    for dim in further:
        frame[dim] = _column(result, dim)
    return frame


def _column(result: xr.Dataset, name: str) -> np.ndarray[Any, Any]:
    """Return a variable's values over all dims of the result, in the order of its rows."""
    shape = {str(dim): result.sizes[dim] for dim in result[next(iter(result.data_vars))].dims}
    values = (
        result[name]
        .broadcast_like(result[next(iter(result.data_vars))])
        .transpose(*shape)
        .values.ravel()
    )
    return values.astype(np.int64) if name in WHOLE else values
