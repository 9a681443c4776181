"""Data frames of results, as tables declare them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import COORDINATES, labels_of, variable_of
from scorecube.declare import Column, Down, Table, Variable
from scorecube.errors import UnknownName, natural_key

COLLECTION = names.COLLECTION
KEYS = (COLLECTION, names.METRIC, names.GAIN)
ANY_GAIN = "any"
ONE_TRIAL = "one_trial"
"""Attribute of a frame with p-values that are shares of trials, perhaps 0: one trial's share."""
LIMITS_AT = "limits_at"
"""Attribute of a frame: see `Table.limits_at`."""
IN_BRIEF = "in_brief"
"""Attribute of a frame: the first columns of what terminals show, see `Table.brief`."""
TRAITS = ("role", "of", "form", "heading", "long_name")
"""Attributes of a quantity that its column keeps, in ``frame.attrs[trait][column]``."""


class Traits(dict[str, Any]):
    """Texts of columns. Pandas makes a deep copy of attributes at each use of a column."""

    def __deepcopy__(self, memo: object) -> Traits:
        return Traits(self)


class _Order(NamedTuple):
    """A column by which rows are sorted."""

    name: str
    ascending: bool


def frame_of(table: Table, source: xr.Dataset) -> pd.DataFrame:
    """Return the frame of a table of a result, a cube or rankings; its columns keep their `TRAITS`.

    Examples
    --------
    >>> result = xr.Dataset({"tau": ("run", [0.5, 0.75])}, {"run": ["x", "y"]})
    >>> table = Table(["run"], ["run", Column("kendall", of="tau")], sort=[Down("kendall")])
    >>> frame_of(table, result).values.tolist()
    [['', 'y', 0.75], ['', 'x', 0.5]]
    """
    if table.make is not None:
        frame = table.make(source)
        sources = {name: Column(name) for name in map(str, frame.columns)}
    else:
        frame, sources = _declared(table, table.part(source))
    known = {each.name: each for each in (*COORDINATES, *table.variables)}
    frame.attrs.update(traits_of(sources, known))
    frame.attrs[LIMITS_AT] = Traits(table.limits_at)
    frame.attrs[IN_BRIEF] = [column.columns[0] for column in table.in_brief]
    words = {name: names.word(source.attrs, name) for name in names.USUAL_WORDS}
    if not source.attrs.get("plus_one", 1):
        frame.attrs[ONE_TRIAL] = 1 / int(source.attrs["trials"])
    frame.attrs["heading"] |= {name: word for name, word in words.items() if name != word}
    nouns = names.nouns(source.attrs)
    declared = {name for name in sources if table.make is None or name.startswith("n_")}
    ours = known.keys() | declared
    for name in (ours & set(frame.columns)) - words.keys():
        heading = frame.attrs["heading"].get(name, names.heading(name))
        frame.attrs["heading"][name] = nouns.write(heading)
    return frame


