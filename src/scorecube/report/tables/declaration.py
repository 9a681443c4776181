"""Tables that are declared by their dims and columns, and made by one function."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import (
    declared_variables,
    has_quantity,
    quantity,
    with_quantities,
)
from scorecube.collection.schema import labels_of
from scorecube.errors import natural_key
from scorecube.report.tables.rows import COLLECTION, where
from scorecube.report.views.view import Table

CELL = (names.METRIC, names.GAIN)
"""Dims of most tables."""
DESCENDING = "-"
"""Before a dim, whose positions are taken from the last, or before a column to sort by, whose largest value comes first."""
OPTIONAL = "?"
"""Behind a column that is left out where the result does not have its quantity."""


def declared(
    dims: Sequence[str],
    columns: Sequence[str | tuple[str, str]],
    *,
    sort: Sequence[str] = (),
    within: int = 0,
    only: str = "",
    needs: str = "",
    whole: Sequence[str] = (),
    dtypes: Mapping[str, str] | None = None,
    long: bool | Sequence[str] = False,
    part: Callable[[xr.Dataset], xr.Dataset] | None = None,
) -> Table:
    """Return a table with one row for each position along some dims of a result.

    dims: In the order of the rows, the last fastest; see `DESCENDING`. Dims that only derived quantities have are
        allowed.
    columns: Names, behind the collection unless it is named among them: of a dim, a variable, what `Derived` declares,
        or an attribute of the result; or a name of its own with that of the quantity, of a part of it as in
        ``value[coefficient=phi]``. See `OPTIONAL`. A name with a dim in braces, such as ``top_{k}``, is a column for
        each label along this dim. What the analysis declares, and the result does not have, is missing.
    sort: Columns by which rows are sorted; see `DESCENDING`. Equal rows keep their order, missing values come last.
    within: Number of the first dims whose order stays: rows are sorted at each position along them.
    only: Quantity of the rows that the table has: a flag, or a number that is known; all by default.
    needs: Quantity without which the table has no rows; without any, also by `only`, it has no optional columns.
    whole: Columns of whole numbers some of which are missing: None there, integers elsewhere.
    dtypes: Of columns that have another one than their quantity.
    long: Whether the table may be too long for a page; or, of rows along dims of derived quantities, the dims of the
        result that are as long.
    part: Takes the part of the result that the table is about; the whole by default.
    """
    sources = dict((each, each) if isinstance(each, str) else each for each in columns)
    plain = [dim.removeprefix(DESCENDING) for dim in dims]

    def rows(result: xr.Dataset) -> int:
        along = plain if isinstance(long, bool) else long
        return math.prod(result.sizes.get(dim, 1) for dim in along) if long else 0

    def make(result: xr.Dataset) -> pd.DataFrame:
        shown = result if part is None else part(result)
        if names.TOPIC in plain and names.TOPIC in shown.coords:
            topics = labels_of(shown, names.TOPIC)
            order = sorted(range(len(topics)), key=lambda k: natural_key(topics[k]))
            shown = shown if order == [*range(len(topics))] else shown.isel({names.TOPIC: order})
        return _frame(shown, dims, sources, sort, within, only, needs, whole, dtypes or {})

    other = {
        name.removesuffix(OPTIONAL): source.removesuffix(OPTIONAL).partition("[")[0]
        for name, source in sources.items()
        if name != source
    }
    return Table(make, rows, columns=other)


def _frame(
    result: xr.Dataset,
    dims: Sequence[str],
    columns: Mapping[str, str],
    sort: Sequence[str],
    within: int,
    only: str,
    needs: str,
    whole: Sequence[str],
    dtypes: Mapping[str, str],
) -> pd.DataFrame:
    if needs and not _has(result, needs):
        return pd.DataFrame(
            columns=[*where(result), *(name for name in columns if not name.endswith(OPTIONAL))]
        )
    plain = [dim.removeprefix(DESCENDING) for dim in dims]
    backwards = {dim[1:]: slice(None, None, -1) for dim in dims if dim.startswith(DESCENDING)}
    optional = {name for name in columns if name.endswith(OPTIONAL)}
    sources = {
        name.removesuffix(OPTIONAL): source.removesuffix(OPTIONAL)
        for name, source in columns.items()
        if name not in optional
        or source.removesuffix(OPTIONAL) in plain
        or _has(result, source.removesuffix(OPTIONAL))
    }
    quantities = {source.partition("[")[0] for source in [*sources.values(), only]}
    result = with_quantities(result, quantities)
    shape = tuple(result.sizes[dim] for dim in plain)

    def column(values: xr.DataArray) -> np.ndarray[Any, Any]:
        return _column(values.isel(backwards, missing_dims="ignore"), plain, shape)

    values = {source: _values(result, source) for source in dict.fromkeys(sources.values())}
    arrays = _spread(sources, values)
    own = {name: column(each) for name, each in arrays.items()}
    kept: Any = slice(None)
    if only:
        flag = column(_values(result, only))
        kept = ~np.isnan(flag) if flag.dtype.kind == "f" else flag.astype(bool)
        if needs and not kept.any():
            shown = [name for name in arrays if f"{name}{OPTIONAL}" not in optional]
            first = [] if COLLECTION in shown else [COLLECTION]
            return pd.DataFrame(columns=[*first, *shown]).assign(**{COLLECTION: ""})
        own = own if kept.all() else {name: each[kept] for name, each in own.items()}
    for name in whole:
        if name in own:
            own[name] = _whole(own[name])
    frame = pd.DataFrame(own if COLLECTION in own else {**where(result), **own})
    if dtypes:
        frame = frame.astype(dtypes)
    if not sort:
        return frame
    by = [name.removeprefix(DESCENDING) for name in sort]
    ascending = [not name.startswith(DESCENDING) for name in sort]
    ordered = frame.sort_values(by, ascending=ascending, kind="stable")
    places = np.arange(math.prod(shape))[kept] // math.prod(shape[within:])
    return ordered.iloc[np.argsort(places[ordered.index], kind="stable")].reset_index(drop=True)


def _spread(
    sources: Mapping[str, str], values: Mapping[str, xr.DataArray]
) -> dict[str, xr.DataArray]:
    """Return what columns hold; neighbours along one dim in braces take turns."""
    arrays: dict[str, xr.DataArray] = {}
    for dim, group in groupby(sources, lambda name: name.partition("{")[2].partition("}")[0]):
        columns = list(group)
        if not dim:
            arrays |= {name: values[sources[name]] for name in columns}
            continue
        for k, label in enumerate(values[sources[columns[0]]][dim].values):
            for name in columns:
                column = name.replace(f"{{{dim}}}", str(label))
                arrays[column] = values[sources[name]].isel({dim: k})
    return arrays


def _has(result: xr.Dataset, source: str) -> bool:
    source, bracket, place = source.partition("[")
    dim, _, label = place.removesuffix("]").partition("=")
    if bracket and dim in result.coords and label not in labels_of(result, dim):
        return False
    return source in result.dims or source in result.attrs or has_quantity(result, source)


def _values(result: xr.Dataset, source: str) -> xr.DataArray:
    """Return a quantity, its part at a label in brackets, the positions along a dim without labels, or an attribute."""
    source, bracket, place = source.partition("[")
    if bracket:
        dim, _, label = place.removesuffix("]").partition("=")
        return _values(result, source).sel({dim: label}, drop=True)
    if source in result.dims and source not in result.coords:
        return xr.DataArray(np.arange(result.sizes[source]), dims=source)
    if source in result.attrs and source not in result.variables:
        return xr.DataArray(result.attrs[source])
    declared = declared_variables(str(result.attrs.get("analysis", ""))).get(source)
    if declared is None or has_quantity(result, source):
        return quantity(result, source)
    coords = {dim: result[dim] for dim in declared.dims}
    return xr.DataArray(np.nan, coords, declared.dims)


def _column(
    values: xr.DataArray, dims: Sequence[str], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return the values of a quantity at all positions along some dims."""
    own = [dim for dim in dims if dim in values.dims]
    arranged = values.transpose(*own).values
    aligned = arranged.reshape([values.sizes[dim] if dim in own else 1 for dim in dims])
    return np.broadcast_to(aligned, shape).ravel()


def _whole(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return whole numbers as objects, None where they are missing."""
    whole = np.empty(len(values), object)
    whole[:] = [None if np.isnan(value) else int(value) for value in values]
    return whole
