"""One number of each metric in each collection: bars, or, for many collections, rows of dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.log_labels import plain_log_labels
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, MARKERS, MOST_ROWS

MOST_BARS = 8
"""Collections with bars; of more there is a row of dots each."""
ROW_HEIGHT, BAR_HEIGHT = 0.135, 0.26
"""Inches of a row of dots, and of a horizontal bar."""
LEAST_ROOM = 4
"""Metrics that a group of bars has room for at least."""
HATCHES = ("", "////", "....", "xxxx")
LETTERS = 100
"""Beside each other in a legend."""


def by_collection(
    canvas: Canvas,
    values: Mapping[str, pd.Series[float]],
    collections: Sequence[str],
    label: str,
    *,
    logarithmic: bool = False,
    limits: Mapping[str, tuple[float, float]] | None = None,
) -> None:
    """Draw one number of each metric in each collection.

    values: Metric -> its numbers by collection; NaN, or none, where it has none.
    collections: Names, in the order of the figure.
    label: Of the axis.
    logarithmic: Whether the axis is.
    limits: Metric -> limits of its interval, for one collection.
    """
    if len(collections) == 1 and not logarithmic:
        one = {
            metric: float(numbers.reindex(list(collections)).iloc[0])
            for metric, numbers in values.items()
        }
        label = f"{label}, {collections[0]}".replace("\n", " ")
        _sorted_bars(canvas, one, limits or {}, label)
        return
    many, more = len(collections) > MOST_BARS, len(collections) - MOST_ROWS
    if more > 0:
        collections, label = collections[:MOST_ROWS], f"{label}; {more} further collections"
    width, height = FIGURE_SIZE
    figure = canvas.figure(
        (width, max(height, 1.2 + ROW_HEIGHT * len(collections)) if many else height)
    )
    axes = figure.add_subplot()
    rows = {
        metric: numbers.reindex(list(collections)).to_numpy(float)
        for metric, numbers in values.items()
    }
    (_dots if many else _bars)(axes, rows, collections)
    if many:
        axes.set_xlabel(label.replace("\n", " "))
    else:
        axes.set_ylabel(label)
    if logarithmic:
        (axes.set_xscale if many else axes.set_yscale)("log")
        plain_log_labels(axes.xaxis if many else axes.yaxis)
    columns = max(1, min(6, LETTERS // (max(map(len, values), default=0) + 6)))
    figure.legend(ncols=columns, loc="outside lower left")


def _sorted_bars(
    canvas: Canvas,
    values: Mapping[str, float],
    limits: Mapping[str, tuple[float, float]],
    label: str,
) -> None:
    """Draw a bar a metric, the largest first, labelled beside it, with its interval; missing numbers come last."""
    order = sorted(values, key=lambda metric: -np.nan_to_num(values[metric], nan=-np.inf))
    numbers, rows = np.array([values[metric] for metric in order]), np.arange(len(order))
    axes = canvas.figure((FIGURE_SIZE[0], 0.9 + BAR_HEIGHT * max(len(order), 2))).add_subplot()
    axes.barh(rows, np.nan_to_num(numbers), 0.62, color=COLOURS[0], alpha=0.75)
    for row, metric in enumerate(order):
        low, high = limits.get(metric, (np.nan, np.nan))
        if np.isfinite(low) and np.isfinite(high):
            axes.plot(
                [low, high], [row, row], color="0.15", linewidth=1.2, marker="|", markersize=7
            )
        if np.isnan(values[metric]):
            axes.text(0.0, row, " none", va="center", fontsize=8)
    axes.set_yticks(rows, order)
    axes.set_ylim(len(order) - 0.4, -0.6)
    axes.set_xlim(left=0.0)
    axes.set_xlabel(label)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _bars(axes: Axes, rows: Mapping[str, np.ndarray], collections: Sequence[str]) -> None:
    width = 0.8 / max(len(rows), LEAST_ROOM)
    for k, (metric, numbers) in enumerate(rows.items()):
        left = np.arange(len(collections)) + (k - (len(rows) - 1) / 2) * width
        axes.bar(
            left,
            np.nan_to_num(numbers),
            width * 0.92,
            color=COLOURS[k % len(COLOURS)],
            label=metric,
            hatch=HATCHES[k // len(COLOURS) % len(HATCHES)],
            edgecolor="white",
            linewidth=0,
        )
    axes.set_xticks(np.arange(len(collections)), collections)
    axes.grid(axis="x", visible=False)


def _dots(axes: Axes, rows: Mapping[str, np.ndarray], collections: Sequence[str]) -> None:
    places = np.arange(len(collections))
    for k, (metric, numbers) in enumerate(rows.items()):
        axes.plot(
            numbers,
            places,
            linestyle="none",
            marker=MARKERS[k % len(MARKERS)],
            markersize=4.5,
            color=COLOURS[k % len(COLOURS)],
            label=metric,
        )
    axes.set_yticks(places, collections, fontsize=7)
    axes.set_ylim(len(collections) - 0.4, -0.6)
