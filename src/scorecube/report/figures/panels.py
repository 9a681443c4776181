"""Figures of several results: a panel for each, or one number of each metric in each collection."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr
from matplotlib import rc_context
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_hex, to_rgba_array
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from scorecube import names
from scorecube.analyses import registry
from scorecube.analyses.options import options_of
from scorecube.collection.schema import labels_of
from scorecube.errors import BadPlan, option
from scorecube.report.figures.canvas import Canvas
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


def draw_together(
    draw: Callable[..., Figure], results: Sequence[xr.Dataset], by: str, gain: str | None = None
) -> Figure:
    """Draw the curves of each gain setting, sample size, or value of an option into one panel.

    draw: Draws a result at a gain setting into axes.
    results: All results of one analysis and collection, the latest last.
    by: ``gain``, ``size``, or an option of the analysis, such as ``sampling``.
    gain: Gain setting of the other panels; the first by default.
    Raises BadPlan: Fewer than two different values.
    """
    titles = dict[str, None]()
    curves = dict[Artist, tuple[str, list[str]]]()  # own label, and the values that it has
    panels = panels_of(results, by, gain)
    with rc_context(STYLE):
        drawn = Figure(figsize=FIGURE_SIZE, layout="constrained")
        axes = drawn.add_subplot()
        for value, (result, setting) in panels.items():
            before, taken = {*axes.get_children()}, len(curves)
            draw(result, setting, axes)
            titles[axes.get_title(loc="left")] = None
            for artist in [each for each in axes.get_children() if each not in before]:
                _shift_colours(artist, taken)
                label = str(artist.get_label())
                if label[:1] in ("", "_"):
                    continue
                same = next((each for each in curves if _coincide(each, artist, curves)), None)
                if same is None:
                    curves[artist] = label, [value]
                else:
                    curves[same][1].append(value)
                    artist.remove()
        for artist, (label, found) in curves.items():
            artist.set_label(
                label if len(found) == len(panels) else f"{label} ({'; '.join(found)})"
            )
        axes.set_title("\n".join(titles), loc="left", fontsize=8)
        low = axes.get_ylim()[0]
        axes.relim()
        axes.autoscale(axis="y")  # room for the highest of them
        axes.set_ylim(min(low, *axes.get_ylim()) if low else low)
        axes.legend_ = None
        drawn.legend(fontsize=8, ncols=3, loc="outside lower left")
    return drawn


def _coincide(first: Any, other: Any, curves: Mapping[Artist, tuple[str, list[str]]]) -> bool:
    """Return whether two curves have one label and the same points."""
    return (
        curves[first][0] == other.get_label()
        and isinstance(first, Line2D)
        and isinstance(other, Line2D)
        and np.array_equal(first.get_xydata(), other.get_xydata(), equal_nan=True)
    )


def _shift_colours(artist: Any, places: int) -> None:
    """Give an artist in colours of `COLOURS` those that stand so many places behind."""
    for name in ("color", "markerfacecolor") if hasattr(artist, "get_color") else ("facecolor",):
        if not hasattr(artist, f"get_{name}"):
            continue
        shades = [to_hex(each) for each in to_rgba_array(getattr(artist, f"get_{name}")())]
        if len(shades) == 1 and shades[0] in COLOURS:
            place = (COLOURS.index(shades[0]) + places) % len(COLOURS)
            getattr(artist, f"set_{name}")(COLOURS[place])


def draw_bars(
    overview: Callable[..., None], results: Sequence[xr.Dataset], by: str, gain: str | None = None
) -> Figure:
    """Draw one number of each metric, a group of bars for each value, as the overview of collections does; a part for each confidence level.

    overview: Of the analysis; its results have levels of confidence.
    results, by, gain: As of `draw_together`.
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
ROW_HEIGHT = 0.135
"""Inches of a row of dots."""
HATCHES = ("", "////", "....", "xxxx")


def by_collection(
    canvas: Canvas, values: Mapping[str, pd.Series[float]], collections: Sequence[str], label: str
) -> None:
    """Draw one number of each metric in each collection.

    values: Metric -> its numbers by collection; NaN, or none, where it has none.
    collections: Names, in the order of the figure.
    label: Of the axis.
    """
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
    # So many letters stand beside each other.
    columns = max(1, min(6, 84 // (max(map(len, values), default=0) + 6)))
    figure.legend(ncols=columns, loc="outside lower left")


def shares_by_collection(
    canvas: Canvas, frame: pd.DataFrame, results: Sequence[xr.Dataset], label: str
) -> None:
    """Draw the share of each metric in each collection in percent.

    frame: Metrics, collections and shares.
    results: One of each collection, whose metrics are drawn in their order.
    label: Of the axis.
    """
    rows = {str(metric): own for metric, own in frame.groupby("metric", sort=False)}
    metrics = dict.fromkeys(each for one in results for each in labels_of(one, names.METRIC))
    shares = {
        each: 100 * rows[each].set_index(COLLECTION)["share"] for each in metrics if each in rows
    }
    by_collection(canvas, shares, list(dict.fromkeys(frame[COLLECTION])), label)


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