def _declared(table: Table, result: xr.Dataset) -> tuple[pd.DataFrame, dict[str, Column]]:
    """Return the rows, and what each column shows."""
    dims = list(table.dims)
    if names.TOPIC in dims and names.TOPIC in result.coords:
        topics = labels_of(result, names.TOPIC)
        places = sorted(range(len(topics)), key=lambda k: natural_key(topics[k]))
        result = result.isel(topic=places)
    sizes = {dim: result.sizes[dim] for dim in dims}
    columns = {column.name: column for column in _present(table.columns, result)}
    asked = [_ordering(each) for each in table.sort]
    by = [each for each in asked if each.name in columns or _has(result, Column(each.name))]
    needed = dict.fromkeys(each.name for each in by)
    if table.only:
        needed[table.only] = None
    # Rows are sorted or left out by columns that the table does not show, too.
    hidden = [name for name in needed if name not in columns and _has(result, Column(name))]
    values = {}
    for column in (*map(Column, hidden), *columns.values()):
        quantity: Any = _quantity(result, column, dims)
        values[column.name] = quantity.set_dims(sizes).transpose(*dims).values.ravel()
    frame = pd.DataFrame(values)
    n_sorted_together = math.prod([*sizes.values()][table.within :])
    outer = pd.Series(np.arange(len(frame)) // n_sorted_together)
    if table.only:
        flag = frame[table.only] if table.only in frame else pd.Series(False, frame.index)
        frame = frame[flag if flag.dtype == bool else flag.notna()]
    if by:
        ordered = frame.assign(_outer=outer).sort_values(
            ["_outer", *(each.name for each in by)],
            ascending=[True, *(each.ascending for each in by)],
            kind="stable",
        )
        frame = ordered.drop(columns="_outer")
    frame = frame.drop(columns=hidden).reset_index(drop=True)
    for name in {*table.whole} & {*frame.columns}:
        numbers = [None if np.isnan(number) else int(number) for number in frame[name]]
        frame[name] = pd.Series(numbers, dtype=object)
    if COLLECTION not in frame:
        frame.insert(0, COLLECTION, where(result)[COLLECTION])
    return frame, {name: columns[name] for name in frame.columns if name in columns}


def _ordering(given: str | Down) -> _Order:
    """Return by which column rows are sorted, and whether the smallest comes first."""
    return _Order(given.name, False) if isinstance(given, Down) else _Order(given, True)


def _present(columns: Sequence[str | Column], result: xr.Dataset) -> Iterator[Column]:
    """Yield the columns of the table of a result, one for each label where there are such."""
    for given in columns:
        column = Column(given) if isinstance(given, str) else given
        parts = [column]
        if column.each:
            parts = [_at_label(column, label) for label in labels_of(result, column.each)]
        yield from (part for part in parts if not part.optional or _has(result, part))


def _at_label(column: Column, label: str) -> Column:
    """Return the column of a quantity at one label."""
    return replace(column, name=f"{column.name}_{label}", of=column.source, at=label, each="")


def _has(result: xr.Dataset, column: Column) -> bool:
    """Return whether a result has what a column shows, and its label."""
    name = column.source
    if column.at and name in result.variables:
        return any(column.at in labels_of(result, str(dim)) for dim in result[name].dims)
    return any(name in names_of for names_of in (result.dims, result.variables, result.attrs))


def _quantity(result: xr.Dataset, column: Column, dims: Sequence[str]) -> xr.Variable:
    """Return what a column shows, at a label of the dim that a table does not have, if any."""
    name = column.source
    if name in result.variables:
        variable: xr.Variable = result[name].variable
    elif name in result.dims:
        variable = variable_of(name, np.arange(result.sizes[name]))
    elif name in result.attrs:
        variable = variable_of((), result.attrs[name])
    else:
        kind = result.attrs.get("analysis", "")
        again = f"scorecube forget STUDY {kind}, then compute it again" if kind else ""
        raise UnknownName(
            f"no quantity {name!r} of {kind or 'a result'}; a result that another version of "
            f"scorecube stored may lack it: {again or 'compute it again'}"
        )
    if column.at:
        (along,) = {*variable.dims} - {*dims}
        variable = variable.isel({along: labels_of(result, str(along)).index(column.at)})
    return variable


def traits_of(columns: Mapping[str, Column], known: Mapping[str, Variable]) -> dict[str, Traits]:
    """Return the `TRAITS` of columns by trait, given the quantities that they show."""
    traits = {trait: Traits() for trait in TRAITS}
    names_of = {(column.source, column.at): name for name, column in columns.items()}
    for name, column in columns.items():
        variable = known.get(column.source)
        for trait in TRAITS if variable is not None else ():
            if text := getattr(variable, trait):
                traits[trait][name] = text
        if column.heading:
            traits["heading"][name] = column.heading
    for name, estimate in traits["of"].items():  # the estimate at the same label
        plain = names_of.get((estimate, ""), "")
        traits["of"][name] = names_of.get((estimate, columns[name].at), plain)
    return traits


def trait(frame: pd.DataFrame, name: str) -> Mapping[str, str]:
    """Return one of `TRAITS` of the columns that have it."""
    texts: Mapping[str, str] = frame.attrs.get(name, {})
    return texts


def place_of(attrs: Mapping[Any, Any]) -> str:
    """Return what a result is about, given its attributes: a collection, or of boards several."""
    several = attrs.get("collections", ())
    if len(several) < 2:
        return str(attrs.get(COLLECTION, ""))
    rest = several[1] if len(several) == 2 else f"{len(several) - 1} more"
    return f"{several[0]} and {rest}"


def where(result: xr.Dataset) -> dict[str, str]:
    """Return the first column of every table: what a result is about."""
    return {COLLECTION: place_of(result.attrs)}


def combine(frames: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """Return the tables of several collections one below the other."""
    frames = [frame for frame in frames if len(frame)] or frames[:1] or [pd.DataFrame()]
    stacked = pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]
    stacked = stacked.reset_index(drop=True)
    stacked.attrs = dict(frames[0].attrs)
    return stacked


def crossed(
    frame: pd.DataFrame, keys: list[str], across: str, cells: Sequence[str], blank: str = "-"
) -> pd.DataFrame:
    """Return cells by keys and, in columns, the labels of another, in the order of the rows.

    frame, cells: Rows, and the text of each.
    blank: Stands where no row is.
    """
    rows = pd.MultiIndex.from_frame(frame[keys].drop_duplicates())
    wide = frame.assign(cell=list(cells)).pivot(index=keys, columns=across, values="cell")
    wide = wide.reindex(index=rows, columns=frame[across].unique()).fillna(blank)
    return wide.rename_axis(columns=None).reset_index()


def labelled(frame: pd.DataFrame, at: Mapping[str, Any] | None = None) -> list[dict[Any, Any]]:
    """Return rows with labels of their metrics, at the largest or at one value of columns."""
    return rows_at(with_labels(frame), at).to_dict("records")


def rows_at(frame: pd.DataFrame, at: Mapping[str, Any] | None) -> pd.DataFrame:
    """Return the rows with the largest value of columns, or with values that some row has."""
    for name, value in (at or {}).items():
        if name in frame and len(frame):
            wanted = frame[name].max() if value == np.inf else value
            inside = frame[name].isin(wanted if isinstance(wanted, tuple) else [wanted])
            frame = frame[inside] if inside.any() else frame
    return frame


def merge_gains(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the table with one row where all gain settings give the same numbers."""
    if not {names.GAIN, COLLECTION} <= {*frame.columns} or frame[names.GAIN].nunique() < 2:
        return frame
    number = frame.groupby(COLLECTION)[names.GAIN].transform("nunique")
    others = [name for name in frame.columns if name != names.GAIN]
    equal = frame.groupby(others, dropna=False)[names.GAIN].transform("nunique")
    merged = frame[names.GAIN].where((equal < number) | (number < 2), ANY_GAIN)
    return frame.assign(**{names.GAIN: merged}).drop_duplicates(ignore_index=True)


def with_labels(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the merged table with a column ``label``: the metric, with its gain where needed."""
    merged = merge_gains(frame)
    label = merged[names.METRIC]
    if {names.GAIN, COLLECTION} <= {*merged}:
        several = merged.groupby(COLLECTION)[names.GAIN].transform("nunique") > 1
        named = several & (merged[names.GAIN] != ANY_GAIN)
        label = label.where(~named, label + " (" + merged[names.GAIN] + ")")
    return merged.assign(label=label)


def as_records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as plain values; None for numbers that are missing or infinite."""
    return [
        {str(name): _finite(value) for name, value in row.items()}
        for row in frame.to_dict("records")
    ]


def _finite(value: object) -> object:
    """Return a value; None for a number that is missing or infinite."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _long(array: xr.DataArray) -> pd.DataFrame:
    """Return a row for each value, with its labels."""
    return array.to_series().rename("value").reset_index()


def values(result: xr.Dataset) -> pd.DataFrame:
    """Return every value of every variable with its labels: a table of any analysis."""
    frames = []
    for name, array in result.reset_coords(drop=True).data_vars.items():
        rows = _long(array) if array.dims else pd.DataFrame({"value": [array.item()]})
        frames.append(rows.assign(variable=str(name)))
    frame = combine(frames) if frames else pd.DataFrame(columns=["variable", "value"])
    first = [dim for dim in (names.METRIC, names.GAIN) if dim in frame]
    others = [name for name in frame if name not in (*first, "variable", "value")]
    columns = [COLLECTION, *first, *others, "variable", "value"]
    return frame.assign(**where(result))[columns]
