"""Tables: declarations of the rows and columns of data frames that are made from results."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from scorecube.declare.variables import Variable

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

LIMITS = ("", "_low", "_high")
"""Ends of the names of an estimate and its limits."""


def interval(name: str) -> tuple[str, str, str]:
    """Return the names of an estimate and its limits."""
    return name, f"{name}_low", f"{name}_high"


@dataclass(frozen=True)
class Column:
    """A column of a table that is not simply a dim, a variable or an attribute of its name.

    Parameters
    ----------
    name
        Of the column.
    of
        The dim, variable or attribute that it shows; that of its name by default.
    at
        Label of the dim that the quantity has and the table has not.
    each
        Such a dim, for a column at each of its labels, called ``name_label``.
    optional
        Whether a result may lack it; the table then has no such column.
    heading
        Words above it; by default those of the quantity.
    """

    name: str
    of: str = ""
    at: str = ""
    each: str = ""
    optional: bool = False
    heading: str = ""

    @property
    def source(self) -> str:
        """Name of the quantity."""
        return self.of or self.name


def estimate(
    name: str, of: str = "", at: str = "", *, optional: bool = False, heading: str = ""
) -> list[Column]:
    """Return the columns of an estimate and its limits."""
    pairs = zip(interval(name), interval(of or name), strict=True)
    columns = [Column(column, source, at, optional=optional) for column, source in pairs]
    columns[0] = replace(columns[0], heading=heading)
    return columns


def maybe(*columns: str) -> list[Column]:
    """Return columns that a result may lack."""
    return [Column(name, optional=True) for name in columns]


@dataclass(frozen=True)
class Down:
    """A column by which rows are sorted, the largest value first."""

    name: str


@dataclass(frozen=True)
class Shown:
    """A column of a terminal: a number, one with its two limits, or a range of two.

    heading: Words above it.
    columns: Names of one, two or three columns of the table.
    """

    heading: str
    columns: tuple[str, ...]


def shown(heading: str, *columns: str) -> Shown:
    """Return a column of a terminal under other words than its name."""
    return Shown(heading, columns)


@dataclass(frozen=True)
class Table:
    """A table with one row for each position along some dims of a result.

    Parameters
    ----------
    dims
        In the order of the rows, the last fastest.
    columns
        Behind the collection, unless it is named among them: names of dims, variables and
        attributes, or a `Column`.
    sort
        Columns by which rows are sorted, missing values last; `Down` for the largest first.
    within
        Number of the first dims whose order stays.
    only
        Quantity of the rows that are shown: a flag, or a number that is known; none are shown of a
        result without it.
    whole
        Columns of whole numbers some of which may be missing.
    source
        What it is made from.
    part
        Makes of the source the dataset that the table is about.
    variables
        Quantities beside those that the method declares.
    make
        Makes the frame instead, where rows are not positions along dims.
    brief
        Columns that a terminal shows; a name stands for itself.
    limits_at
        By lower limits, a column and the value of it in rows whose limits are printed beside the
        estimate; csv and json have them in all rows.
    at
        Rows that a terminal shows: largest value of a column if infinite, else this value, or a
        tuple of some.
    legend
        Says in captions what the table means, given the attributes of a result.
    """

    dims: Sequence[str]
    columns: Sequence[str | Column] = ()
    sort: Sequence[str | Down] = ()
    within: int = 0
    only: str = ""
    whole: Sequence[str] = ()
    source: Literal["result", "cube", "rankings"] = "result"
    part: Callable[[xr.Dataset], xr.Dataset] = lambda result: result
    variables: Sequence[Variable] = ()
    make: Callable[[xr.Dataset], pd.DataFrame] | None = None
    brief: Sequence[str | Shown] = ()
    limits_at: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    at: Mapping[str, Any] | None = None
    legend: Callable[[Mapping[str, Any]], str] | None = None

    @property
    def in_brief(self) -> list[Shown]:
        """What a terminal shows, as records."""
        return [Shown(each, (each,)) if isinstance(each, str) else each for each in self.brief]

    def n_rows(self, result: xr.Dataset) -> int:
        """Return the number of rows, or a little more, without making them."""
        return math.prod(result.sizes.get(dim, 1) for dim in self.dims)

    def with_columns(self, *columns: str | Column) -> Table:
        """Return the table with further columns."""
        return replace(self, columns=(*self.columns, *columns))
