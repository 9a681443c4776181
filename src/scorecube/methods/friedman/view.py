"""What is shown of mean ranks: runs, the test, pairs, and the critical-difference diagram."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import crossed, frame_of, with_labels
from scorecube.analyses.topic_units import FloatArray
from scorecube.collection.schema import CELL, labels_of
from scorecube.declare import (
    LEADERBOARD,
    Answer,
    Canvas,
    Column,
    Marked,
    Table,
    View,
    is_known,
    maybe,
    p_text,
    shown,
)

GROUP = Column("group", of="groups")
RANKS = Table(
    (*CELL, "run"),
    (*(*CELL, "rank", "run", "mean_rank", GROUP), *maybe("z", "p_baseline", "mean")),
    sort=("mean_rank",),
    within=2,
    brief=(
        *(shown("metric", "label"), "rank", "run", shown("mean rank", "mean_rank")),
        *(shown("groups", "group"), shown("p (Holm)", "p_baseline"), "mean"),
    ),
)
"""Runs, the best mean rank first; groups of those that Nemenyi's test does not separate."""
TESTS = Table(
    CELL,
    (
        *CELL,
        Column("statistic", of="chi_squared"),
        Column("p_value", of="p_chi_squared"),
        Column("iman_davenport", of="f"),
        Column("iman_davenport_p_value", of="p_value"),
        *("critical_difference", "n_runs", "n_blocks", "concordance", "alpha"),
    ),
)
"""Whether any runs differ, and the critical difference of mean ranks (Demsar 2006)."""
PAIRS = Table(
    (*CELL, "pair"),
    (
        *(*CELL, "run_a", "run_b"),
        Column("difference", of="rank_difference"),
        Column("p_value", of="p_nemenyi"),
        Column("p_value_holm", of="p_holm", optional=True),
    ),
)
"""Every pair of runs, by Nemenyi's test, and by z with Holm's adjustment."""
IN_BLOCKS = Table(
    (*CELL, "run", "collection"),
    (*CELL, "collection", "run", "mean_rank", "block_rank"),
    sort=("mean_rank",),
    within=2,
)


