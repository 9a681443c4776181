"""What is shown of rank correlation between metrics, and between gain settings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import COLLECTION, crossed, frame_of
from scorecube.analyses.printed import MARKS, number, printed
from scorecube.collection.schema import CELL, labels_of
from scorecube.declare import AGREEMENT, Answer, Canvas, Column, Marked, Table, View, shown
from scorecube.errors import counted

_COLUMNS = (
    *("tau", "topics_low", "topics_high", "spearman", "tau_b", "tau_ap", "tau_low", "tau_high"),
    *("exceeds_one", "z", "p_value", "p_exact", "n_runs", "tied_pairs", "discordant"),
)
_TAU = shown("tau", "tau", "topics_low", "topics_high")
METRICS = Table(
    ("comparison",),
    (Column("gain", of="gain_a"), "metric_a", "metric_b", *_COLUMNS),
    only="of_metrics",
    brief=("gain", shown("metric", "metric_a"), shown("and", "metric_b"), _TAU),
)
"""Every pair of metrics at each gain setting (Sakai 2007, Table 2; Sakai 2004, Tables 3 to 11 a).

`topics_low` and `topics_high` are about the tau of as many other topics; `tau_low` and `tau_high`
are the papers' limits by the null variance.
"""
GAINS = Table(
    ("comparison",),
    (
        Column("metric", of="metric_a"),
        Column("gain", of="gain_b"),
        *_COLUMNS,
        Column("default", of="gain_a"),
    ),
    only="of_gains",
    brief=(*CELL, _TAU),
)
"""Every metric at other gain settings against the first (Sakai 2007, Table 5; Sakai 2004, b)."""
SWOPS = Table(("gain", "metric"), (*CELL, "sorted_by", "swops", "n_runs"))
"""How often a metric rises between neighbours in that order (Sakai 2004: a "swop")."""


def triangle(result: xr.Dataset) -> pd.DataFrame:
    """Return tau of every two metrics as Table 2 of Sakai and Shang 2016, by gain setting.

    Each has the papers' limits; those above 1 have a star.
    """
    frame = frame_of(METRICS, result).rename(columns={"metric_b": names.METRIC})
    cells = list[str]()
    for row in frame.to_dict("records"):
        tau, low, high = (
            number(row[name], 3, whole=False) for name in ("tau", "tau_low", "tau_high")
        )
        known = np.isfinite(row["tau"])  # missing with fewer than three runs
        cells.append(f"{tau} [{low}, {high}]{'*' * row['exceeds_one']}" if known else "")
    keys = [COLLECTION, names.GAIN, names.METRIC]
    table = crossed(frame, keys, "metric_a", cells, blank="")
    table.attrs[MARKS] = np.inf  # only what has a star
    return table


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield tau of metrics at the first gain setting, lowest first; then of gain settings."""
    for frame in (compared_metrics(result), frame_of(GAINS, result)):
        known = frame[frame["tau"].notna()].sort_values("tau", kind="stable")
        for row in known.to_dict("records"):
            label = f"{row.get('metric_a')} and {row.get('metric_b')}"
            if "default" in row:
                label = f"{row['metric']}, gains {row['gain']} and {row['default']}"
            pairs = row["n_runs"] * (row["n_runs"] - 1) // 2
            clause = f"{row['discordant'] / pairs:.0%} of pairs change order"
            if row["tied_pairs"]:
                clause += f", {counted(int(row['tied_pairs']), 'pair')} tied"
            numbers = row["tau"], row["topics_low"], row["topics_high"]
            yield Answer(label, *numbers, ".4f", clause, "tau")


def compared_metrics(result: xr.Dataset) -> pd.DataFrame:
    """Return the pairs of metrics with a tau at the first gain setting."""
    frame = frame_of(METRICS, result)
    known = frame[["metric_a", "metric_b"]].isin(labels_of(result, names.METRIC)).all(axis=1)
    frame = frame[known]
    return frame[(frame["gain"] == labels_of(result, names.GAIN)[0]) & frame["tau"].notna()]


