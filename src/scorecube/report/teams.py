"""What is shown of leaving teams out: tables, figure and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.team_results import CONFIDENCE, REQUIREMENTS
from scorecube.collection.schema import labels_of
from scorecube.errors import counted
from scorecube.report.figures.style import COLOURS, FIGURE_SIZE, Axes, curve_style, round_ticks
from scorecube.report.findings import Finding, with_number
from scorecube.report.phrases import first_of, listed, number_of, with_limits
from scorecube.report.tables import as_records, declared
from scorecube.report.text_formats import with_labels
from scorecube.report.view import (
    TEAMS,
    Canvas,
    ResultGroup,
    Summary,
    View,
    by_collection,
    notes_of,
    on_page,
)

LEFT_OUT, WANTED = "left_out", "n_topics_wanted"
ENDS = ("_mean", "_low", "_high")
MOST_NAMED = 6
"""Metrics that a finding names."""
LEGEND_COLUMNS = 6
DASHES = ("-", "--", ":")
CAP = 0.06
"""Half the width of the end of an error bar."""
VARIANCE = declared(
    "metric gain leave topic_step",
    "metric gain left_out=leave n_topics_wanted=topic_step variance_mean variance_low "
    "variance_high trials=n_trials runs_min runs_max topics_min topics_max topics_needed "
    "topics_needed_tool",
    whole="topics_needed topics_needed_tool",
)
"""Within-system variance by the numbers of teams left out and of topics, with its interval over trials (Sakai and Shang 2016, Figures 1, 2).

`topics_needed` is the number of topics that the mean variance asks for under the requirements of that paper (`REQUIREMENTS`), `topics_needed_tool` the
one of Sakai's tool (in parentheses in its Table 3).
"""
ABSENT = declared(
    "metric gain",
    "metric gain change_mean change_low change_high rank_change_mean rank_change_low "
    "rank_change_high rank_change_largest run=worst_run n_teams pool_depth",
)
"""What a team loses that does not take part: its runs without the team's unique contributions, over all teams.

Means are over runs, each team with equal weight, with t intervals over teams; ranks are among all runs.
"""
TRIALS = declared(
    "metric gain leave topic_step trial",
    "metric gain left_out=leave n_topics_wanted=topic_step trial variance n_runs n_topics "
    "teams_left_out n_topics_above_zero",
    only="different",
    dtypes={"n_topics": "int64"},
    long=True,
)
"""Every trial: teams left out, remaining runs and topics, variance."""
FIRST_MISS = declared(
    "metric gain topic_step",
    "metric gain n_topics_wanted=topic_step variance=whole_variance first_miss",
    whole="first_miss",
    objects=True,
)
"""Smallest number of teams left out at which the interval excludes the variance of all runs over all topics (Sakai and Shang 2016, section 5.1).