def matrix(result: xr.Dataset) -> pd.DataFrame:
    """Return ranks by collections, the best mean rank first; of topics as blocks means alone."""
    if names.COLLECTION not in result.dims:
        frame = frame_of(RANKS, result)
        return frame[[names.COLLECTION, names.METRIC, names.RUN, "mean_rank"]]
    frame = with_labels(frame_of(IN_BLOCKS, result)).drop(columns=names.METRIC)
    frame = frame.rename(columns={"label": names.METRIC})
    frame["mean rank"] = [Marked(f"{rank:.2f}") for rank in frame["mean_rank"]]
    cells = [Marked(f"{rank:g}") for rank in frame["block_rank"]]
    return crossed(frame, [names.METRIC, names.RUN, "mean rank"], names.COLLECTION, cells)


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield by each metric whether mean ranks differ, and which run has the best."""
    attrs = result.attrs
    nouns = names.nouns(attrs)
    blocks = nouns.topics if attrs["blocks"] == "topics" else nouns.collections
    tests = frame_of(TESTS, result)
    for label, rows in with_labels(frame_of(RANKS, result)).groupby("label", sort=False):
        first = rows[:1].to_dict("records")[0]
        # Of a metric whose gain settings give the same ranks, all tests are the same, too.
        of_metric = tests[tests[names.METRIC] == first[names.METRIC]]
        at_gain = of_metric[of_metric[names.GAIN] == first[names.GAIN]]
        test = (at_gain if len(at_gain) else of_metric)[:1].to_dict("records")[0]
        clause = f"over {test['n_blocks']} {blocks}; "
        p = test["iman_davenport_p_value"]
        if is_known(p):
            is_found = p < test["alpha"]
            clause += f"{nouns.runs} differ" if is_found else "no difference is shown"
            clause += f" ({p_text(p)}, Friedman, Iman and Davenport)"
        else:
            clause += f"no {nouns.topic} tells {nouns.runs} apart"
        if is_known(test["critical_difference"]):
            reach = first["mean_rank"] + test["critical_difference"]
            near = int((rows["mean_rank"] < reach).sum()) - 1
            clause += f"; {near} of {len(rows) - 1} others are not separated from it"
            clause += f" (Nemenyi, critical difference {test['critical_difference']:.2f})"
        if "baseline" in attrs:
            found = rows["p_baseline"] < attrs["alpha"]
            better = int((found & (rows["z"] < 0)).sum())
            worse = int(found.sum()) - better
            clause += f"; {better} are better than {attrs['baseline']}, {worse} worse (Holm)"
        words = clause, "mean rank", first["run"], "has the best mean rank,"
        yield Answer(str(label), first["mean_rank"], None, None, ".2f", *words)


def bars_of(ordered: FloatArray, critical: float) -> Iterator[tuple[int, int]]:
    """Yield the first and last place of each largest set of runs that are not separated.

    ordered: Mean ranks, ascending.
    """
    reached = 0
    for place, last in enumerate(np.searchsorted(ordered, ordered + critical, side="left") - 1):
        if last > max(place, reached):
            yield place, int(last)
        reached = max(reached, int(last))


def diagram(canvas: Canvas, result: xr.Dataset) -> None:
    """Critical-difference diagram of the first metric (Demsar 2006, Figure 1), the best left."""
    data = result.isel(gain=0, metric=0)
    total = data.sizes[names.RUN]
    n = min(total, canvas.most_rows)
    order = np.argsort(data["mean_rank"].values, kind="stable")[:n]
    ordered = data["mean_rank"].values[order]
    critical = float(data["critical_difference"])
    bars = list(bars_of(ordered, critical)) if is_known(critical) else []
    n_left = (n + 1) // 2
    first_row = 1.0 + 0.35 * len(bars)
    axes = canvas.panel((canvas.size[0], 1.4 + 0.2 * (n_left + 0.35 * len(bars))))
    low, high = (1.0, float(total)) if n == total else (1.0, float(np.ceil(ordered[-1])))
    margin = 0.02 * (high - low)
    for place, mean_rank in enumerate(ordered.tolist()):
        is_left = place < n_left
        row = first_row + (place if is_left else n - 1 - place)
        end = low - margin if is_left else high + margin
        axes.plot([mean_rank, mean_rank, end], [0, row, row], color="0.25", linewidth=0.8)
        axes.annotate(
            f"{labels_of(data, names.RUN)[order[place]]}  {mean_rank:.2f}",
            (end, row),
            xytext=(-3 if is_left else 3, 0),
            textcoords="offset points",
            ha="right" if is_left else "left",
            va="center",
            fontsize=7,
            annotation_clip=False,
        )
    for level, (start, stop) in enumerate(bars):
        ends = [ordered[start] - margin / 2, ordered[stop] + margin / 2]
        axes.plot(ends, [0.45 + 0.35 * level] * 2, color=canvas.colours[0], linewidth=3)
    if is_known(critical):
        axes.plot([low, low + critical], [-1.6, -1.6], color="0.1", linewidth=1.4)
        axes.annotate(
            f"CD = {critical:.2f}", (low, -1.6), xytext=(0, 4), textcoords="offset points"
        )
    axes.set(xlim=(low, high), ylim=(first_row + n_left, -2.6 if is_known(critical) else -0.5))
    axes.xaxis.set_ticks_position("top")
    axes.spines[["bottom", "left"]].set_visible(False)
    axes.spines["top"].set(visible=True, position=("data", 0.0))
    axes.set_yticks([])
    axes.grid(visible=False)
    axes.locator_params(axis="x", integer=True)
    what = f"mean ranks of the first {n} of {total}" if n < total else "mean ranks"
    canvas.name(result.isel(metric=[0]), str(data[names.METRIC].item()), what)


VIEW = View(
    name="friedman",
    heading="Mean ranks",
    tables={
        "ranks": RANKS,
        "tests": TESTS,
        "pairs": PAIRS,
        "matrix": Table((*CELL, "run"), make=matrix),
    },
    about="Runs are ranked in each block (a collection or a topic), ties by mid-ranks. Friedman's "
    "test asks whether any differ; Nemenyi's separates pairs whose mean ranks differ by the "
    "critical difference; bars of the diagram join those that it does not. Mean ranks say how "
    "often a run is ahead, not by how much: one that is ahead by little on most blocks passes one "
    "that is far ahead on the others, and copies of a run move the ranks of all. Runs of equal "
    "means may differ in mean rank (of 20 such, Nemenyi's test separates some in .30 of samples of "
    "50 topics). `board` answers with means over collections and their limits, `tukey` and `maxt` "
    "with means over topics.",
    answers={LEADERBOARD: answers},
    card=3,
    conditions=("alpha",),
    figure=diagram,
    by_metric=True,
)
