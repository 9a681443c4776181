"""Cells of tables -> numbers: as people, spreadsheets and tests of programs write them.

Beside numbers: decimal commas, thousands between commas or points, per cent signs, and words of
verdicts such as PASS and FAIL. A column has one way of writing; what may be read in two ways, such
as ``1,100``, is refused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scorecube.collection.schema import LARGEST_SCORE

MISSING = {"", "na", "nan", "-nan", "n/a", "#n/a", "null", "none", "-", "n.a.", "\u2013", "\u2014"}
"""Cells of missing scores, in lower case."""
FLAGS = {"true": 1.0, "false": 0.0}
"""Cells of correct and wrong answers, in lower case."""
VERDICTS = (
    ("true", "false"), ("yes", "no"), ("pass", "fail"), ("passed", "failed"),
    ("correct", "incorrect"), ("correct", "wrong"), ("right", "wrong"),
    ("resolved", "unresolved"), ("success", "failure"), ("win", "loss"),
)  # fmt: skip
"""Words for 1 and for 0, in lower case."""
PERCENT = re.compile(r"(.*\d)\s*%")
GROUPED = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?")
"""Thousands between commas."""
COMMA = re.compile(r"[-+]?(\d*|[1-9]\d{0,2}(\.\d{3})+),\d+([eE][-+]?\d+)?")
"""A decimal comma, perhaps behind thousands between points."""
WITH_DEVIATION = re.compile(
    r"\$?[-+]?[\d.,]+\s*%?\s*(±|\+/-|\+-|\\pm|_?\{?\(?\\pm|\()\s*[\d.,]+\s*%?\)?\}?\$?"
)
"""A mean with its deviation."""
COMMAS, THOUSANDS, PERCENTS = "decimal commas", "thousands between commas", "per cent signs"
MEANS = "means with deviations, which have no topics"
UNSURE = "commas before decimals, or between thousands"


class Numbers(NamedTuple):
    """Numbers of a column, NaN for missing ones and infinity for cells that are none.

    wrong: Rows of cells that are no numbers.
    how: How they are written, where that is not plain: `COMMAS`, `MEANS`, a pair of words, ...
    """

    values: NDArray[np.float64]
    wrong: NDArray[np.intp]
    how: str = ""


class Way(NamedTuple):
    """A way of writing numbers: its name, and the number of a cell."""

    name: str
    read: Callable[[str], float]


def number_of(cell: object) -> float:
    """Return the number in a cell, NaN if it is missing; infinity for other content."""
    text = "" if cell is None else str(cell).strip().lower()
    if text in FLAGS:
        return FLAGS[text]
    if text in MISSING:
        return math.nan
    try:
        return float(text.replace("_", "x").replace("\u2212", "-"))
    except ValueError:
        return math.inf


def is_score(text: str) -> bool:
    """Return whether a cell is a number, empty, or a word such as NA."""
    return text.lower() not in FLAGS and not abs(number_of(text)) > LARGEST_SCORE


def numbers_of(cells: pd.Series[Any], *, has_commas: bool = False) -> Numbers:
    """Return the numbers in a column.

    has_commas: Whether other columns of the table have decimal commas, so that ``1,100`` is 1.1.
    """
    if pd.api.types.is_numeric_dtype(cells):
        numbers = cells.to_numpy(np.float64, na_value=np.nan)
        return Numbers(numbers, np.flatnonzero(np.abs(numbers) > LARGEST_SCORE))
    codes, different = pd.factorize(cells)
    values = [number_of(cell) for cell in different]
    how = ""
    if any(math.isinf(value) for value in values):
        texts = [str(cell).strip().lower() for cell in different]
        way = way_of([text for text in texts if text not in MISSING], has_commas=has_commas)
        if way is not None:
            how = way.name
            values = [math.nan if text in MISSING else way.read(text) for text in texts]
    numbers = np.array([*values, math.nan])[codes]
    return Numbers(numbers, np.flatnonzero(np.abs(numbers) > LARGEST_SCORE), how)


def way_of(texts: Sequence[str], *, has_commas: bool = False) -> Way | None:
    """Return how all numbers of a column are written, which are not all plain; None if in no way.

    texts: Different cells that are not missing, in lower case.
    """
    different = {*texts}
    for yes, no in VERDICTS:
        if different <= {yes, no}:
            return Way(f"{yes}/{no}", {yes: 1.0, no: 0.0}.__getitem__)
    if all(map(PERCENT.fullmatch, texts)):
        shares = [PERCENT.sub(r"\1", text) for text in texts]
        inner = None if all(map(is_score, shares)) else way_of(shares, has_commas=has_commas)
        read = number_of if inner is None else inner.read
        name = PERCENTS if inner is None else f"{inner.name}, {PERCENTS}"
        return Way(name, lambda text: read(PERCENT.sub(r"\1", text)))
    strange = [text for text in texts if not is_score(text)]
    if all(map(WITH_DEVIATION.fullmatch, strange)):
        return Way(MEANS, number_of)
    is_comma, is_grouped = (all(map(shape.fullmatch, strange)) for shape in (COMMA, GROUPED))
    if is_comma and is_grouped and not has_commas:
        return Way(f"{UNSURE}, such as {strange[0]}; write decimal points", number_of)
    if is_comma:
        return Way(COMMAS, _with_decimal_comma)
    return Way(THOUSANDS, lambda text: number_of(text.replace(",", ""))) if is_grouped else None


def _with_decimal_comma(text: str) -> float:
    """Return the number of a cell of a column with decimal commas; of a point, of thousands."""
    is_grouped = re.fullmatch(r"[-+]?[1-9]\d{0,2}(\.\d{3})+", text)
    shown = text.replace(".", "") if "," in text or is_grouped else text
    return number_of(shown.replace(",", "."))
