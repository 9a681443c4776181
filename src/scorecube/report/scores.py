"""What is shown of scores and judgements: tables and a heat map."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import score_facts
from scorecube.analyses.score_facts import order
from scorecube.collection.schema import Variable, labels_of
from scorecube.errors import BadPlan
from scorecube.report.figures.labels import figure_labels
from scorecube.report.figures.style import FIGURE_SIZE, PAGE_HEIGHT, Axes, curve_style
from scorecube.report.tables import COLLECTION, Source, Table, declared
from scorecube.report.view import Canvas, View

MOST_METRICS = 4
"""In one figure, one below the other."""
ROW, COLUMN = 0.09, 0.15
"""Inches of a run and of a topic; less if the figure became larger than `MOST_INCHES`."""
LEAST_INCHES, MOST_INCHES = 2.2, 14.0
LETTER_INCHES = 1 / 72
"""Of one point of a letter's size."""
MISSING = "#d55e00"


def _of(
    compute: Callable[[xr.Dataset], xr.Dataset],
    variables: Sequence[Variable],
    table: Table,
    source: Source = Source.CUBE,
) -> Table:
    """Return a table of what is computed from scores, or from rankings."""
    return replace(
        table, make=lambda cube: table.make(compute(cube)), source=source, variables=variables
    )


MEANS = _of(
    score_facts.means,
    score_facts.MEANS,
    declared(
        "metric gain run", "metric gain run team system? mean n_topics", sort="-mean", within=2
    ),
)
"""Mean score of every run, or the summary that the metric's prefix asks for (``geo:AP``); the best run of each metric first."""
CELLS = replace(
    declared("metric gain run topic", "metric gain run topic score"), source=Source.CUBE
)
"""Score of every run on every topic."""
TOPICS = _of(
    score_facts.difficulty,
    score_facts.DIFFICULTY,
    declared(
        "metric gain topic",
        "metric gain topic mean sd zero_share best_run best_score n_runs",
        sort="mean",
        within=2,
    ),
)
"""Every topic, hardest first: mean and standard deviation over runs, share of runs with a score of 0, best run and its score."""
VARIANCE = _of(
    score_facts.variance,
    score_facts.VARIANCE,
    declared("metric gain", "metric gain n_runs n_topics variance residual_variance"),
)
"""Within-system variance of every metric (Sakai and Shang 2016, equation 1), which topic set size design takes; last, for comparison, the two-way residual."""
STATISTICS = _of(
    score_facts.statistics,
    score_facts.STATISTICS,
    declared("", "n_runs n_teams n_topics judged n_level_{level}=n_level n_relevant"),
    Source.RANKINGS,
)
"""Size of a collection and of its judgements: mean numbers of relevant documents, and of those judged at each level, per topic (Sakai 2007, Table 1)."""
PREFERRED_RANK = _of(
    score_facts.preferred_rank,
    (),
    declared(
        "topic",
        "topic run=preferred_run rank=preferred found_level_{level}=found_level "
        "n_level_{level}=n_level",
        whole="rank",
        objects=True,
    ),
    Source.RANKINGS,
)
"""Deepest preferred rank of every topic: how far down P-measure makes a user look (Sakai 2007, Tables 7-9).

The run with the largest one is shown, with the documents of each level at or above that rank (`found_level_K`) and in all
(`n_level_K`), highest level first. Run and rank are missing where no run found anything relevant.
"""


def heat_map(canvas: Canvas, cube: xr.Dataset) -> None:
    """Scores of all runs (rows, best mean first) on all topics (columns, easiest first) at the first gain setting, one panel a metric."""
    cells = cube.isel(gain=0)
    metrics = labels_of(cube, names.METRIC)
    shown = metrics[:MOST_METRICS]
    height, width = (
        min(max(inches * cube.sizes[dim], LEAST_INCHES), MOST_INCHES)
        for inches, dim in ((ROW, names.RUN), (COLUMN, names.TOPIC))
    )
    height = min(height, (PAGE_HEIGHT - 0.3) / len(shown) - 0.9)
    figure = canvas.figure((width + 2.2, (height + 0.9) * len(shown) + 0.3))
    panels = figure.subplots(len(shown), 1, squeeze=False)[:, 0]
    for axes, metric in zip(panels, shown, strict=True):
        _panel(axes, cells.sel(metric=metric), metric, (height, width))
    more = len(metrics) - len(shown)
    rest = f"; {more} more: {', '.join(metrics[MOST_METRICS:])}" if more else ""
    canvas.name(
        f"{cube.attrs.get(COLLECTION, '')}  {cube.sizes[names.RUN]} runs, {cube.sizes[names.TOPIC]} topics, "
        f"gains {cells[names.GAIN].item()}{rest}".strip()
    )


