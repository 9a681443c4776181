"""View of leaving teams out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.errors import counted
from scorecube.report.tables import reusability, teams
from scorecube.report.tables.reusability import LEAST_TAU, MARGIN
from scorecube.report.tables.rows import COLLECTION, as_records
from scorecube.report.text_formats import with_labels
from scorecube.report.views.phrases import first_of, value_range
from scorecube.report.views.questions import TEAMS
from scorecube.report.views.view import (
    Column,
    Lines,
    ResultGroup,
    Table,
    View,
    on_demand,
    rows_along,
    select_tables,
)

WITHIN = {
    "variance": f"the variance of the remaining runs stays within {MARGIN:.0%} of that of all runs",
    "tau": f"the mean tau of the remaining runs with the full evaluation stays at {LEAST_TAU:g} or above",
}
"""Sentences about the quantities of `reusability.equivalence`."""
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
    depth = "auto" if options["pool_depth"] is None else options["pool_depth"]
    return ", ".join([f"pool depth {depth}", *odd])


def caption(result: xr.Dataset) -> str:
    """Describe the panels."""
    chain = " Below, the same with the fewest topics, and by number of topics." * (
        result.sizes[names.TOPIC_STEP] > 1
    )
    return (
        f"{teams.conditions(result)}. Variance of the remaining runs' scores with its interval over trials; dotted: the variance of all runs, with a ring "
        f"at the last number of teams within {MARGIN:.0%} of it. Tau and lost ranks of the remaining runs.{chain}"
    )


def headline(result: xr.Dataset) -> list[str]:
    """Return what a team that did not take part would lose, up to how many teams the variance holds, and how the order of the runs changes."""
    return [
        _absent(result),
        *_equivalence(result),
        *_order_kept(teams.reusability(result)),
        *_topics_needed(result),
        *result.attrs.get("notes", []),
    ]


def _absent(result: xr.Dataset) -> str:
    """Return for each metric what a run loses whose team did not take part in the pool."""
    rows = as_records(with_labels(reusability.absent(result)))
    parts = [f"{row['label']} {_change(row)}" for row in rows]
    worst = max(rows, key=lambda row: row["rank_change_largest"])
    largest = (
        f"; the largest loss: {worst['run']}, {_ranks(worst['rank_change_largest'])} by {worst['label']}"
        if worst["rank_change_largest"] > 0
        else "; no run loses a rank"
    )
    return (
        f"a team that did not take part in a pool of depth {result.attrs['pool_depth']} would score (mean over the {result.sizes[names.TEAM]} teams, 95% interval over "
        f"teams): {first_of(parts, MOST_NAMED, rest='; {} more in the tables')}{largest}"
    )


def _change(row: Mapping[str, Any]) -> str:
    """Return the mean changes of score and rank with their intervals."""
    score, ranks = (
        [row[f"{name}_{end}"] for end in ("mean", "low", "high")]
        for name in ("change", "rank_change")
    )
    if any(each is None for each in (*score, *ranks)):
        return "unknown"
    return f"{score[0]:+.1%} [{score[1]:+.1%}, {score[2]:+.1%}] and lose {ranks[0]:.1f} [{ranks[1]:.1f}, {ranks[2]:.1f}] ranks"


def _ranks(number: int) -> str:
    return f"{number} rank{'s' if number != 1 else ''}"


def _equivalence(result: xr.Dataset) -> list[str]:
    """Return up to how many teams the variance is within the margin, and tau."""
    frame = with_labels(reusability.equivalence(result))
    if frame.empty:
        return []
    frame = frame[frame[teams.WANTED] == frame[teams.WANTED].max()]
    lines = []
    for quantity, what in WITHIN.items():
        rows = as_records(frame[frame["quantity"] == quantity])
        parts = [f"{row['label']} {_within(row)}" for row in rows]
        lines.append(
            f"{what} up to k teams left out, of {result.sizes[names.TEAM]} (95% limits over {result.attrs['trials']:,} trials for each k): "
            f"{first_of(parts, MOST_NAMED, rest='; {} more in the tables')}"
        )
    return lines


def _within(row: Mapping[str, Any]) -> str:
    """Return the number of teams with its limits."""
    low, high = int(row["within_low"]), int(row["within_high"])
    return f"{row['within']}" if low == high else f"{row['within']} ({low} to {high})"


def _topics_needed(result: xr.Dataset) -> list[str]:
    """Return the numbers of topics that the variances of fewer topics ask for, of all teams (S3 Table 3)."""
    if result.sizes[names.TOPIC_STEP] < 2:
        return []
    frame = with_labels(teams.variance(result))
    frame = frame[(frame[teams.LEFT_OUT] == 0) & frame["topics_needed"].notna()]
    parts = []
    for label, rows in frame.groupby("label", sort=False):
        sizes = ", ".join(
            f"{row['topics_needed']:,} from {row[teams.WANTED]}" for row in as_records(rows)
        )
        parts.append(f"{label} {sizes}")
    wanted = teams.REQUIREMENTS
    return [
        f"topics needed (difference {wanted['min_diff']:g}, {wanted['systems']} systems, alpha {wanted['alpha']:g}, power {1 - wanted['beta']:.0%}) as estimated from fewer "
        f"topics: {first_of(parts, MOST_NAMED, rest='; {} more in the tables')}"
    ]


def _fewest(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with the fewest teams left out, but any."""
    left_out = frame[teams.LEFT_OUT]
    fewest: pd.DataFrame = frame[left_out == left_out[left_out > 0].min()]
    return fewest


