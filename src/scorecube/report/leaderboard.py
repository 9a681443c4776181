"""What is shown of leaderboards, of one collection and of several."""

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
from scorecube.report.readable import Bold, Marked, with_labels, with_limits
from scorecube.report.tables import Table, where
from scorecube.report.views import LEADERBOARD, Answer, View

BETTER, WORSE = "†", "‡"
"""Marks of runs that are significantly better and worse than the baseline."""
SHORTEST = 28
"""Letters of a run's name in a figure."""


def joint_legend(attrs: Mapping[str, Any]) -> str:
    """Return what limits and rank sets are about, and which hold together."""
    percent = f"{100 * (1 - attrs['alpha']):g}%"
    return (
        f"{percent} limits for other topics like these, each run by itself, the leader's for "
        f"whichever run leads; simultaneous {percent} rank sets"
    )


RUNS = Table(
    "metric gain run",
    "metric gain rank run team mean~ rank_low rank_high groups leads "
    "difference~? p_baseline? wins? ties? losses? mean_rank?",
    sort="rank",
    within=2,
    brief="metric=label rank run team mean=mean~ could_be_rank=rank_low,rank_high",
    legend=joint_legend,
)
"""Runs, best first: limits of the mean, rank set, and groups of runs that are not separated."""
MARKS = replace(RUNS, columns="metric gain rank run mean better? worse?")
COLLECTIONS = Table(
    "metric gain collection run",
    "metric gain collection topics weight run mean=collection_mean mean_low=collection_mean_low "
    "mean_high=collection_mean_high",
)
"""Means of runs in each collection, with the limits of each by itself."""


def matrix(result: xr.Dataset) -> pd.DataFrame:
    """Return means of runs by metrics, in the order of the first metric: the best in bold.

    With a baseline, † marks runs that are significantly better, and ‡ those that are worse.
    """
    columns: dict[str, Any] = {}
    for label, rows in with_labels(MARKS.frame(result)).groupby("label", sort=False):
        columns = columns or where(result) | {names.RUN: rows[names.RUN].tolist()}
        marked = {row["run"]: _marked(row) for row in rows.to_dict("records")}
        columns[str(label)] = [marked[run] for run in columns[names.RUN]]
    return pd.DataFrame(columns)


def _marked(row: Mapping[Any, Any]) -> str:
    marks = BETTER * int(row.get("better", 0)) + WORSE * int(row.get("worse", 0))
    return (Bold if row["rank"] == 1 else Marked)(f"{row['mean']:.4f}{marks}")


def matrix_legend(attrs: Mapping[str, Any]) -> str:
    """Return what bold type and marks mean."""
    bold = "Bold: best mean among these runs"
    if attrs.get("baseline") is None:
        return bold
    return (
        f"{bold}; {BETTER} ({WORSE}): significantly better (worse) than {attrs['baseline']} "
        f"(max-T test, p < {attrs['alpha']:g}, all comparisons with it together)"
    )


