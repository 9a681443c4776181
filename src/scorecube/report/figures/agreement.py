"""Figures of the agreement of two sets of judgements."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.labels import name_conditions
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE
from scorecube.report.tables.agreement import conditions
from scorecube.report.tables.population import estimate_text, estimates

MOST_METRICS = 4
"""In one figure; the tables have all."""
ROW_HEIGHT = 3.2
LEAST_SPAN = 1e-9
"""Range of the axes if all means are equal: an axis needs a length."""
MOVED = 0.1
"""Share of the runs by which a rank must change for its line to have a colour."""


def agreement_panels(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Means under both sets with the diagonal, and ranks under both sets joined by lines; a row a metric.

    Runs that lose many ranks are red, those that gain many are blue; the one that loses most is ringed and named.

    Parameters
    ----------
    result
        Of the analysis ``agreement``.
    gain
        Gain setting; the first by default.
    """
    cells = result.isel(gain=0) if gain is None else result.sel(gain=gain)
    shown = labels_of(result, names.METRIC)[:MOST_METRICS]
    figure = canvas.figure((FIGURE_SIZE[0], 0.5 + ROW_HEIGHT * len(shown)))
    panels = figure.subplots(len(shown), 2, squeeze=False)
    for k, metric in enumerate(shown):
        at = cells.isel(metric=k)
        colours = _colours(at)
        _means(panels[k, 0], at, colours, result.attrs)
        _ranks(panels[k, 1], at, colours, result.attrs)
        tau, found = float(at["agreement"].values[0]), estimate_text(estimates(at, "tau"))
        panels[k, 0].set_title(f"{metric}: tau {tau:.3f}{found}", loc="left", fontsize=9)
    name_conditions(figure, conditions(result), cells, shown)


def _colours(at: xr.Dataset) -> list[str]:
    change = at["rank_second"].values - at["rank_first"].values
    least = max(1.0, MOVED * len(change))
    return [
        COLOURS[1] if lost >= least else COLOURS[0] if -lost >= least else "0.65" for lost in change
    ]


def _name(at: xr.Dataset) -> tuple[int, str]:
    """Return the run that loses most ranks, and its label, which is empty if no run loses any."""
    run = int(at["drop_run"])
    return run, labels_of(at, names.RUN)[run] if int(at["drop"]) > 0 else ""


def _means(axes: Axes, at: xr.Dataset, colours: list[str], facts: dict[Any, Any]) -> None:
    a, b = at["mean_first"].values, at["mean_second"].values
    low, high = min(a.min(), b.min()), max(a.max(), b.max())
    margin = 0.05 * max(high - low, LEAST_SPAN)
    axes.plot(
        [low - margin, high + margin],
        [low - margin, high + margin],
        linewidth=0.8,
        color="0.4",
        linestyle="--",
    )
    axes.scatter(a, b, s=12, c=colours, linewidths=0)
    run, name = _name(at)
    if name:
        axes.scatter(a[run], b[run], s=45, facecolors="none", edgecolors="0.1", linewidths=0.9)
    axes.set_xlabel(f"mean, {facts['set_a']}")
    axes.set_ylabel(f"mean, {facts['set_b']}")


def _ranks(axes: Axes, at: xr.Dataset, colours: list[str], facts: dict[Any, Any]) -> None:
    first, second = at["rank_first"].values, at["rank_second"].values
    # Runs that moved little are drawn first, so that the others lie above them.
    for run in np.argsort(np.abs(second - first), kind="stable"):
        axes.plot(
            [0, 1],
            [first[run], second[run]],
            color=colours[run],
            linewidth=0.9,
            marker="o",
            markersize=2,
        )
    run, name = _name(at)
    if name:
        axes.annotate(
            name,
            (1, second[run]),
            (5, 0),
            textcoords="offset points",
            fontsize=7,
            va="center",
            annotation_clip=False,
        )
    axes.set_xlim(-0.08, 1.5)
    axes.set_xticks([0, 1], [str(facts["set_a"]), str(facts["set_b"])])
    axes.invert_yaxis()
    axes.grid(axis="x", visible=False)
    axes.set_ylabel("rank")
