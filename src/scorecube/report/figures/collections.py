"""One number of each metric in each collection: bars, or, for many collections, rows of dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, MARKERS, plain_log_labels

MOST_BARS = 8
"""Collections with bars; of more there is a row of dots each."""
ROW_HEIGHT = 0.19
LEAST_ROOM = 4
"""Metrics that a group of bars has room for at least."""
HATCHES = ("", "////", "....", "xxxx")
LETTERS = 100
"""Beside each other in a legend."""


def by_collection(
    values: Mapping[str, pd.Series[float]],
    collections: Sequence[str],
    label: str,
    *,
    logarithmic: bool = False,
) -> Figure:
    """Draw one number of each metric in each collection.

    Parameters
    ----------
    values
        Metric -> its numbers by collection; NaN, or none, where it has none.
    collections
        Names, in the order of the figure.
    label
        Of the axis.
    logarithmic
        Whether the axis is.
    """
    many = len(collections) > MOST_BARS
    width, height = FIGURE_SIZE
    figure = Figure(
        figsize=(width, max(height, 1.2 + ROW_HEIGHT * len(collections)) if many else height),
        layout="constrained",
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
    return figure


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
    axes.set_yticks(places, collections, fontsize=8)
    axes.set_ylim(len(collections) - 0.4, -0.6)
