"""Labels beside curves, instead of a legend."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.lines import Line2D

MOST = 15
"""Curves that are labelled directly; of more there is a legend."""
HIGHEST = 0.92
"""Share of the axis at which the first label stands."""
STEP = 0.055
"""Share of the axis between two labels."""


def direct_labels(axes: Axes) -> None:
    """Label the curves of falling lines in a column at the right, in their order, each with a thin line to its curve.

    axes: With its lines drawn and its limits set; lines whose labels begin with an underscore have no label.
    """
    lines = [line for line in axes.get_lines() if not str(line.get_label()).startswith("_")]
    if len(lines) > MOST:
        axes.legend(ncols=-(-len(lines) // MOST), fontsize=7)
        return
    (left, right), top = axes.get_xlim(), axes.get_ylim()[1]
    lines.sort(key=lambda line: -_area(line))
    place, gap = left + 0.72 * (right - left), 0.008 * (right - left)
    ways, colours = [], []
    for k, line in enumerate(lines):
        level, colour = (HIGHEST - STEP * k) * top, line.get_color()
        label = axes.text(
            place,
            level,
            str(line.get_label()),
            color=colour,
            fontsize=8.5,
            fontweight="bold",
            va="center",
        )
        label.set_in_layout(False)  # it stands between the axes
        at = _crossing(line, level)
        ways.append([at, (place - gap if at[0] < place else at[0], level)])
        colours.append(colour)
    # One collection of lines takes a tenth of the time of arrows.
    axes.add_collection(
        LineCollection(ways, colors=colours, linewidths=0.6, alpha=0.6), autolim=False
    )


def _values(line: Line2D) -> tuple[np.ndarray, np.ndarray]:
    """Return the points of a line that have a value."""
    x, y = (np.asarray(each, float) for each in (line.get_xdata(), line.get_ydata()))
    known = np.isfinite(x) & np.isfinite(y)
    return x[known], y[known]


def _area(line: Line2D) -> float:
    """Return the sum of a line's values: the order of falling curves from right to left."""
    return float(_values(line)[1].sum())


def _crossing(line: Line2D, level: float) -> tuple[float, float]:
    """Return the last point at which a line is at a level or above; its first point if it is below everywhere."""
    x, y = _values(line)
    if not len(x):
        return 0.0, level
    above = np.flatnonzero(y >= level)
    if not len(above):
        return float(x[0]), float(y[0])
    k = int(above[-1])
    if k + 1 == len(x):
        return float(x[k]), float(y[k])
    share = (y[k] - level) / (y[k] - y[k + 1])
    return float(x[k] + share * (x[k + 1] - x[k])), level
