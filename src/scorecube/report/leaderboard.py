"""What is shown of leaderboards and rank sets: tables, figure and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.figures.style import COLOURS, Axes, round_ticks
from scorecube.report.findings import Finding, Short, with_number
from scorecube.report.phrases import is_known, listed, noun, number_of, own_errors, with_limits
from scorecube.report.tables import COLLECTION, Table, declared, rows_along, where
from scorecube.report.text_formats import Bold, Marked, with_labels
from scorecube.report.view import (
    LEADERBOARD,
    Canvas,
    Frames,
    HeadedTables,
    Remarks,
    ResultGroup,
    Summary,
    View,
    notes_of,
)

BETTER, WORSE = "†", "‡"
"""Marks of runs that are significantly better and worse than the baseline."""
LONGEST = 28
"""Letters of a run's name that are shown."""
RUNS = declared(
    "metric gain run",
    "metric gain rank run team mean~ rank_low rank_high groups leads "
    "difference~? p_baseline? wins? ties? losses? better? worse? mean_rank?",
    sort="rank",
    within=2,
    long=True,
)


def systems(result: xr.Dataset) -> pd.DataFrame:
    """Runs, best first, with the limits of the mean, the rank set and groups; runs that share a letter of ``groups`` are not separated.

    Limits are for each run by itself; those of runs with ``leads`` hold for whichever run leads. Rank sets hold together. With a baseline also the difference from
    it with simultaneous limits and adjusted p-value, and on how many topics a run has a better, the same and a worse score.
    """
    return RUNS.make(result).drop(columns=["better", "worse"], errors="ignore")


def matrix(result: xr.Dataset) -> pd.DataFrame:
    """Means of runs by metrics, for a paper: the best in bold; with a baseline, † marks runs that are significantly better, ‡ worse.

    In the order of the first metric.
    """
    table: dict[str, Any] = {}
    for label, rows in with_labels(RUNS.make(result)).groupby("label", sort=False):
        table = table or where(result) | {names.RUN: rows[names.RUN].tolist()}
        marked = {row[names.RUN]: _marked(row) for row in rows.to_dict("records")}
        table[str(label)] = [marked[run] for run in table[names.RUN]]
    return pd.DataFrame(table)


def joint_legend(attrs: Mapping[str, Any]) -> str:
    """Return what limits and rank sets are about, and which hold together."""
    percent = f"{100 * (1 - attrs['alpha']):g}%"
    return f"{percent} limits for other topics like these, each run by itself, the leader's for whichever run leads; simultaneous {percent} rank sets"


def legend(attrs: Mapping[str, Any]) -> str:
    """Return what the marks of `matrix` mean."""
    bold = "Bold: best mean of the metric among these runs"
    if attrs.get("baseline") is None:
        return bold
    return (
        f"{bold}; {BETTER} ({WORSE}): significantly better (worse) than {attrs['baseline']} "
        f"(max-T test, p < {attrs['alpha']:g}, all comparisons with it together)"
    )


def _marked(row: Mapping[Any, Any]) -> str:
    text = f"{row['mean']:.4f}{BETTER * row.get('better', 0)}{WORSE * row.get('worse', 0)}"
    return Bold(text) if row["rank"] == 1 else Marked(text)


def title(options: Mapping[str, Any]) -> str:
    """Return the confidence, and the run that is compared with all others."""
    baseline = options.get("baseline")
    return listed(
        f"{100 * (1 - options['alpha']):.4g}% confidence",
        f"baseline {baseline}" if baseline is not None else "",
    )


def caption(result: xr.Dataset) -> str:
    """Describe the figure."""
    percent = f"{100 * (1 - float(result.attrs['alpha'])):g}%"
    counts = f"{counted(int(result.attrs['n_runs']), 'run')}, {result.attrs['n_topics']} topics, {result.attrs['trials']:,} trials."
    return f"{counts} Runs by mean score: points with {percent} limits for other topics; bars: simultaneous {percent} rank sets; lines at the side: groups of runs that are not separated."


def answer(group: ResultGroup) -> Iterator[Finding]:
    """Yield which run leads by each metric, and how many may; of several collections in how many cases a single one may."""
    attrs, frame = group.attrs[0], with_labels(group.first_table)
    cells = [rows for _, rows in frame.groupby([COLLECTION, "label"], sort=False)]
    if not group.several:
        yield from (leader(rows, group.results[0]) for rows in cells)
    if not group.several:
        return
    may_lead = [int((rows["rank_low"] == 1).sum()) for rows in cells]
    largest = max(count / len(rows) for count, rows in zip(may_lead, cells, strict=True))
    alone, cases = may_lead.count(1), counted(len(cells), "case")
    yield with_number(
        f"in {alone or 'none'} of {cases} (collection and metric) only one run could be the best; in the others up to {largest:.0%} of the "
        f"runs could be {_confidence(attrs)}",
        "collections and metrics in which only one run could be the best",
        [alone],
        "cases",
    )


