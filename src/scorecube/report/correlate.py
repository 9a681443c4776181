"""What is shown of rank correlation between metrics, and between gain settings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.tables import COLLECTION, Table, where
from scorecube.report.views import AGREEMENT, Answer, View

WIDTH, LEGEND_COLUMNS = 7.2, 4
_COLUMNS = (
    "tau topics_low topics_high spearman tau_b tau_ap tau_low tau_high exceeds_one z p_value "
    "p_exact n_runs tied_pairs concordant discordant bold=marked"
)
_TAU = "tau=tau,topics_low,topics_high"
METRICS = Table(
    "comparison",
    f"gain=gain_a metric_a metric_b {_COLUMNS}",
    only="of_metrics",
    brief=f"gain metric=metric_a and=metric_b {_TAU}",
)
"""Every pair of metrics at each gain setting (Sakai 2007, Table 2; Sakai 2004, Tables 3 to 11 a).

`topics_low` and `topics_high` are about the tau of as many other topics; `tau_low` and `tau_high`
are the papers' limits by the null variance.
"""
GAINS = Table(
    "comparison",
    f"metric=metric_a gain=gain_b {_COLUMNS} default=gain_a",
    only="of_gains",
    brief=f"metric gain {_TAU}",
)
"""Every metric at other gain settings against the first (Sakai 2007, Table 5; Sakai 2004, b)."""
CURVES = Table("gain metric system", "metric gain system run=sorted_run mean=sorted_mean")
"""Means of the runs sorted by the first metric (Sakai 2004, Figures 4 to 7)."""
SWOPS = Table("gain metric", "metric gain sorted_by swops n_runs")
"""How often a metric rises between neighbours in that order (Sakai 2004: a "swop")."""


def triangle(result: xr.Dataset) -> pd.DataFrame:
    """Return tau of every two metrics as Table 2 of Sakai and Shang 2016, by gain setting.

    Each has the papers' limits; bold values have a star.
    """
    columns = labels_of(result, names.METRIC)[:-1]
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for row in METRICS.frame(result).to_dict("records"):
        first = where(result) | {"gain": row["gain"], "metric": row["metric_b"]}
        cells = rows.setdefault((row["gain"], row["metric_b"]), first | dict.fromkeys(columns, ""))
        if np.isfinite(row["tau"]):  # missing with fewer than three runs
            limits = f"[{row['tau_low']:.3f}, {row['tau_high']:.3f}]"
            cells[row["metric_a"]] = f"{row['tau']:.3f} {limits}{'*' if row['bold'] else ''}"
    return pd.DataFrame(rows.values(), columns=[COLLECTION, "gain", "metric", *columns])


def title(options: Mapping[str, Any]) -> str:
    """Return the confidence level and the rule for marking."""
    marked = "" if options["bold"] is None else f", marked above {options['bold']:g}"
    return f"{options['confidence']:.0%} limits{marked}"


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield tau of metrics at the first gain setting, lowest first; then of gain settings."""
    for frame in (compared_metrics(result), GAINS.frame(result)):
        known = frame[frame["tau"].notna()].sort_values("tau", kind="stable")
        for row in known.to_dict("records"):
            label = f"{row.get('metric_a')} and {row.get('metric_b')}"
            if "default" in row:
                label = f"{row['metric']}, gains {row['gain']} and {row['default']}"
            pairs = row["n_runs"] * (row["n_runs"] - 1) // 2
            clause = f"{row['discordant'] / pairs:.0%} of the pairs of runs in different order"
            if row["tied_pairs"]:
                clause += f", {counted(int(row['tied_pairs']), 'pair')} tied"
            numbers = row["tau"], row["topics_low"], row["topics_high"]
            yield Answer(label, *numbers, ".4f", clause, "tau")


def compared_metrics(result: xr.Dataset) -> pd.DataFrame:
    """Return the pairs of metrics with a tau at the first gain setting."""
    frame = METRICS.frame(result)
    known = frame[["metric_a", "metric_b"]].isin(labels_of(result, names.METRIC)).all(axis=1)
    frame = frame[known]
    return frame[(frame["gain"] == labels_of(result, names.GAIN)[0]) & frame["tau"].notna()]


