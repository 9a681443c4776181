"""What is shown of leaving teams out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.frames import frame_of, labelled
from scorecube.analyses.printed import number, printed
from scorecube.collection.schema import CELL, labels_of
from scorecube.declare import (
    TEAMS,
    Answer,
    Canvas,
    Column,
    Marked,
    Table,
    View,
    is_known,
    limited,
    shown,
    with_limits,
)
from scorecube.errors import counted

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LEGEND_COLUMNS = 6
VARIANCE = Table(
    (*CELL, "leave", "topic_step"),
    (
        *CELL,
        Column("left_out", of="leave"),
        Column("n_topics_wanted", of="topic_step"),
        "variance_mean",
        "variance_low",
        "variance_high",
        Column("trials", of="n_trials"),
        *("runs_min", "runs_max", "topics_min", "topics_max", "topics_needed_tool"),
    ),
    whole=("topics_needed_tool",),
)
"""Within-system variance by teams left out and topics (Sakai and Shang 2016, Figures 1, 2).

`topics_needed_tool` is in parentheses in Table 3 of that paper.
"""
ABSENT = Table(
    CELL,
    (
        *CELL,
        *("change_mean", "change_low", "change_high", "change_topics_low"),
        *("change_topics_high", "rank_change_mean", "rank_change_low", "rank_change_high"),
        *("rank_change_topics_low", "rank_change_topics_high", "n_teams", "pool_depth"),
    ),
    brief=(
        shown("metric", "label"),
        shown("change of score", "change_mean", "change_low", "change_high"),
        shown("over topics", "change_topics_low", "change_topics_high"),
        shown("ranks lost", "rank_change_mean", "rank_change_low", "rank_change_high"),
        shown("ranks over topics", "rank_change_topics_low", "rank_change_topics_high"),
    ),
)
"""What a team that did not take part would lose: limits over teams, and over topics."""
TRIALS = Table(
    (*CELL, "leave", "topic_step", "trial"),
    (
        *CELL,
        Column("left_out", of="leave"),
        Column("n_topics_wanted", of="topic_step"),
        *("trial", "variance", "n_runs", "n_topics", "teams_left_out"),
        *("topics_lost_no_relevant", "topics_lost_all_zero"),
    ),
    only="different",
    whole=("n_topics",),
)
"""Every trial: teams left out, remaining runs and topics, variance, topics lost by both rules."""
FIRST_MISS = Table(
    (*CELL, "topic_step"),
    (*CELL, Column("n_topics_wanted", of="topic_step"), "first_miss"),
    whole=("first_miss",),
)
"""Fewest teams left out whose limits miss the variance of all (Sakai and Shang 2016, 5.1)."""


def answers(result: xr.Dataset) -> Iterator[Answer]:
    """Yield what a team that did not take part would lose."""
    for row in labelled(frame_of(ABSENT, result)):
        numbers = row["change_mean"], row["change_low"], row["change_high"]
        lost = (row["rank_change_mean"], row["rank_change_low"], row["rank_change_high"])
        words = list[str]()
        if is_known(lost[0]):
            words.append(f"{with_limits(*lost, '.1f')} ranks lost")
        words.append(f"{counted(result.attrs['n_teams'], 'team')}, pool depth {row['pool_depth']}")
        over = row["change_topics_low"], row["change_topics_high"]
        if is_known(over[0]):
            _, of_topics = limited(row["change_mean"], *over, "+.1%")
            words.insert(0, f"on other {names.nouns(result.attrs).topics} {of_topics}")
        clause = ", ".join(words)
        yield Answer(row["label"], *numbers, "+.1%", clause, "change of an absent team's score")


def leave_out_panels(canvas: Canvas, result: xr.Dataset) -> None:
    """What an absent team loses; variance by teams left out, and with fewer topics.

    The variances as in Sakai and Shang 2016, Figures 1 and 2, under whose settings they are alone.
    """
    cells = result.isel({names.GAIN: 0})
    nouns = names.nouns(result.attrs)
    n_metrics = result.sizes[names.METRIC]
    heights: dict[tuple[str, str], float] = {("variance", "variance"): 2.7}
    if result.sizes[names.TOPIC_STEP] > 1:
        heights[("fewest", "topics")] = 2.7
    if "preset" not in result.attrs:
        heights[("score", "ranks")] = 0.9 + 0.2 * n_metrics
    legend_rows = -(-n_metrics // LEGEND_COLUMNS)
    figure = canvas.figure((canvas.size[0], 0.4 + sum(heights.values()) + 0.22 * legend_rows))
    panels: list[Any] = [[*names_of] for names_of in heights]
    axes = figure.subplot_mosaic(panels, height_ratios=[*heights.values()])
    if "score" in axes:
        _losses(canvas, axes["score"], cells, "change")
        _losses(canvas, axes["ranks"], cells, "rank_change")
        axes["score"].set(xlabel="change of an absent team's score")
        axes["score"].xaxis.set_major_formatter("{x:.0%}")
        axes["ranks"].set(xlabel="ranks that its runs lose", yticklabels=[])
    _variances(canvas, axes["variance"], cells.isel({names.TOPIC_STEP: 0}), f"all {nouns.topics}")
    if "fewest" in axes:
        fewest = cells.isel({names.TOPIC_STEP: -1})
        whole = cells.isel({names.LEAVE: 0})
        words = f"{int(fewest[names.TOPIC_STEP])} {nouns.topics}"
        _variances(canvas, axes["fewest"], fewest, words)
        topics = whole[names.TOPIC_STEP].values
        for k, metric in enumerate(labels_of(cells, names.METRIC)):
            means = whole["variance_mean"].values[k]
            axes["topics"].plot(topics, means, label=metric, **canvas.curve(k, 3.0))
        axes["topics"].set(xlim=(0, topics.max() * 1.05), ylim=(0.0, None), xlabel=nouns.topics)
        axes["topics"].set(ylabel="within-system variance", title="no team left out, fewer topics")
    for name in {*axes} & {"variance", "fewest"}:
        axes[name].set_xlabel("teams left out")
        axes[name].locator_params(axis="x", integer=True)
    canvas.name(result)
    canvas.legend_outside(axes["variance"], "lower center", LEGEND_COLUMNS)


def _losses(canvas: Canvas, axes: Axes, cells: xr.Dataset, name: str) -> None:
    """Draw what an absent team loses by each metric, with limits over teams."""
    metrics = labels_of(cells, names.METRIC)
    for k in range(len(metrics)):
        mean, low, high = (cells[f"{name}_{end}"].values[k] for end in ("mean", "low", "high"))
        limits = [[mean - low], [high - mean]]
        style = canvas.curve(k, 4.0) | {"linestyle": "none"}
        axes.errorbar([mean], [k], xerr=limits, elinewidth=0.9, capsize=2, **style)
    axes.axvline(0.0, color="0.4", linewidth=0.8)
    axes.set(yticks=range(len(metrics)), yticklabels=metrics, ylim=(len(metrics) - 0.5, -0.5))


def _variances(canvas: Canvas, axes: Axes, at: xr.Dataset, title: str) -> None:
    """Draw mean variance over trials with its limits, and the variance of all runs as a line."""
    left_out = at[names.LEAVE].values.astype(np.float64)
    count = at.sizes[names.METRIC]
    for k, metric in enumerate(labels_of(at, names.METRIC)):
        mean, low, high = (at[f"variance_{end}"].values[k] for end in ("mean", "low", "high"))
        style = canvas.curve(k, 3.0)
        # Bars stand side by side, within this part of the distance between two numbers of teams.
        places = left_out + 0.6 * ((k + 0.5) / count - 0.5) * (left_out > 0)
        limits = np.abs([low - mean, high - mean])
        axes.errorbar(places, mean, limits, label=metric, elinewidth=0.9, capsize=2, **style)
        axes.axhline(mean[0], color=style["color"], linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set(ylabel="within-system variance", ylim=(0.0, None), title=title)


def variances_as_printed(result: xr.Dataset) -> Iterator[dict[str, Any]]:
    """Yield variances by topics, and topics needed (Sakai and Shang 2016, Table 3)."""
    frame = frame_of(VARIANCE, result)
    whole = frame[frame["left_out"] == 0]
    for (metric, gain), rows in whole.groupby(["metric", "gain"], sort=False):
        cells = {
            f"n' = {row['n_topics_wanted']}": Marked(
                f"{number(row['variance_mean'], 3, whole=False)} ({row['topics_needed_tool']})"
            )
            for row in rows.to_dict("records")
        }
        yield {"metric": metric, "gain": gain, **cells}


VIEW = View(
    name="teams",
    heading="Leaving teams out",
    tables={
        "variance": VARIANCE,
        "absent": ABSENT,
        "trials": TRIALS,
        "first_miss": FIRST_MISS,
        "sakai-shang-2016": printed(variances_as_printed),
    },
    shown=("absent",),
    about="Teams are drawn and left out: their runs are removed, and judged documents that only "
    "they contributed become unjudged; the other runs are evaluated again. Limits of means are "
    "over teams, with these topics, and over topics, with these teams; those of variances over "
    "draws. Pools are rebuilt from these runs: if others were pooled, too, documents count as "
    "unique that were not. A topic is lost without a relevant document, or by all_runs_zero for "
    "each metric where all runs that remain score 0. first_miss falls as trials are added.",
    answers={TEAMS: answers},
    figure=leave_out_panels,
)
