"""View of the classical tests."""

from __future__ import annotations

import xarray as xr

from scorecube import names
from scorecube.report.tables import paired
from scorecube.report.tables.pairs import conditions
from scorecube.report.text_formats import merge_gains
from scorecube.report.views.pair_tests import COLUMN, PAIR_ROWS, discrimination
from scorecube.report.views.questions import DISCRIMINATION
from scorecube.report.views.view import Frames, Headed, Order, Table, View, on_demand


def headline(result: xr.Dataset) -> list[str]:
    """Return, for each test, the metric that separates most pairs of runs."""
    frame = merge_gains(paired.power(result))
    plain = frame[(frame["adjustment"] == "none") & (frame["alpha"] == frame["alpha"].max())]
    best = plain.groupby("test", sort=False).first().reset_index()
    return [
        f"{row.test} test: {row.metric} separates the most pairs of runs: {row.significant:,} of {row.pairs:,} ({row.share:.1%}) have p < {row.alpha:g}"
        if row.significant
        else f"{row.test} test: no pair of runs has p < {row.alpha:g}, whatever the metric ({row.pairs:,} pairs)"
        for row in best.itertuples()
    ]


def page_tables(frames: Frames) -> Headed:
    """Return the significant pairs at each level, and how many are left after an adjustment for the number of pairs."""
    frame = frames["power"]
    plain, others = frame[frame["adjustment"] == "none"], frame[frame["adjustment"] != "none"]
    tables = [
        (f"Significant pairs at {alpha:g}", part.drop(columns=["alpha", "adjustment"]))
        for alpha, part in plain.groupby("alpha", sort=False)
    ]
    return [*tables, ("Adjusted for the number of pairs", others)]


VIEW = View(
    name="paired",
    heading="Classical tests",
    about=(
        "Paired t test, Wilcoxon's signed-rank test and the sign test of every pair of runs, as quick references. Each makes assumptions "
        "about the differences that resampling does not need."
    ),
    tables={"power": Table(paired.power), "pairs": Table(paired.pairs, PAIR_ROWS)},
    title=lambda options: ", ".join(options["tests"]),
    caption=lambda result: f"{conditions(result.isel({names.TEST: 0}))}. Sorted p-values.",
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.pairs:classical_curves"),
    column=COLUMN,
    order=Order("share", more_is_better=True, conditions=("test", "alpha")),
    answers={DISCRIMINATION: discrimination},
)
