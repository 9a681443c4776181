"""What the script of a page needs to show the values of a figure: the places and scales of its axes, and which element is which series."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.container import BarContainer
from matplotlib.ticker import FixedLocator

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

MOST_VALUES = 800
"""Of a series whose values the page holds; those of a longer one are read from its picture."""
SMALL_SPAN = 10.0
"""Length of a scale up to which values have four decimals or more, as in tables."""


def name_series(figure: Figure) -> None:
    """Give the lines, points, segments and bars of a figure the ids by which a page finds them; before it is drawn."""
    for place, axes in enumerate(figure.axes):
        for kind, number, _, artists in _series(axes):
            for k, artist in enumerate(artists):
                artist.set_gid(f"{kind}{place}-{number}-{k}")


def hover_data(figure: Figure) -> list[list[Any]]:
    """Return the axes of a figure that has been drawn, and their series.

    figure: As of `name_series`.
    Returns axes: For each one: position of the axes; left, top, right and bottom in points of the image; the values at
        left, right, bottom and top; which scales are logarithmic (1: x, 2: y); whether the values of x (1) and y (2)
        are names; labels of x and y; and of each series the kind, number and name, and its values where they are few: x
        and y of points and of the ends of bars and segments, one after the other. Those of a long curve are read from
        the picture.
    """
    width, height = figure.get_size_inches() * 72
    found: list[list[Any]] = []
    for place, axes in enumerate(figure.axes):
        scales = (axes.get_xscale(), axes.get_yscale())
        limits = [*axes.get_xlim(), *axes.get_ylim()]
        spans = (abs(limits[1] - limits[0]), abs(limits[3] - limits[2]))
        series = [
            [kind, number, name, *_values(kind, artists, scales, spans)]
            for kind, number, name, artists in _series(axes)
        ]
        if not series or any(scale not in ("linear", "log") for scale in scales):
            continue
        box = axes.get_position()
        corners = [box.x0 * width, (1 - box.y1) * height, box.x1 * width, (1 - box.y0) * height]
        logs = sum(1 << k for k, scale in enumerate(scales) if scale == "log")
        named = [_has_names(axis) for axis in (axes.xaxis, axes.yaxis)]
        places = [round(float(each), 3) for each in corners]
        values = [float(f"{each:.7g}") for each in limits]
        labels = [axes.get_xlabel(), axes.get_ylabel()]
        found.append([place, *places, *values, logs, named[0] + 2 * named[1], *labels, series])
    # A figure with more series is a picture of its own kind, whose single lines nobody asks for.
    return found if sum(len(axes[-1]) for axes in found) <= 60 else []


def _has_names(axis: Axis) -> bool:
    """Return whether the ticks of an axis are names instead of numbers; on a shared axis those of its first panel."""
    if not isinstance(axis.get_major_locator(), FixedLocator):
        return False
    texts = [label.get_text() for label in axis.get_ticklabels()]
    return any(re.search(r"[^\d.,%\s\u2212-]", text) for text in texts)


def _values(
    kind: str, artists: list[Any], scales: tuple[str, str], spans: tuple[float, float]
) -> list[list[float]]:
    """Return the values of a series as of `hover_data` in a list; an empty list if there are too many."""
    if kind in "hv":
        ends = [
            (each.get_x() + each.get_width(), each.get_y() + each.get_height() / 2)
            if kind == "h"
            else (each.get_x() + each.get_width() / 2, each.get_y() + each.get_height())
            for each in artists
        ]
        points = np.array(ends, float).reshape(-1, 2)
    elif kind == "s":
        segments = artists[0].get_segments()
        if any(len(each) != 2 for each in segments):
            return []
        points = np.array(segments, float).reshape(-1, 4)
    elif hasattr(artists[0], "get_offsets"):
        points = np.ma.filled(artists[0].get_offsets(), np.nan).reshape(-1, 2)
    else:
        points = np.asarray(artists[0].get_xydata(), float)
    if points.size > MOST_VALUES:
        return []
    points = points[np.isfinite(points).all(axis=1)]
    return [[_short(value, scales[k % 2], spans[k % 2]) for k, value in enumerate(points.ravel())]]


def _short(value: float, scale: str, span: float) -> float:
    """Return a value with four digits of its scale, and with four decimals or more on a small one, as tables have.

    Examples
    --------
    >>> _short(0.123456, "linear", 0.5), _short(123.456, "linear", 300.0), _short(0.0001234567, "log", 1.0)
    (0.1235, 123.5, 0.0001235)
    """
    if scale == "log":
        return float(f"{value:.4g}")
    decimals = 3 - math.floor(math.log10(span)) if span > 0 else 4
    return round(float(value), max(decimals, 4 if span <= SMALL_SPAN else 0, 0))


def _series(axes: Axes) -> list[tuple[str, int, str, list[Any]]]:
    """Return kind, number, name and artists of each series: l (line or points), s (segments), h and v (bars)."""
    found: list[tuple[str, int, str, list[Any]]] = []

    def add(kind: str, label: object, artists: list[Any]) -> None:
        found.append((kind, len(found), "" if str(label).startswith("_") else str(label), artists))

    for line in axes.get_lines():
        # A line across the whole axes is in other coordinates than the data.
        if line.get_transform() == axes.transData and np.size(line.get_xdata()):
            add("l", line.get_label(), [line])
    for collection in axes.collections:
        if isinstance(collection, LineCollection):
            add("s", collection.get_label(), [collection])
        elif isinstance(collection, PathCollection):
            add("l", collection.get_label(), [collection])
    for container in axes.containers:
        if isinstance(container, BarContainer):
            kind = "h" if container.orientation == "horizontal" else "v"
            add(kind, container.get_label(), list(container.patches))
    return found
