"""Figures of the swap method."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib.axes import Axes

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.collections import by_collection
from scorecube.report.figures.direct_labels import direct_labels
from scorecube.report.figures.sizes import size_curves
from scorecube.report.figures.style import COLOURS, DASHES, FIGURE_SIZE, MARKERS, TICKS
from scorecube.report.tables.rows import COLLECTION, combine
from scorecube.report.tables.swap import sensitivity
from scorecube.report.tables.topic_samples import conditions

SAME_LEVEL = 1e-9
"""Relative difference up to which two confidence levels are one: they may have been computed, as 1 - 0.05."""

EVERY = 3
"""Bins from one marker of a curve to the next."""
LEAST_BAND = 0.001
"""Smallest share of the comparisons in a bin with a band: those of emptier bins would cover the figure."""


def swap_figure(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Draw swap rates by difference for one sample size, by size for several."""
    draw = swap_rates if result.sizes[names.SIZE] == 1 else size_curves
    draw(canvas, result, gain)


def swap_rates(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Swap rate against performance difference (S0 Figures 2-4): a curve a metric, 95 % intervals, accepted rates dashed.

    Of several sample sizes the largest is shown.

    Parameters
    ----------
    result
        Of the swap method.
    gain
        Gain setting; the first by default.
    """
    result = result.isel(size=[-1])
    cells = (result.isel(gain=0) if gain is None else result.sel(gain=gain)).isel(size=0)
    axes = canvas.panel(FIGURE_SIZE)
    lower = result["lower"].values.copy()
    if np.isnan(lower[0]):  # the open bin of signed differences
        lower[0] = 2 * lower[1] - lower[2]
    for k, label in enumerate(labels_of(result, names.METRIC)):
        cell = cells.isel(metric=k)
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(
            lower,
            cell["swap_rate"].values,
            marker=MARKERS[k % len(MARKERS)],
            markersize=4.5,
            markerfacecolor="none" if k % 2 else colour,
            # Markers of neighbours stand at different bins, and their lines have different dashes.
            markevery=(k % EVERY, EVERY),
            linestyle=DASHES[k % len(DASHES)],
            linewidth=1.4,
            color=colour,
            label=label,
        )
        count = cell["count"].values
        filled = count >= LEAST_BAND * count.sum()
        axes.fill_between(
            lower,
            np.where(filled, cell["swap_rate_low"].values, np.nan),
            np.where(filled, cell["swap_rate_high"].values, np.nan),
            color=colour,
            alpha=0.12,
            linewidth=0,
        )
    _accepted_rates(axes, result)
    axes.set_xticks(lower[:: max(1, -(-len(lower) // TICKS))])
    axes.set_xlabel("difference in mean score, lower edge of the bin")
    axes.set_ylabel("swap rate")
    axes.set_ylim(bottom=0.0)
    axes.set_title(
        f"{conditions(result)}, gains {cells[names.GAIN].item()}", loc="left", fontsize=9
    )
    direct_labels(axes)


def _accepted_rates(axes: Axes, result: xr.Dataset) -> None:
    for confidence in result[names.CONFIDENCE].values:
        axes.axhline(1.0 - confidence, linestyle="--", linewidth=0.8, color="0.4")
        axes.annotate(
            f"{1 - confidence:.0%}",
            (1.0, 1.0 - confidence),
            xycoords=("axes fraction", "data"),
            fontsize=8,
            color="0.4",
            ha="right",
            va="bottom",
        )


def sensitivity_bars(
    canvas: Canvas,
    results: Sequence[xr.Dataset],
    gain: str | None = None,
    confidence: float | None = None,
) -> None:
    """Share of comparisons with the required difference, by collection (S0 Figures 5-8, S1 Figure 9).

    Of several sample sizes the largest is shown.

    Parameters
    ----------
    results
        Of the swap method, one a collection.
    gain
        Gain setting; each collection's first by default.
    confidence
        The highest by default. A metric without a required difference has no bar.
    """
    chosen = float(max(results[0][names.CONFIDENCE].values)) if confidence is None else confidence
    frame = combine([_shares(result, gain, chosen) for result in results])
    metrics = list(
        dict.fromkeys(name for result in results for name in labels_of(result, names.METRIC))
    )
    limits = {
        str(row["metric"]): (100 * row["share_low"], 100 * row["share_high"])
        for _, row in frame.iterrows()
    }
    collections = list(dict.fromkeys(frame[COLLECTION]))
    shares = {
        metric: 100 * rows.set_index(COLLECTION)["share"]
        for metric, rows in frame.groupby("metric", sort=False)
    }
    label = f"% of comparisons with the difference\nrequired at {chosen:.0%} confidence"
    by_collection(
        canvas,
        {metric: shares[metric] for metric in metrics if metric in shares},
        collections,
        label,
        limits=limits,
    )


def _shares(result: xr.Dataset, gain: str | None, confidence: float) -> pd.DataFrame:
    setting = gain or labels_of(result, names.GAIN)[0]
    frame = sensitivity(result.isel(size=[-1]).sel(gain=[setting]))
    return frame[np.isclose(frame["confidence"], confidence, rtol=SAME_LEVEL, atol=0.0)]
