"""Figure of checks against simulated truth: coverage of claims, and estimates against the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.style import COLOURS, MARKERS

MOST_METRICS = 6
ROW_HEIGHT, PANEL_WIDTH, MARGIN_HEIGHT = 0.24, 4.6, 1.3


def coverage(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Draw how often claims hold, by claim and metric; and estimates that have no interval against the truth.

    Parameters
    ----------
    result
        Of the analysis ``check``.
    gain
        Gain setting; the first by default.
    """
    data = result.isel(gain=0) if gain is None else result.sel(gain=gain)
    metrics = labels_of(data, names.METRIC)[:MOST_METRICS]
    stated = np.isfinite(data["nominal"].values)
    panels: list[tuple[Any, Any]] = []
    for draw, chosen in ((_coverage, stated), (_estimates, ~stated)):
        part = data.isel({names.CLAIM: np.flatnonzero(chosen)})
        shown = np.isfinite(part["held" if draw is _coverage else "estimate"].values)
        part = part.isel(
            {names.CLAIM: np.flatnonzero(shown.any(axis=tuple(range(shown.ndim - 1))))}
        )
        if part.sizes[names.CLAIM]:
            panels.append((draw, part))
    rows = max((part.sizes[names.CLAIM] for _, part in panels), default=1)
    figure = canvas.figure(
        (PANEL_WIDTH * max(len(panels), 1), MARGIN_HEIGHT + ROW_HEIGHT * max(rows, 3))
    )
    axes = figure.subplots(1, max(len(panels), 1), squeeze=False)[0]
    for one, (draw, part) in zip(axes, panels, strict=False):
        draw(one, part, metrics)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8)


def _names(axes: Axes, data: xr.Dataset) -> np.ndarray[Any, Any]:
    claims = [
        f"{claim} ({size})"
        for claim, size in zip(
            labels_of(data, names.CLAIM), data[names.SIZE].values.tolist(), strict=True
        )
    ]
    places = np.arange(len(claims))[::-1].astype(float)
    axes.set_yticks(places, claims, fontsize=7)
    axes.set_ylim(-0.6, len(claims) - 0.4)
    return places


def _offset(k: int, count: int) -> float:
    """Return the vertical distance of the points of a metric from the middle of the row."""
    return 0.0 if count == 1 else 0.5 * (0.5 - k / (count - 1))


def _coverage(axes: Axes, data: xr.Dataset, metrics: Sequence[str]) -> None:
    places = _names(axes, data)
    nominal = data["nominal"].values
    axes.vlines(nominal, places - 0.4, places + 0.4, color="0.4", linewidth=1.0)
    for k, metric in enumerate(metrics):
        part = data.isel({names.METRIC: k})
        held = part["held"].values
        ends = np.stack([held - part["held_low"].values, part["held_high"].values - held])
        axes.errorbar(
            held,
            places + _offset(k, len(metrics)),
            xerr=np.maximum(ends, 0.0),
            color=COLOURS[k],
            marker=MARKERS[k],
            markersize=3.5,
            linewidth=0,
            elinewidth=1.0,
            label=metric,
        )
    axes.set_xlim(right=1.01)
    axes.set_xlabel("share of samples that hold the truth")


def _estimates(axes: Axes, data: xr.Dataset, metrics: Sequence[str]) -> None:
    places = _names(axes, data)
    for k, metric in enumerate(metrics):
        part = data.isel({names.METRIC: k})
        height = places + _offset(k, len(metrics))
        axes.plot(
            part["estimate"].values,
            height,
            color=COLOURS[k],
            marker=MARKERS[k],
            markersize=3.5,
            linewidth=0,
            label=metric,
        )
        axes.plot(part["truth"].values, height, color="0.2", marker="|", markersize=8, linewidth=0)
    axes.set_xlim(left=0.0)
    axes.set_xlabel("mean estimate; bar: truth")
