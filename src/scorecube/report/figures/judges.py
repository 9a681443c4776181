"""Figure of judges: how alike they rank runs, and what labels of the truth buy."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.labels import name_conditions
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, MARKERS
from scorecube.report.tables.judges import conditions, sizes_of

MOST_METRICS = 4
"""In one figure; the tables have all."""
MOST_CURVES = 6
"""Judges with a curve; of more judges those that rank most alike."""
ROW_HEIGHT, BAR_HEIGHT = 1.6, 0.16


def judge_panels(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Tau of each judge with its interval, and widths of intervals of means by labelled topics; a row a metric.

    Parameters
    ----------
    result
        Of the analysis ``judges``.
    gain
        Gain setting; the first by default.
    """
    cells = result.isel(gain=0) if gain is None else result.sel(gain=gain)
    shown = labels_of(result, names.METRIC)[:MOST_METRICS]
    height = ROW_HEIGHT + BAR_HEIGHT * min(result.sizes[names.JUDGE], 30)
    figure = canvas.figure((FIGURE_SIZE[0], 0.6 + height * len(shown)))
    panels = figure.subplots(len(shown), 2, squeeze=False)
    for k, metric in enumerate(shown):
        at = cells.isel(metric=k)
        _taus(panels[k, 0], at)
        _halves(panels[k, 1], at) if np.isfinite(at["half_tau"].values).any() else _widths(
            panels[k, 1], at
        )
        panels[k, 0].set_title(metric, loc="left", fontsize=9)
    name_conditions(figure, conditions(result), cells, shown)


def _order(at: xr.Dataset) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return the judges, the most alike first."""
    return np.argsort(-at["agreement"].values[:, 0], kind="stable")


def _taus(axes: Axes, at: xr.Dataset) -> None:
    judges = labels_of(at, names.JUDGE)
    order = _order(at)
    for place, k in enumerate(order):
        low, high = (float(at[f"population_{end}"].values[k, 0]) for end in ("low", "high"))
        axes.plot([low, high], [place, place], color="0.6", linewidth=2)
        axes.plot(float(at["population"].values[k, 0]), place, "|", color="0.2", markersize=8)
        axes.plot(float(at["agreement"].values[k, 0]), place, "o", color=COLOURS[0], markersize=4)
    axes.set_yticks(range(len(order)), [judges[k] for k in order])
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlabel("tau")


def _widths(axes: Axes, at: xr.Dataset) -> None:
    judges = labels_of(at, names.JUDGE)
    alone: dict[int, float] = {}
    for place, k in enumerate(_order(at)[:MOST_CURVES]):
        found = [
            (
                size,
                float(one["width"].sel(quantity="mean")),
                float(one["width_truth"].sel(quantity="mean")),
            )
            for size, one in sizes_of(at.isel({names.JUDGE: int(k)}))
        ]
        if not found:
            continue
        sizes, widths, truth = (list(each) for each in zip(*sorted(found), strict=True))
        alone |= dict(zip(sizes, truth, strict=True))
        axes.plot(
            sizes,
            widths,
            color=COLOURS[place % len(COLOURS)],
            marker=MARKERS[place % len(MARKERS)],
            markersize=4,
            linewidth=1.2,
            label=judges[k],
        )
    sizes = sorted(alone)
    axes.plot(
        sizes,
        [alone[size] for size in sizes],
        color="0.2",
        linestyle="--",
        linewidth=1,
        label="labels alone",
    )
    axes.set_ylim(0, None)
    axes.set_xlabel("labelled topics")
    axes.set_ylabel("width of intervals")
    axes.legend(fontsize=7, ncols=2)


def _halves(axes: Axes, at: xr.Dataset) -> None:
    """Draw the tau of rankings from as many topics: halves of the truth, of each judge, and one of each."""
    judges = labels_of(at, names.JUDGE)
    order = _order(at)
    texts = ("two halves of the truth", "two halves of the judge", "truth with judge")
    for k, text in enumerate(texts):
        axes.plot(
            at["half_tau"].values[order, k],
            np.arange(len(order)),
            MARKERS[k],
            color=COLOURS[k],
            label=text,
            markersize=5,
        )
    for place, k in enumerate(
        order.tolist()
    ):  # the limits of the judge's part, below the tau of the truth
        ends = [
            at["half_tau"].values[k, 0] - at[f"part_{end}"].values[k] for end in ("high", "low")
        ]
        axes.plot(np.clip(ends, -1, 1), [place, place], color=COLOURS[2], linewidth=1, alpha=0.5)
    axes.set_yticks(range(len(order)), [judges[k] for k in order])
    axes.set_ylim(len(order) - 0.5, -0.5)
    axes.set_xlim(right=1.0)
    axes.set_xlabel("mean tau of rankings from as many topics")
    axes.legend(fontsize=7)
