"""A table of all values of a result, for analyses that have no tables of their own."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables.rows import where


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
