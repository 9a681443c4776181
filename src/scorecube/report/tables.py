"""Tables: declarations of the rows and columns of data frames that are made from results."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses import registry
from scorecube.collection.schema import COORDINATES, Variable, labels_of
from scorecube.errors import BadName, natural_key

COLLECTION = names.COLLECTION
LIMITS = ("", "_low", "_high")
"""Ends of the names of an estimate and its limits."""
AS_PRINTED = "as_printed"
"""Attribute of the table of a paper, all of which is shown: columns that captions may say."""
TRAITS = ("role", "of", "form", "heading", "long_name")
"""Attributes of a quantity that its column keeps, in ``frame.attrs[trait][column]``."""
WITHOUT_MEAN = ("low", "high", "p_value", "standard_error", "statistic", "flag")
"""Roles of columns that have no mean over collections."""


@dataclass(frozen=True)
class Table:
    """A table with one row for each position along some dims of a result.

    Parameters
    ----------
    dims
        In the order of the rows, the last fastest, separated by spaces; from the last position on
        for a dim behind a minus sign.
    columns
        Names separated by spaces, behind the collection unless it is named among them: of a dim, a
        variable or an attribute; or a name of its own and that of the quantity, as in
        ``runs=top_runs``, perhaps at a label of a dim that the table does not have, as in
        ``phi=value[phi]``. ``~`` stands for an estimate and its limits, ``?`` behind a name for a
        column that a result may lack; ``top_{k}`` is a column for each label along k.
    sort
        Columns by which rows are sorted, missing values last; a minus sign for the largest first.
    within
        Number of the first dims whose order stays.
    only
        Quantity of the rows that are shown: a flag, or a number that is known; all by default.
    needs
        Quantity without which the table is empty.
    whole
        Columns of whole numbers some of which may be missing.
    source
        ``result``, ``cube`` or ``rankings``: what it is made from.
    part
        Makes of the source the dataset that the table is about.
    variables
        Quantities beside those that the analysis declares.
    make
        Makes the table instead, where rows are not positions along dims.
    brief
        Columns that a terminal and LaTeX show, as a name, a heading with ``_`` for spaces and a
        name, ``~`` for limits, or two names for a range, as in ``rank=rank_low,rank_high``.
    at
        Rows that a terminal shows: largest value of a column if infinite, else this value.
    legend
        Says in captions what the table means, given the attributes of a result.

    Examples
    --------
    >>> result = xr.Dataset({"tau": ("run", [0.5, 0.75])}, {"run": ["x", "y"]})
    >>> Table("run", "run kendall=tau", sort="-kendall").frame(result).values.tolist()
    [['', 'y', 0.75], ['', 'x', 0.5]]
    """

    dims: str
    columns: str
    sort: str = ""
    within: int = 0
    only: str = ""
    needs: str = ""
    whole: str = ""
    source: str = "result"
    part: Callable[[xr.Dataset], xr.Dataset] = lambda result: result
    variables: Sequence[Variable] = ()
    make: Callable[[xr.Dataset], pd.DataFrame] | None = None
    brief: str = ""
    at: Mapping[str, Any] | None = None
    legend: Callable[[Mapping[str, Any]], str] | None = None

    def rows(self, result: xr.Dataset) -> int:
        """Return the number of rows, or a little more, without making them."""
        return math.prod(result.sizes.get(dim.lstrip("-"), 1) for dim in self.dims.split())

    def frame(self, source: xr.Dataset) -> pd.DataFrame:
        """Return the table of a result, a cube or rankings; its columns keep their `TRAITS`."""
        if self.make is not None:
            frame = self.make(source)
            sources = {str(name): str(name) for name in frame.columns}
        else:
            frame, sources = self._declared(self.part(source))
        known = {each.name: each for each in (*COORDINATES, *self.variables)}
        known |= _declared_variables(source)
        frame.attrs.update(traits_of(sources, known))
        return frame

    def _declared(self, result: xr.Dataset) -> tuple[pd.DataFrame, dict[str, str]]:
        """Return the rows, and the quantity of each column."""
        dims = self.dims.replace("-", "").split()
        by = [name.lstrip("-") for name in self.sort.split()]
        result = _in_natural_order(result, dims)
        known = {*dims, *result.dims, *result.attrs, *map(str, result.variables)}
        columns = {
            name: source
            for name, (source, optional) in parsed(self.columns).items()
            if not optional or source.partition("[")[0] in known
        }
        if self.needs and self.needs not in known:
            required = [
                name for name, (_, optional) in parsed(self.columns).items() if not optional
            ]
            return pd.DataFrame(columns=[COLLECTION, *required]), columns
        hidden = {name: name for name in by if name in known and name not in columns}
        wanted = {*(columns | hidden).values(), self.only} - {""}
        result = _with_variables(result, {name.partition("[")[0] for name in wanted})
        backwards = {dim[1:]: slice(None, None, -1) for dim in self.dims.split() if dim[0] == "-"}
        result = result.isel(backwards)
        shape = tuple(result.sizes[dim] for dim in dims)
        arrays, sources = _spread(result, columns | hidden, dims)
        values = {name: _column(array, dims, shape) for name, array in arrays.items()}
        kept = np.arange(math.prod(shape))
        if self.only:
            flag = _column(result[self.only], dims, shape)
            kept = kept[~np.isnan(flag) if flag.dtype.kind == "f" else flag.astype(bool)]
            values = {name: array[kept] for name, array in values.items()}
        for name in {*self.whole.split()} & values.keys():
            values[name] = _whole(values[name])
        first = {} if COLLECTION in values else where(result)
        frame = pd.DataFrame({**first, **values})
        if by:
            outer = kept // math.prod(shape[self.within :])
            frame = _sorted(frame, self.sort.split(), outer).drop(columns=list(hidden))
        return frame, sources


def parsed(columns: str) -> dict[str, tuple[str, bool]]:
    """Return the quantity of each column, and whether a result may lack it.

    Examples
    --------
    >>> parsed("k runs?=top_runs")
    {'k': ('k', False), 'runs': ('top_runs', True)}
    """
    sources: dict[str, tuple[str, bool]] = {}
    for word in columns.split():
        for end in LIMITS if "~" in word else LIMITS[:1]:
            name, _, source = word.replace("~", end).partition("=")
            plain = name.removesuffix("?")
            sources[plain] = source or plain, plain != name
    return sources


def traits_of(
    sources: Mapping[str, str], known: Mapping[str, Variable]
) -> dict[str, dict[str, str]]:
    """Return the `TRAITS` of columns, given the quantities that they show, by trait."""
    variables = {
        name: known[plain]
        for name, source in sources.items()
        if (plain := source.partition("[")[0]) in known
    }
    columns = {source: name for name, source in sources.items()}
    traits = {
        trait: {name: str(getattr(variable, trait)) for name, variable in variables.items()}
        for trait in TRAITS
    }
    for name, estimate in traits["of"].items():  # the estimate at the same label
        _, bracket, label = sources[name].partition("[")
        plain = columns.get(estimate, "")
        traits["of"][name] = columns.get(f"{estimate}{bracket}{label}", plain)
    return {
        trait: {name: text for name, text in texts.items() if text}
        for trait, texts in traits.items()
    }


def trait(frame: pd.DataFrame, name: str) -> Mapping[str, str]:
    """Return one of `TRAITS` of the columns that have it."""
    texts: Mapping[str, str] = frame.attrs.get(name, {})
    return texts


def where(result: xr.Dataset) -> dict[str, str]:
    """Return the first column of every table: what a result is about, of boards several.

    Examples
    --------
    >>> where(xr.Dataset(attrs={"collections": ["fiqa", "nq", "hotpot"]}))
    {'collection': 'fiqa and 2 more'}
    """
    several = result.attrs.get("collections", ())
    if len(several) < 2:
        return {COLLECTION: str(result.attrs.get(COLLECTION, ""))}
    rest = several[1] if len(several) == 2 else f"{len(several) - 1} more"
    return {COLLECTION: f"{several[0]} and {rest}"}


def combine(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of several collections one below the other."""
    if not frames:
        return pd.DataFrame()
    stacked = frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)
    stacked = stacked.reset_index(drop=True)
    stacked.attrs = dict(frames[0].attrs)
    return stacked