def mean_curves(canvas: Canvas, cubes: Sequence[xr.Dataset]) -> None:
    """Mean scores of the runs of several collections, the best first (Sakai 2007, Figure 8): a panel for each metric that all of them have."""
    shared = [labels_of(cube, names.METRIC) for cube in cubes]
    metrics = [each for each in shared[0] if all(each in others for others in shared)]
    if not metrics:
        raise BadPlan("these collections have no metric in common; choose others")
    shown = metrics[:MOST_METRICS]
    size = (FIGURE_SIZE[0], 2.8 * -(-len(shown) // 2))
    panels = [canvas.panel(FIGURE_SIZE)] if len(shown) == 1 else canvas.grid(len(shown), 2, size)
    frames = [MEANS.make(cube.isel({names.GAIN: [0]})) for cube in cubes]
    for axes, metric in zip(panels, shown, strict=True):
        for k, (cube, frame) in enumerate(zip(cubes, frames, strict=True)):
            means = np.sort(frame.loc[frame["metric"] == metric, "mean"].to_numpy(float))[::-1]
            style, label = curve_style(k, 3.0, 1.0), cube.attrs[COLLECTION]
            axes.plot(np.arange(1, len(means) + 1), means, label=label, **style)
        axes.set(title=metric, xlabel="runs, the best first", ylabel="mean score", ylim=(0.0, None))
    canvas.legend_outside(panels[0], "lower left", 4, fontsize=8)


def _panel(axes: Axes, at: xr.Dataset, metric: str, inches: tuple[float, float]) -> None:
    scores = at[names.SCORE].values
    runs, topics = order(scores)
    image = axes.imshow(
        np.ma.masked_invalid(scores[np.ix_(runs, topics)]),
        aspect="auto",
        interpolation="nearest",
        cmap="cividis",
        vmin=min(0.0, float(np.nanmin(scores, initial=0.0))),
        vmax=float(np.nanmax(scores, initial=0.0)) or 1.0,
    )
    image.set_cmap(image.get_cmap().with_extremes(bad=MISSING))
    axes.grid(visible=False)
    axes.figure.colorbar(image, ax=axes, label=metric, fraction=0.04, pad=0.01)
    labels = list(figure_labels(labels_of(at, names.TOPIC)).values())
    names_of = labels_of(at, names.RUN)
    _ticks(axes.yaxis, [names_of[run] for run in runs], inches[0])
    _ticks(axes.xaxis, [labels[topic] for topic in topics], inches[1])
    axes.tick_params(axis="x", labelrotation=90)
    axes.set_xlabel("topics, by mean over runs")
    absent = " (missing scores orange)" if np.isnan(scores).any() else ""
    axes.set_title(f"{metric}: runs by mean, best first{absent}")


def _ticks(axis: Any, labels: list[str], inches: float) -> None:
    """Label positions so that labels do not overlap: all in small letters, or every second, third ... one."""
    room = inches / len(labels)
    step = max(1, int(np.ceil(4 * LETTER_INCHES * 1.15 / room)))
    size = min(8.0, max(4.0, room * step / LETTER_INCHES / 1.25))
    axis.set_ticks(range(0, len(labels), step), labels[::step], fontsize=size)


VIEW = View(
    name="scores",
    heading="Scores",
    tables={
        "means": MEANS,
        "cells": CELLS,
        "topics": TOPICS,
        "variance": VARIANCE,
        "statistics": STATISTICS,
        "preferred_rank": PREFERRED_RANK,
    },
    figure=heat_map,
    overview=mean_curves,
    by_metric=True,
    compute=lambda cube: cube,
)
