"""Figure of reliability coefficients by number of topics."""

from __future__ import annotations

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, MARKERS
from scorecube.report.tables.reliability import conditions
from scorecube.statistics.variance_components import COEFFICIENTS, coefficient

MOST_BANDS = 3
"""Metrics with a band; of more metrics only the highest and the lowest have one, as bands cover each other."""
TITLES = {"erho2": "E rho^2: differences between systems", "phi": "Phi: absolute means"}
POINTS = 200
FARTHEST = 6
"""Times the topics at hand that the axis reaches at most, unless more are asked for."""


def reliability_curves(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """E rho^2 and Phi by number of topics, a curve and a band a metric.

    Bands are jackknife intervals over topics and teams, or intervals by F distributions where there are none. Vertical lines: topics at hand;
    horizontal lines: targets.

    Parameters
    ----------
    result
        Of the analysis ``reliability``.
    gain
        Gain setting; the first by default.
    """
    cells = result.isel(gain=0) if gain is None else result.sel(gain=gain)
    sizes = np.linspace(1, _farthest(cells), POINTS)
    figure = canvas.figure(FIGURE_SIZE)
    panels = figure.subplots(1, len(COEFFICIENTS), sharey=True)
    for axes, name in zip(panels, COEFFICIENTS, strict=True):
        _curves(axes, cells.sel({names.COEFFICIENT: name}), sizes)
        axes.set_title(TITLES[name], loc="left", fontsize=9)
    panels[0].set_ylim(_lowest(cells), 1.0)
    panels[0].set_ylabel("coefficient")
    figure.suptitle(
        f"{conditions(result)}, gains {cells[names.GAIN].item()}", x=0.01, ha="left", fontsize=9
    )
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=min(len(labels), 6), fontsize=8
    )


def _farthest(cells: xr.Dataset) -> float:
    """Return the largest number of topics of the axis: for the targets of E rho^2, those asked for, and twice those at hand."""
    own = int(cells.attrs["n_topics"])
    needed = cells["topics"].sel({names.COEFFICIENT: COEFFICIENTS[0]}).values
    wanted = needed[np.isfinite(needed)].max(initial=0.0) * 1.1
    return float(
        max(2 * own, min(wanted, FARTHEST * own), cells[names.N_TOPICS].values.max() * 1.05)
    )


def _lowest(cells: xr.Dataset) -> float:
    """Return the lower end of the axis: twice as far below 1 as the lowest limit for the topics at hand, in tenths."""
    limits = [
        coefficient(_limit(cells.sel({names.COEFFICIENT: name}), "low"), cells.attrs["n_topics"])
        for name in COEFFICIENTS
    ]
    lowest = np.nan_to_num(limits).min()
    return max(0.0, float(np.floor(10 * (2 * lowest - 1)) / 10))


def _curves(
    axes: Axes, at: xr.Dataset, sizes: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> None:
    metrics = labels_of(at, names.METRIC)
    ratios = at["ratio"].values
    known = [k for k in np.argsort(ratios) if np.isfinite(ratios[k])]
    banded = known if len(known) <= MOST_BANDS else [known[0], known[-1]]
    own = int(at.attrs["n_topics"])
    for k, metric in enumerate(metrics):
        colour = COLOURS[k % len(COLOURS)]
        axes.plot(sizes, coefficient(ratios[k], sizes), linewidth=1.2, color=colour)
        axes.plot(
            [own],
            [coefficient(ratios[k], own)],
            color=colour,
            label=metric,
            linewidth=1.2,
            markersize=4,
            marker=MARKERS[k % len(MARKERS)],
        )
        if k in banded:
            low, high = (_limit(at, end)[k] for end in ("low", "high"))
            axes.fill_between(
                sizes,
                coefficient(low, sizes),
                coefficient(high, sizes),
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
    for target in at[names.TARGET].values:
        axes.axhline(target, linestyle="--", linewidth=0.8, color="0.4")
    axes.axvline(own, linestyle=":", linewidth=0.8, color="0.4")
    axes.set_xlim(1, sizes[-1])
    axes.set_xlabel("topics")


def _limit(at: xr.Dataset, end: str) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    both = (at[f"ratio_jackknife_{side}"] for side in ("low", "high"))
    known = np.logical_and(*(np.isfinite(each.values) for each in both))
    return np.where(known, at[f"ratio_jackknife_{end}"].values, at[f"ratio_{end}"].values)
