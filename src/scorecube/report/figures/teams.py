"""Figures of leaving teams out (Sakai and Shang 2016, S3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.figures.canvas import Canvas
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, MARKERS
from scorecube.report.tables.reusability import within_of
from scorecube.report.tables.teams import conditions

MOST_BANDS = 4
"""Metrics with a band; more have bars side by side, which do not cover each other."""
ROW_HEIGHT = 2.7
LEGEND_ROW = 0.22
LEGEND_COLUMNS = 6
DASHES = ("-", "--", ":")
SPREAD = 0.6
"""Part of the distance between two numbers of teams that bars side by side take."""


def leave_out_panels(canvas: Canvas, result: xr.Dataset, gain: str | None = None) -> None:
    """Variance by the number of teams left out (S3 Figure 1), the order of the runs, and the variance with fewer topics (S3 Figure 2).

    Horizontal lines are the variance of all runs; the last number of teams up to which the mean is near it has a ring.

    Parameters
    ----------
    result
        Of the analysis ``teams``.
    gain
        Gain setting; the first by default.
    """
    cells = result.isel({names.GAIN: 0}) if gain is None else result.sel({names.GAIN: gain})
    chain = result.sizes[names.TOPIC_STEP] > 1
    metrics = labels_of(result, names.METRIC)
    panels: list[Any] = [["variance", "variance"], ["tau", "drop"], *[["fewest", "topics"]] * chain]
    legend_rows = -(-len(metrics) // LEGEND_COLUMNS)
    figure = canvas.figure(
        (FIGURE_SIZE[0], 0.4 + ROW_HEIGHT * len(panels) + LEGEND_ROW * legend_rows)
    )
    axes = figure.subplot_mosaic(panels)
    _variances(axes["variance"], cells, 0)
    _ranking(axes["tau"], cells, "tau_mean", "tau with the full evaluation")
    axes["tau"].set_title("order of the remaining runs, mean over trials", loc="left", fontsize=9)
    _ranking(axes["drop"], cells, "rank_drop_largest", "ranks")
    axes["drop"].yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    axes["drop"].set_ylim(bottom=0)
    axes["drop"].set_title("largest loss of ranks in any trial", loc="left", fontsize=9)
    if chain:
        _variances(axes["fewest"], cells, cells.sizes[names.TOPIC_STEP] - 1)
        _by_topics(axes["topics"], cells)
    for name in set(axes) - {"topics"}:
        axes[name].set_xlabel("teams left out")
        axes[name].xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.suptitle(
        f"{conditions(result)}, gains {cells[names.GAIN].item()}", x=0.01, ha="left", fontsize=9
    )
    handles, labels = axes["tau"].get_legend_handles_labels()
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=min(len(labels), LEGEND_COLUMNS),
        fontsize=8,
    )


def _style(k: int) -> dict[str, Any]:
    """Return colour, dashes and marker of a metric; no two metrics have all in common."""
    return {
        "color": COLOURS[k % len(COLOURS)],
        "linestyle": DASHES[k // len(COLOURS) % len(DASHES)],
        "marker": MARKERS[k % len(MARKERS)],
        "markersize": 3.0,
        "linewidth": 1.2,
    }


def _variances(axes: Axes, cells: xr.Dataset, step: int) -> None:
    """Draw mean variance over trials with its interval, and the variance of all runs as a horizontal line."""
    at = cells.isel({names.TOPIC_STEP: step})
    left_out = at[names.LEAVE].values.astype(np.float64)
    count, gain = at.sizes[names.METRIC], str(at[names.GAIN].item())
    last_within = within_of(cells, int(at[names.TOPIC_STEP]))
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        mean, low, high = (at[f"variance_{end}"].values[k] for end in ("mean", "low", "high"))
        style = _style(k)
        places = left_out
        if count <= MOST_BANDS:
            axes.fill_between(left_out, low, high, color=style["color"], alpha=0.15, linewidth=0)
        else:
            places = left_out + SPREAD * ((k + 0.5) / count - 0.5) * (left_out > 0)
            axes.vlines(places, low, high, color=style["color"], linewidth=0.9, alpha=0.6)
        axes.plot(places, mean, label=metric, **style)
        axes.axhline(mean[0], color=style["color"], linewidth=0.8, linestyle=(0, (1, 2)))
        last = np.flatnonzero(left_out == (last_within.get((metric, gain)) or np.nan))
        axes.plot(
            places[last],
            mean[last],
            "o",
            markersize=9,
            markerfacecolor="none",
            color=style["color"],
        )
    axes.set_ylabel("within-system variance")
    axes.set_ylim(bottom=0.0)
    words = "all topics" if step == 0 else f"{int(at[names.TOPIC_STEP])} topics"
    axes.set_title(words, loc="left", fontsize=9)


def _ranking(axes: Axes, cells: xr.Dataset, name: str, label: str) -> None:
    left_out = cells[names.LEAVE].values
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        axes.plot(left_out, cells[name].values[k], label=metric, **_style(k))
    axes.set_ylabel(label)


def _by_topics(axes: Axes, cells: xr.Dataset) -> None:
    """Draw the variance of the runs of all teams by number of topics (S3 Table 3)."""
    whole = cells.isel({names.LEAVE: 0})
    n_topics = whole[names.TOPIC_STEP].values
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        axes.plot(n_topics, whole["variance_mean"].values[k], label=metric, **_style(k))
    axes.set_xlabel("topics")
    axes.set_xlim(0, n_topics.max() * 1.05)
    axes.set_ylim(bottom=0.0)
    axes.set_ylabel("within-system variance")
    axes.set_title("no team left out, fewer topics", loc="left", fontsize=9)
