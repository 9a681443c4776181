"""Figures of several results: a panel for each, or one number of each metric in each collection."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from scorecube import names
from scorecube.analyses import registry
from scorecube.analyses.options import options_of
from scorecube.collection.schema import labels_of
from scorecube.errors import BadPlan, option
from scorecube.report.figures.canvas import Canvas, plain_log_labels, stacked
from scorecube.report.figures.style import (
    COLOURS,
    FIGURE_SIZE,
    MOST_ROWS,
    PAGE_HEIGHT,
    STYLE,
    curve_style,
)
from scorecube.report.results import options_of_result
from scorecube.report.tables import COLLECTION

COLUMNS = 3
PANEL = 4.4, 3.9
"""Width and height of a panel in inches."""


def draw_together(
    draw: Callable[..., Figure], results: Sequence[xr.Dataset], by: str, gain: str | None = None
) -> Figure:
    """Draw the curves of each gain setting, sample size, or value of an option into one panel; arguments as of `draw_panels`."""
    with rc_context(STYLE):
        drawn = Figure(figsize=FIGURE_SIZE, layout="constrained")
        axes = drawn.add_subplot()
        for result, setting in panels_of(results, by, gain).values():
            draw(result, setting, axes)
        axes.legend_ = None
        drawn.legend(fontsize=8, ncols=3, loc="outside lower left")
    return drawn


def draw_bars(
    overview: Callable[..., None], results: Sequence[xr.Dataset], by: str, gain: str | None = None
) -> Figure:
    """Draw one number of each metric, a group of bars for each value, as the overview of collections does; a part for each confidence level.

    overview: Of the analysis; its results have levels of confidence.
    results, by, gain: As of `draw_panels`.
    """
    found = panels_of(results, by, gain)
    levels = sorted({float(each) for each in results[-1][names.CONFIDENCE].values}, reverse=True)
    named = [each.assign_attrs(collection=value) for value, (each, _) in found.items()]
    with rc_context(STYLE):
        height = min(FIGURE_SIZE[1] * len(levels), PAGE_HEIGHT)
        drawn = Figure(figsize=(FIGURE_SIZE[0], height), layout="constrained")
        for part, level in zip(
            drawn.subfigures(len(levels), 1, squeeze=False)[:, 0], levels, strict=True
        ):
            overview(Canvas(part, n_parts=len(levels)), named, gain, level)
        drawn.suptitle(f"{results[-1].attrs.get('collection', '')}, by {by}", x=0.01, ha="left")
    return drawn


def draw_panels(
    draw: Callable[..., Figure],
    results: Sequence[xr.Dataset],
    by: str,
    gain: str | None = None,
    *,
    several: bool = False,
) -> Figure:
    """Draw a panel for each gain setting, sample size, or value of an option, with the same axes.

    draw: Draws a result at a gain setting into axes.
    results: All results of one analysis and collection, the latest last.
    by: ``gain``, ``size``, or an option of the analysis, such as ``sampling``.
    gain: Gain setting of the other panels; the first by default.
    several: Whether the figure has several panels, and those of all values stand below each other.
    Raises BadPlan: Fewer than two different panels.
    """
    panels = panels_of(results, by, gain)
    if several:
        return stacked(draw, panels, by)
    columns = min(COLUMNS, len(panels))
    rows = -(-len(panels) // columns)
    with rc_context(STYLE):
        drawn = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows), layout="constrained")
        grid = drawn.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).ravel()
        for axes, (value, (result, setting)) in zip(grid, panels.items(), strict=False):
            try:
                draw(result, setting, axes)
            except BadPlan:  # it has several panels
                return stacked(draw, panels, by)
            conditions = textwrap.fill(
                " ".join(axes.get_title(loc="left").split()), 62
            )  # letters in a line
            axes.set_title(f"{by} {value}\n{conditions}", loc="left", fontsize=8)
            axes.tick_params(labelbottom=True, labelleft=True)
        for axes in grid[len(panels) :]:
            axes.set_axis_off()
    return drawn


def panels_of(
    results: Sequence[xr.Dataset], by: str, gain: str | None
) -> dict[str, tuple[xr.Dataset, str | None]]:
    """Return result and gain setting of each panel; of several results with one value the latest, of several sizes the largest.

    Raises BadPlan: Fewer than two different ones.
    """
    analysis = str(results[-1].attrs.get("analysis", "scores"))
    panels = dict[str, tuple[xr.Dataset, str | None]]()
    for result in results if by != names.GAIN else results[-1:]:
        options = {} if by == names.GAIN else options_of_result(result.attrs)
        if by == names.GAIN:
            panels |= {each: (_largest(result), each) for each in labels_of(result, names.GAIN)}
        elif by not in options:
            raise BadPlan(
                f"{option('by', by)}: expected {names.GAIN}, or an option of {analysis}: {', '.join(sorted(options))}",
                option="by",
            )
        elif by == names.SIZE:
            for size in result[names.SIZE].values:
                panels[str(size)] = (result.sel({names.SIZE: [size]}), gain)
        else:
            panels[str(options[by])] = (_largest(result), gain)
    if len(panels) < 2:
        raise BadPlan(
            f"{option('by', by)}: a figure by {by} takes at least two different values of it; {analysis} has: {', '.join(panels) or 'none'}",
            option="by",
        )
    if by == names.GAIN:
        return panels
    order = _places(analysis, by)
    place = {each: order.get(each, len(each) * (by == names.SIZE)) for each in panels}
    return dict(sorted(panels.items(), key=lambda each: (place[each[0]], each[0])))


def _places(analysis: str, by: str) -> dict[str, int]:
    """Return the places of an option's choices, whose order is that of the papers; none of another option."""
    known = options_of(registry.load(analysis)) if analysis in registry.names() else {}
    return {str(word): k for k, word in enumerate(known[by].choices)} if by in known else {}


