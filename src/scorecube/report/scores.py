"""What is shown of scores and judgements: tables, and curves of means."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import designs, score_facts
from scorecube.collection.schema import labels_of
from scorecube.errors import BadPlan
from scorecube.report.tables import COLLECTION, Table
from scorecube.report.views import View

MOST_METRICS = 4
"""In one figure."""
MEANS = Table(
    "metric gain run",
    "metric gain run team system? mean n_topics",
    sort="-mean",
    within=2,
    source="cube",
    part=score_facts.means,
    variables=score_facts.MEANS,
)
"""Mean score of every run; the best first."""
TABLES = {
    "means": MEANS,
    "cells": Table("metric gain run topic", "metric gain run topic score", source="cube"),
    "variance": Table(
        "metric gain",
        "metric gain n_runs n_topics variance residual_variance",
        source="cube",
        part=lambda cube: designs.variances(cube, "drop"),
        variables=designs.VARIANCES,
    ),
    "statistics": Table(
        "",
        "n_runs n_teams n_topics judged n_level_{level}=n_level n_relevant",
        source="rankings",
        part=score_facts.statistics,
        variables=score_facts.STATISTICS,
    ),
    "preferred_rank": Table(
        "topic",
        "topic run=preferred_run rank=preferred found_level_{level}=found_level "
        "n_level_{level}=n_level",
        whole="rank",
        source="rankings",
        part=score_facts.preferred_rank,
    ),
}


def mean_curves(canvas: Any, cubes: Sequence[xr.Dataset]) -> None:
    """Mean scores of the runs of collections, the best first (Sakai 2007, Figure 8).

    There is a panel for each metric that all have.
    """
    from scorecube.report.drawing import FIGURE_SIZE

    shared = [labels_of(cube, names.METRIC) for cube in cubes]
    metrics = [name for name in shared[0] if all(name in others for others in shared)]
    if not metrics:
        raise BadPlan("these collections have no metric in common; choose others")
    metrics = metrics[:MOST_METRICS]
    size = (FIGURE_SIZE[0], 2.8 * math.ceil(len(metrics) / 2))
    panels = [canvas.panel()] if len(metrics) == 1 else canvas.grid(len(metrics), 2, size)
    frames = [MEANS.frame(cube.isel({names.GAIN: [0]})) for cube in cubes]
    for axes, metric in zip(panels, metrics, strict=True):
        for k, (cube, frame) in enumerate(zip(cubes, frames, strict=True)):
            means = np.sort(frame.loc[frame["metric"] == metric, "mean"].to_numpy(float))[::-1]
            label = str(cube.attrs.get(COLLECTION, ""))
            places = np.arange(1, len(means) + 1)
            axes.plot(places, means, label=label, **canvas.curve(k, 3.0, 1.0))
        axes.set(title=metric, xlabel="runs, the best first", ylabel="mean score", ylim=(0.0, None))
    canvas.legend_outside(panels[0], "lower left", 4)


VIEW = View(
    name="scores",
    heading="Scores",
    tables=TABLES,
    figure=lambda canvas, cube: mean_curves(canvas, [cube]),
    overview=mean_curves,
    compute=lambda cube: cube,
)
