"""What the index says of results beside their attributes, as JSON facts: default tables, shown without reading arrays."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube.errors import CorruptStudy
from scorecube.report.results import Tables, view_of_result
from scorecube.report.tables import COLLECTION, Source
from scorecube.storage import unreadable

TABLE = "table"
"""Fact of a result: its default table; None for one that is made when it is shown."""
GAP = "undescribed"
"""Fact of a result: the error that kept its view from making its table."""
MOST_BYTES, MOST_INDEXED = 2**14, 200
"""Bytes and rows of a table in the index."""
TYPES = re.compile(r"u?int\d+|float\d+|bool|object|str")
"""Types of its columns."""


def result_facts(result: xr.Dataset) -> dict[str, Any]:
    """Return the facts of a result that the index holds beside its attributes; `GAP` where they cannot be made."""
    facts: dict[str, Any] = {TABLE: None}
    try:
        tables, view = Tables(result), view_of_result(result)
        name, table = view.find_table(None)
        if table.source is Source.RESULT and table.rows(result) <= MOST_INDEXED:
            encoded = encode(tables[name]) if len(tables[name]) <= MOST_INDEXED else None
            facts[TABLE] = None if len(json.dumps(encoded)) > MOST_BYTES else encoded
    except Exception as error:  # of a plugin's view; raised again where the result is shown
        facts[GAP] = f"{type(error).__name__}: {error}"
    return facts


def encode(frame: pd.DataFrame) -> dict[str, Any] | None:
    """Return a table as JSON values; None if it has other values than numbers, truth values and texts.

    Examples
    --------
    >>> encode(pd.DataFrame({"n": [1, 2], "share": [0.5, float("nan")]}))
    {'columns': ['n', 'share'], 'types': ['int64', 'float64'], 'values': [[1, 2], [0.5, None]]}
    """
    encoded = {
        "columns": list(frame.columns),
        "types": [str(dtype) for dtype in frame.dtypes],
        "values": [_plain(frame[name]) for name in frame.columns],
    }
    exact = all(
        frame[name].dtype.kind in "iufb" or all(isinstance(value, str) for value in frame[name])
        for name in frame
    )
    return encoded if exact else None


def _plain(column: pd.Series) -> list[Any]:
    if column.dtype.kind != "f":
        return list(column.tolist())
    return [
        None if np.isnan(value) else value if np.isfinite(value) else str(value)
        for value in column.tolist()
    ]


def decode(tables: Sequence[tuple[str, Mapping[str, Any]]]) -> pd.DataFrame:
    """Return the tables of several collections as one.

    tables: Names of collections and their encoded tables, all with the same columns and types.
    """
    try:
        columns, types = tables[0][1]["columns"], tables[0][1]["types"]
        if unknown := [dtype for dtype in types if not TYPES.fullmatch(dtype)]:
            raise ValueError(f"no type of a column: {unknown[0]!r}")
        joined: dict[str, list[Any]] = {name: [] for name in columns}
        for collection, table in tables:
            for name, values in zip(columns, table["values"], strict=True):
                joined[name] += [collection] * len(values) if name == COLLECTION else values
        return pd.DataFrame(
            {
                name: pd.Series(joined[name], dtype=dtype)
                for name, dtype in zip(columns, types, strict=True)
            }
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CorruptStudy(unreadable("a table in the facts of a result", error)) from None


def shape_of(table: Mapping[str, Any] | None) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the columns and types of an encoded table; None for none."""
    return None if table is None else (tuple(table["columns"]), tuple(table["types"]))
