"""Figures of rank correlation: matrix of tau, sorted-system curves, distribution of mean scores."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.style import COLOURS, CURVE_DASHES, FIGURE_SIZE
from scorecube.report.tables.correlation import conditions, count_swops, sorted_runs, tau_matrix
from scorecube.report.tables.rows import COLLECTION

WIDTH = 7.2
LEAST_COLUMNS = 5
"""Of a matrix, so that cells are not too large for few metrics."""
CURVES_HEIGHT = 3.0
LEGEND_COLUMNS = 4
MOST_NAMED = 6
"""Collections in a title."""
DARK = 0.55
"""Share of the colour scale from which on numbers are white."""


def correlation_figure(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Matrix of tau, with sorted-system curves and the distribution of mean scores below.

    Parameters
    ----------
    result
        Of `Correlation`.
    gain
        Gain setting; the first by default.
    """
    chosen = labels_of(result, names.GAIN)[0] if gain is None else gain
    metrics = labels_of(result, names.METRIC)
    compared = bool(np.isfinite(tau_matrix(result, chosen)).any())
    height, below = (
        matrix_height(len(metrics)) if compared else 0.0,
        CURVES_HEIGHT + 0.17 * -(-len(metrics) // LEGEND_COLUMNS),
    )
    figure = canvas.figure((WIDTH, height + below))
    rows = figure.subfigures(
        2 if compared else 1, 1, height_ratios=[height, below] if compared else None, squeeze=False
    )[:, 0]
    if compared:
        draw_matrix(rows[0].add_subplot(), tau_matrix(result, chosen), metrics)
    left, right = rows[-1].subplots(1, 2, width_ratios=[1.6, 1.0])
    draw_curves(left, result, chosen)
    draw_means(right, result, chosen)
    figure.suptitle(f"{conditions(result)}, gains {chosen}", x=0.01, ha="left", fontsize=9)


def matrix_figure(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Kendall's tau of all pairs of metrics, with numbers; arguments as of `correlation_figure`."""
    chosen = labels_of(result, names.GAIN)[0] if gain is None else gain
    metrics = labels_of(result, names.METRIC)
    axes = canvas.panel((WIDTH, matrix_height(len(metrics))))
    draw_matrix(axes, tau_matrix(result, chosen), metrics)
    axes.set_title(f"{conditions(result)}, gains {chosen}", loc="left", fontsize=9)


def average_matrix(canvas: Canvas, results: Sequence[xr.Dataset]) -> None:
    """Mean of Kendall's tau over collections (S4 Tables 7 and 12), of the metrics that all of them have, at each first gain setting."""
    metrics = [
        metric
        for metric in labels_of(results[0], names.METRIC)
        if all(metric in labels_of(result, names.METRIC) for result in results)
    ]
    matrices = []
    for result in results:
        places = [labels_of(result, names.METRIC).index(metric) for metric in metrics]
        matrices.append(
            tau_matrix(result, labels_of(result, names.GAIN)[0])[np.ix_(places, places)]
        )
    axes = canvas.panel((WIDTH, matrix_height(len(metrics))))
    draw_matrix(axes, np.mean(matrices, axis=0) if metrics else np.empty((0, 0)), metrics)
    collections = list(dict.fromkeys(str(result.attrs.get(COLLECTION, "")) for result in results))
    title = (
        ", ".join(collections)
        if len(collections) <= MOST_NAMED
        else f"{len(collections)} collections"
    )
    axes.set_title(f"mean of {title}", loc="left", fontsize=9)


def system_curves(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Mean scores of the runs, sorted by the first metric (S4 Figures 4 to 7); arguments as of `correlation_figure`."""
    _single(canvas, draw_curves, result, gain)


def mean_distribution(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Distribution of the runs' mean scores by metric (S1 Figure 8); arguments as of `correlation_figure`."""
    _single(canvas, draw_means, result, gain)


def _single(canvas: Canvas, draw: Any, result: xr.Dataset, gain: str | None) -> None:
    chosen = labels_of(result, names.GAIN)[0] if gain is None else gain
    axes = canvas.panel(FIGURE_SIZE)
    draw(axes, result, chosen)
    axes.set_title(f"{conditions(result)}, gains {chosen}", loc="left", fontsize=9)


def matrix_height(n_metrics: int) -> float:
    """Return the height of a matrix in inches: rows as high as numbers need."""
    return 1.1 + max(0.32 * n_metrics, 0.8)


def draw_matrix(axes: Axes, matrix: np.ndarray[Any, Any], metrics: Sequence[str]) -> None:
    """Draw the lower triangle of a matrix of correlations: colours from their smallest to 1, and the numbers."""
    n = len(metrics)
    if n < 2:
        axes.set_axis_off()
        axes.text(0.0, 0.5, "fewer than two metrics in all collections")
        return
    shown = np.where(np.tril(np.ones((n, n), bool), -1), matrix, np.nan)[1:, :-1]
    lowest = float(np.nanmin(shown)) if np.isfinite(shown).any() else 0.0
    lowest = np.floor(10 * min(lowest, 0.9)) / 10
    axes.imshow(
        shown, cmap="Blues", vmin=lowest - 0.1, vmax=1.25, aspect="auto", interpolation="none"
    )
    size = min(9.0, 62.0 / max(n - 1, 1) * WIDTH / 7.2 + 3.0)
    for (i, j), value in np.ndenumerate(shown):
        if np.isfinite(value):
            share = (value - lowest + 0.1) / (1.35 - lowest)
            text = f"{value:.3f}" if n <= 14 else f"{value:.2f}"
            axes.text(
                j,
                i,
                text.replace("0.", ".", 1),
                ha="center",
                va="center",
                fontsize=size,
                color="white" if share > DARK else "0.1",
            )
    long = max(map(len, metrics), default=0) * (n - 1) > 60
    axes.set_xticks(
        range(n - 1),
        metrics[:-1],
        rotation=40 if long else 0,
        ha="right" if long else "center",
        rotation_mode="anchor",
    )
    axes.set_yticks(range(n - 1), metrics[1:])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.set_xlim(-0.5, max(n - 1, LEAST_COLUMNS) - 0.5)
    axes.text(1.0, 1.0, "Kendall's tau", transform=axes.transAxes, ha="right", va="top")


def draw_curves(axes: Axes, result: xr.Dataset, gain: str) -> None:
    """Draw a curve a metric over the runs, sorted by the first metric; the legend counts its rises ("swops")."""
    order = sorted_runs(result, gain)
    systems = np.arange(1, len(order) + 1)
    for k, metric in enumerate(labels_of(result, names.METRIC)):
        scores = result["mean"].sel({names.METRIC: metric, names.GAIN: gain}).values[order]
        swops = "" if k == 0 else f", {count_swops(scores)} swops"
        axes.plot(
            systems,
            scores,
            color=COLOURS[k % len(COLOURS)],
            linestyle=CURVE_DASHES[k // len(COLOURS) % len(CURVE_DASHES)],
            linewidth=1.2,
            marker="." if len(order) <= 50 else None,
            markersize=4,
            label=f"{metric}{swops}",
        )
    axes.set_xlabel(f"runs, by {labels_of(result, names.METRIC)[0]}")
    axes.set_ylabel("mean score")
    axes.set_xlim(0.5, len(order) + 0.5)
    axes.set_ylim(bottom=min(0.0, float(np.nanmin(result["mean"].values))))
    if (drawn_on := axes.get_figure(root=False)) is not None:
        drawn_on.legend(
            fontsize=7.5, ncols=LEGEND_COLUMNS, loc="outside lower left", labelspacing=0.3
        )


def draw_means(axes: Axes, result: xr.Dataset, gain: str) -> None:
    """Draw the mean scores of all runs, a row a metric: quartiles as a bar, every run as a stroke."""
    metrics = labels_of(result, names.METRIC)
    for k, metric in enumerate(metrics):
        scores = result["mean"].sel({names.METRIC: metric, names.GAIN: gain}).values
        colour = COLOURS[k % len(COLOURS)]
        low, middle, high = np.quantile(scores, [0.25, 0.5, 0.75])
        axes.barh(k, high - low, 0.5, low, color=colour, alpha=0.25)
        axes.vlines(scores, k - 0.32, k + 0.32, color=colour, linewidth=0.7)
        axes.plot(middle, k, "o", color="0.1", markersize=3.5)
    axes.set_yticks(range(len(metrics)), metrics, fontsize=8 if len(metrics) <= 12 else 6)
    axes.set_ylim(len(metrics) - 0.4, -0.6)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("mean score")
