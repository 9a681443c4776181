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
LONGEST = 28
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
    return _cell(f"{row['mean']:.4f}{marks}", row["rank"] == 1)


def _cell(text: str, best: bool) -> str:
    return Bold(text) if best else Marked(text)


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
            _cell(f"{mean:.4f}", mean == means[0]) for mean in means
        ]
        for name, of in single[single["label"] == label].groupby(names.COLLECTION, sort=False):
            cells = {
                row["run"]: _cell(
                    with_limits(row["mean"], row["mean_low"], row["mean_high"]),
                    row["mean"] == best(of["mean"]),
                )
                for row in of.to_dict("records")
            }
            columns[str(name)] = [cells[run] for run in runs]
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True)


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield the run that leads by each metric, and how many could be the best."""
    attrs = result.attrs
    percent = f"{100 * (1 - float(attrs['alpha'])):g}%"
    several = result.sizes.get(names.COLLECTION, 0)
    extra = "mean_low mean_high rank_low rank_high own?=own_error_pairs neighbours?="
    table = replace(MARKS, columns=f"{MARKS.columns} {extra}separated_neighbours")
    for label, rows in with_labels(table.frame(result)).groupby("label", sort=False):
        first = rows[:1].to_dict("records")[0]
        could, tied = int((rows["rank_low"] == 1).sum()), int((rows["rank"] == 1).sum()) - 1
        best = f"{could} of {len(rows)} runs" if could > 1 else "no other run"
        clause = f"mean over {counted(several, 'collection')}, " if several else ""
        clause += f"rank {first['rank_low']} to {first['rank_high']}; "
        clause += f"{best} could be the best [{percent}, simultaneous rank sets]"
        if could > 1 and first.get("own", 0) > 0:
            pairs = counted(int(first["own"]), "pair")
            clause += f"; {pairs} would be separated by their own errors alone"
        if several and "neighbours" in first:
            number = counted(int(first["neighbours"]), "neighbouring pair")
            clause += f"; {number} of {len(rows) - 1} separated"
        if "baseline" in attrs:
            better, worse = rows["better"].sum(), rows["worse"].sum()
            clause += f"; {better} significantly better than {attrs['baseline']}, {worse} worse"
        name = f"{first['run']}{f' and {tied} more' if tied else ''}"
        limits = first["mean_low"], first["mean_high"]
        yield Answer(str(label), first["mean"], *limits, ".4f", clause, "best mean", name)


def title(options: Mapping[str, Any]) -> str:
    """Return confidence, baseline, weights and standardisation."""
    words = [f"{100 * (1 - options['alpha']):.4g}% confidence"]
    if options.get("baseline") is not None:
        words.append(f"baseline {options['baseline']}")
    if options.get("weights"):
        words.append(f"weights {', '.join(options['weights'])}")
    if options.get("standardise", "none") not in (None, "none"):
        words.append(f"scores as {options['standardise']}")
    return ", ".join(words)


def figure(canvas: Any, result: xr.Dataset) -> None:
    """Runs of the first metric, best first: means with limits, rank sets, and groups."""
    from scorecube.report.drawing import COLOURS, round_ticks

    data = result.isel(gain=0, metric=0)
    total = data.sizes[names.RUN]
    n = min(total, canvas.most_rows)
    shown, rows = (
        data.isel({names.RUN: np.argsort(data["rank"].values, kind="stable")[:n]}),
        range(n),
    )
    groups = np.array(brackets_of(shown)).reshape(-1, 3)
    wide = max(0.4, min(0.07 * (1 + groups[:, 0].max(initial=-1)), 1.2))
    ratios = [3.0, 2.4, wide][: 3 if len(groups) else 2]
    means, ranks, *others = canvas.figure((7.2, 1.2 + max(n, 6) * 0.135)).subplots(
        1, len(ratios), sharey=True, gridspec_kw={"width_ratios": ratios}
    )
    ends = (shown[f"mean_{end}"].values for end in ("low", "high"))
    means.hlines(rows, *ends, color=COLOURS[0], linewidth=1.2)
    means.plot(shown["mean"].values, rows, "o", color=COLOURS[0], markersize=3.2)
    if "baseline" in data.attrs:
        place = labels_of(data, names.RUN).index(str(data.attrs["baseline"]))
        means.axvline(data["mean"].values[place], color="0.35", linestyle=":", linewidth=0.9)
    means.set_xlabel("mean score")
    round_ticks(means.xaxis, 5)
    ends = (shown[f"rank_{end}"].values for end in ("low", "high"))
    ranks.hlines(rows, *ends, color=COLOURS[1], linewidth=2.4, alpha=0.55)
    ranks.plot(shown["rank"].values, rows, "|", color="0.15", markersize=5)
    ranks.set(xlim=(0.5, total + 0.5), xlabel="rank")
    round_ticks(ranks.xaxis, 5, whole=True)
    for axes in others:
        places, firsts, lasts = groups.T
        axes.vlines(places, firsts - 0.3, lasts + 0.3, color="0.3", linewidth=1.1)
        axes.set(xlim=(-0.7, places.max() + 0.7), xlabel="groups", xticks=[])
        axes.grid(visible=False)
        axes.spines[["left", "bottom"]].set_visible(False)
    for axes in (ranks, *others):
        axes.tick_params(left=False)
    labels = [
        run if len(run) <= LONGEST else f"{run[: LONGEST - 1]}…"
        for run in labels_of(shown, names.RUN)
    ]
    means.set_yticks(rows, labels, fontsize=7)
    means.tick_params(axis="y", length=0)
    means.set_ylim(n - 0.4, -0.6)
    first = f"the first {n} of {total} runs" if n < total else ""
    canvas.name(result.isel(metric=[0], gain=[0]), str(data[names.METRIC].item()), first)


def brackets_of(data: xr.Dataset) -> list[tuple[int, int, int]]:
    """Return column, first and last row of each group of two runs or more, rows apart."""
    begin, end = data["group_first"].values, data["group_last"].values
    free, brackets = list[int](), list[tuple[int, int, int]]()
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