def averages(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means over collections, of the rows that all have (Sakai 2004, Tables 7 and 12).

    Rows belong together where their texts and conditions are equal; limits, test statistics and
    p-values have no mean. A number that is missing in one collection is missing in the mean.
    """
    roles = trait(frame, "role")
    lost = [
        name
        for name in frame.columns
        if roles.get(name) in WITHOUT_MEAN or pd.api.types.is_bool_dtype(frame[name])
    ]
    frame = frame.drop(columns=lost)
    keys = [
        name
        for name in frame.columns
        if name != COLLECTION
        and (
            roles.get(name) in ("condition", "label")
            or not pd.api.types.is_numeric_dtype(frame[name])
        )
    ]
    if names.N_TOPICS in frame and frame.duplicated([COLLECTION, *keys]).any():
        keys.append(names.N_TOPICS)
    count = frame[COLLECTION].nunique()
    groups = frame.groupby(keys, sort=False, dropna=False)
    complete = frame[groups[COLLECTION].transform("nunique") == count]
    numbers = [name for name in frame.columns if name not in (COLLECTION, *keys)]
    parts = complete.groupby(keys, sort=False, dropna=False)[numbers]
    means = parts.mean().where(parts.count().eq(parts.size(), axis=0)).reset_index()
    means.insert(0, COLLECTION, f"mean of {count}")
    means.attrs = frame.attrs
    return means[[name for name in frame.columns if name in means.columns]]


def values(result: xr.Dataset) -> pd.DataFrame:
    """Return every value of every variable with its labels: a table of any analysis.

    Examples
    --------
    >>> result = xr.Dataset({"a": ("run", [0.5, 0.25]), "b": 3}, {"run": ["x", "y"]})
    >>> values(result).values.tolist()
    [['', 'x', 'a', 0.5], ['', 'y', 'a', 0.25], ['', nan, 'b', 3.0]]
    """
    frames = [
        array.to_series().rename("value").reset_index().assign(variable=str(name))
        if array.dims
        else pd.DataFrame({"value": [array.item()], "variable": [str(name)]})
        for name, array in result.reset_coords(drop=True).data_vars.items()
    ]
    frame = combine(frames) if frames else pd.DataFrame(columns=["variable", "value"])
    first = [dim for dim in (names.METRIC, names.GAIN) if dim in frame]
    others = [name for name in frame if name not in (*first, "variable", "value")]
    columns = [COLLECTION, *first, *others, "variable", "value"]
    return frame.assign(**where(result))[columns]


def _in_natural_order(result: xr.Dataset, dims: Sequence[str]) -> xr.Dataset:
    """Return a result with topics in natural order, where a table has a row for each."""
    if names.TOPIC not in dims or names.TOPIC not in result.coords:
        return result
    topics = labels_of(result, names.TOPIC)
    return result.isel(topic=sorted(range(len(topics)), key=lambda k: natural_key(topics[k])))


def _declared_variables(result: xr.Dataset) -> dict[str, Variable]:
    """Return the declarations of the variables of a result's analysis, by name."""
    analysis = str(result.attrs.get("analysis", ""))
    return {variable.name: variable for variable in registry.variables(analysis)}


def _with_variables(result: xr.Dataset, wanted: Collection[str]) -> xr.Dataset:
    """Return a result with positions along dims, attributes, and what it lacks, as variables."""
    declared = _declared_variables(result)
    for name in sorted({*wanted} - result.variables.keys()):
        if name in result.dims:
            array = xr.DataArray(np.arange(result.sizes[name]), dims=name)
        elif name in result.attrs:
            array = xr.DataArray(result.attrs[name])
        elif name in declared:
            dims = declared[name].dims
            array = xr.DataArray(np.nan, {dim: result[dim] for dim in dims}, dims)
        else:
            analysis = result.attrs.get("analysis") or "a result"
            raise BadName(f"no quantity {name!r} of {analysis}")
        result = result.assign({name: array})
    return result


def _spread(
    result: xr.Dataset, columns: Mapping[str, str], dims: Sequence[str]
) -> tuple[dict[str, xr.DataArray], dict[str, str]]:
    """Return the array of each column and its quantity; columns along one dim take turns."""
    arrays: dict[str, xr.DataArray] = {}
    sources: dict[str, str] = {}
    for dim, group in groupby(columns, lambda name: name.partition("{")[2].partition("}")[0]):
        for name, label in _turns(result, columns, list(group), dim):
            plain, _, at = columns[name].removesuffix("]").partition("[")
            array = result[plain]
            if not dim and at:
                (along,) = {*map(str, array.dims)} - {*dims}
                dim_of, label = along, at
                if at not in labels_of(result, along):
                    continue
            else:
                dim_of = dim
            column = name.replace(f"{{{dim}}}", str(label)) if dim else name
            arrays[column] = array.sel({dim_of: label}, drop=True) if dim_of else array
            sources[column] = f"{plain}[{label}]" if dim_of else plain
    return arrays, sources


def _turns(
    result: xr.Dataset, columns: Mapping[str, str], group: Sequence[str], dim: str
) -> list[tuple[str, Any]]:
    """Return columns, each with a label along a dim: for each label all columns."""
    if not dim:
        return [(name, "") for name in group]
    array = result[columns[group[0]]]
    return [(name, label) for label in array[dim].values for name in group]


def _column(
    array: xr.DataArray, dims: Sequence[str], shape: tuple[int, ...]
) -> np.ndarray[Any, Any]:
    """Return the values of a quantity at all positions along some dims."""
    along = [dim for dim in dims if dim in array.dims]
    sizes = [array.sizes[dim] if dim in along else 1 for dim in dims]
    return np.broadcast_to(array.transpose(*along).values.reshape(sizes), shape).ravel()


def _whole(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return whole numbers; None where they are missing."""
    whole: np.ndarray[Any, Any] = np.empty(len(numbers), object)
    whole[:] = [None if np.isnan(number) else int(number) for number in numbers]
    return whole


def _sorted(frame: pd.DataFrame, sort: Sequence[str], outer: np.ndarray[Any, Any]) -> pd.DataFrame:
    """Return the rows in an order within those of each position along the outer dims."""
    by = [name.lstrip("-") for name in sort]
    ascending = [not name.startswith("-") for name in sort]
    order = frame[by].sort_values(by, ascending=ascending, kind="stable").index.to_numpy()
    order = order[np.argsort(outer[order], kind="stable")]
    return frame.iloc[order].reset_index(drop=True)
