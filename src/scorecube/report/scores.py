"""What is shown of scores and judgements: tables, and curves of means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses import designs, score_facts
from scorecube.collection.schema import Variable, labels_of
from scorecube.collection.topic_means import without_other_summaries
from scorecube.errors import BadPlan
from scorecube.report.figures.style import FIGURE_SIZE, curve_style
from scorecube.report.tables import COLLECTION, Source, Table, declared
from scorecube.report.view import Canvas, View

MOST_METRICS = 4
"""In one figure."""


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
"""Mean score of every run, or the summary of the metric's prefix; of each metric the best first."""
CELLS = replace(
    declared("metric gain run topic", "metric gain run topic score"), source=Source.CUBE
)
"""Score of every run on every topic."""
VARIANCE = _of(
    lambda cube: designs.variances(without_other_summaries(cube), "drop"),
    designs.VARIANCES,
    declared("metric gain", "metric gain n_runs n_topics variance residual_variance"),
)
"""Variance within systems of every metric (Sakai and Shang 2016, equation 1), and the residual."""
STATISTICS = _of(
    score_facts.statistics,
    score_facts.STATISTICS,
    declared("", "n_runs n_teams n_topics judged n_level_{level}=n_level n_relevant"),
    Source.RANKINGS,
)
"""Size of a collection, and mean numbers of documents of each level (Sakai 2007, Table 1)."""
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
"""Deepest preferred rank of every topic, where P-measure stops (Sakai 2007, Tables 7-9).

The run with the largest one is shown, with the documents of each level at or above that rank
(`found_level_K`) and in all (`n_level_K`), highest level first. Run and rank are missing where no
run found anything relevant.
"""


def mean_curves(canvas: Canvas, cubes: Sequence[xr.Dataset]) -> None:
    """Mean scores of the runs of collections, the best first (Sakai 2007, Figure 8).

    There is a panel for each metric that all have.
    """
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
            style, label = curve_style(k, 3.0, 1.0), str(cube.attrs.get(COLLECTION, ""))
            axes.plot(np.arange(1, len(means) + 1), means, label=label, **style)
        axes.set(title=metric, xlabel="runs, the best first", ylabel="mean score", ylim=(0.0, None))
    canvas.legend_outside(panels[0], "lower left", 4, fontsize=8)


VIEW = View(
    name="scores",
    heading="Scores",
    tables={
        "means": MEANS,
        "cells": CELLS,
        "variance": VARIANCE,
        "statistics": STATISTICS,
        "preferred_rank": PREFERRED_RANK,
    },
    figure=lambda canvas, cube: mean_curves(canvas, [cube]),
    overview=mean_curves,
    compute=lambda cube: cube,
)
