"""What is shown of scores and judgements: tables, and curves of means."""

from __future__ import annotations

from collections.abc import Sequence

import xarray as xr

from scorecube import names
from scorecube.analyses import score_facts
from scorecube.analyses.frames import COLLECTION, frame_of
from scorecube.analyses.variances import VARIANCES, variances
from scorecube.collection.schema import CELL, labels_of
from scorecube.declare import Canvas, Column, Down, Table, View, maybe
from scorecube.errors import BadPlan

MEANS = Table(
    (*CELL, "run"),
    (*CELL, "run", *maybe("team", "system"), "mean", "n_topics"),
    sort=(Down("mean"),),
    within=2,
    source="cube",
    part=score_facts.means,
    variables=score_facts.MEANS,
)
"""Mean score of every run; the best first."""
TABLES = {
    "means": MEANS,
    "cells": Table((*CELL, "run", "topic"), (*CELL, "run", "topic", "score"), source="cube"),
    "variance": Table(
        CELL,
        (*CELL, "n_runs", "n_topics", "within_variance", "paired_variance"),
        source="cube",
        part=lambda cube: variances(cube, "drop"),
        variables=VARIANCES,
    ),
    "statistics": Table(
        (),
        ("n_runs", "n_teams", "n_topics", "judged", Column("n_level", each="level"), "n_relevant"),
        source="rankings",
        part=score_facts.statistics,
        variables=score_facts.STATISTICS,
    ),
    "preferred_rank": Table(
        ("topic",),
        (
            "topic",
            Column("run", of="preferred_run"),
            Column("rank", of="preferred"),
            Column("found_level", each="level"),
            Column("n_level", each="level"),
        ),
        whole=("rank",),
        source="rankings",
        part=score_facts.preferred_rank,
    ),
}


def mean_curves(canvas: Canvas, cubes: Sequence[xr.Dataset]) -> None:
    """Mean scores of the runs of collections, the best first (Sakai 2007, Figure 8).

    By the first metric that all have.
    """
    shared = [labels_of(cube, names.METRIC) for cube in cubes]
    in_all = set(shared[0]).intersection(*shared[1:])
    metric = next((name for name in shared[0] if name in in_all), None)
    if metric is None:
        raise BadPlan("these collections have no metric in common; choose others")
    axes = canvas.panel()
    for k, cube in enumerate(cubes):
        means = frame_of(MEANS, cube.sel({names.METRIC: [metric]}).isel({names.GAIN: [0]}))["mean"]
        style = canvas.curve(k, 3.0, 1.0)
        axes.plot(range(1, len(means) + 1), means, label=cube.attrs.get(COLLECTION, ""), **style)
    axes.set(title=metric, xlabel="runs, the best first", ylabel="mean score", ylim=(0.0, None))
    canvas.legend_outside(axes, "lower left", 4)


VIEW = View(
    name="scores",
    heading="Scores",
    tables=TABLES,
    figure=lambda canvas, cube: mean_curves(canvas, [cube]),
    overview=mean_curves,
    by_metric=True,
    compute=lambda cube: cube,
)
