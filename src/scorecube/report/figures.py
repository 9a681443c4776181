"""Figures of results: of one, of several metrics, of the values of an option."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import xarray as xr
from matplotlib import rc_context
from matplotlib.figure import Figure

from scorecube import names
from scorecube.analyses import registry
from scorecube.analyses.options import options_of
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
from scorecube.report.results import of_metrics, options_of_result, view_of_result
from scorecube.report.tables import COLLECTION
from scorecube.report.views import View


def figure(
    result: xr.Dataset,
    gain: str | None = None,
    axes: Any = None,
    metrics: Sequence[Any] | None = None,
    top: int | None = None,
) -> Figure:
    """Return the figure of a result; of several metrics, of one about one, one below the other.

    result: A result of an analysis.
    gain: Gain setting that is drawn; the first by default.
    axes: Where a figure of one panel is drawn; None for a figure of its own.
    metrics: Metrics that are drawn; by default the first of a figure about one, else all.
    top: Rows with names, as of runs; None for as many as a page has room for.
    Raises BadName: A result of an analysis that has no figure.
    Raises BadPlan: Axes, and a figure of several panels; rows of a figure without rows.
    """
    view, result = view_of_result(result), as_cube(result)
    check_figure(view)
    shown = of_metrics(result, metrics)
    if not view.by_metric or names.METRIC not in result.dims:
        return draw(view, shown, gain, axes, top=top)
    several = labels_of(shown, names.METRIC)[: 1 if metrics is None else None]
    of_each = [of_metrics(result, [metric]) for metric in several]
    n = len(of_each)
    first = draw(view, of_each[0], gain, axes, top=top, n_parts=n)
    if n == 1:
        return first
    width, height = first.get_size_inches()
    whole = ShownFigure(figsize=(width, min(n * height, PAGE_HEIGHT)), layout="constrained")
    for part, one in zip(whole.subfigures(n, 1, squeeze=False)[:, 0], of_each, strict=True):
        draw(view, one, gain, part, top=top, n_parts=n)
    return whole


def check_figure(view: View) -> None:
    """Refuse an analysis without a figure (BadName)."""
    if view.figure is None:
        raise BadName(f"{view.name} has no figure; its tables: {', '.join(view.tables)}")


def draw(
    view: View, result: xr.Dataset, gain: str | None = None, axes: Any = None, **how: Any
) -> Figure:
    """Return the figure of a result at one gain setting, the first by default; see `Canvas`."""
    (shown,), setting = with_figure_labels([result], gain)
    if names.GAIN in shown.dims:
        shown = shown.isel(gain=[0]) if setting is None else shown.sel(gain=[setting])
    return drawn(view.figure, shown, axes=axes, analysis=view.name, **how)


def draw_together(
    view: View, results: Sequence[xr.Dataset], by: str, gain: str | None = None, **how: Any
) -> Figure:
    """Draw the curves of each gain setting, size, or value of an option into one panel.

    Raises BadPlan: Fewer than two different values.
    """
    with rc_context(STYLE):
        figure = ShownFigure(figsize=FIGURE_SIZE, layout="constrained")
        axes = figure.add_subplot()
        for value, (result, setting) in values_of(results, by, gain).items():
            before = {*axes.get_children()}
            draw(view, result, setting, axes, **how)
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


def draw_bars(
    view: View, results: Sequence[xr.Dataset], by: str, gain: str | None = None, **how: Any
) -> Figure:
    """Draw shares as bars, a group for each value and a part for each confidence."""
    levels = sorted(results[-1][names.CONFIDENCE].values.tolist(), reverse=True)
    named = [
        result.assign_attrs({COLLECTION: value})
        for value, (result, _) in values_of(results, by, gain).items()
    ]
    with rc_context(STYLE):
        height = min(FIGURE_SIZE[1] * len(levels), PAGE_HEIGHT)
        figure = ShownFigure(figsize=(FIGURE_SIZE[0], height), layout="constrained")
        parts = figure.subfigures(len(levels), 1, squeeze=False)[:, 0]
        for part, level in zip(parts, levels, strict=True):
            assert view.overview is not None
            view.overview(Canvas(part, n_parts=len(levels), **how), named, gain, level)
        figure.suptitle(f"{results[-1].attrs.get(COLLECTION, '')}, by {by}", **ABOVE)
    return figure


def values_of(
    results: Sequence[xr.Dataset], by: str, gain: str | None
) -> dict[str, tuple[xr.Dataset, str | None]]:
    """Return result and gain setting for each value, of the largest size unless by size."""
    analysis = str(results[-1].attrs.get("analysis", "scores"))
    values: dict[str, tuple[xr.Dataset, str | None]] = {}
    for result in results[-1:] if by == names.GAIN else results:
        options = options_of_result(result.attrs)
        largest = result.isel({names.SIZE: [-1]}, missing_dims="ignore")
        if by == names.GAIN:
            values |= {setting: (largest, setting) for setting in labels_of(result, names.GAIN)}
        elif by not in options:
            known = ", ".join(sorted(options))
            raise BadPlan(
                f"{option('by', by)}: expected {names.GAIN}, or an option of {analysis}: {known}",
                option="by",
            )
        elif by == names.SIZE:
            sizes = result[names.SIZE].values.tolist()
            values |= {str(size): (result.sel({names.SIZE: [size]}), gain) for size in sizes}
        else:
            values[str(options[by])] = largest, gain
    if len(values) < 2:
        raise BadPlan(
            f"{option('by', by)}: a figure by {by} takes at least two different values of it; "
            f"{analysis} has: {', '.join(values) or 'none'}",
            option="by",
        )
    # Choices stand in the order of their declaration, which is the papers'; numbers by size.
    declared = options_of(registry.load(analysis)) if analysis in registry.names() else {}
    order = [str(word) for word in declared[by].choices] if by in declared else []
    if all(value.replace(".", "").isdigit() for value in values):
        return {value: values[value] for value in sorted(values, key=float)}
    return {value: values[value] for value in sorted(values, key=[*order, *values].index)}
