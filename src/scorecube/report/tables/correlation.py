"""Tables of rank correlation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.rank_agreement.ranking_pairs import (
    ALONG_NAME,
    GAIN_A,
    GAIN_B,
    METRIC_A,
    METRIC_B,
    STATISTICS,
)
from scorecube.collection.schema import labels_of
from scorecube.report.tables.population import PARTS, containing, estimates
from scorecube.report.tables.rows import COLLECTION, where

COUNTS = ("concordant", "discordant", "tied_a", "tied_b")
FURTHER = ("tau_ap_b", "p_exact", "fieller_low", "fieller_high", *COUNTS)


def metrics(result: xr.Dataset) -> pd.DataFrame:
    """Every pair of metrics at each gain setting (S1 Table 2, S3 Table 2, S4 Tables 3 to 6 and 8 to 11 part a).

    `tau_population` estimates tau of these runs over infinitely many topics, with its interval. `tau_low` and `tau_high` are the papers'
    interval by the null variance; `exceeds_one` where it leaves the range of tau; `bold` follows the analysis' rule. In `tau_ap` the first metric is the truth. Percentile intervals of
    resampled topics (`topics_low`, `topics_high`) are missing where they exclude their tau.
    """
    part = _along(result, "metric")
    labels = {
        "gain": part[GAIN_A].values,
        METRIC_A: part[METRIC_A].values,
        METRIC_B: part[METRIC_B].values,
    }
    return _frame(
        part,
        labels,
        ("tau", "tau_low", "tau_high", "z", "p_value", "spearman", "tau_b", "tau_ap"),
        ("tied_pairs",),
    )


def gains(result: xr.Dataset) -> pd.DataFrame:
    """Every metric at every other gain setting against itself at the first one (S1 Table 5, S4 Tables 3 to 11 part b)."""
    part = _along(result, "gain")
    labels = {"metric": part[METRIC_A].values, "gain": part[GAIN_B].values}
    frame = _frame(
        part,
        labels,
        ("tau", "spearman", "tau_low", "tau_high", "z", "p_value", "tau_b", "tau_ap"),
        ("tied_pairs",),
    )
    return frame.assign(default=part[GAIN_A].values)


def _along(result: xr.Dataset, what: str) -> xr.Dataset:
    return result.isel({names.COMPARISON: result[ALONG_NAME].values == what})


def _frame(
    part: xr.Dataset, labels: dict[str, Any], first: tuple[str, ...], last: tuple[str, ...]
) -> pd.DataFrame:
    n = part.sizes[names.COMPARISON]
    columns = {COLLECTION: [where(part)[COLLECTION]] * n} | labels
    columns |= {name: part[name].values for name in first}
    columns |= {"n_runs": np.full(n, part.attrs["n_runs"])} | {
        name: part[name].values for name in last
    }
    columns |= {name: np.broadcast_to(column, n) for name, column in estimates(part, "tau").items()}
    for what in resampled(part):
        at = part.sel({names.RESAMPLED: what, names.STATISTIC: "tau"})
        low, high = containing(part["tau"].values, at["low"].values, at["high"].values)
        columns |= {f"{what}_low": low, f"{what}_high": high}
    exceeds = part["tau_high"].values > 1.0
    bold = part.attrs["bold"]
    columns |= {name: part[name].values for name in FURTHER}
    columns |= {
        "exceeds_one": exceeds,
        "bold": exceeds if bold == "" else part["tau"].values > float(bold),
    }
    return pd.DataFrame(columns)


def intervals(result: xr.Dataset) -> pd.DataFrame:
    """Bootstrap percentile intervals of every coefficient of every comparison; a row for each that was resampled.

    Limits are missing where the interval excludes its value: resampled topics rank runs less reliably than all topics.
    """
    columns = [
        COLLECTION,
        ALONG_NAME,
        GAIN_A,
        METRIC_A,
        GAIN_B,
        METRIC_B,
        "statistic",
        "value",
        "resampled",
        "low",
        "high",
        "standard_error",
        "trials",
    ]
    rows = []
    for k in range(result.sizes[names.COMPARISON]):
        part = result.isel({names.COMPARISON: k})
        labels = {
            name: str(part[name].values)
            for name in (ALONG_NAME, GAIN_A, METRIC_A, GAIN_B, METRIC_B)
        }
        for statistic in STATISTICS:
            for what in resampled(result):
                at = part.sel({names.STATISTIC: statistic, names.RESAMPLED: what})
                low, high = containing(
                    *(float(each) for each in (part[statistic], at["low"], at["high"]))
                )
                rows.append(
                    where(result)
                    | labels
                    | {
                        "statistic": statistic,
                        "value": float(part[statistic]),
                        "resampled": what,
                        "low": float(low),
                        "high": float(high),
                        "standard_error": float(at["standard_error"]),
                        "trials": result.attrs["trials"],
                    }
                )
    return pd.DataFrame(rows, columns=columns)


def population(result: xr.Dataset) -> pd.DataFrame:
    """Every coefficient of every comparison over infinitely many topics: estimate and interval, beside the value on these topics."""
    named = (ALONG_NAME, GAIN_A, METRIC_A, GAIN_B, METRIC_B)
    frames = []
    for statistic in STATISTICS if PARTS[0] in result else ():
        at = result.sel({names.STATISTIC: statistic})
        columns: dict[str, Any] = {name: result[name].values for name in named}
        columns |= {"statistic": statistic, "value": result[statistic].values}
        frames.append(
            pd.DataFrame(where(result) | columns | {name: at[name].values for name in PARTS})
        )
    if not frames:
        return pd.DataFrame(columns=[COLLECTION, *named, "statistic", "value", *PARTS])
    return pd.concat(frames).sort_index(kind="stable", ignore_index=True)


def curves(result: xr.Dataset) -> pd.DataFrame:
    """Mean scores of the runs sorted by the first metric and numbered, best first (S4 Figures 4 to 7)."""
    frames = []
    for gain in labels_of(result, names.GAIN):
        order = sorted_runs(result, gain)
        runs = np.array(labels_of(result, names.RUN), object)[order]
        for metric in labels_of(result, names.METRIC):
            scores = result["mean"].sel({names.METRIC: metric, names.GAIN: gain}).values[order]
            cell = where(result) | {"metric": metric, "gain": gain}
            frames.append(
                pd.DataFrame(
                    cell | {"system": np.arange(1, len(order) + 1), "run": runs, "mean": scores}
                )
            )
    return pd.concat(frames, ignore_index=True)


def swops(result: xr.Dataset) -> pd.DataFrame:
    """How often a metric rises between neighbours in the order of the first metric (S4 section 4: a "swop")."""
    sorted_by = labels_of(result, names.METRIC)[0]
    rows = []
    for gain in labels_of(result, names.GAIN):
        order = sorted_runs(result, gain)
        for metric in labels_of(result, names.METRIC):
            scores = result["mean"].sel({names.METRIC: metric, names.GAIN: gain}).values[order]
            rows.append(
                where(result)
                | {
                    "metric": metric,
                    "gain": gain,
                    "sorted_by": sorted_by,
                    "swops": count_swops(scores),
                    "n_runs": len(order),
                }
            )
    return pd.DataFrame(rows)


def sorted_runs(result: xr.Dataset, gain: str) -> np.ndarray[Any, Any]:
    """Return the positions of the runs by descending mean of the first metric; equal ones in label order."""
    return np.argsort(
        -result["mean"].isel({names.METRIC: 0}).sel({names.GAIN: gain}).values, kind="stable"
    )


def count_swops(scores: np.ndarray[Any, Any]) -> int:
    """Return the number of increases between neighbours.

    Examples
    --------
    >>> count_swops(np.array([0.5, 0.4, 0.45, 0.45, 0.46]))
    2
    """
    return int((np.diff(scores) > EQUAL).sum())


def resampled(result: xr.Dataset) -> list[str]:
    """Return what is resampled for intervals: some of topics, runs and both."""
    return labels_of(result, names.RESAMPLED) if names.RESAMPLED in result.dims else []


def tau_matrix(result: xr.Dataset, gain: str, statistic: str = "tau") -> np.ndarray[Any, Any]:
    """Return a coefficient of all pairs of metrics at one gain setting: (metric, metric); NaN where they were not compared."""
    places = {metric: k for k, metric in enumerate(labels_of(result, names.METRIC))}
    matrix = np.full((len(places), len(places)), np.nan)
    part = _along(result, "metric")
    for k in np.flatnonzero(part[GAIN_A].values == gain):
        i, j = places[str(part[METRIC_A].values[k])], places[str(part[METRIC_B].values[k])]
        matrix[i, j] = matrix[j, i] = float(part[statistic].values[k])
    return matrix


def conditions(result: xr.Dataset) -> str:
    """Return collection and conditions in one line."""
    facts = result.attrs
    trials = f", {facts['trials']:,} trials" if facts["trials"] else ""
    return f"{facts.get(COLLECTION, '')}  {facts['n_runs']} runs, {facts['n_topics']} topics{trials}".strip()


EQUAL = 1e-12
"""Difference up to which two means are equal: means of equal scores may differ by the rounding of their sums."""
