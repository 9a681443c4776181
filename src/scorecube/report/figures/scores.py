"""Figure of scores: every run on every topic."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib import colormaps, rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.labels import figure_labels
from scorecube.report.tables.rows import COLLECTION

MOST_METRICS = 4
"""In one figure, one below the other."""
ROW, COLUMN = 0.09, 0.15
"""Inches of a run and of a topic; less if the figure became larger than `MOST_INCHES`."""
LEAST_INCHES, MOST_INCHES = 2.2, 14.0
LETTER_INCHES = 1 / 72
"""Of one point of a letter's size."""
MISSING = "#d55e00"
LEVELS = 24
"""Colours on a page: enough to read scores by, and few bytes."""


def heat_map(canvas: Canvas, cube: xr.Dataset, gain: str | None = None) -> None:
    """Scores of all runs (rows, best mean first) on all topics (columns, easiest first), one panel a metric.

    Parameters
    ----------
    cube
        Scores (metric, gain, run, topic).
    gain
        Gain setting; the first by default.
    """
    cells = cube.isel(gain=0) if gain is None else cube.sel(gain=gain)
    metrics = labels_of(cube, names.METRIC)
    shown = metrics[:MOST_METRICS]
    height, width = (
        min(max(inches * cube.sizes[dim], LEAST_INCHES), MOST_INCHES)
        for inches, dim in ((ROW, names.RUN), (COLUMN, names.TOPIC))
    )
    with rc_context({"axes.grid": False}):
        figure = canvas.figure((width + 2.2, (height + 0.9) * len(shown) + 0.3))
        panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
        for axes, metric in zip(panels, shown, strict=True):
            _panel(figure, axes, cells.sel(metric=metric), metric, (height, width))
        more = len(metrics) - len(shown)
        rest = f"; {more} more: {', '.join(metrics[MOST_METRICS:])}" if more else ""
        figure.suptitle(
            f"{cube.attrs.get(COLLECTION, '')}  {cube.sizes[names.RUN]} runs, {cube.sizes[names.TOPIC]} topics, "
            f"gains {cells[names.GAIN].item()}{rest}".strip(),
            x=0.01,
            ha="left",
            fontsize=9,
        )


def page_heat_map(canvas: Canvas, cube: xr.Dataset, gain: str | None = None) -> None:
    """`heat_map` of the first metric, in few bytes: an image of one pixel a score, of few colours, and labels without marks.

    Parameters
    ----------
    cube, gain
        See `heat_map`.
    """
    heat_map(canvas, cube.isel({names.METRIC: [0]}), gain)
    assert canvas.drawn is not None
    axes = canvas.drawn.axes[0]
    (image,) = axes.images
    image.set(
        interpolation="none", cmap=colormaps["cividis"].resampled(LEVELS).with_extremes(bad=MISSING)
    )
    axes.tick_params(left=False, bottom=False)


def _panel(
    figure: Figure, axes: Axes, at: xr.Dataset, metric: str, inches: tuple[float, float]
) -> None:
    scores = at[names.SCORE].values
    runs, topics = order(scores)
    colours = colormaps["cividis"].with_extremes(bad=MISSING)
    image = axes.imshow(
        np.ma.masked_invalid(scores[np.ix_(runs, topics)]),
        aspect="auto",
        interpolation="nearest",
        cmap=colours,
        vmin=min(0.0, float(np.nanmin(scores, initial=0.0))),
        vmax=float(np.nanmax(scores, initial=0.0)) or 1.0,
    )
    figure.colorbar(image, ax=axes, label=metric, fraction=0.04, pad=0.01)
    labels = list(figure_labels(labels_of(at, names.TOPIC)).values())
    names_of = labels_of(at, names.RUN)
    _ticks(axes.yaxis, [names_of[run] for run in runs], inches[0])
    _ticks(axes.xaxis, [labels[topic] for topic in topics], inches[1])
    axes.tick_params(axis="x", labelrotation=90)
    axes.set_xlabel("topics, by mean over runs")
    absent = " (missing scores orange)" if np.isnan(scores).any() else ""
    axes.set_title(f"{metric}: runs by mean, best first{absent}", loc="left", fontsize=9)


def order(scores: np.ndarray[Any, Any]) -> tuple[Any, Any]:
    """Return the positions of runs and of topics by their means over known scores, largest first; without any last."""
    known = ~np.isnan(scores)
    places = []
    for axis in (1, 0):
        with np.errstate(invalid="ignore"):
            mean = np.where(known, scores, 0.0).sum(axis=axis) / known.sum(axis=axis)
        places.append(np.argsort(np.where(np.isnan(mean), np.inf, -mean), kind="stable"))
    return places[0], places[1]


def _ticks(axis: Any, labels: list[str], inches: float) -> None:
    """Label positions so that labels do not overlap: all in small letters, or every second, third ... one."""
    room = inches / len(labels)
    step = max(1, int(np.ceil(4 * LETTER_INCHES * 1.15 / room)))
    size = min(8.0, max(4.0, room * step / LETTER_INCHES / 1.25))
    axis.set_ticks(range(0, len(labels), step), labels[::step], fontsize=size)
