"""Figures of swap rates and required differences against topic set size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import colormaps
from matplotlib.axes import Axes

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.log_labels import plain_log_labels
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, MARKERS
from scorecube.report.tables.swap import curves
from scorecube.report.tables.topic_samples import conditions

COLUMNS = 3
ROW_HEIGHT = 2.5
ROOM = 1.7
"""Height of the panel of required differences over the largest of them: room for the legend above the curves."""
MOST_BINS = 7
"""Curves in one panel."""


def size_curves(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Required difference by topic set size, then the log swap rates of some bins, a panel a metric (Voorhees and Buckley 2002).

    Dashed curves are fits; without points they are extrapolated to untested sizes.

    Parameters
    ----------
    result
        Of the swap method, with several sizes.
    gain
        Gain setting; the first by default.
    """
    setting = gain or labels_of(result, names.GAIN)[0]
    metrics = labels_of(result, names.METRIC)
    frame = curves(result)
    frame = frame[frame["gain"] == setting]
    bins = _some_bins(frame)
    colours = dict(zip(bins, colormaps["viridis"](np.linspace(0, 0.75, len(bins))), strict=True))
    columns = min(COLUMNS, len(metrics) + 1)
    rows = -(-(len(metrics) + 1) // columns)
    figure = canvas.figure(
        (FIGURE_SIZE[0], max(FIGURE_SIZE[1] * (rows == 1) * 0.8, ROW_HEIGHT * rows))
    )
    grid = figure.subplots(rows, columns, squeeze=False).ravel()
    _required(grid[0], result.sel(gain=setting))
    lowest = frame.loc[frame["swap_rate"] > 0, "swap_rate"].min()
    for axes, metric in zip(grid[1:], metrics, strict=False):
        _rates(axes, frame[frame["metric"] == metric], colours)
        axes.set_title(metric, loc="left", fontsize=9)
        axes.axvline(float(result[names.SIZE].max()), color="0.6", linewidth=0.8)
        axes.set_ylim(bottom=lowest / 2 if np.isfinite(lowest) else None, top=1.0)
        axes.set_xlim(right=frame["size"].max() * 1.02)
    for axes in grid[len(metrics) + 1 :]:
        axes.set_axis_off()
    figure.suptitle(f"{conditions(result)}, gains {setting}", x=0.01, ha="left", fontsize=9)
    if bins:
        handles, labels = grid[1].get_legend_handles_labels()
        title = "difference from; dashed: fit, to the right of the grey line extrapolated"
        figure.legend(
            handles, labels, title=title, loc="outside lower center", ncols=len(bins), fontsize=8
        )


def _some_bins(frame: pd.DataFrame) -> list[int]:
    """Return up to seven bins, evenly spread over those that are not empty."""
    filled = sorted({int(each) for each in frame.loc[frame["swap_rate"].notna(), "bin"]})
    if len(filled) <= MOST_BINS:
        return filled
    return [filled[round(k * (len(filled) - 1) / (MOST_BINS - 1))] for k in range(MOST_BINS)]


def _required(axes: Axes, cells: xr.Dataset) -> None:
    confidence = float(cells[names.CONFIDENCE].max())
    sizes = cells[names.SIZE].values
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        required = cells["required_difference"].sel(confidence=confidence).isel(metric=k).values
        style: dict[str, Any] = {
            "marker": MARKERS[k % len(MARKERS)],
            "color": COLOURS[k % len(COLOURS)],
            "linewidth": 1.0,
        }
        axes.plot(sizes, required, markersize=3.5, label=metric, **style)
    axes.set_title(f"required at {confidence:.0%} confidence", loc="left", fontsize=9)
    axes.set_xlabel("topics in a sample")
    axes.set_ylabel("difference in mean score")
    highest = float(cells["required_difference"].sel(confidence=confidence).max())
    axes.set_ylim(0.0, ROOM * highest if highest > 0 else None)
    # Also sizes without a required difference.
    axes.set_xlim(0, sizes[-1] * 1.05)
    axes.legend(
        fontsize=7,
        ncols=2 if cells.sizes[names.METRIC] > 3 else 1,
        loc="upper left",
        borderaxespad=0.0,
    )


def _rates(axes: Axes, frame: pd.DataFrame, colours: dict[int, Any]) -> None:
    for number, colour in colours.items():
        curve = frame[frame["bin"] == number].sort_values("size")
        tried, beyond = curve[~curve["extrapolated"]], curve[curve["extrapolated"]]
        lower = curve["lower"].iloc[0]
        label = "below" if np.isnan(lower) else f"{lower:.2f}"
        # A rate of 0 has no logarithm: a gap.
        seen = tried["swap_rate"].where(tried["swap_rate"] > 0)
        axes.plot(
            tried["size"],
            seen,
            marker="o",
            markersize=2.5,
            linewidth=1.0,
            color=colour,
            label=label,
        )
        if len(beyond):
            axes.plot(
                curve["size"],
                curve["fitted"],
                linestyle="--",
                linewidth=0.8,
                color=colour,
                alpha=0.7,
            )
    axes.set_yscale("log")
    plain_log_labels(axes.yaxis)
    axes.set_xlabel("topics in a sample")
    axes.set_ylabel("swap rate")
