"""Columns of correlations over infinitely many topics, and of percentile intervals that contain their value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube.report.findings import Finding, with_number
from scorecube.report.views.phrases import is_known, number_of, with_limits

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


def estimate_text(row: Mapping[Any, Any], statistic: str = "tau", confidence: float = 0.95) -> str:
    """Return estimate and interval of a row for sentences, after the observed value; empty if they are missing.

    Examples
    --------
    >>> row = {"tau_population": 0.78, "tau_population_low": 0.72, "tau_population_high": 0.84}
    >>> estimate_text(row), estimate_text({})
    ('; over infinitely many topics 0.78 (0.72 to 0.84; 95%)', '')
    """
    if not all(is_known(row.get(f"{statistic}_{name}")) for name in PARTS):
        return ""
    limited = with_limits(*number_of(row, f"{statistic}_population"), form=".2f")
    return f"; over infinitely many topics {limited[:-1]}; {100 * confidence:.4g}%)"


def of_tau(
    sentence: str, subject: str, row: Mapping[Any, Any], confidence: float, table: str
) -> Finding:
    """Return a finding about tau: over infinitely many topics with its limits, or, where these are missing, on these topics."""
    if not estimate_text(row):
        return with_number(sentence, subject, [row["tau"]], table=table)
    subject, number = f"{subject}, over infinitely many topics", number_of(row, "tau_population")
    return with_number(sentence, subject, number, confidence=confidence, table=table)


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
