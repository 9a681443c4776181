"""Codes for no score, such as -1 or 999: left out where an option names them, else refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from scorecube.errors import BadInput, counted, option

CODES = np.array([-1, -8, -9, -99, -999, -9999, -32768, 99, 999, 9999, 99999], float)
FAR = 2.0
"""How many times the largest other score a positive code is, at least."""


def without_codes(cells: pd.Series[Any], no_score: Sequence[str]) -> pd.Series[Any]:
    """Return cells of scores, missing where they are a code, as a number or as text."""
    if not no_score:
        return cells
    numbers = pd.to_numeric(cells, errors="coerce")
    wanted = pd.to_numeric(pd.Series(no_score, dtype=object), errors="coerce").dropna()
    texts = cells.astype(str).str.strip()
    return cells.mask(numbers.isin(wanted) | texts.isin([*no_score]))


def refuse_codes(
    metrics: pd.Series[Any], scores: NDArray[np.float64], known: Collection[str]
) -> None:
    """Refuse a usual code outside of all other scores of a metric (BadInput).

    known: Metrics whose range is declared.
    """
    if not np.isin(scores, CODES).any():
        return
    codes, labels = pd.factorize(metrics)
    for code, metric in enumerate(labels):
        values = scores[(codes == code) & np.isfinite(scores)]
        found = codes_in(values)
        if metric in known or not len(found):
            continue
        others = values[~np.isin(values, found)]
        low = float(others.min())
        high = float(others.max())
        shown = ",".join(f"{value:g}" for value in found)
        ends = f"{metric}={min(low, *found):g},{max(high, *found):g}"
        raise BadInput(
            f"{metric} has {counted(len(values) - len(others), 'score')} of {shown}, outside of all"
            f" others ({low:g} to {high:g}): if this is a code for no score, "
            f"{option('no_score', shown)}; if it is a score, {option('ranges', ends)}"
        )


def codes_in(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the usual codes outside of all other scores, if none of these is negative."""
    others = values[~np.isin(values, CODES)]
    is_inside = np.isin(CODES, values)
    if not len(others) or others.min() < 0:
        others = values[(values >= 0) & (values < 99)]
        if not len(others) or (values < 0).sum() > np.isin(values, CODES).sum():
            return CODES[:0]
    far = (CODES < 0) | (FAR * max(1.0, float(others.max())) < CODES)
    return CODES[is_inside & far]