def figure(canvas: Canvas, result: xr.Dataset) -> None:
    """Means of the runs sorted by the first metric, a curve a metric (Sakai 2004, Figures 4-7).

    The legend counts the swops of each curve.
    """
    axes = canvas.panel()
    metrics = labels_of(result, names.METRIC)
    means, rises = (result[name].isel({names.GAIN: 0}) for name in ("sorted_mean", "swops"))
    systems = means[names.SYSTEM].values
    for k, metric in enumerate(metrics):
        swops = f", {counted(int(rises.sel(metric=metric)), 'swop')}" if k else ""
        style = canvas.curve(k) | {"marker": "." if len(systems) <= 50 else None}
        axes.plot(systems, means.sel(metric=metric), label=f"{metric}{swops}", **style)
    runs = names.nouns(result.attrs).runs
    ordered = f"{runs}, by {metrics[0]}; a swop is a rise from one to the next"
    axes.set(xlabel=ordered, ylabel="mean score", title=canvas.title_of(result))
    axes.set(xlim=(0.5, len(systems) + 0.5), ylim=(min(0.0, float(np.nanmin(means))), None))
    canvas.legend_outside(axes, "lower left", 4)


def taus(result: xr.Dataset) -> pd.DataFrame:
    """Return a triangle of tau of metrics (Sakai 2007, Table 2)."""
    frame = frame_of(METRICS, result).rename(columns={"metric_a": "metric"})
    return crossed(frame, ["gain", "metric"], "metric_b", taus_of(frame))


def taus_of_gains(result: xr.Dataset) -> pd.DataFrame:
    """Return tau of each gain setting with the first (Sakai 2007, Table 5)."""
    frame = frame_of(GAINS, result)
    return crossed(frame, ["metric", "default"], "gain", taus_of(frame))


def both_coefficients(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield rho and tau of every two metrics with their gains (Sakai 2004, Tables 3 to 12)."""
    gains = frame_of(GAINS, result)
    seen = set[frozenset[str]]()
    with_gains = {*gains["metric"]}
    rows = frame_of(METRICS, result).to_dict("records")
    for row in gains.to_dict("records"):
        rows.append(row | {"metric_a": row["metric"], "metric_b": row["metric"]})
    for row in rows:
        settings = row.get("default", row["gain"]), row["gain"]
        metrics = row["metric_a"], row["metric_b"]
        first, second = (
            f"{metric} {gain}" if metric in with_gains else metric
            for metric, gain in zip(metrics, settings, strict=True)
        )
        if (pair := frozenset((first, second))) not in seen:
            seen.add(pair)
            rho, tau = (number(row[name], 4, whole=False) for name in ("spearman", "tau"))
            yield {"metric": first, "and": second, "Spearman": rho, "Kendall": tau}


def taus_of(frame: pd.DataFrame) -> list[Marked]:
    """Return tau with four decimals."""
    return [number(tau, 4, whole=False) for tau in frame["tau"]]


VIEW = View(
    name="correlate",
    heading="Rank correlation",
    tables={
        "metrics": METRICS,
        "triangle": Table(("gain", "metric"), make=triangle),
        "gains": GAINS,
        "swops": SWOPS,
        "sakai-2007": printed(taus, 0.8),
        "sakai-2007-gains": printed(taus_of_gains, 0.8),
        "sakai-2004": printed(both_coefficients, 0.99),
    },
    shown=("metrics", "gains"),
    about="Kendall's tau is the share of pairs of runs that two metrics, or two gain settings, "
    "order in the same way minus the share in opposite orders; equal means count as neither. "
    "Limits are about the tau to be expected from as many other topics; none where tau is 1 "
    "without some topics. The papers' limits by the null variance (tau_low, tau_high) hold for "
    "unrelated rankings only.",
    answers={AGREEMENT: answers},
    figure=figure,
)