Missing where no interval does.
"""
OWN = declared(
    "metric gain run",
    "metric gain run team=team_of_run mean=own_mean mean_without=own_mean_without "
    "rank=own_rank rank_without=own_rank_without",
    long=True,
)
"""What each run loses without the unique contributions of its own team: whether a new run would be judged fairly."""


def conditions(result: xr.Dataset) -> str:
    """Return runs, teams, topics and trials in one line."""
    teams, runs, topics = (result.sizes[dim] for dim in (names.TEAM, names.RUN, names.TOPIC))
    return f"{runs} runs of {teams} teams, {topics} topics, {result.sizes[names.TRIAL]:,} trials for each number of teams"


def title(options: Mapping[str, Any]) -> str:
    """Return the pool depth, and options that differ from the usual."""
    leave, steps = (", ".join(map(str, options[name] or ())) for name in ("leave", "topic_sizes"))
    return listed(
        f"pool depth {'auto' if options['pool_depth'] is None else options['pool_depth']}",
        leave and f"{leave} left out",
        steps and f"also {steps} topics",
        "" if options["keep_unpooled"] else "documents outside the pool are removed",
    )


def caption(result: xr.Dataset) -> str:
    """Describe the panels."""
    chain = " Below, the same with the fewest topics, and by number of topics." * (
        result.sizes[names.TOPIC_STEP] > 1
    )
    return f"{conditions(result)}. Variance of the remaining runs' scores with its interval over trials; dotted: the variance of all runs.{chain}"


@by_collection
def answer(group: ResultGroup) -> Iterator[Finding]:
    """Yield what a team that did not take part would lose."""
    (result,), frames = group.results, group.frames
    if len(frames.get("absent", ())):
        yield _absent(as_records(with_labels(frames["absent"])), result)


def _absent(rows: list[dict[str, Any]], result: xr.Dataset) -> Finding:
    """Return for each metric what a run loses whose team did not take part in the pool."""
    said = [f"{row['label']} {_change(row)}" for row in rows]
    worst = max(rows, key=lambda row: row["rank_change_largest"])
    largest = "no run loses a rank"
    if worst["rank_change_largest"] > 0:
        ranks = counted(worst["rank_change_largest"], "rank")
        largest = f"the largest loss: {worst['run']}, {ranks} by {worst['label']}"
    return with_number(
        f"a team that did not take part in a pool of depth {result.attrs['pool_depth']} would score (mean over the {result.sizes[names.TEAM]} teams, 95% interval over "
        f"teams): {first_of(said, MOST_NAMED, rest='; {} more in the tables')}; {largest}",
        f"relative change of the mean score of an absent team, {rows[0]['label']}",
        number_of(rows[0], "change", ENDS),
        confidence=CONFIDENCE,
        unlimited="no interval over teams is known",
        table="absent",
    )


def _change(row: Mapping[str, Any]) -> str:
    score, ranks = (number_of(row, name, ENDS) for name in ("change", "rank_change"))
    if None in (*score, *ranks):
        return "unknown"
    return f"{with_limits(*score, '+.1%')} and lose {with_limits(*ranks, '.1f')} ranks"


def findings(result: xr.Dataset) -> Iterator[Finding]:
    """Yield the numbers of topics that the variances of fewer topics ask for, of all teams (Sakai and Shang 2016, Table 3), and notes."""
    if result.sizes[names.TOPIC_STEP] > 1:
        frame = with_labels(VARIANCE.make(result))
        rows = as_records(frame[(frame[LEFT_OUT] == 0) & frame["topics_needed"].notna()])
        sizes = {row["label"]: list[str]() for row in rows}
        for row in rows:
            sizes[row["label"]].append(f"{row['topics_needed']:,} from {row[WANTED]}")
        said = [f"{label} {', '.join(each)}" for label, each in sizes.items()]
        wanted = REQUIREMENTS
        first = rows[0] if rows else dict.fromkeys(("label", "topics_needed", WANTED))
        yield with_number(
            f"topics needed (difference {wanted['min_diff']:g}, {wanted['systems']} systems, alpha {wanted['alpha']:g}, power {1 - wanted['beta']:.0%}) as estimated from fewer "
            f"topics: {first_of(said, MOST_NAMED, rest='; {} more in the tables')}",
            f"topics needed as estimated from {first[WANTED]}, {first['label']}",
            [first["topics_needed"]],
            "topics",
            unlimited="no interval is computed of the variances of fewer topics",
            table="variance",
        )
    yield from notes_of(result)


def leave_out_panels(canvas: Canvas, result: xr.Dataset) -> None:
    """Variance by the number of teams left out, and with fewer topics (Sakai and Shang 2016, Figures 1, 2).

    Horizontal lines are the variance of all runs.
    """
    cells = result.isel({names.GAIN: 0})
    chain = result.sizes[names.TOPIC_STEP] > 1
    metrics = labels_of(result, names.METRIC)
    panels: list[Any] = [["variance", "variance"], *[["fewest", "topics"]] * chain]
    legend_rows = -(-len(metrics) // LEGEND_COLUMNS)
    figure = canvas.figure((FIGURE_SIZE[0], 0.4 + 2.7 * len(panels) + 0.22 * legend_rows))
    axes = figure.subplot_mosaic(panels)
    _variances(axes["variance"], cells, 0)
    if chain:
        _variances(axes["fewest"], cells, cells.sizes[names.TOPIC_STEP] - 1)
        _by_topics(axes["topics"], cells)
    for name in set(axes) - {"topics"}:
        axes[name].set_xlabel("teams left out")
        round_ticks(axes[name].xaxis, whole=True)
    canvas.name(f"{conditions(result)}, gains {cells[names.GAIN].item()}")
    canvas.legend_outside(axes["variance"], "lower center", LEGEND_COLUMNS, fontsize=8)


def _style(k: int) -> dict[str, Any]:
    dashes = DASHES[k // len(COLOURS) % len(DASHES)]
    return {**curve_style(k, 3.0, 1.2), "linestyle": dashes}


def _variances(axes: Axes, cells: xr.Dataset, step: int) -> None:
    """Draw mean variance over trials with its interval, and the variance of all runs as a horizontal line."""
    at = cells.isel({names.TOPIC_STEP: step})
    left_out = at[names.LEAVE].values.astype(np.float64)
    count = at.sizes[names.METRIC]
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        mean, low, high = (at[f"variance_{end}"].values[k] for end in ("mean", "low", "high"))
        style = _style(k)
        # Bars stand side by side within this part of the distance between two numbers of teams; more bands would cover each other.
        places = left_out + 0.6 * ((k + 0.5) / count - 0.5) * (left_out > 0)
        if count <= 4:
            axes.fill_between(places, low, high, color=style["color"], alpha=0.12, linewidth=0)
        bar: dict[str, Any] = {"color": style["color"], "linewidth": 0.9, "alpha": 0.7}
        axes.vlines(places, low, high, **bar)
        axes.hlines([low, high], [places - CAP] * 2, [places + CAP] * 2, **bar)
        axes.plot(places, mean, label=metric, **style)
        axes.axhline(mean[0], color=style["color"], linewidth=0.8, linestyle=(0, (1, 2)))
    axes.set(ylabel="within-system variance", ylim=(0.0, None))
    words = "all topics" if step == 0 else f"{int(at[names.TOPIC_STEP])} topics"
    axes.set_title(words)


def _by_topics(axes: Axes, cells: xr.Dataset) -> None:
    """Draw the variance of the runs of all teams by number of topics (Sakai and Shang 2016, Table 3)."""
    whole = cells.isel({names.LEAVE: 0})
    n_topics = whole[names.TOPIC_STEP].values
    for k, metric in enumerate(labels_of(cells, names.METRIC)):
        axes.plot(n_topics, whole["variance_mean"].values[k], label=metric, **_style(k))
    axes.set(
        xlabel="topics",
        xlim=(0, n_topics.max() * 1.05),
        ylim=(0.0, None),
        ylabel="within-system variance",
        title="no team left out, fewer topics",
    )


VIEW = View(
    name="teams",
    heading="Leaving teams out",
    about=(
        "Teams are drawn at random and left out: their runs are removed, and judged documents that only they contributed to the pool become unjudged. "
        "All other runs are evaluated again. Runs without the unique contributions of their own team show what a team that did not take part would "
        "lose; limits of means are over teams, those of variances over draws of teams. The number at which an "
        "interval over trials first excludes the variance of all runs (first_miss, as in the paper) is no such statement: it falls as trials are added. "
        "Pools are rebuilt from these runs, to the depth at which runs of half of the teams are judged, if no other is stated: if other runs were pooled, "
        "too, or runs were cut before the pool depth, documents count as unique that were not."
    ),
    summary=(
        Summary(
            "metric=label change_of_score=change_mean,change_low,change_high "
            "ranks_lost=rank_change_mean,rank_change_low,rank_change_high "
            "most_ranks=rank_change_largest",
            table="absent",
            most=5,
            bar="change of score",
        ),
    ),
    tables={
        "variance": VARIANCE,
        "absent": ABSENT,
        "trials": TRIALS,
        "first_miss": FIRST_MISS,
        "own": OWN,
    },
    title=title,
    caption=caption,
    findings=findings,
    page_tables=on_page(
        {
            "What a team would lose that did not take part": "absent",
            "Variance by number of teams left out": "variance",
            "Runs without the unique contributions of their own team": "own",
        },
        empty=True,
    ),
    figure=leave_out_panels,
    answers={TEAMS: answer},
)
