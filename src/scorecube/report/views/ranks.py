"""View of rank sets."""

from __future__ import annotations

from scorecube.report.tables import leaderboard as tables
from scorecube.report.views.leaderboard import (
    RUN_ROWS,
    caption,
    cautions,
    cell,
    headline,
    page_tables,
    title,
)
from scorecube.report.views.view import Column, Table, View, on_demand

VIEW = View(
    name="ranks",
    heading="Rank sets",
    about="The rank set of a run holds its rank by mean score over infinitely many topics: it begins after the runs that are shown to be better and ends before "
    "those that are shown to be worse, by the step-down max-T test. Simultaneous sets hold together with the stated confidence, a marginal set "
    "by itself. The runs whose set begins at k or before may be among the k best.",
    tables={"ranks": Table(tables.ranks, RUN_ROWS), "top": Table(tables.top)},
    title=title,
    caption=caption,
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.leaderboard:leaderboard"),
    column=Column("runs that may be the best", cell),
    cautions=cautions,
)
