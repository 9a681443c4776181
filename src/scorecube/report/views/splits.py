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
    frame = with_labels(splits.quantiles(result))
    rows = frame[frame["size"] == frame["size"].iloc[0]]
    best = rows.iloc[0]
    most = " most similarly" if len(rows) > 1 else ""
    after = (
        f"; next is {rows['label'].iloc[1]} with {rows['tau_mean'].iloc[1]:.2f}"
        if len(rows) > 1
        else ""
    )
    lines = [
        f"{best['label']} ranks the runs{most} on two samples of {best['size']} of these {result.attrs['n_topics']} topics: tau {best['tau_mean']:.2f} on average, "
        f"{best['tau_5']:.2f} to {best['tau_95']:.2f} in 90% of the trials{after}; the same run is best by {best['label']} in {best['share_same_best']:.0%}"
    ]
    for level, rows in splits.settled(result).groupby("tau", sort=False):
        if rows["settled_at"].isna().all():
            lines.append(
                f"no metric reaches a tau of {level!s} in 95% of the trials with up to {rows['largest_size'].iloc[0]} topics"
            )
            continue
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
    settled = frames["settled"]
    if settled["settled_at"].isna().all():
        frames = {name: frame for name, frame in frames.items() if name != "settled"}
    return select_tables(frames, headings, without=("trials", "sampling"))


def highest_tau(frame: pd.DataFrame) -> str:
    """Return the most stable metric at the largest size."""
    return f"{frame['label'].iloc[0]} {frame['tau_mean'].iloc[0]:.2f}"


VIEW = View(
    name="splits",
    heading="Split-half rank correlation",
    about=(
        "Two samples of the topics each rank the runs; tau measures how similar the rankings are: 1 is the same order, 0 unrelated orders, and a share "
        "of (1 - tau) / 2 of the pairs of runs changes order. Where the curve has flattened, the rankings of two larger samples "
        "are hardly more similar. Quantiles are of trials with these topics, no intervals for others; two rankings of half of the topics are less similar than rankings by all would be. "
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
