"""Figures of results: of one, of several collections, of the values of an option."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr
from matplotlib import rc_context
from matplotlib.figure import Figure

from scorecube import names
from scorecube.collection.arguments import as_cube
from scorecube.collection.schema import labels_of
from scorecube.errors import BadName, BadPlan, option
from scorecube.report.drawing import (
    ABOVE,
    FIGURE_SIZE,
    PAGE_HEIGHT,
    STYLE,
    Canvas,
    ShownFigure,
    drawn,
    with_figure_labels,
)
from scorecube.report.results import of_metrics, view_of_result
from scorecube.report.tables import COLLECTION
from scorecube.report.views import View


def figure(
    result: xr.Dataset,
    axes: Any = None,
    metrics: Sequence[Any] | None = None,
    top: int | None = None,
) -> Figure:
    """Return the figure of a result at its first gain setting.

    result: A result of an analysis.
    axes: Where a figure of one panel is drawn; None for a figure of its own.
    metrics: Metrics that are drawn; by default the first of a figure about one, else all.
    top: Rows with names, as of runs; None for as many as a page has room for.
    Raises BadName: A result of an analysis that has no figure.
    Raises BadPlan: Axes, and a figure of several panels; several metrics of a figure about one.
    """
    view, result = view_of_result(result), as_cube(result)
    check_figure(view)
    if view.by_metric and metrics is not None and len(metrics) > 1:
        raise BadPlan(f"the figure of {view.name} is about one metric", option="metrics")
    return draw(view, of_metrics(result, metrics), axes=axes, top=top)


def check_figure(view: View) -> None:
    """Refuse an analysis without a figure (BadName)."""
    if view.figure is None:
        raise BadName(f"{view.name} has no figure; its tables: {', '.join(view.tables)}")


def draw(view: View, result: xr.Dataset, axes: Any = None, **how: Any) -> Figure:
    """Return the figure of a result at its first gain setting; see `Canvas`."""
    first = result.isel({names.GAIN: [0]}) if names.GAIN in result.dims else result
    (shown,) = with_figure_labels([first])
    return drawn(view.figure, shown, axes=axes, analysis=view.name, **how)


def draw_together(view: View, result: xr.Dataset, by: str, **how: Any) -> Figure:
    """Draw the curves of each gain setting or sampling into one panel.

    Raises BadPlan: Fewer than two different values.
    """
    with rc_context(STYLE):
        figure = ShownFigure(figsize=FIGURE_SIZE, layout="constrained")
        axes = figure.add_subplot()
        for value, part in values_of(result, by).items():
            before = {*axes.get_children()}
            draw(view, part, axes, **how)
            for artist in axes.get_children():
                label = str(artist.get_label())
                if artist not in before and label and not label.startswith("_"):
                    artist.set_label(f"{label} ({value})")
        low = axes.get_ylim()[0]
        axes.relim()
        axes.autoscale(axis="y")  # room for the highest of them
        axes.set_ylim(min(low, *axes.get_ylim()) if low else low)
        axes.legend_ = None
        figure.legend(fontsize=8, ncols=3, loc="outside lower left")
    return figure


def draw_bars(view: View, result: xr.Dataset, by: str, **how: Any) -> Figure:
    """Draw shares as bars, a group for each value and a part for each confidence."""
    levels = sorted(result[names.CONFIDENCE].values.tolist(), reverse=True)
    named = [
        part.assign_attrs({COLLECTION: value}) for value, part in values_of(result, by).items()
    ]
    with rc_context(STYLE):
        height = min(FIGURE_SIZE[1] * len(levels), PAGE_HEIGHT)
        figure = ShownFigure(figsize=(FIGURE_SIZE[0], height), layout="constrained")
        parts = figure.subfigures(len(levels), 1, squeeze=False)[:, 0]
        for part, level in zip(parts, levels, strict=True):
            assert view.overview is not None
            view.overview(Canvas(part, **how), named, level)
        figure.suptitle(f"{result.attrs.get(COLLECTION, '')}, by {by}", **ABOVE)
    return figure


def values_of(result: xr.Dataset, by: str) -> dict[str, xr.Dataset]:
    """Return the part of each gain setting or sampling, of the largest size."""
    largest = result.isel({names.SIZE: [-1]}, missing_dims="ignore")
    several = labels_of(result, by) if by in result.dims else []
    values = {label: largest.sel({by: [label]}) for label in several}
    if len(values) < 2:
        raise BadPlan(
            f"{option('by', by)}: a figure by {by} takes at least two different values of it; "
            f"found: {', '.join(values) or 'none'}",
            option="by",
        )
    return values
