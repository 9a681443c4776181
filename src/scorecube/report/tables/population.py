"""Columns of correlations over infinitely many topics, and of percentile intervals that contain their value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

PARTS = ("population", "population_low", "population_high")
EARLIER = "the result is of an earlier version; compute it anew"


def estimates(part: xr.Dataset, statistic: str) -> dict[str, Any]:
    """Return the estimate and the interval over infinitely many topics of a statistic, by columns; missing in results of version 0.1.0."""
    found = part.sel(statistic=statistic) if PARTS[0] in part else {}
    return {
        f"{statistic}_{name}": found[name].values if name in found else np.nan for name in PARTS
    }


def no_interval(result: xr.Dataset) -> str:
    """Return why a result has no interval over infinitely many topics; empty if it has one."""
    return str(result.attrs.get("no_interval", "")) if PARTS[0] in result else EARLIER


def estimate_text(row: Mapping[str, Any], statistic: str = "tau", confidence: float = 0.95) -> str:
    """Return estimate and interval of a row for sentences, after the observed value; empty if they are missing.

    Examples
    --------
    >>> row = {"tau_population": 0.78, "tau_population_low": 0.72, "tau_population_high": 0.84}
    >>> estimate_text(row), estimate_text({})
    ('; over infinitely many topics 0.78, 95% [0.72, 0.84]', '')
    """
    found = [row.get(f"{statistic}_{name}") for name in PARTS]
    known = [float(each) for each in found if each is not None and np.isfinite(each)]
    if len(known) < len(PARTS):
        return ""
    value, low, high = (f"{each:.2f}" for each in known)
    return f"; over infinitely many topics {value}, {100 * confidence:.4g}% [{low}, {high}]"


def containing(value: Any, low: Any, high: Any) -> tuple[Any, Any]:
    """Return limits of percentile intervals, missing where the interval excludes its value.

    Examples
    --------
    >>> low, high = containing(np.array([0.7, 0.7]), np.array([0.6, 0.5]), np.array([0.8, 0.65]))
    >>> low.tolist(), high.tolist()
    ([0.6, nan], [0.8, nan])
    """
    inside = (low <= value) & (value <= high)
    return np.where(inside, low, np.nan), np.where(inside, high, np.nan)
