"""Figures of tests of pairs of runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.ticker import MaxNLocator, StrMethodFormatter

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.collections import by_collection
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE
from scorecube.report.tables.pairs import conditions, power
from scorecube.report.tables.rows import COLLECTION, combine

DASHES: tuple[str | tuple[int, tuple[int, ...]], ...] = (
    "-",
    "--",
    "-.",
    (0, (1, 1)),
    (0, (5, 1, 1, 1, 1, 1)),
)
FEW = 30
"""Pairs whose p-values are marked one by one."""
POINTS = 1000
"""Of a curve over very many pairs."""


def p_value_curves(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Sorted p-values of all pairs, a curve a metric (S2, section 2): the lower, the more pairs a metric separates.

    Parameters
    ----------
    result
        Of the bootstrap, randomisation or Tukey test.
    gain
        Gain setting; the first by default.
    """
    cells = result.isel(gain=0) if gain is None else result.sel(gain=gain)
    alphas = result[names.ALPHA].values
    n_pairs = result.sizes[names.PAIR]
    axes = canvas.panel(FIGURE_SIZE)
    few: dict[str, Any] = {"marker": "o", "markersize": 3.5} if n_pairs <= FEW else {}
    for k, label in enumerate(labels_of(result, names.METRIC)):
        p = np.sort(cells["p_value"].isel(metric=k).values)
        p = p[~np.isnan(p)]  # of tested pairs
        shown = np.unique(np.linspace(0, max(len(p) - 1, 0), min(POINTS, len(p))).astype(int))
        axes.plot(
            shown + 1,
            p[shown],
            label=label,
            color=COLOURS[k % len(COLOURS)],
            linestyle=DASHES[k // len(COLOURS) % len(DASHES)],
            linewidth=1.4,
            **few,
        )
    for alpha in alphas:
        axes.axhline(alpha, linestyle=":", linewidth=0.9, color="0.35")
        axes.annotate(
            f"{alpha:g}",
            (1.005, alpha),
            xycoords=("axes fraction", "data"),
            fontsize=8,
            color="0.35",
            va="center",
            annotation_clip=False,
        )
    top = min(1.0, max(3 * float(max(alphas)), 0.15))
    # Room below, so that curves along p = 0 are visible.
    axes.set_ylim(-0.02 * top, top)
    axes.set_xlim(0, n_pairs + max(1, n_pairs // 50))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    baseline = result.attrs.get("baseline")
    axes.set_xlabel(
        "pairs of runs, by p-value" if baseline is None else f"runs against {baseline}, by p-value"
    )
    axes.set_ylabel("p-value")
    axes.set_title(
        f"{conditions(result)}, gains {cells[names.GAIN].item()}", loc="left", fontsize=9
    )
    canvas.legend_outside(axes, "right upper")


def classical_curves(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Sorted p-values of the first of the classical tests."""
    p_value_curves(canvas, result.isel({names.TEST: 0}), gain)


def power_bars(canvas: Canvas, results: Sequence[xr.Dataset]) -> None:
    """Discriminative power by collection, a bar a metric (S1 Figure 10), at the largest level and the first gain setting."""
    frames = []
    for result in results:
        frame = power(result)
        frames.append(
            frame[
                (frame["alpha"] == frame["alpha"].max())
                & (frame["gain"] == labels_of(result, names.GAIN)[0])
            ]
        )
    table = combine(frames)
    alpha = float(table["alpha"].max())
    metrics = list(
        dict.fromkeys(name for result in results for name in labels_of(result, names.METRIC))
    )
    collections = list(dict.fromkeys(table[COLLECTION]))
    shares = {
        metric: 100 * rows.set_index(COLLECTION)["share"]
        for metric, rows in table.groupby("metric", sort=False)
    }
    by_collection(
        canvas,
        {metric: shares[metric] for metric in metrics},
        collections,
        f"% of pairs with p < {alpha:g}",
    )
