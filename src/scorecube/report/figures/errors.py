"""Figures of error rates of tests: rate against alpha, power against the true difference."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.log_labels import plain_log_labels
from scorecube.report.figures.style import COLOURS, MARKERS
from scorecube.report.tables.errors import FAMILIES

ALPHA = 0.05
"""Level of the curves of power; the nearest one if it is not among those of a result."""
MOST_METRICS = 5
PANEL = (3.1, 2.7)


def error_curves(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Draw the two-sided error rates of tests, a row of panels a metric, at the largest number of topics up to 50.

    Left: the type I error rate by significance level, as a multiple of it, so that a test that keeps its level lies on 1. Right: power by true difference.

    Parameters
    ----------
    result
        Of the analysis ``errors``.
    gain
        Gain setting; the first by default.
    """
    cells = result.isel(gain=0) if gain is None else result.sel(gain=gain)
    sizes = cells[names.SIZE].values
    size = int(max(sizes[sizes <= 50], default=sizes.min()))
    at = cells.sel({names.SIZE: size, names.SIDED: 2})
    deltas = at[names.DELTA].values
    only_families = set(labels_of(at, names.TEST)) <= set(FAMILIES)
    panels = ([_by_alpha] if (deltas == 0).any() else []) + (
        [_by_delta] if (deltas > 0).any() and not only_families else []
    )
    metrics = labels_of(at, names.METRIC)[:MOST_METRICS]
    figure = canvas.figure((PANEL[0] * max(len(panels), 2), PANEL[1] * len(metrics) + 0.7))
    axes = figure.subplots(len(metrics), len(panels), squeeze=False)
    for row, metric in zip(axes, metrics, strict=True):
        for one, draw in zip(row, panels, strict=True):
            draw(one, at.sel({names.METRIC: metric}))
            one.set_title(metric, loc="left", fontsize=9)
    more = result.sizes[names.METRIC] - len(metrics)
    figure.suptitle(
        f"{size} topics, two-sided" + (f"; {more} more metrics are in the table" if more else ""),
        x=0.01,
        ha="left",
        fontsize=9,
    )
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize=8)


def _lines(axes: Axes, data: xr.Dataset, x: np.ndarray, y: xr.DataArray) -> None:
    for k, test in enumerate(labels_of(data, names.TEST)):
        axes.plot(
            x,
            y.sel({names.TEST: test}).values,
            color=COLOURS[k],
            marker=MARKERS[k],
            markersize=3,
            linewidth=1.2,
            label=test,
        )


def _by_alpha(axes: Axes, data: xr.Dataset) -> None:
    null = data.sel({names.DELTA: 0.0})
    alphas = null[names.ALPHA].values
    rate = null["significant"] / null["experiments"] / null[names.ALPHA]
    axes.axhline(1.0, color="0.4", linewidth=0.8, linestyle="--")
    _lines(axes, null, alphas, rate)
    axes.set_xscale("log")
    plain_log_labels(axes.xaxis)
    axes.set_ylim(bottom=0)
    axes.set_xlabel("alpha")
    axes.set_ylabel("type I error rate / alpha")


def _by_delta(axes: Axes, data: xr.Dataset) -> None:
    alphas = data[names.ALPHA].values
    level = float(alphas[np.argmin(np.abs(alphas - ALPHA))])
    part = data.sel({names.ALPHA: level, names.DELTA: data[names.DELTA].values > 0})
    of_pairs = [test for test in labels_of(part, names.TEST) if test not in FAMILIES]
    part = part.sel({names.TEST: of_pairs})
    _lines(axes, part, part[names.DELTA].values, part["significant"] / part["experiments"])
    axes.set_xlim(0, 1.1 * float(part[names.DELTA].max()))
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("true difference of means")
    axes.set_ylabel(f"power at alpha {level:g}")
