"""Tables: records, those that are declared by their dims and columns, and what all of them share."""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
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
from scorecube.report.columns import trait_of_columns


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
    return {COLLECTION: place(str(result.attrs.get(COLLECTION, "")), result.attrs)}


def place(collection: str, attributes: Mapping[str, Any]) -> str:
    """Return what a result is about: its collection, of boards the first of several.

    attributes: Of the result.

    Examples
    --------
    >>> place("week47-fiqa", {}), place("week47-fiqa", {"collections": ["week47-fiqa", "week47-nq"]})
    ('week47-fiqa', 'week47-fiqa and week47-nq')
    """
    several = attributes.get("collections", ())
    if len(several) < 2:
        return collection
    return f"{several[0]} and {several[1] if len(several) == 2 else f'{len(several) - 1} more'}"


WITHOUT_MEAN = ("low", "high", "p_value", "standard_error", "statistic", "flag")
"""Roles of columns whose means over collections are nothing."""


def averages(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the means of numbers over collections (Sakai 2004, Tables 7 and 12), of the rows that every collection has.

    Rows belong together if they have the same texts and the same conditions; numbers missing in a collection are missing in the mean.
    Limits of intervals, test statistics and p-values have no mean and are left out.
    """
    roles = trait_of_columns(frame, "role")
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
LIMITS = ("", "_low", "_high")
"""Ends of the names of an estimate and its limits."""
DESCENDING = "-"
"""Before a dim, whose positions are taken from the last, or before a column to sort by, whose largest value comes first."""
OPTIONAL = "?"
"""Behind a column that is left out where the result does not have its quantity."""
LIMITED = "~"
"""Stands for each of `LIMITS`: three columns."""


def declared(
    dims: str,
    columns: str,
    *,
    sort: str = "",
    within: int = 0,
    only: str = "",
    needs: str = "",
    whole: str = "",
    objects: bool = False,
    dtypes: Mapping[str, str] | None = None,
    long: bool | str = False,
    part: Callable[[xr.Dataset], xr.Dataset] = lambda result: result,
) -> Table:
    """Return a table with one row for each position along some dims of a result.

    Parameters
    ----------
    dims
        In the order of the rows, the last fastest, separated by spaces; see `DESCENDING`. Dims that only derived
        quantities have are allowed.
    columns
        Names separated by spaces, behind the collection unless it is named among them: of a dim, a variable, what
        `Derived` declares, or an attribute of the result; or a name of its own and that of the quantity, as in
        ``runs=top_runs``, or of a part of it, as in ``phi=value[phi]``: that at a label of the one dim which the table
        does not have. See `OPTIONAL` and `LIMITED`. A name with a dim in braces, such as ``top_{k}``, is a column for
        each label along this dim. What the analysis declares, and the result does not have, is missing.
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

    Examples
    --------
    >>> result = xr.Dataset({"tau": ("run", [0.5, 0.75])}, {"run": ["x", "y"]}, {"collection": "c"})
    >>> declared("run", "run kendall=tau", sort="-kendall").make(result).values.tolist()
    [['c', 'y', 0.75], ['c', 'x', 0.5]]
    """
    sources, optional = _sources(columns)
    plain = dims.replace(DESCENDING, "").split()
    backwards = {dim[1:]: slice(None, None, -1) for dim in dims.split() if dim[0] == DESCENDING}
    by = sort.replace(DESCENDING, "").split()
    long_dims = long.split() if isinstance(long, str) else plain * long

    def make(whole_result: xr.Dataset) -> pd.DataFrame:
        result = _in_order(part(whole_result), plain)
        place = where(result)
        known = {*result.dims, *result.attrs, *quantity_names(result)}
        if needs and needs not in known:
            return _without_rows([name for name in sources if name not in optional])
        # Of hidden columns the rows are sorted by.
        hidden = {name: name for name in by if name in known and name not in sources}
        wanted = {
            name: source
            for name, source in (sources | hidden).items()
            if name not in optional or source.partition("[")[0] in {*known, *plain}
        }
        loaded = {source.partition("[")[0] for source in (*wanted.values(), only)} - {""}
        result = _with_variables(result, loaded)
        arrays = _spread(result, wanted, plain)
        shape = tuple(result.sizes[dim] for dim in plain)

        def column(values: xr.DataArray) -> np.ndarray[Any, Any]:
            return _column(values.isel(backwards, missing_dims="ignore"), plain, shape)

        own = {name: column(each) for name, each in arrays.items()}
        kept: Any = slice(None)
        if only:
            flag = column(result[only])
            kept = ~np.isnan(flag) if flag.dtype.kind == "f" else flag.astype(bool)
            if needs and not kept.any():
                none = _without_rows([name for name in arrays if name not in optional])
                return none.assign(**{COLLECTION: ""})
            own = own if kept.all() else {name: each[kept] for name, each in own.items()}
        own |= {name: _whole(own[name]) for name in whole.split() if name in own}
        frame = pd.DataFrame(own if COLLECTION in own else {**place, **own})
        frame = frame.astype(dtypes) if dtypes else frame
        if by:
            places = np.arange(math.prod(shape))[kept] // math.prod(shape[within:])
            frame = _sorted(frame, sort.split(), places).drop(columns=list(hidden))
        return frame.astype(object).where(frame.notna(), None) if objects else frame

    named = {own: of for own, of in sources.items() if own != of}
    return Table(make, rows_along(*long_dims) if long_dims else Table.rows, columns=named)


def _sources(columns: str) -> tuple[dict[str, str], set[str]]:
    """Return the quantity of each column, and which columns are optional.

    Examples
    --------
    >>> _sources("k runs?=top_runs")
    ({'k': 'k', 'runs': 'top_runs'}, {'runs'})
    """
    sources, optional = dict[str, str](), set[str]()
    for word in columns.split():
        for end in LIMITS if LIMITED in word else LIMITS[:1]:
            name, _, source = word.replace(LIMITED, end).partition("=")
            own = name.removesuffix(OPTIONAL)
            sources[own] = source or own
            optional |= {own} - {name}
    return sources, optional


def _in_order(result: xr.Dataset, dims: Sequence[str]) -> xr.Dataset:
    """Return a result with topics in natural order, where a table has a row for each."""
    if names.TOPIC not in dims or names.TOPIC not in result.coords:
        return result
    topics = labels_of(result, names.TOPIC)
    order = sorted(range(len(topics)), key=lambda k: natural_key(topics[k]))
    return result if order == [*range(len(topics))] else result.isel({names.TOPIC: order})


def _sorted(frame: pd.DataFrame, sort: Sequence[str], places: np.ndarray[Any, Any]) -> pd.DataFrame:
    """Return the rows in an order within those of each place."""
    by, ascending = (
        [name.lstrip(DESCENDING) for name in sort],
        [name[0] != DESCENDING for name in sort],
    )
    ordered = frame[by].sort_values(by, ascending=ascending, kind="stable").index
    return frame.iloc[ordered[np.argsort(places[ordered], kind="stable")]].reset_index(drop=True)


def _without_rows(columns: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame(columns=list(columns if COLLECTION in columns else [COLLECTION, *columns]))


def _spread(
    result: xr.Dataset, sources: Mapping[str, str], dims: Sequence[str]
) -> dict[str, xr.DataArray]:
    """Return what columns hold; neighbours along one dim in braces take turns, and parts at labels that do not exist are left out."""
    arrays: dict[str, xr.DataArray] = {}
    for dim, group in groupby(sources, lambda name: name.partition("{")[2].partition("}")[0]):
        columns = list(group)
        if dim:
            for k, label in enumerate(result[sources[columns[0]]][dim].values):
                for name in columns:
                    column = name.replace(f"{{{dim}}}", str(label))
                    arrays[column] = result[sources[name]].isel({dim: k})
            continue
        for column in columns:
            name, bracket, label = sources[column].removesuffix("]").partition("[")
            values = result[name]
            if bracket:
                (along,) = {*values.dims} - {*dims}
                if label not in labels_of(result, str(along)):
                    continue
                values = values.sel({along: label}, drop=True)
            arrays[column] = values
    return arrays


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


def _column(
    values: xr.DataArray, dims: Sequence[str], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return the values of a quantity at all positions along some dims."""
    own = [dim for dim in dims if dim in values.dims]
    arranged = values.transpose(*own).values
    aligned = arranged.reshape([values.sizes[dim] if dim in own else 1 for dim in dims])
    return np.broadcast_to(aligned, shape).ravel()


def _whole(values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    whole = np.empty(len(values), object)
    whole[:] = [None if np.isnan(value) else int(value) for value in values]
    return whole
