"""View of rank correlations between topic samples."""

from __future__ import annotations

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables import splits
from scorecube.report.tables.topic_samples import conditions
from scorecube.report.text_formats import with_labels
from scorecube.report.views.phrases import sample_title
from scorecube.report.views.view import (
    Column,
    Frames,
    Headed,
    Table,
    View,
    on_demand,
    rows_along,
    select_tables,
)


def headline(result: xr.Dataset) -> list[str]:
    """Return the metric whose ranking depends least on the topics, and how many topics it takes."""
    best = with_labels(splits.quantiles(result)).iloc[0]
    lines = [
        f"{best['label']} ranks the runs most similarly on two samples of {best['size']} topics: tau {best['tau_mean']:.3f} on average, "
        f"{best['tau_5']:.3f} to {best['tau_95']:.3f} in 90% of the trials; the same run is best in {best['share_same_best']:.0%}"
    ]
    for level, rows in (
        splits.settled(result).dropna(subset="settled_at").groupby("tau", sort=False)
    ):
        soonest = rows.sort_values("settled_at", kind="stable").iloc[0]
        lines.append(
            f"95% of the trials reach a tau of {level!s} with {soonest['settled_at']:.0f} or more topics by {soonest['metric']}"
        )
    return lines


def page_tables(frames: Frames) -> Headed:
    """Return the tables without the conditions that the title has."""
    headings = {
        "Tau between two samples": "quantiles",
        "Number of topics from which on the 5% quantile of tau reaches a value": "settled",
    }
    return select_tables(frames, headings, without=("trials", "sampling"))


def highest_tau(frame: pd.DataFrame) -> str:
    """Return the most stable metric at the largest size."""
    return f"{frame['label'].iloc[0]} {frame['tau_mean'].iloc[0]:.2f}"


VIEW = View(
    name="splits",
    heading="Split-half rank correlation",
    about=(
        "Two samples of the topics each rank the runs; tau measures how similar the rankings are: 1 is the same order, 0 unrelated orders, and a share "
        "of (1 - tau) / 2 of the pairs of runs changes order. Where the curve has flattened, more topics would hardly change the ranking. "
        "Samples are at most as large as the collection allows; larger ones are not extrapolated."
    ),
    tables={
        "quantiles": Table(splits.quantiles),
        "settled": Table(splits.settled),
        "trials": Table(
            splits.trials, rows_along(names.METRIC, names.GAIN, names.SIZE, names.TRIAL)
        ),
    },
    title=sample_title,
    caption=lambda result: (
        f"{conditions(result)}. Tau by topic set size, and its distribution at the largest."
    ),
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.splits:split_curves"),
    column=Column("highest tau of two samples", highest_tau),
)
