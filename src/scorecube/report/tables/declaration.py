"""Tables that are declared by their dims and columns, and made by one function."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import quantity
from scorecube.report.tables.rows import where
from scorecube.report.views.view import Table

CELL = (names.METRIC, names.GAIN)
"""Dims of most tables."""
DESCENDING = "-"
"""Before a dim, whose positions are taken from the last, or before a column to sort by, whose largest value comes first."""


def declared(
    dims: Sequence[str],
    columns: Sequence[str | tuple[str, str]],
    *,
    sort: Sequence[str] = (),
    long: bool = False,
) -> Table:
    """Return a table with one row for each position along some dims of a result.

    Parameters
    ----------
    dims
        In the order of the rows, the last fastest; see `DESCENDING`.
    columns
        Names, behind the collection: of a dim, a variable, what `Derived` declares, or an attribute of the result; or a name of its own
        with that of the quantity.
    sort
        Columns by which rows are sorted; see `DESCENDING`. Equal rows keep their order.
    long
        Whether the table may be too long for a page.
    """
    sources = dict((each, each) if isinstance(each, str) else each for each in columns)
    plain = [dim.removeprefix(DESCENDING) for dim in dims]

    def rows(result: xr.Dataset) -> int:
        return math.prod(result.sizes[dim] for dim in plain) if long else 0

    return Table(partial(_frame, dims=dims, columns=sources, sort=sort), rows)


def _frame(
    result: xr.Dataset, dims: Sequence[str], columns: Mapping[str, str], sort: Sequence[str]
) -> pd.DataFrame:
    backwards = [dim[1:] for dim in dims if dim.startswith(DESCENDING)]
    ordered = result.isel({dim: slice(None, None, -1) for dim in backwards})
    plain = [dim.removeprefix(DESCENDING) for dim in dims]
    shape = tuple(result.sizes[dim] for dim in plain)
    frame = pd.DataFrame(
        {
            **where(result),
            **{name: _column(ordered, source, plain, shape) for name, source in columns.items()},
        }
    )
    if not sort:
        return frame
    by = [name.removeprefix(DESCENDING) for name in sort]
    ascending = [not name.startswith(DESCENDING) for name in sort]
    return frame.sort_values(by, ascending=ascending, kind="stable", ignore_index=True)


def _column(
    result: xr.Dataset, source: str, dims: Sequence[str], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return the values of a quantity at all positions along some dims."""
    if source in result.dims and source not in result.coords:
        values: Any = xr.DataArray(np.arange(result.sizes[source]), dims=source)
    elif source in result.attrs:
        values = xr.DataArray(result.attrs[source])
    else:
        values = quantity(result, source)
    own = [dim for dim in dims if dim in values.dims]
    arranged = values.transpose(*own).values
    aligned = arranged.reshape([result.sizes[dim] if dim in own else 1 for dim in dims])
    return np.broadcast_to(aligned, shape).ravel()
