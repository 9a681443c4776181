"""View of leaving teams out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.report.tables import teams
from scorecube.report.tables.rows import COLLECTION, as_records
from scorecube.report.text_formats import with_labels
from scorecube.report.views.phrases import first_of, value_range
from scorecube.report.views.questions import TEAMS
from scorecube.report.views.view import (
    Column,
    Findings,
    Lines,
    Table,
    View,
    on_demand,
    rows_along,
    select_tables,
)

MOST_NAMED = 6
"""Metrics that the headline names."""


def title(options: Mapping[str, Any]) -> str:
    """Return the pool depth, and options that differ from the usual."""
    leave, steps = options["leave"], options["topic_sizes"]
    odd = [f"{', '.join(map(str, leave))} left out"] if leave else []
    odd += [f"also {', '.join(map(str, steps))} topics"] if steps else []
    odd += [] if options["keep_unpooled"] else ["documents outside the pool are removed"]
    odd += (
        ["a topic is lost where all runs fail"] if options["lost_topics"] == "all_runs_zero" else []
    )
    odd += ["different teams in all trials"] if options["distinct"] else []
    return ", ".join([f"pool depth {options['pool_depth']}", *odd])


def caption(result: xr.Dataset) -> str:
    """Describe the panels."""
    chain = " Below, the same with the fewest topics, and by number of topics." * (
        result.sizes[names.TOPIC_STEP] > 1
    )
    return (
        f"{teams.conditions(result)}. Variance of the remaining runs' scores with its interval over trials; dotted: the variance of all runs, with a ring "
        f"where the interval first excludes it. Tau and lost ranks of the remaining runs.{chain}"
    )


def headline(result: xr.Dataset) -> list[str]:
    """Return where the variance changes, how the order of the runs changes, and which run depends most on its team."""
    return [
        _first_misses(result),
        *_order_kept(teams.reusability(result)),
        *_largest_loss(teams.own(result)),
        *result.attrs.get("notes", []),
    ]


def _first_misses(result: xr.Dataset) -> str:
    """Return for each metric how many teams can be left out before the variance changes."""
    frame = with_labels(teams.first_miss(result))
    rows = as_records(frame[frame[teams.WANTED] == frame[teams.WANTED].max()])
    parts = [
        f"{row['label']} "
        + (
            "never"
            if row["first_miss"] is None
            else f"{row['first_miss']} ({row['variance_there'] / row['variance'] - 1:+.1%})"
        )
        for row in rows
    ]
    return (
        f"number of teams left out, of {result.sizes[names.TEAM]}, at which the interval over trials first excludes the variance of all runs (relative change of the mean "
        f"variance): {first_of(parts, MOST_NAMED, rest='; {} more in the tables')}"
    )


def _order_kept(frame: pd.DataFrame) -> list[str]:
    """Return how leaving out the fewest teams changes the order of the runs; nothing where fewer than two are left."""
    fewest = frame[
        frame[teams.LEFT_OUT] == frame.loc[frame[teams.LEFT_OUT] > 0, teams.LEFT_OUT].min()
    ]
    # With equal means tau is below 1 even with all teams.
    whole = frame.loc[frame[teams.LEFT_OUT] == 0, "tau_mean"].to_numpy()
    fewest = fewest.assign(whole=whole, loss=whole - fewest["tau_mean"]).dropna(subset="tau_mean")
    if fewest.empty:
        return []
    worst = fewest.sort_values("loss", ascending=False, kind="stable").iloc[0]
    return [
        f"without {_teams(worst[teams.LEFT_OUT])} the order of the other runs changes most by {worst['metric']}: tau with the full evaluation "
        f"{worst['tau_mean']:.3f} on average and {worst['tau_lowest']:.3f} at the lowest, {worst['whole']:.3f} with all teams; no run loses more than "
        f"{fewest['rank_drop_largest'].max()} ranks by any metric"
    ]


def _teams(number: int) -> str:
    return f"{number} team{'s' if number > 1 else ''}"


def _largest_loss(own: pd.DataFrame) -> list[str]:
    """Return the run that loses most ranks without the unique contributions of its own team."""
    lost = (own["rank_without"] - own["rank"]).to_numpy()
    if lost.max() <= 0:
        return []
    run = own.iloc[int(lost.argmax())]
    return [
        f"without the unique contributions of its own team {run['run']} of {run['team']} falls from rank {run['rank']} to {run['rank_without']} by "
        f"{run['metric']}; no other run loses more"
    ]


def answer(findings: Findings) -> Lines:
    """Yield how leaving out the fewest teams changes the order of the other runs, and where the variance changes."""
    where = f"{findings.title}, {findings.trials:,} trials for each number of teams"
    if "reusability" in findings.frames:
        frame = findings.frames["reusability"].dropna(subset="tau_mean")
        fewest = frame[
            frame[teams.LEFT_OUT] == frame.loc[frame[teams.LEFT_OUT] > 0, teams.LEFT_OUT].min()
        ]
        for name, rows in fewest.groupby(COLLECTION, sort=False):
            worst = rows.sort_values("tau_mean", kind="stable").iloc[0]
            yield (
                f"{name}: without {_teams(worst[teams.LEFT_OUT])} the order of the other runs has tau "
                f"{value_range(rows['tau_mean'], '.3f')} on average, the lowest by {worst['metric']}; "
                f"no run loses more than {int(rows['rank_drop_largest'].max())} ranks.",
                where,
            )
    if "first_miss" in findings.frames:
        missed = pd.to_numeric(findings.frames["first_miss"]["first_miss"]).dropna()
        at = f"from {value_range(missed, '.0f')} teams left out on" if len(missed) else "never"
        yield (
            f"The interval over trials excludes the variance of all runs, which topic set size design uses, {at}, depending on the metric.",
            where,
        )


VIEW = View(
    name="teams",
    heading="Leaving teams out",
    about=(
        "Teams are drawn at random and left out: their runs are removed, and judged documents that only they contributed to the pool become unjudged. "
        "All other runs are evaluated again. As long as the interval over trials contains the variance of all runs, fewer teams would have "
        "led topic set size design to the same number of topics. Tau and lost ranks show whether the order of the other runs depends on the "
        "removed teams; the table of runs without their own team shows what a new run with unjudged documents would lose. "
        "Pools are rebuilt from these runs: if other runs were pooled, too, or runs were cut before the pool depth, documents count as unique "
        "that were not. Intervals are over draws of teams only, not of topics: with few teams left out they are so narrow that a small change "
        "excludes the variance of all runs; with few teams left they are wide. Equal means reduce tau, also with all teams."
    ),
    tables={
        "variance": Table(teams.variance),
        "trials": Table(
            teams.trials,
            rows_along(names.METRIC, names.GAIN, names.LEAVE, names.TOPIC_STEP, names.TRIAL),
        ),
        "first_miss": Table(teams.first_miss),
        "reusability": Table(teams.reusability),
        "own": Table(teams.own, rows_along(names.METRIC, names.GAIN, names.RUN)),
        "contributions": Table(teams.contributions),
    },
    title=title,
    caption=caption,
    headline=headline,
    page_tables=lambda frames: select_tables(
        frames,
        {
            "Smallest number of teams left out whose interval excludes the variance of all runs": "first_miss",
            "Variance by number of teams left out": "variance",
            "Order and means of the remaining runs": "reusability",
            "Runs without the unique contributions of their own team": "own",
            "Judged documents that only one team contributed": "contributions",
        },
    ),
    figure=on_demand("figures.teams:leave_out_panels"),
    column=Column("teams left out", lambda frame: f"up to {frame[teams.LEFT_OUT].max()}"),
    answers={TEAMS: answer},
)
