"""View of the leaderboard, and what rank sets share with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.errors import counted
from scorecube.report.tables import leaderboard
from scorecube.report.tables.rows import COLLECTION
from scorecube.report.text_formats import with_labels
from scorecube.report.views.phrases import (
    about_repetitions,
    by_system,
    decimals,
    first_of,
    noun,
    value_range,
)
from scorecube.report.views.questions import LEADERBOARD
from scorecube.report.views.view import (
    Column,
    Frames,
    Headed,
    Lines,
    ResultGroup,
    Table,
    View,
    on_demand,
    rows_along,
)

RUN_ROWS = rows_along(names.METRIC, names.GAIN, names.RUN)
ANSWERED = 3
"""Metrics that an answer is about; the chapter has all."""


def title(options: Mapping[str, Any]) -> str:
    """Return the confidence, and the run that is compared with all others."""
    words = [f"{100 * (1 - options['alpha']):.4g}% confidence"]
    words += ["marginal"] if options.get("marginal") else []
    words += by_system(options)
    words += [f"baseline {options['baseline']}"] if options.get("baseline") is not None else []
    return ", ".join(words)


def caption(result: xr.Dataset) -> str:
    """Describe the figure."""
    percent, compared = f"{100 * (1 - float(result.attrs['alpha'])):g}%", noun(result.attrs)
    over = "topics" if compared == "run" else "topics and repetitions"
    sets = "each by itself" if result.attrs.get("marginal") else "all together"
    counts = f"{counted(int(result.attrs['n_runs']), compared)}, {result.attrs['n_topics']} topics, {result.attrs['trials']:,} trials."
    if "mean_low" not in result:
        return f"{counts} {compared.capitalize()}s by mean score: points, without intervals; bars: {percent} rank sets, {sets}."
    return (
        f"{counts} {compared.capitalize()}s by mean score: points with {percent} intervals over {over}, each by itself; bars: {percent} rank sets, {sets}; "
        f"lines at the side: groups of {compared}s that are not separated."
    )


def best_runs(rows: pd.DataFrame) -> str:
    """Return which run leads, and how many may be the best: one metric of one collection."""
    compared = "system" if "repetitions" in rows and rows["repetitions"].notna().all() else "run"
    rows = rows.sort_values("rank", kind="stable")
    first, n = rows.iloc[0], len(rows)
    leaders = rows.loc[rows["rank"] == 1, names.RUN].tolist()
    may_lead = int((rows["rank_low"] == 1).sum())
    lead = f"{leaders[0]} leads"
    if len(leaders) > 1:
        lead = f"{leaders[0]} and {len(leaders) - 1} more lead"
    mean = f"{first['mean']:.3f} on these topics"
    if "mean_low" in rows and not pd.isna(first[["mean_low", "mean_high"]]).any():
        mean = _with_limits(*first[["mean", "mean_low", "mean_high"]])
    others = (
        f"no other {compared} may be the best"
        if may_lead == 1
        else f"{may_lead} of {n} {compared}s may be the best"
    )
    place = (
        "its rank is 1"
        if first["rank_high"] == 1
        else f"its rank lies between {first['rank_low']} and {first['rank_high']}"
    )
    return f"{first['label']}: {lead} with {mean}; {place}, and {others}"


def _with_limits(mean: float, low: float, high: float) -> str:
    """Return a mean with its limits and no more decimals than they allow."""
    if low == high:  # equal scores have no spread, which does not make their mean certain
        return f"{mean:.3f} on every topic"
    places = decimals(low, high)
    return f"{mean:.{places}f} ({low:.{places}f} to {high:.{places}f} by itself)"


def neighbours(rows: pd.DataFrame) -> str:
    """Return how wide rank sets are."""
    widths = rows["rank_high"] - rows["rank_low"] + 1
    return f"the median rank set has {widths.median():.0f} of {len(rows)} ranks"


def headline(result: xr.Dataset) -> list[str]:
    """Return for each metric which run leads and how many may, and how wide rank sets are."""
    frame = with_labels(
        leaderboard.ranks(result) if "best" not in result else leaderboard.systems(result)
    )
    percent = f"{100 * (1 - float(result.attrs['alpha'])):g}%"
    compared = noun(result.attrs)
    together = "each set by itself" if result.attrs.get("marginal") else "sets together"
    together += ", over topics and repetitions" if compared == "system" else ""
    lines = [
        f"{best_runs(rows)}; {neighbours(rows)} [{percent}, {together}]"
        for _, rows in frame.groupby("label", sort=False)
    ]
    if "baseline" in result.attrs:
        lines += [
            f"{label}: {_against_baseline(rows, result)}"
            for label, rows in frame.groupby("label", sort=False)
        ]
    return [*lines, *result.attrs.get("notes", [])]


def _against_baseline(rows: pd.DataFrame, result: xr.Dataset) -> str:
    found = rows[rows["p_baseline"] < float(result.attrs["alpha"])]
    better = int((found["difference"] > 0).sum())
    return (
        f"of {len(rows) - 1} {noun(result.attrs)}s {better} are significantly better than {result.attrs['baseline']} and {len(found) - better} "
        f"significantly worse (max-T test, p < {result.attrs['alpha']:g}, all comparisons with it together)"
    )


def answer(group: ResultGroup) -> Lines:
    """Yield which runs lead, and what a rank is worth."""
    frame = with_labels(group.first_table)
    together = f"rank sets of all {noun(group.facts[0])}s together"
    where = f"{group.heading}, {group.title}, {together}, {group.trials:,} trials"
    if frame[COLLECTION].nunique() == 1:
        where = f"{where}; {frame[COLLECTION].iloc[0]}"
        by_metric = [rows for _, rows in frame.groupby("label", sort=False)]
        for rows in by_metric[:ANSWERED]:
            yield f"{best_runs(rows)}; {neighbours(rows)}.", where
        if len(by_metric) > ANSWERED:
            more = [str(rows["label"].iloc[0]) for rows in by_metric[ANSWERED:]]
            yield f"More metrics in the chapter: {first_of(more)}.", where
        return
    cells = frame.groupby([COLLECTION, "label"], sort=False)
    may_lead = [(rows["rank_low"] == 1).sum() / len(rows) for _, rows in cells]
    alone = sum((rows["rank_low"] == 1).sum() == 1 for _, rows in cells)
    cases = counted(len(may_lead), "case")
    yield (
        f"In {alone or 'none'} of {cases} (collection and metric) only one run may be the best; in the others up to "
        f"{value_range([max(may_lead)], '.0%')} of the runs may be.",
        where,
    )


def cell(rows: pd.DataFrame) -> str:
    """Return how many runs may be the best under each metric."""
    found = [
        f"{label} {int((each['rank_low'] == 1).sum())} of {len(each)}"
        for label, each in rows.groupby("label", sort=False)
    ]
    return ", ".join(found[:3])


def page_tables(frames: Frames) -> Headed:
    """Return the leaderboard of each metric, without what follows from other columns."""
    name, frame = next(iter(frames.items()))
    labelled = with_labels(frame)
    dropped = ["label", names.METRIC, names.GAIN, "sets"]
    dropped += [column for column in frame.columns if column.startswith("top_")]
    dropped += [COLLECTION] if frame[COLLECTION].nunique() == 1 else []
    return [
        (
            f"{'Rank sets' if name == 'ranks' else 'Leaderboard'} by {label}",
            rows.drop(columns=dropped, errors="ignore"),
        )
        for label, rows in labelled.groupby("label", sort=False)
    ]


def cautions(result: xr.Dataset, _: Frames) -> list[tuple[str, str]]:
    """Return what intervals and sets are not about."""
    n_topics, n_runs = int(result.attrs["n_topics"]), int(result.attrs["n_runs"])
    if "repetitions" in result:
        return about_repetitions(result)
    remarks = [
        (
            "Intervals and rank sets are about these runs on other topics of the same kind; not about other judgements, documents or versions of a run.",
            f"{counted(n_runs, 'run')}, {counted(n_topics, 'topic')}",
        )
    ]
    remarks.append(
        (
            "Limits of ranks move with the seed where pairs have p-values close to alpha, by a few ranks where runs are alike; more trials decide.",
            f"{result.attrs['analysis']}, {result.attrs['trials']:,} trials",
        )
    )
    if "mean_low" in result:
        remarks.append(
            (
                "The mean of a run that leads is too high on average, as the same topics made it lead: the interval of a mean is for a run that was named "
                "beforehand.",
                f"best of {counted(n_runs, 'run')}",
            )
        )
    return remarks


VIEW = View(
    name="leaderboard",
    heading="Leaderboard",
    about="Runs by mean score. The interval of a mean is about this run (or system, over repetitions) on other topics (bootstrap-t). The rank set of a run holds its rank by mean score over "
    "infinitely many topics: it begins after the runs that are shown to be better and ends before those that are shown to be worse, by the step-down max-T test of all "
    "pairs; all rank sets hold together with the stated confidence. Runs that share a group are not separated by that test. "
    "Best is the share of resampled topic sets in which the run has the largest mean, not the probability that it is the best.",
    tables={
        "systems": Table(leaderboard.systems, RUN_ROWS),
        "matrix": Table(leaderboard.matrix, rows_along(names.RUN)),
        "top": Table(leaderboard.top),
    },
    title=title,
    caption=caption,
    headline=headline,
    page_tables=page_tables,
    figure=on_demand("figures.leaderboard:leaderboard"),
    column=Column("runs that may be the best", cell),
    answers={LEADERBOARD: answer},
    cautions=cautions,
)