def board_matrix(result: xr.Dataset) -> pd.DataFrame:
    """Return systems by collections, best first, with limits; the best mean in bold."""
    frames, single = [], with_labels(COLLECTIONS.frame(result))
    for label, rows in with_labels(RUNS.frame(result)).groupby("label", sort=False):
        runs, means = rows[names.RUN].tolist(), rows["mean"].tolist()
        best = max if means[0] >= means[-1] else min
        columns: dict[str, Any] = where(result) | {"metric": str(label), names.RUN: runs}
        columns["mean over collections"] = [
            (Bold if mean == means[0] else Marked)(f"{mean:.4f}") for mean in means
        ]
        of_label = single[single["label"] == label]
        for name, of in of_label.groupby(names.COLLECTION, sort=False):
            first = best(of["mean"])
            columns[str(name)] = [
                (Bold if row["mean"] == first else Marked)(
                    with_limits(row["mean"], row["mean_low"], row["mean_high"])
                )
                for row in of.set_index(names.RUN).loc[runs].to_dict("records")
            ]
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the run that leads by each metric, and how many could be the best."""
    percent = f"{100 * (1 - float(result.attrs['alpha'])):g}%"
    several = result.sizes.get(names.COLLECTION, 0)
    over = f"mean over {counted(several, 'collection')}, " if several else ""
    extra = "own?=own_error_pairs neighbours?=separated_neighbours"
    table = replace(MARKS, columns=f"{MARKS.columns} mean_low mean_high rank_low rank_high {extra}")
    for label, rows in with_labels(table.frame(result)).groupby("label", sort=False):
        first = rows[:1].to_dict("records")[0]
        more, could = int((rows["rank"] == 1).sum()) - 1, int((rows["rank_low"] == 1).sum())
        best = "no other run could be the best"
        if could > 1:
            best = f"{could} of {len(rows)} runs could be the best"
        ranks = f"rank {first['rank_low']} to {first['rank_high']}"
        clause = f"{over}{ranks}; {best} [{percent}, simultaneous rank sets]"
        if could > 1 and first.get("own", 0) > 0:
            pairs = counted(int(first["own"]), "pair")
            clause += f"; {pairs} would be separated by their own errors alone"
        if several and "neighbours" in first:
            number = int(first["neighbours"])
            clause += f"; {counted(number, 'neighbouring pair')} of {len(rows) - 1} separated"
        if "baseline" in result.attrs:
            clause += (
                f"; {rows['better'].sum()} significantly better than {result.attrs['baseline']}, "
                f"{rows['worse'].sum()} worse"
            )
        name = f"{first['run']}{f' and {more} more' if more else ''}"
        limits = first["mean_low"], first["mean_high"]
        yield Answer(str(label), first["mean"], *limits, clause=clause, what="best mean", name=name)


def title(options: Mapping[str, Any]) -> str:
    """Return confidence, baseline, weights and standardisation."""
    baseline, weights = options.get("baseline"), options.get("weights")
    how = options.get("standardise") or "none"
    words = (
        f"{100 * (1 - options['alpha']):.4g}% confidence",
        "" if baseline is None else f"baseline {baseline}",
        f"weights {', '.join(weights)}" if weights else "",
        "" if how == "none" else f"scores as {how}",
    )
    return ", ".join(filter(None, words))


def figure(canvas: Any, result: xr.Dataset) -> None:
    """Runs of the first metric, best first: means with limits, rank sets, and groups."""
    from scorecube.report.drawing import COLOURS, round_ticks

    data = result.isel(gain=0, metric=0)
    order = np.argsort(data["rank"].values, kind="stable")
    n = min(len(order), canvas.most_rows)
    shown, rows = data.isel({names.RUN: order[:n]}), np.arange(n)
    groups = brackets_of(shown)
    whole = canvas.figure((7.2, 1.2 + max(n, 6) * 0.135))
    columns = 1 + max((column for column, _, _ in groups), default=-1)
    ratios = [3.0, 2.4, max(0.4, min(0.07 * columns, 1.2))][: 3 if groups else 2]
    panels = whole.subplots(
        1, len(ratios), sharey=True, squeeze=False, gridspec_kw={"width_ratios": ratios}
    )[0]
    ends = (shown[f"mean_{end}"].values for end in ("low", "high"))
    panels[0].hlines(rows, *ends, color=COLOURS[0], linewidth=1.2)
    panels[0].plot(shown["mean"].values, rows, "o", color=COLOURS[0], markersize=3.2)
    if "baseline" in data.attrs:
        place = labels_of(data, names.RUN).index(str(data.attrs["baseline"]))
        panels[0].axvline(data["mean"].values[place], color="0.35", linestyle=":", linewidth=0.9)
    panels[0].set_xlabel("mean score")
    round_ticks(panels[0].xaxis, 5)
    ends = (shown[f"rank_{end}"].values for end in ("low", "high"))
    panels[1].hlines(rows, *ends, color=COLOURS[1], linewidth=2.4, alpha=0.55)
    panels[1].plot(shown["rank"].values, rows, "|", color="0.15", markersize=5)
    panels[1].set(xlim=(0.5, len(order) + 0.5), xlabel="rank")
    round_ticks(panels[1].xaxis, 5, whole=True)
    if groups:
        places, firsts, lasts = np.array(groups).T
        panels[2].vlines(places, firsts - 0.3, lasts + 0.3, color="0.3", linewidth=1.1)
        panels[2].set(xlim=(-0.7, places.max() + 0.7), xlabel="groups", xticks=[])
        panels[2].grid(visible=False)
        panels[2].spines[["left", "bottom"]].set_visible(False)
    for axes in panels[1:]:
        axes.tick_params(left=False)
    runs = labels_of(shown, names.RUN)
    labels = [run if len(run) <= SHORTEST else f"{run[: SHORTEST - 1]}…" for run in runs]
    panels[0].set_yticks(rows, labels, fontsize=7)
    panels[0].tick_params(axis="y", length=0)
    panels[0].set_ylim(n - 0.4, -0.6)
    first = f"the first {n} of {len(order)} runs" if n < len(order) else ""
    canvas.name(result.isel(metric=[0], gain=[0]), str(data[names.METRIC].item()), first)


def brackets_of(data: xr.Dataset) -> list[tuple[int, int, int]]:
    """Return column, first and last row of each group of two runs or more.

    Groups in one column share no row.
    """
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


VIEW = View(
    name="leaderboard",
    heading="Leaderboard",
    tables={"systems": RUNS, "matrix": Table("run", "", make=matrix, legend=matrix_legend)},
    about="Runs by mean score, with limits for other topics like these; the leader's hold for "
    "whichever run leads. A rank set holds the rank over infinitely many topics: it begins after "
    "the runs that are shown to be better and ends before those that are shown to be worse, by the "
    "step-down max-T test of all pairs. Runs that share a group are not separated. Nothing is said "
    "of other judgements, documents or versions of a run.",
    answers={LEADERBOARD: answers},
    title=title,
    figure=figure,
    reads="Points with limits; bars are rank sets; lines at the side are groups not separated.",
    by_metric=True,
)
BOARD = replace(
    VIEW,
    name="board",
    heading="Board",
    tables={
        "systems": RUNS,
        "collections": COLLECTIONS,
        "matrix": Table("metric gain run", "", make=board_matrix, legend=matrix_legend),
    },
    about="Runs by their mean over collections: its limits, rank set and groups are about these "
    "collections and other topics of each. Mean rank is the mean of a run's ranks in the "
    "collections (Borda), for which no limits are known to hold.",
)
VIEWS = {view.name: view for view in (VIEW, BOARD)}
