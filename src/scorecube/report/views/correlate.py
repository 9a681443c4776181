"""View of rank correlation between metrics and between gain settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube.errors import counted
from scorecube.report.tables import correlation
from scorecube.report.tables.population import estimate_text, no_interval
from scorecube.report.tables.rows import COLLECTION, averages
from scorecube.report.text_formats import estimates_first, merge_gains
from scorecube.report.views.phrases import NONE, on_collection, value_range
from scorecube.report.views.questions import AGREEMENT
from scorecube.report.views.view import (
    Column,
    Frames,
    Headed,
    Lines,
    ResultGroup,
    Table,
    View,
    on_demand,
    select_tables,
)

LABELS = {"metrics": ("metric_a", "metric_b"), "gains": ("metric", "gain")}
"""Tables of comparisons, and the columns that name the two sides."""
OF_NULL_VARIANCE = ("tau_low", "tau_high", "z")
"""Columns that hold for unrelated rankings only, and may exceed 1: `scorecube show` and the CSV files have them, pages do not."""


def title(options: Mapping[str, Any]) -> str:
    """Return what is resampled, the confidence level and the rule for marking."""
    drawn = ", ".join(options["intervals"])
    parts = [f"{options['confidence']:.0%} intervals" + (f" over {drawn}" if drawn else "")]
    parts += [] if len(options["along"]) > 1 else [f"along {options['along'][0]}"]
    parts += [f"marked above {options['bold']:g}"] if options["bold"] is not None else []
    return ", ".join(parts)


def caption(result: xr.Dataset) -> str:
    """Describe the three panels."""
    return (
        f"{correlation.conditions(result)}. Tau of all pairs of metrics; mean scores of the runs in the order of the first metric, with swops; "
        "all mean scores, with median and quartiles."
    )


def headline(result: xr.Dataset) -> list[str]:
    """Return the most and the least similar pair of metrics, and the gain setting that changes a ranking most."""
    lines = []
    for name, make in (("metrics", correlation.metrics), ("gains", correlation.gains)):
        rows = _by_tau(make(result))
        if not rows:
            continue
        least, most = rows[0], rows[-1]
        first, second = LABELS[name]
        link = " and " if name == "metrics" else " with "
        what = "metrics" if name == "metrics" else f"gain settings, against {least['default']}"
        tied = int(max(row["tied_pairs"] for row in rows))
        ties = f"; up to {counted(tied, 'pair')} of runs tied" if tied else ""
        level = float(result.attrs["confidence"])
        high, low = (
            f"{row[first]}{link}{row[second]} ({row['tau']:.3f}{estimate_text(row, confidence=level)})"
            for row in (most, least)
        )
        found = f"is highest for {high} and lowest for {low}" if len(rows) > 1 else f"of {high}"
        lines.append(
            f"{what}: tau on these {result.attrs['n_topics']} topics {found}; these {result.attrs['n_runs']} runs{_by_itself(least)}{ties}"
        )
    if reason := no_interval(result):
        lines.append(f"no interval over infinitely many topics: {reason}")
    return lines


def _by_tau(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the comparisons that have a tau, the lowest first."""
    rows = (
        merge_gains(frame).dropna(subset="tau").sort_values("tau", kind="stable").to_dict("records")
    )
    return [{str(key): value for key, value in row.items()} for row in rows]


def page_tables(frames: Frames) -> Headed:
    """Return the tables along metrics and gain settings, and their averages over collections (S4 Tables 7 and 12)."""
    tables: Headed = []
    for heading, name in (
        ("Between metrics", "metrics"),
        ("Gain settings against the default", "gains"),
    ):
        dropped = [*correlation.COUNTS, *OF_NULL_VARIANCE]
        marks = ("exceeds_one", "bold")
        dropped += [mark for mark in marks if mark in frames[name] and not frames[name][mark].any()]
        frame = estimates_first(frames[name].drop(columns=dropped, errors="ignore"))
        if len(frame):
            tables.append((heading, frame))
        averaged = averages(frame) if len(frame) and frame[COLLECTION].nunique() > 1 else frame[:0]
        if len(averaged):
            tables.append((f"{heading}, mean of the collections", averaged))
    return [*tables, *select_tables(frames, {"Runs in the order of the first metric": "swops"})]


