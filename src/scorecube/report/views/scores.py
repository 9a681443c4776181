"""View of scores and judgements."""

from __future__ import annotations

from scorecube.report.tables import scores
from scorecube.report.views.view import Source, Table, View

VIEW = View(
    name="scores",
    heading="Scores",
    tables={
        "means": Table(scores.means, source=Source.CUBE),
        "cells": Table(scores.cells, source=Source.CUBE),
        "variance": Table(scores.variance, source=Source.CUBE),
        "statistics": Table(scores.statistics, source=Source.RANKINGS),
        "preferred_rank": Table(scores.preferred_rank, source=Source.RANKINGS),
    },
)