def _largest(result: xr.Dataset) -> xr.Dataset:
    return result.isel({names.SIZE: [-1]}) if names.SIZE in result.dims else result


MOST_BARS = 8
"""Collections with bars; of more there is a row of dots each."""
ROW_HEIGHT, BAR_HEIGHT = 0.135, 0.26
"""Inches of a row of dots, and of a horizontal bar."""
HATCHES = ("", "////", "....", "xxxx")


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
    # So many letters stand beside each other.
    columns = max(1, min(6, 84 // (max(map(len, values), default=0) + 6)))
    figure.legend(ncols=columns, loc="outside lower left")


def shares_by_collection(
    canvas: Canvas, frame: pd.DataFrame, results: Sequence[xr.Dataset], label: str
) -> None:
    """Draw the share of each metric in each collection in percent, with its limits of one collection.

    frame: Metrics, collections and shares, perhaps with limits.
    results: One of each collection, whose metrics are drawn in their order.
    label: Of the axis.
    """
    rows = {str(metric): own for metric, own in frame.groupby("metric", sort=False)}
    metrics = dict.fromkeys(each for one in results for each in labels_of(one, names.METRIC))
    shares = {
        each: 100 * rows[each].set_index(COLLECTION)["share"] for each in metrics if each in rows
    }
    limits = {
        metric: (100 * own["share_low"].iloc[-1], 100 * own["share_high"].iloc[-1])
        for metric, own in rows.items()
        if "share_low" in own
    }
    by_collection(canvas, shares, list(dict.fromkeys(frame[COLLECTION])), label, limits=limits)


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
    axes.set(ylim=(len(order) - 0.4, -0.6), xlim=(0.0, None), xlabel=label)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _bars(axes: Axes, rows: Mapping[str, np.ndarray], collections: Sequence[str]) -> None:
    width = 0.8 / max(len(rows), 4)  # metrics that a group of bars has room for at least
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
        style = {**curve_style(k, 4.5, 1.5), "linestyle": "none"}
        axes.plot(numbers, places, **style, label=metric)
    axes.set_yticks(places, collections, fontsize=7)
    axes.set_ylim(len(collections) - 0.4, -0.6)