def figure(canvas: Any, result: xr.Dataset) -> None:
    """Matrix of tau, and the means of the runs in the order of the first metric below.

    In axes of the caller only the means (Sakai 2004, Figures 4-7).
    """
    from scorecube.report.drawing import title_of

    metrics, compared = labels_of(result, names.METRIC), compared_metrics(result)
    if canvas.in_axes or compared.empty:
        axes = canvas.panel((WIDTH, 3.0))
        draw_means(canvas, axes, result)
        axes.set_title(title_of(result))
        axes.legend(fontsize=8)
        return
    height = 1.1 + max(0.32 * len(metrics), 0.8)
    below = 3.0 + 0.17 * -(-len(metrics) // LEGEND_COLUMNS)
    upper, lower = canvas.figure((WIDTH, height + below)).subfigures(
        2, 1, height_ratios=[height, below]
    )
    draw_matrix(upper.add_subplot(), compared, metrics)
    draw_means(canvas, lower.add_subplot(), result)
    lower.legend(loc="outside lower left", fontsize=7.5, ncols=LEGEND_COLUMNS, labelspacing=0.3)
    canvas.name(result)


def draw_matrix(axes: Any, compared: pd.DataFrame, metrics: Sequence[str]) -> None:
    """Draw the lower triangle of correlations of metrics: colours, and the numbers."""
    n = len(metrics)
    shown = np.full((n - 1, n - 1), np.nan)
    for row in compared.to_dict("records"):
        column, place = sorted(metrics.index(row[f"metric_{end}"]) for end in "ab")
        shown[place - 1, column] = row["tau"]
    lowest = np.floor(10 * min(float(np.nanmin(shown)), 0.9)) / 10
    ends = {"vmin": lowest - 0.1, "vmax": 1.25}
    axes.imshow(shown, cmap="Blues", aspect="auto", interpolation="none", **ends)
    size = min(9.0, 62.0 / max(n - 1, 1) + 3.0)
    for (i, j), value in np.ndenumerate(shown):
        if np.isfinite(value):
            dark = (value - lowest + 0.1) / (1.35 - lowest) > 0.55
            text = (f"{value:.3f}" if n <= 14 else f"{value:.2f}").replace("0.", ".", 1)
            style = {"fontsize": size, "color": "white" if dark else "0.1"}
            axes.text(j, i, text, ha="center", va="center", **style)
    long = max(map(len, metrics), default=0) * (n - 1) > 60
    turned = {"rotation": 40, "ha": "right"} if long else {"rotation": 0, "ha": "center"}
    axes.set_xticks(range(n - 1), metrics[:-1], **turned, rotation_mode="anchor")
    axes.set_yticks(range(n - 1), metrics[1:])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    axes.spines[["left", "bottom"]].set_visible(False)
    axes.set_xlim(-0.5, max(n - 1, 5) - 0.5)  # cells are not too large for few metrics
    axes.text(1.0, 1.0, "Kendall's tau", transform=axes.transAxes, ha="right", va="top")


def draw_means(canvas: Any, axes: Any, result: xr.Dataset) -> None:
    """Draw a curve a metric over the runs sorted by the first; the legend counts its swops."""
    means, rises = (result[name].isel({names.GAIN: 0}) for name in ("sorted_mean", "swops"))
    systems, metrics = means[names.SYSTEM].values, labels_of(result, names.METRIC)
    for k, metric in enumerate(metrics):
        swops = f", {counted(int(rises.sel(metric=metric)), 'swop')}" if k else ""
        style = canvas.curve(k) | {"marker": "." if len(systems) <= 50 else None}
        axes.plot(systems, means.sel(metric=metric), label=f"{metric}{swops}", **style)
    axes.set(xlabel=f"runs, by {metrics[0]}", ylabel="mean score")
    axes.set(xlim=(0.5, len(systems) + 0.5), ylim=(min(0.0, float(np.nanmin(means))), None))


VIEW = View(
    name="correlate",
    heading="Rank correlation",
    tables={
        "metrics": METRICS,
        "triangle": Table("gain metric", "", make=triangle),
        "gains": GAINS,
        "curves": CURVES,
        "swops": SWOPS,
    },
    shown=("metrics", "gains"),
    about="Kendall's tau is the share of pairs of runs that two metrics, or two gain settings, "
    "order in the same way minus the share in opposite orders; equal means count as neither. "
    "Limits are about the tau to be expected from as many other topics; none where tau is 1 "
    "without some topics. The papers' limits by the null variance (tau_low, tau_high) hold for "
    "unrelated rankings only.",
    answers={AGREEMENT: answers},
    title=title,
    figure=figure,
    reads="Tau of all pairs of metrics; means of the runs in the order of the first metric, with "
    "swops.",
)
