"""Tables: declarations of the rows and columns of data frames that are made from results."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
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
ONE_TRIAL = "one_trial"
"""Attribute of a table with p-values that are shares of trials, perhaps 0: one trial's share."""
LIMITS_AT = "limits_at"
"""Attribute of a table: see `Table.limits_at`."""
MARKS = "marks"
"""Attribute of the table of a paper with boldface: numbers above it are marked on request.

Texts that end in a star are marked, too.
"""
TRAITS = ("role", "of", "form", "heading", "long_name")
"""Attributes of a quantity that its column keeps, in ``frame.attrs[trait][column]``."""
WITHOUT_MEAN = ("low", "high", "p_value", "standard_error", "statistic", "flag")
"""Roles of columns that have no mean over collections."""


@dataclass(frozen=True)
class Table:
    """A table with one row for each position along some dims of a result.

    dims: In the order of the rows, the last fastest, separated by spaces.
    columns: Names separated by spaces, behind the collection unless it is named among them: of a
        dim, a variable or an attribute; or a name of its own and that of the quantity, as in
        ``runs=top_runs``, perhaps at a label of a dim that the table does not have, as in
        ``phi=value[phi]``. ``~`` stands for an estimate and its limits, ``?`` behind a name for a
        column that a result may lack; ``top_{k}`` is a column for each label along k.
    sort: Columns by which rows are sorted, missing values last; a minus for the largest first.
    within: Number of the first dims whose order stays.
    only: Quantity of the rows that are shown: a flag, or a number that is known; none are shown of
        a result without it.
    whole: Columns of whole numbers some of which may be missing.
    source: ``result``, ``cube`` or ``rankings``: what it is made from.
    part: Makes of the source the dataset that the table is about.
    variables: Quantities beside those that the analysis declares.
    make: Makes the table instead, where rows are not positions along dims.
    brief: Columns that a terminal shows, as a name, a heading with ``_`` for spaces and a name,
        ``~`` for limits, or two names for a range, as in ``rank=rank_low,rank_high``.
    limits_at: By lower limits, a column and the value of it in rows whose limits are printed beside
        the estimate; csv and json have them in all rows.
    at: Rows that a terminal shows: largest value of a column if infinite, else this value.
    legend: Says in captions what the table means, given the attributes of a result.

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
    whole: str = ""
    source: str = "result"
    part: Callable[[xr.Dataset], xr.Dataset] = lambda result: result
    variables: Sequence[Variable] = ()
    make: Callable[[xr.Dataset], pd.DataFrame] | None = None
    brief: str = ""
    limits_at: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    at: Mapping[str, Any] | None = None
    legend: Callable[[Mapping[str, Any]], str] | None = None

    def rows(self, result: xr.Dataset) -> int:
        """Return the number of rows, or a little more, without making them."""
        return math.prod(result.sizes.get(dim, 1) for dim in self.dims.split())

    def frame(self, source: xr.Dataset) -> pd.DataFrame:
        """Return the table of a result, a cube or rankings; its columns keep their `TRAITS`."""
        if self.make is not None:
            frame = self.make(source)
            sources = {name: name for name in map(str, frame.columns)}
        else:
            frame, sources = self._declared(self.part(source))
        declared = registry.variables(str(source.attrs.get("analysis", "")))
        known = {each.name: each for each in (*COORDINATES, *self.variables, *declared)}
        frame.attrs.update(traits_of(sources, known))
        frame.attrs[LIMITS_AT] = self.limits_at
        words = {name: names.word(source.attrs, name) for name in names.USUAL_WORDS}
        if not source.attrs.get("plus_one", 1):
            frame.attrs[ONE_TRIAL] = 1 / int(source.attrs["trials"])
        frame.attrs["heading"] |= {name: word for name, word in words.items() if name != word}
        return frame

    def _declared(self, result: xr.Dataset) -> tuple[pd.DataFrame, dict[str, str]]:
        """Return the rows, and the quantity of each column."""
        dims = self.dims.split()
        if names.TOPIC in dims and names.TOPIC in result.coords:
            topics = labels_of(result, names.TOPIC)
            places = sorted(range(len(topics)), key=lambda k: natural_key(topics[k]))
            result = result.isel(topic=places)
        sizes = {dim: result.sizes[dim] for dim in dims}
        sources = dict(_expanded(self.columns, result))
        largest_first = {name.lstrip("-"): name[0] == "-" for name in self.sort.split()}
        by = [name for name in largest_first if name in sources or _has(result, name)]
        wanted = dict.fromkeys([*by, *self.only.split()])
        hidden = [name for name in wanted if name not in sources and _has(result, name)]
        columns = {}
        for name, source in {**{name: name for name in hidden}, **sources}.items():
            quantity: Any = _quantity(result, source, dims)
            columns[name] = quantity.set_dims(sizes).transpose(*dims).values.ravel()
        frame = pd.DataFrame(columns)
        outer = pd.Series(np.arange(len(frame)) // math.prod([*sizes.values()][self.within :]))
        if self.only:
            flag = frame[self.only] if self.only in frame else pd.Series(False, frame.index)
            frame = frame[flag if flag.dtype == bool else flag.notna()]
        if by:
            ascending = [True, *(not largest_first[name] for name in by)]
            ordered = frame.assign(_outer=outer).sort_values(
                ["_outer", *by], ascending=ascending, kind="stable"
            )
            frame = ordered.drop(columns="_outer")
        frame = frame.drop(columns=hidden).reset_index(drop=True)
        for name in {*self.whole.split()} & {*frame.columns}:
            numbers = [None if np.isnan(number) else int(number) for number in frame[name]]
            frame[name] = pd.Series(numbers, dtype=object)
        if COLLECTION not in frame:
            frame.insert(0, COLLECTION, where(result)[COLLECTION])
        return frame, {name: sources[name] for name in frame.columns if name in sources}


def _expanded(columns: str, result: xr.Dataset) -> Iterator[tuple[str, str]]:
    """Yield the columns of a table of a result with their quantities, perhaps at a label."""
    for word in columns.split():
        for end in LIMITS if "~" in word else LIMITS[:1]:
            name, _, source = word.replace("~", end).partition("=")
            plain = name.removesuffix("?")
            source = source or plain
            dim = plain.partition("{")[2].partition("}")[0]
            for label in labels_of(result, dim) if dim else [""]:
                at = f"{source}[{label}]" if dim else source
                if plain == name or _has(result, at):
                    yield plain.replace(f"{{{dim}}}", label), at


def _has(result: xr.Dataset, source: str) -> bool:
    """Return whether a result has a quantity, and its label."""
    plain, _, label = source.removesuffix("]").partition("[")
    if label and plain in result.variables:
        return any(label in labels_of(result, str(dim)) for dim in result[plain].dims)
    return any(plain in names_of for names_of in (result.dims, result.variables, result.attrs))


def _quantity(result: xr.Dataset, source: str, dims: Sequence[str]) -> xr.Variable:
    """Return a quantity, at a label of the dim that a table does not have, if there is one."""
    plain, _, label = source.removesuffix("]").partition("[")
    if plain in result.variables:
        variable: xr.Variable = result[plain].variable
    elif plain in result.dims:
        variable = xr.Variable(plain, np.arange(result.sizes[plain]))
    elif plain in result.attrs:
        variable = xr.Variable((), result.attrs[plain])
    else:
        raise BadName(f"no quantity {plain!r} of {result.attrs.get('analysis') or 'a result'}")
    if label:
        (along,) = {*variable.dims} - {*dims}
        variable = variable.isel({along: labels_of(result, str(along)).index(label)})
    return variable


def traits_of(
    sources: Mapping[str, str], known: Mapping[str, Variable]
) -> dict[str, dict[str, str]]:
    """Return the `TRAITS` of columns, given the quantities that they show, by trait."""
    variables = {
        name: known[plain]
        for name, source in sources.items()
        if (plain := source.partition("[")[0]) in known
    }
    traits = {
        trait: {name: text for name, of in variables.items() if (text := getattr(of, trait))}
        for trait in TRAITS
    }
    columns = {source: name for name, source in sources.items()}
    for name, estimate in traits["of"].items():  # the estimate at the same label
        _, bracket, label = sources[name].partition("[")
        plain = columns.get(estimate, "")
        traits["of"][name] = columns.get(f"{estimate}{bracket}{label}", plain)
    return traits


def trait(frame: pd.DataFrame, name: str) -> Mapping[str, str]:
    """Return one of `TRAITS` of the columns that have it."""
    texts: Mapping[str, str] = frame.attrs.get(name, {})
    return texts


def where(result: xr.Dataset) -> dict[str, str]:
    """Return the first column of every table: what a result is about, of boards several."""
    several = result.attrs.get("collections", ())
    if len(several) < 2:
        return {COLLECTION: str(result.attrs.get(COLLECTION, ""))}
    rest = several[1] if len(several) == 2 else f"{len(several) - 1} more"
    return {COLLECTION: f"{several[0]} and {rest}"}


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


def averages(frame: pd.DataFrame) -> pd.DataFrame:
    """Return means over collections, of the rows that all have (Sakai 2004, Tables 7 and 12).

    Rows belong together where their texts and conditions are equal; limits, test statistics and
    p-values have no mean. A number that is missing in one collection is missing in the mean.
    """
    roles, count = trait(frame, "role"), frame[COLLECTION].nunique()
    numbers = {*frame.select_dtypes("number").columns}
    frame = frame[[name for name in frame if roles.get(str(name)) not in WITHOUT_MEAN]]
    keys = [
        name
        for name in frame.columns.drop(COLLECTION)
        if roles.get(name) in ("condition", "label") or name not in numbers
    ]
    if names.N_TOPICS in frame and frame.duplicated([COLLECTION, *keys]).any():
        keys.append(names.N_TOPICS)
    means = []
    for _, rows in frame.groupby(keys or names.COLLECTION, sort=False, dropna=False):
        if rows[COLLECTION].nunique() == count:
            of_numbers = rows.drop(columns=[COLLECTION, *keys]).mean(skipna=False)
            means.append(rows.iloc[[0]].assign(**{COLLECTION: f"mean of {count}"}, **of_numbers))
    table = pd.concat(means, ignore_index=True) if means else frame.head(0)
    table.attrs = frame.attrs
    return table


def values(result: xr.Dataset) -> pd.DataFrame:
    """Return every value of every variable with its labels: a table of any analysis."""
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
