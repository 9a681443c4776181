"""View of the agreement of two sets of judgements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables import agreement
from scorecube.report.tables.rows import as_records
from scorecube.report.text_formats import cell_text, with_labels
from scorecube.report.views.phrases import NONE
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


def title(options: Mapping[str, Any]) -> str:
    """Return the sets of judgements, the test and the depths."""
    return f"{options['first']} against {options['second']}, {options['test']} test, top {options['top']}, RBO with p = {options['p']:g}"


def headline(result: xr.Dataset) -> list[str]:
    """Return for each metric how similarly two sets of judgements rank the runs, and which run loses most ranks."""
    facts = result.attrs
    lines = []
    frame = with_labels(agreement.rankings(result))
    for row in as_records(frame):
        drop = (
            f"{row['drop_run']} loses the most ranks ({row['largest_drop']})"
            if row["largest_drop"]
            else "no run loses a rank"
        )
        tau, low, high, rbo = (
            cell_text(name, row[name]) for name in ("tau", "tau_low", "tau_high", "rbo")
        )
        lines.append(
            f"{row['label']}: tau {tau} [{low}, {high}] between {facts['set_a']} and {facts['set_b']}, RBO {rbo}; {drop}"
        )
    below = int((frame["tau_high"] < frame["tau"]).sum())
    if below:
        lines.append(
            f"{below} intervals lie below the tau of all topics: samples with replacement have fewer distinct topics and rank runs less reliably; "
            "basic intervals (option interval) mirror them at the observed value"
        )
    return lines


def page_tables(frames: Frames) -> Headed:
    """Return the tables without the conditions that the title has."""
    headings = {"Rankings of runs": "rankings", "Decisions on pairs of runs": "decisions"}
    return select_tables(frames, headings, without=("trials", "set_a", "set_b"))


def lowest_tau(frame: pd.DataFrame) -> str:
    """Return the metric whose rankings agree least."""
    frame = frame.dropna(subset="tau").sort_values("tau", kind="stable")
    return f"{frame['label'].iloc[0]} {frame['tau'].iloc[0]:.2f}" if len(frame) else NONE


VIEW = View(
    name="agreement",
    heading="Agreement of two sets of judgements",
    about=(
        "The same runs are scored with two sets of judgements, the first of which is taken as the truth. Rank correlations (tau, tau-AP, "
        "rank-biased overlap, the last two with more weight on the best runs) compare the rankings. Pairs of runs are active if both sets find "
        "a significant difference, mixed if one does, passive if neither does; disagreements put the two runs in opposite orders. False "
        "positives are differences among the best runs that only the second set finds. Intervals are over topic samples, which rank runs less "
        "reliably than all topics do, so they can lie below the observed value."
    ),
    tables={
        "rankings": Table(agreement.rankings),
        "decisions": Table(agreement.decisions),
        "runs": Table(agreement.runs, rows_along(names.METRIC, names.GAIN, names.RUN)),
    },
    title=title,
    caption=lambda result: (
        f"{agreement.conditions(result)}. Means under both sets, and ranks; red runs lose a tenth of the ranks or more, blue ones gain."
    ),
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.agreement:agreement_panels"),
    column=Column("lowest tau of two judgements", lowest_tau),
)
