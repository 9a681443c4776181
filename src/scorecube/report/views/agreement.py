"""View of the agreement of two sets of judgements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables import agreement
from scorecube.report.tables.population import estimate_text, no_interval
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
        tau, rbo = (cell_text(row[name]) for name in ("tau", "rbo"))
        lines.append(
            f"{row['label']}: tau {tau} between {facts['set_a']} and {facts['set_b']} on these {facts['n_topics']} topics{estimate_text(row, confidence=float(facts['confidence']))} "
            f"for these {facts['n_runs']} runs; RBO {rbo}; {drop}"
        )
    if reason := no_interval(result):
        lines.append(f"no interval over infinitely many topics: {reason}")
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
        "positives are differences among the best runs that only the second set finds. The observed agreement estimates what other topics, as many, "
        "would show on average. The agreement of the two rankings of these runs over infinitely many topics (tau_population and its likes, with "
        "intervals) is another quantity, and usually higher, as chance in the topics separates the two rankings. Its intervals covered the true "
        'tau in most simulations as often as stated; the documentation of scorecube lists the others ("Intervals: estimands and coverage"). '
        "Percentile intervals over resampled topics are no "
        "confidence intervals of either, and are left out where they exclude their value."
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