def lowest_tau(frame: pd.DataFrame) -> str:
    """Return the two metrics that rank the runs least similarly."""
    rows = frame.dropna(subset="tau").sort_values("tau", kind="stable").to_dict("records")
    return f"{rows[0]['metric_a']}, {rows[0]['metric_b']} {rows[0]['tau']:.2f}" if rows else NONE


def answer(group: ResultGroup) -> Lines:
    """Yield the metrics that rank the runs most and least similarly, and the gain settings that do."""
    n_runs = value_range([int(facts["n_runs"]) for facts in group.facts], "d")
    for name, link in (("metrics", " and "), ("gains", " with gains ")):
        rows = _by_tau(group.frames[name]) if len(group.frames.get(name, ())) else []
        if not rows:
            continue
        several = len({row[COLLECTION] for row in rows}) > 1
        first, second = LABELS[name]
        least, most = (
            f"{row[first]}{link}{row[second]}{on_collection(row, several)} (tau {row['tau']:.2f}, {_discordant(row):.0%} of the pairs"
            f"{estimate_text(row, confidence=float(group.facts[0]['confidence']))})"
            for row in (rows[0], rows[-1])
        )
        what = "Metrics" if name == "metrics" else f"Gain settings, against {rows[0]['default']},"
        median = (
            f"; the median tau is {pd.Series([row['tau'] for row in rows]).median():.2f}"
            if len(rows) > 2
            else ""
        )
        sentence = (
            f"{what} disagree most often on these topics on which of two runs is better for {least}"
        )
        yield (
            f"{sentence}, and least often for {most}{median}." if len(rows) > 1 else f"{sentence}.",
            f"Kendall's tau of {n_runs} runs on the collections' topics, and its estimate for these runs over infinitely many topics{_by_itself(rows[0])}",
        )


def _by_itself(row: Mapping[str, Any]) -> str:
    """Return that intervals are not joint, where a row has one."""
    return ", each interval by itself" if estimate_text(row) else ""


def _discordant(row: Mapping[str, Any]) -> float:
    """Return the share of pairs of runs that two rankings order differently; pairs with equal means are not."""
    n_runs = int(row["n_runs"])
    return float(row["discordant"]) / (n_runs * (n_runs - 1) // 2)


def cautions(result: xr.Dataset, frames: Frames) -> list[tuple[str, str]]:
    """Return a remark on runs with equal means."""
    ties = int(
        max(
            (
                frame["tied_pairs"].max()
                for frame in frames.values()
                if "tied_pairs" in frame and len(frame)
            ),
            default=0,
        )
    )
    n_runs = int(result.attrs["n_runs"])
    text = "Runs have equal means: such pairs count as neither concordant nor discordant, and keep tau below 1."
    return [(text, f"up to {ties:,} of {n_runs * (n_runs - 1) // 2:,} pairs")] if ties else []


VIEW = View(
    name="correlate",
    heading="Rank correlation",
    about=(
        "Two metrics, or two gain settings of one, rank the same runs; Kendall's tau is the share of pairs of runs that they order in the same way minus the "
        "share that they order differently. Pairs with equal means count as neither. The interval by the null variance (tau_low, tau_high, in the CSV file) is that of the papers: it is "
        "valid for unrelated rankings only, and may exceed 1. The observed tau estimates what other topics, as many, would show on average. Tau of the two "
        "rankings of these runs over infinitely many topics (tau_population, with an interval) is another quantity; chance in the topics hides it. "
        "Its intervals covered the true tau in most simulations as often as stated; the documentation of scorecube lists the others "
        '("Intervals: estimands and coverage"). Percentile intervals over '
        "resampled topics are confidence intervals of neither: drawing topics anew adds noise to both rankings. They are left out where they exclude "
        "their tau. Intervals over runs keep the topics. A swop is a rise between neighbours when runs are sorted by the first metric."
    ),
    tables={
        "metrics": Table(correlation.metrics),
        "gains": Table(correlation.gains),
        "population": Table(correlation.population),
        "intervals": Table(correlation.intervals),
        "curves": Table(correlation.curves),
        "swops": Table(correlation.swops),
    },
    title=title,
    caption=caption,
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.correlation:correlation_figure"),
    overview=on_demand("figures.correlation:average_matrix"),
    column=Column("lowest tau of two metrics", lowest_tau),
    answers={AGREEMENT: answer},
    cautions=cautions,
)
