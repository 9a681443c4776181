"""Tables: records, those that are declared by their dims and columns, and what all of them share."""

import math
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.quantities import (
    declared_variables,
    quantity,
    quantity_names,
    with_quantities,
)
from scorecube.collection.schema import Variable, labels_of
from scorecube.errors import natural_key
from scorecube.report.columns import fact_of_columns


class Source(StrEnum):
    """What a table is made from."""

    RESULT = "result"
    CUBE = "cube"
    RANKINGS = "rankings"


@dataclass(frozen=True)
class Table:
    """A table of an analysis.

    Parameters
    ----------
    make
        Makes the table from its source: a tidy data frame whose first column is the collection.
    rows
        Counts the rows of a long table, or a little more, without making it; 0 for a table that is never long.
    source
        What the table is made from.
    note
        What a reader of the table must know; printed beside it.
    columns
        Quantities that columns of other names show.
    variables
        What is known of quantities beside those of the analysis.
    legend
        Says what marks and bold type mean, given the attributes of a result; stands in captions.
    """

    make: Callable[[xr.Dataset], pd.DataFrame]
    rows: Callable[[xr.Dataset], int] = lambda _: 0
    source: Source = Source.RESULT
    note: str = ""
    columns: Mapping[str, str] = field(default_factory=dict)
    variables: Sequence[Variable] = ()
    legend: Callable[[Mapping[str, Any]], str] | None = None


def rows_along(*dims: str) -> Callable[[xr.Dataset], int]:
    """Return a function that counts the rows of a table with one row for each position along some dims."""
    return lambda result: math.prod(result.sizes.get(dim, 1) for dim in dims)


COLLECTION = names.COLLECTION


def combine(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Stack the tables of several collections."""
    if len(frames) == 1:  # a copy of millions of rows otherwise
        return frames[0].reset_index(drop=True)
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()


def where(result: xr.Dataset) -> dict[str, Any]:
    """Return the first columns of every table."""
    n = result.sizes.get(COLLECTION, 1)  # of a board
    return {COLLECTION: f"mean of {n}" if n > 1 else str(result.attrs.get(COLLECTION, ""))}


def parts(result: xr.Dataset) -> list[tuple[dict[str, Any], xr.Dataset]]:
    """Return metric, gain setting and the part of the result for each pair of them; for tables that plugins make."""
    return [
        ({"metric": metric, "gain": gain}, result.isel({names.METRIC: i, names.GAIN: j}))
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


__all__ = ["Source", "Table", "declared"]
__path__: list[str] = []  # see `report.MOVED`
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
    objects: bool = False,
    dtypes: Mapping[str, str] | None = None,
    long: bool | Sequence[str] = False,
    part: Callable[[xr.Dataset], xr.Dataset] | None = None,
) -> Table:
    """Return a table with one row for each position along some dims of a result.

    Parameters
    ----------
    dims
        In the order of the rows, the last fastest; see `DESCENDING`. Dims that only derived quantities have are
        allowed.
    columns
        Names, behind the collection unless it is named among them: of a dim, a variable, what `Derived` declares,
        or an attribute of the result; or a name of its own with that of the quantity, of a part of it as in
        ``value[coefficient=phi]``. See `OPTIONAL`. A name with a dim in braces, such as ``top_{k}``, is a column
        for each label along this dim. What the analysis declares, and the result does not have, is missing.
    sort
        Columns or quantities by which rows are sorted; see `DESCENDING`. Equal rows keep their order, missing
        values come last.
    within
        Number of the first dims whose order stays: rows are sorted at each position along them.
    only
        Quantity of the rows that the table has: a flag, or a number that is known; all by default.
    needs
        Quantity without which the table has no rows; without any, also by `only`, it has no optional columns.
    whole
        Columns of whole numbers some of which are missing: None there, integers elsewhere.
    objects
        Whether all columns are of objects, None where values are missing, so that whole numbers stay whole.
    dtypes
        Of columns that have another one than their quantity.
    long
        Whether the table may be too long for a page; or, of rows along dims of derived quantities, the dims of the
        result that are as long.
    part
        Takes the part of the result that the table is about; the whole by default.

    Returns
    -------
    table
        For the tables of a view.
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
        frame = _frame(shown, dims, sources, sort, within, only, needs, whole, dtypes or {})
        return frame.astype(object).where(frame.notna(), None) if objects else frame

    other = {
        name.removesuffix(OPTIONAL): source.removesuffix(OPTIONAL)
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
    known, place = {*result.dims, *result.attrs, *quantity_names(result)}, where(result)
    if needs and needs not in known:
        return pd.DataFrame(
            columns=[*place, *(name for name in columns if not name.endswith(OPTIONAL))]
        )
    plain = [dim.removeprefix(DESCENDING) for dim in dims]
    backwards = {dim[1:]: slice(None, None, -1) for dim in dims if dim.startswith(DESCENDING)}
    optional = {name for name in columns if name.endswith(OPTIONAL)}
    sources = {
        name.removesuffix(OPTIONAL): source.removesuffix(OPTIONAL)
        for name, source in columns.items()
        if name not in optional or _has(result, source.removesuffix(OPTIONAL), {*known, *plain})
    }
    by = [name.removeprefix(DESCENDING) for name in sort]
    hidden = [name for name in by if name in known and name not in sources]
    quantities = {source.partition("[")[0] for source in [*sources.values(), only, *hidden]}
    result = _with_variables(result, quantities - {""})
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
    frame = pd.DataFrame(own if COLLECTION in own else {**place, **own})
    if dtypes:
        frame = frame.astype(dtypes)
    if not sort:
        return frame
    further = {name: column(_values(result, name))[kept] for name in by if name not in frame}
    ascending = [not name.startswith(DESCENDING) for name in sort]
    order = frame[[name for name in by if name in frame]].assign(**further)
    places = np.arange(math.prod(shape))[kept] // math.prod(shape[within:])
    ordered = order.sort_values(by, ascending=ascending, kind="stable").index
    return frame.iloc[ordered[np.argsort(places[ordered], kind="stable")]].reset_index(drop=True)


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


def _has(result: xr.Dataset, source: str, known: Collection[Hashable]) -> bool:
    """Return whether a source is known; in brackets also whether its label is."""
    source, bracket, place = source.partition("[")
    dim, _, label = place.removesuffix("]").partition("=")
    absent = bracket and dim in result.coords and label not in labels_of(result, dim)
    return source in known and not absent


def _with_variables(result: xr.Dataset, wanted: Collection[str]) -> xr.Dataset:
    """Return a result with quantities, attributes, and positions along dims without labels; what is declared, and it lacks, is missing."""
    result = with_quantities(result, wanted)
    declared = declared_variables(str(result.attrs.get("analysis", "")))
    for name in sorted({*wanted} - result.variables.keys()):
        if name in result.dims:
            values = xr.DataArray(np.arange(result.sizes[name]), dims=name)
        elif name in result.attrs:
            values = xr.DataArray(result.attrs[name])
        elif name in declared:
            dims = declared[name].dims
            values = xr.DataArray(np.nan, {dim: result[dim] for dim in dims}, dims)
        else:
            values = quantity(result, name)
        result = result.assign({name: values})
    return result


def _values(result: xr.Dataset, source: str) -> xr.DataArray:
    """Return a variable, or its part at a label in brackets."""
    name, bracket, place = source.partition("[")
    dim, _, label = place.removesuffix("]").partition("=")
    return result[name].sel({dim: label}, drop=True) if bracket else result[name]


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
