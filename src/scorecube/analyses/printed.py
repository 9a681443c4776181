"""Tables as papers print them: their cells are texts."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pandas as pd
import xarray as xr

from scorecube.analyses.frames import COLLECTION, where
from scorecube.collection.schema import CELL
from scorecube.declare import Marked, Table
from scorecube.declare.numbers import NONE

AS_PRINTED = "as_printed"
"""Attribute of the frame of a paper's table, all of which is shown: columns captions may say."""
MARKS = "marks"
"""Attribute of the frame of a paper's table with boldface: numbers above it are marked on request.

Texts that end in a star are marked, too.
"""
MISSING = Marked(NONE)
CONDITIONS = ("sampling", "confidence", "gain", "default", "alpha")
"""Columns that LaTeX and Markdown have where they differ; captions say them."""


def printed(rows: Callable[[xr.Dataset], Any], bold_above: float | None = None) -> Table:
    """Return the declaration of a table whose cells are texts, given a function of its rows.

    bold_above: Numbers above it are in boldface in the paper.
    """

    def make(result: xr.Dataset) -> pd.DataFrame:
        frame = pd.DataFrame(rows(result))
        frame.insert(0, COLLECTION, where(result)[COLLECTION])
        frame.attrs[AS_PRINTED] = CONDITIONS
        if bold_above is not None:
            frame.attrs[MARKS] = bold_above
        return frame

    return Table(CELL, make=make)


def number(value: float, decimals: int, whole: bool = True) -> Marked:
    """Return a number with some decimals, without the 0 of a fraction where papers print none."""
    text = format(value, f".{decimals}f")
    if not whole and text.lstrip("-").startswith("0."):
        text = text.replace("0.", ".", 1)
    return Marked(text) if math.isfinite(value) else MISSING


def percent(share: float, decimals: int = 0) -> Marked:
    """Return a share as per cent."""
    return Marked(format(share, f".{decimals}%")) if math.isfinite(share) else MISSING
