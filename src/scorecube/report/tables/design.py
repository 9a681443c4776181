"""Tables of topic set size design and of confidence interval widths."""

from __future__ import annotations

from collections.abc import Mapping
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
INTERVALS = (
    "topics_low",
    "topics_high",
    "residual_variance",
    "paired_topics",
    "paired_topics_low",
    "paired_topics_high",
)
"""Columns of designs from the scores of a collection: limits, and topics for comparisons on the same topics."""
WHOLE = ("systems", "topics", *(name for name in INTERVALS if name != "residual_variance"))


def sizes(result: xr.Dataset) -> pd.DataFrame:
    """Numbers of topics, with the requirements; from the scores of a collection also with intervals.

    Parameters
    ----------
    result
        Of `topic_set_size` or one of the inverse questions.
    """
    frame = _rows(
        result, SIZES, {**_facts(result), **{key: result.attrs[key] for key in ("method", "mode")}}
    )
    for name in ("expected_width", *INTERVALS):
        if name in result.variables:
            frame[name] = _column(result, name)
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
    return values.astype(np.int64) if name in WHOLE and np.isfinite(values).all() else values


def about(row: Mapping[Any, Any], column: str = "topics") -> str:
    """Return a number of topics of a row with its interval, without digits that it does not bear.

    Examples
    --------
    >>> about({"topics": 55, "topics_low": 31, "topics_high": 98}), about({"topics": 1263})
    ('55 (31 to 98)', '1,300')
    """
    value, low, high = (row.get(name) for name in (column, f"{column}_low", f"{column}_high"))
    known = low is not None and high is not None and np.isfinite(low) and np.isfinite(high)
    limits = f" ({_two_digits(low)} to {_two_digits(high)})" if known else ""
    return _two_digits(value) + limits


def _two_digits(number: Any) -> str:
    """Return a whole number with two significant digits; "-" for a missing one."""
    if not np.isfinite(number):
        return "-"
    return f"{int(float(f'{float(number):.2g}')):,}"
