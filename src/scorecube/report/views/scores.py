"""View of scores and judgements."""

from __future__ import annotations

from scorecube.report.tables import scores, topics
from scorecube.report.views.view import Source, Table, View, on_demand

VIEW = View(
    name="scores",
    heading="Scores",
    tables={
        "means": Table(scores.means, source=Source.CUBE),
        "cells": Table(scores.cells, source=Source.CUBE),
        "topics": Table(topics.topics, source=Source.CUBE),
        "separation": Table(topics.separation, source=Source.CUBE),
        "subsets": Table(
            topics.subsets,
            source=Source.CUBE,
            note="best and worst subsets are what a greedy search finds, chosen after the fact: other runs may need other topics",
        ),
        "variance": Table(scores.variance, source=Source.CUBE),
        "statistics": Table(scores.statistics, source=Source.RANKINGS),
        "preferred_rank": Table(scores.preferred_rank, source=Source.RANKINGS),
    },
    figure=on_demand("figures.scores:heat_map"),
    compute=lambda cube: cube,
)
