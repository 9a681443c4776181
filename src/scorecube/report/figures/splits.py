"""Figures of rank correlations between topic samples."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, MARKERS
from scorecube.report.tables.topic_samples import conditions

MOST_BANDS = 4
"""Metrics with a band; of more the first ones have whiskers too thin to cover each other."""


def split_curves(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Tau by topic set size, a curve and a band a metric, beside the distribution of tau at the largest size.

    Curves are means, bands reach from the 5 % to the 95 % quantile.

    Parameters
    ----------
    result
        Of the analysis ``splits``.
    gain
        Gain setting; the first by default.
    """
    cells = result.isel(gain=0) if gain is None else result.sel(gain=gain)
    several = result.sizes[names.SIZE] > 1
    title = f"{conditions(result)}, gains {cells[names.GAIN].item()}"
    if several:
        figure = canvas.figure(FIGURE_SIZE)
        left, right = figure.subplots(1, 2, width_ratios=(1.6, 1.0))
        _curves(left, cells)
        figure.suptitle(title, x=0.01, ha="left", fontsize=9)
    else:
        right = canvas.panel(FIGURE_SIZE)
        right.set_title(title, loc="left", fontsize=9)
    _distributions(right, cells)
    n_labels = len(right.get_legend_handles_labels()[1])
    canvas.legend_outside(right, "lower center", min(n_labels, 6))


def _curves(axes: Axes, cells: xr.Dataset) -> None:
    sizes = cells[names.SIZE].values
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        at, colour = cells.isel(metric=k), COLOURS[k % len(COLOURS)]
        axes.plot(
            sizes,
            at["tau_mean"].values,
            marker=MARKERS[k % len(MARKERS)],
            markersize=3.5,
            linewidth=1.2,
            color=colour,
            label=metric,
        )
        if cells.sizes[names.METRIC] <= MOST_BANDS:
            axes.fill_between(
                sizes,
                at["tau_low"].values,
                at["tau_high"].values,
                color=colour,
                alpha=0.13,
                linewidth=0,
            )
        else:
            axes.plot(sizes, at["tau_low"].values, linewidth=0.8, linestyle=":", color=colour)
    for level in cells[names.THRESHOLD].values:
        axes.axhline(level, linestyle="--", linewidth=0.8, color="0.4")
        axes.annotate(
            f"{level:g}",
            (1.0, level),
            xycoords=("axes fraction", "data"),
            fontsize=8,
            color="0.4",
            ha="right",
            va="bottom",
        )
    axes.set_ylim(top=1.0)
    axes.set_xlabel("topics in a sample")
    axes.set_ylabel("tau between the rankings by two samples")
    quantiles = (
        "band: 5% to 95%" if cells.sizes[names.METRIC] <= MOST_BANDS else "dotted: 5% quantile"
    )
    axes.set_title(f"mean; {quantiles}", loc="left", fontsize=9)


def _distributions(axes: Axes, cells: xr.Dataset) -> None:
    """Draw the share of trials up to each tau: steps, so that nothing depends on a choice of bins."""
    largest = cells.isel(size=-1)
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        tau = np.sort(largest["tau"].isel(metric=k).values)
        share = np.arange(1, len(tau) + 1) / len(tau)
        axes.step(
            tau,
            100 * share,
            where="post",
            linewidth=1.2,
            color=COLOURS[k % len(COLOURS)],
            label=metric,
        )
    axes.set_ylim(0, 100)
    axes.set_xlabel("tau")
    axes.set_ylabel("% of trials up to it")
    axes.set_title(f"{int(largest[names.SIZE])} topics", loc="left", fontsize=9)