def _confidence(attrs: Mapping[Any, Any]) -> str:
    """Return with which confidence rank sets hold."""
    return f"[{100 * (1 - float(attrs['alpha'])):g}%, simultaneous rank sets]"


def of_cell(result: xr.Dataset, row: Any, name: str) -> float:
    """Return a number of the metric and gain setting of a row; NaN if the result has none."""
    gains = labels_of(result, names.GAIN)
    place = gains.index(row[names.GAIN]) if row.get(names.GAIN) in gains else 0
    at = {names.METRIC: labels_of(result, names.METRIC).index(row[names.METRIC]), names.GAIN: place}
    return float(result[name].isel(at)) if name in result else np.nan


def leader(rows: pd.DataFrame, result: xr.Dataset) -> Finding:
    """Return which run leads, and how many could be the best: one metric of one collection."""
    attrs, rows = result.attrs, rows.sort_values("rank", kind="stable")
    first, label = rows.iloc[0], rows["label"].iloc[0]
    more = int((rows["rank"] == 1).sum()) - 1
    lead = f"{first[names.RUN]} and {more} more lead" if more else f"{first[names.RUN]} leads"
    mean = f"{first['mean']:.3f}"
    if is_known(first["mean_low"]) and is_known(first["mean_high"]):
        mean = with_limits(first["mean"], first["mean_low"], first["mean_high"])
    could = int((rows["rank_low"] == 1).sum())
    best = "no other run could be the best"
    if could > 1:
        best = f"{could} of {len(rows)} runs could be the best"
    place = f"its rank lies between {first['rank_low']} and {first['rank_high']}"
    place = "its rank is 1" if first["rank_high"] == 1 else place
    own = of_cell(result, first, "own_error_pairs") if could > 1 else 0
    return with_number(
        f"{label}: {lead} with {mean}; {place}; {best} {_confidence(attrs)}{own_errors(own)}",
        f"rank of {first[names.RUN]} by {label} over infinitely many topics",
        number_of(first, "rank"),
        "rank",
        1 - float(attrs["alpha"]),
        jointly="rank sets of all runs",
        table="systems",
        short=(
            Short(
                label,
                f"{first[names.RUN]}{f' and {more} more' if more else ''}",
                (first["mean"], first["mean_low"], first["mean_high"]),
                words=best,
            ),
        ),
    )


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield how many runs are significantly better than the baseline, if there is one, and notes."""
    attrs = result.attrs
    cells = [rows for _, rows in with_labels(RUNS.make(result)).groupby("label", sort=False)]
    for rows in cells if "baseline" in attrs else ():
        label, better, worse = rows["label"].iloc[0], rows["better"].sum(), rows["worse"].sum()
        yield with_number(
            f"{label}: of {len(rows) - 1} runs {better} are significantly better than {attrs['baseline']} and {worse} "
            f"significantly worse (max-T test, p < {attrs['alpha']:g}, all comparisons with it together)",
            f"runs that are significantly better than {attrs['baseline']}, {label}",
            [better],
            "runs",
            jointly=f"all comparisons with {attrs['baseline']}",
            table="systems",
        )
    yield from notes_of(result)


def page_tables(frames: Frames) -> HeadedTables:
    """Return the leaderboard of each metric, without what follows from other columns."""
    frame = next(iter(frames.values()))
    dropped = ["label", names.METRIC, names.GAIN]
    dropped += [COLLECTION] if frame[COLLECTION].nunique() == 1 else []
    return [
        (f"Leaderboard by {label}", rows.drop(columns=dropped, errors="ignore"))
        for label, rows in with_labels(frame).groupby("label", sort=False)
    ]


def cautions(result: xr.Dataset, _: Frames) -> Remarks:
    """Yield what intervals and sets are not about."""
    n_topics, n_runs = int(result.attrs["n_topics"]), int(result.attrs["n_runs"])
    yield (
        "Limits and rank sets are about these runs on other topics of the same kind; not about other judgements, documents or versions of a run.",
        f"{counted(n_runs, 'run')}, {counted(n_topics, 'topic')}",
    )


def leaderboard(canvas: Canvas, result: xr.Dataset) -> None:
    """Runs of the first metric, best first: means with intervals, rank sets, and groups that are not separated."""
    data = result.isel(gain=0, metric=0)
    order = np.argsort(data["rank"].values, kind="stable")
    n = min(len(order), canvas.most_rows)
    shown = data.isel({names.RUN: order[:n]})
    groups = brackets_of(shown)
    figure = canvas.figure((7.2, 1.2 + max(n, 6) * 0.135))  # inches of a row
    n_columns = 1 + max((column for column, _, _ in groups), default=-1)
    ratios = [3.0, 2.4, max(0.4, min(0.07 * n_columns, 1.2))][: 3 if groups else 2]
    panels = figure.subplots(
        1, len(ratios), sharey=True, squeeze=False, gridspec_kw={"width_ratios": ratios}
    )[0]
    draw_means(panels[0], shown)
    if "baseline" in data.attrs:
        place = labels_of(data, names.RUN).index(str(data.attrs["baseline"]))
        panels[0].axvline(data["mean"].values[place], color="0.35", linestyle=":", linewidth=0.9)
    draw_ranks(panels[1], shown, len(order))
    if groups:
        draw_groups(panels[2], groups)
    runs = labels_of(shown, names.RUN)
    labels = [run if len(run) <= LONGEST else run[: LONGEST - 1] + "…" for run in runs]
    panels[0].set_yticks(range(n), labels, fontsize=7)
    panels[0].tick_params(axis="y", length=0)
    panels[0].set_ylim(n - 0.4, -0.6)
    percent = f"{100 * (1 - float(result.attrs['alpha'])):g}%"
    first = f"the first {n} of " if n < len(order) else ""
    canvas.name(
        f"{result.attrs.get('collection', '')}  {data[names.METRIC].item()}, gains {data[names.GAIN].item()}: {first}{counted(len(order), noun(data.attrs))}, "
        f"{result.attrs['n_topics']} topics, {percent}".strip()
    )


def draw_means(axes: Axes, data: xr.Dataset) -> None:
    """Draw means, with their intervals where there are any."""
    rows, mean = np.arange(data.sizes[names.RUN]), data["mean"].values
    if "mean_low" in data:
        axes.hlines(
            rows, data["mean_low"].values, data["mean_high"].values, color=COLOURS[0], linewidth=1.2
        )
    axes.plot(mean, rows, "o", color=COLOURS[0], markersize=3.2)
    axes.set_xlabel("mean score")
    round_ticks(axes.xaxis, 5)


def draw_ranks(axes: Axes, data: xr.Dataset, last: int) -> None:
    """Draw rank sets, with the observed ranks, on an axis up to the last rank."""
    rows = np.arange(data.sizes[names.RUN])
    low, high = data["rank_low"].values, data["rank_high"].values
    axes.hlines(rows, low, high, color=COLOURS[1], linewidth=2.4, alpha=0.55)
    axes.plot(data["rank"].values, rows, "|", color="0.15", markersize=5)
    axes.set(xlim=(0.5, last + 0.5), xlabel="rank")
    round_ticks(axes.xaxis, 5, whole=True)
    axes.tick_params(left=False)


def brackets_of(data: xr.Dataset) -> list[tuple[int, int, int]]:
    """Return column, first and last row of each group of two runs or more; those in one column share no row."""
    begin, end = data["group_first"].values, data["group_last"].values
    free: list[int] = []
    brackets = []
    for group in range(1, int(end.max()) + 1):
        rows = np.flatnonzero((begin <= group) & (group <= end)).tolist()
        if len(rows) > 1:
            column = next((k for k, row in enumerate(free) if row < rows[0]), len(free))
            free[column : column + 1] = [rows[-1]]
            brackets.append((column, rows[0], rows[-1]))
    return brackets


def draw_groups(axes: Axes, brackets: list[tuple[int, int, int]]) -> None:
    """Draw a line beside the runs of each group."""
    columns, firsts, lasts = np.array(brackets).T
    axes.vlines(columns, firsts - 0.3, lasts + 0.3, color="0.3", linewidth=1.1)
    axes.set(xlim=(-0.7, columns.max() + 0.7), xlabel="groups", xticks=[])
    axes.tick_params(left=False)
    axes.grid(visible=False)
    axes.spines["left"].set_visible(False)
    axes.spines["bottom"].set_visible(False)


LEADERBOARD_VIEW = View(
    name="leaderboard",
    heading="Leaderboard",
    about="Runs by mean score, with limits for other topics like these; those of the leader hold for whichever run leads. The rank set of a run holds its rank by mean "
    "score over infinitely many topics: it begins after the runs that are shown to be better and ends before those that are shown to be worse, by the step-down "
    "max-T test of all pairs. Runs that share a group are not separated by that test.",
    tables={
        "systems": replace(RUNS, make=systems, legend=joint_legend),
        "matrix": Table(matrix, rows_along(names.RUN), legend=legend),
    },
    summary=(
        Summary(
            "rank run team mean=mean~ could_be_rank=rank_low,rank_high",
            first_metric=True,
            bar="mean",
        ),
    ),
    title=title,
    caption=caption,
    findings=findings,
    page_tables=page_tables,
    figure=leaderboard,
    by_metric=True,
    chapter=LEADERBOARD,
    answers={LEADERBOARD: answer},
    cautions=cautions,
)
VIEW = LEADERBOARD_VIEW
