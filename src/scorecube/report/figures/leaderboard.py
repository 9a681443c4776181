"""Figure of leaderboards and rank sets."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.style import COLOURS

ROW_HEIGHT, MOST_HEIGHT, MOST_LABELS = 0.155, 24.0, 150
"""Inches of a row and of the figure; rows up to which runs are named."""
LONGEST = 28
"""Letters of a run's name that are shown."""
PERCENT = 100


def leaderboard(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Runs of the first metric, best first: means with intervals, rank sets, and groups that are not separated.

    Parameters
    ----------
    result
        Of a leaderboard, or of rank sets, which has no intervals and groups.
    gain
        Gain setting; the first by default.
    """
    data = (result.isel(gain=0) if gain is None else result.sel(gain=gain)).isel(metric=0)
    order = np.argsort(data["rank"].values, kind="stable")
    data = data.isel({names.RUN: order})
    n = len(order)
    groups = group_ends(data) if "group_first" in data else []
    height = min(1.2 + max(n, 6) * ROW_HEIGHT, MOST_HEIGHT)
    figure = canvas.figure((7.2, height))
    ratios = [3.0, 2.4, max(0.4, min(0.07 * n_columns(groups), 1.2))][: 3 if groups else 2]
    panels = figure.subplots(
        1, len(ratios), sharey=True, squeeze=False, gridspec_kw={"width_ratios": ratios}
    )[0]
    draw_means(panels[0], data)
    draw_ranks(panels[1], data)
    if groups:
        draw_groups(panels[2], groups)
    name_runs(panels[0], labels_of(data, names.RUN))
    panels[0].set_ylim(n - 0.4, -0.6)
    percent = f"{PERCENT * (1 - float(result.attrs['alpha'])):g}%"
    figure.suptitle(
        f"{result.attrs.get('collection', '')}  {data[names.METRIC].item()}, gains {data[names.GAIN].item()}: {n} {'systems' if 'repetitions' in data else 'runs'}, "
        f"{result.attrs['n_topics']} topics, {percent}".strip(),
        x=0.01,
        ha="left",
        fontsize=9,
    )


def draw_means(axes: Axes, data: xr.Dataset) -> None:
    """Draw means, with their intervals where there are any."""
    rows, mean = np.arange(data.sizes[names.RUN]), data["mean"].values
    if "mean_low" in data:
        axes.hlines(
            rows, data["mean_low"].values, data["mean_high"].values, color=COLOURS[0], linewidth=1.2
        )
    axes.plot(mean, rows, "o", color=COLOURS[0], markersize=3.2)
    axes.set_xlabel("mean score")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    if "baseline" in data.attrs:
        place = labels_of(data, names.RUN).index(str(data.attrs["baseline"]))
        axes.axvline(mean[place], color="0.35", linestyle=":", linewidth=0.9)


def draw_ranks(axes: Axes, data: xr.Dataset) -> None:
    """Draw rank sets, with the observed ranks."""
    rows = np.arange(data.sizes[names.RUN])
    low, high = data["rank_low"].values, data["rank_high"].values
    axes.hlines(rows, low, high, color=COLOURS[1], linewidth=2.4, alpha=0.55)
    axes.plot(data["rank"].values, rows, "|", color="0.15", markersize=5)
    axes.set_xlim(0.5, data.sizes[names.RUN] + 0.5)
    axes.set_xlabel("rank")
    axes.xaxis.set_major_locator(MaxNLocator(5, integer=True))
    axes.tick_params(left=False)


def group_ends(data: xr.Dataset) -> list[tuple[int, int]]:
    """Return first and last row of each group of two runs or more."""
    begin, end = data["group_first"].values, data["group_last"].values
    ends = []
    for group in range(1, int(end.max()) + 1):
        rows = np.flatnonzero((begin <= group) & (group <= end))
        if len(rows) > 1:
            ends.append((int(rows[0]), int(rows[-1])))
    return ends


def columns_of(groups: list[tuple[int, int]]) -> list[int]:
    """Return a column for each group, so that groups in one column share no row."""
    free: list[int] = []
    places = []
    for first, last in groups:
        column = next((k for k, row in enumerate(free) if row < first), len(free))
        free[column : column + 1] = [last]
        places.append(column)
    return places


def n_columns(groups: list[tuple[int, int]]) -> int:
    """Return the number of columns that brackets take."""
    return max(columns_of(groups), default=-1) + 1


def draw_groups(axes: Axes, groups: list[tuple[int, int]]) -> None:
    """Draw a line beside the runs of each group."""
    columns: Any = columns_of(groups)
    firsts, lasts = zip(*groups, strict=True)
    axes.vlines(columns, np.array(firsts) - 0.3, np.array(lasts) + 0.3, color="0.3", linewidth=1.1)
    axes.set_xlim(-0.7, max(columns) + 0.7)
    axes.set_xlabel("groups")
    axes.set_xticks([])
    axes.tick_params(left=False)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)


def name_runs(axes: Axes, runs: list[str]) -> None:
    """Label the rows with the names of runs, or with their order where there are too many."""
    if len(runs) > MOST_LABELS:
        axes.set_ylabel("runs, best first")
        return
    shown = [run if len(run) <= LONGEST else run[: LONGEST - 1] + "…" for run in runs]
    axes.set_yticks(range(len(runs)), shown, fontsize=7)
    axes.tick_params(axis="y", length=0)