def _order_kept(frame: pd.DataFrame) -> list[str]:
    """Return how leaving out the fewest teams changes the order of the runs; nothing where fewer than two are left."""
    fewest = _fewest(frame)
    # With equal means tau is below 1 even with all teams.
    whole = frame.loc[frame[teams.LEFT_OUT] == 0, "tau_mean"].to_numpy()
    fewest = fewest.assign(whole=whole, loss=whole - fewest["tau_mean"]).dropna(subset="tau_mean")
    if fewest.empty:
        return []
    worst = fewest.sort_values("loss", ascending=False, kind="stable").iloc[0]
    return [
        f"without {_teams(worst[teams.LEFT_OUT])} the order of the other runs changes most by {worst['metric']}: tau with the full evaluation "
        f"{worst['tau_mean']:.3f} on average and {worst['tau_lowest']:.3f} at the lowest, {worst['whole']:.3f} with all teams; no run loses more than "
        f"{counted(int(fewest['rank_drop_largest'].max()), 'rank')} by any metric"
    ]


def _teams(number: int) -> str:
    return f"{number} team{'s' if number > 1 else ''}"


def answer(group: ResultGroup) -> Lines:
    """Yield what absent teams lose, how leaving out the fewest teams changes the order of the other runs, and where the variance changes."""
    where = f"{group.title}, {group.trials:,} trials for each number of teams"
    if len(group.frames.get("absent", ())):
        for name, rows in group.frames["absent"].groupby(COLLECTION, sort=False):
            each = as_records(with_labels(rows))
            losses = "; ".join(f"{row['label']} {_change(row)}" for row in each)
            yield (
                f"{name}: a team that did not take part would score, by {losses}.",
                f"pool depth {each[0]['pool_depth']}; mean over {each[0]['n_teams']} teams and 95% interval over teams",
            )
    if "reusability" in group.frames:
        frame = group.frames["reusability"].dropna(subset="tau_mean")
        for name, rows in _fewest(frame).groupby(COLLECTION, sort=False):
            worst = rows.sort_values("tau_mean", kind="stable").iloc[0]
            yield (
                f"{name}: without {_teams(worst[teams.LEFT_OUT])} the order of the other runs has tau "
                f"{value_range(rows['tau_mean'], '.3f')} on average, the lowest by {worst['metric']}; "
                f"no run loses more than {counted(int(rows['rank_drop_largest'].max()), 'rank')}.",
                where,
            )
    if len(group.frames.get("equivalence", ())):
        frame = group.frames["equivalence"]
        frame = frame[frame["quantity"] == "variance"]
        for name in dict.fromkeys(map(str, frame[COLLECTION])):
            rows = frame[frame[COLLECTION] == name]
            rows = rows[rows[teams.WANTED] == rows[teams.WANTED].max()]
            worst = rows.sort_values("within", kind="stable").iloc[0]
            yield (
                f"{name}: the variance that topic set size design uses stays within {MARGIN:.0%} up to {_within(worst)} of {worst['n_teams']} teams left out "
                f"by {worst['metric']}, and further by the other metrics.",
                f"{where}; 95% limits over trials, for all numbers of teams together",
            )


VIEW = View(
    name="teams",
    heading="Leaving teams out",
    about=(
        "Teams are drawn at random and left out: their runs are removed, and judged documents that only they contributed to the pool become unjudged. "
        "All other runs are evaluated again. Runs without the unique contributions of their own team show what a team that did not take part would "
        f"lose. Up to a number of teams at which the mean variance is within {MARGIN:.0%} of that of all runs, fewer teams would have led topic set size "
        "design to nearly the same number of topics; limits are over draws of teams, and more trials bring them together. The number at which an "
        "interval over trials first excludes the variance of all runs (first_miss, as in the paper) is no such statement: it falls as trials are added. "
        "Pools are rebuilt from these runs, to the depth at which runs of half of the teams are judged, if no other is stated: if other runs were pooled, "
        "too, or runs were cut before the pool depth, documents count as unique that were not. The less of a run is judged, the less its scores "
        "say: the residual of RBP is the range of its score if unjudged documents may be relevant. Equal means reduce tau, also with all teams."
    ),
    tables={
        "variance": Table(teams.variance),
        "absent": Table(reusability.absent),
        "equivalence": Table(reusability.equivalence),
        "bias": Table(reusability.bias),
        "judged": Table(reusability.judged, rows_along(names.RUN)),
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
            "What a team would lose that did not take part": "absent",
            "Numbers of teams left out up to which variance and tau are within the margin": "equivalence",
            "Variance by number of teams left out": "variance",
            "Order and means of the remaining runs": "reusability",
            "Runs without the unique contributions of their own team": "own",
            "Judged documents that only one team contributed": "contributions",
            "Share of judged documents, and residuals of RBP": "judged",
        },
    ),
    figure=on_demand("figures.teams:leave_out_panels"),
    column=Column("teams left out", lambda frame: f"up to {frame[teams.LEFT_OUT].max()}"),
    answers={TEAMS: answer},
)
