"""Tables of leaving teams out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.design import topic_set_size
from scorecube.report.tables.rows import parts, where

LEFT_OUT, WANTED = "left_out", "n_topics_wanted"
REQUIREMENTS: dict[str, Any] = {"min_diff": 0.15, "systems": 10, "alpha": 0.05, "beta": 0.2}
"""Requirements of S3 Table 3."""


def conditions(result: xr.Dataset) -> str:
    """Return runs, teams, topics and trials in one line."""
    teams, runs, topics = (result.sizes[dim] for dim in (names.TEAM, names.RUN, names.TOPIC))
    return f"{runs} runs of {teams} teams, {topics} topics, {result.sizes[names.TRIAL]:,} trials for each number of teams"


def variance(result: xr.Dataset) -> pd.DataFrame:
    """Within-system variance by the number of teams left out and of topics wanted, with its interval over trials (S3 Figures 1 and 2).

    `topics_needed` is the number of topics that the mean variance asks for under S3's requirements (`REQUIREMENTS`), `topics_needed_tool` the
    one of Sakai's tool (in parentheses in S3 Table 3).
    """
    first = where(result)
    rows, trials = [], result.sizes[names.TRIAL]
    for cell, part in parts(result):
        for k, left_out in enumerate(result[names.LEAVE].values.tolist()):
            n_runs = part["n_runs"].values[k]
            there = n_runs > 0
            for step, wanted in enumerate(result[names.TOPIC_STEP].values.tolist()):
                at = part.isel({names.LEAVE: k, names.TOPIC_STEP: step})
                n_topics = at["n_topics"].values
                row: dict[str, Any] = {**first, **cell, LEFT_OUT: left_out, WANTED: wanted}
                row |= {
                    name: float(at[name])
                    for name in ("variance_mean", "variance_low", "variance_high")
                }
                # Without any team left out all trials are equal.
                row |= {"trials": min(int(at["n_defined"]), 1 if left_out == 0 else trials)}
                for name, counts in (("runs", n_runs), ("topics", n_topics)):
                    row |= {
                        f"{name}_min": int(counts[there].min()),
                        f"{name}_max": int(counts[there].max()),
                    }
                rows.append(row)
    frame = pd.DataFrame(rows)
    needed = topics_needed(frame["variance_mean"].to_numpy())
    return frame.assign(**{name: pd.Series(sizes, dtype=object) for name, sizes in needed.items()})


def topics_needed(variances: np.ndarray[Any, Any]) -> dict[str, list[int | None]]:
    """Return the numbers of topics that variances ask for under `REQUIREMENTS`, exact and of Sakai's tool; None without a variance above 0.

    Examples
    --------
    >>> topics_needed(np.array([0.114, np.nan]))
    {'topics_needed': [160, None], 'topics_needed_tool': [159, None]}
    """
    known = np.isfinite(variances) & (variances > 0)
    usable = np.where(known, variances, 1.0)
    found = {
        name: topic_set_size(xr.DataArray(usable, dims="row"), mode=mode, **REQUIREMENTS)["topics"]
        for name, mode in (("topics_needed", "exact"), ("topics_needed_tool", "sakai"))
    }
    return {
        name: [
            int(size) if is_known else None
            for size, is_known in zip(sizes.values, known, strict=True)
        ]
        for name, sizes in found.items()
    }


def trials(result: xr.Dataset) -> pd.DataFrame:
    """Every trial: teams left out, remaining runs and topics, variance."""
    first, teams = where(result), np.array(labels_of(result, names.TEAM), object)
    left = result[names.TEAM_LEFT_OUT].transpose(names.LEAVE, names.TRIAL, names.TEAM).values
    rows = []
    for cell, part in parts(result):
        n_runs = part["n_runs"].values
        found, n_topics = part["variance"].values, part["n_topics"].values
        for k, left_out in enumerate(result[names.LEAVE].values.tolist()):
            for step, wanted in enumerate(result[names.TOPIC_STEP].values.tolist()):
                # Without any team left out all trials are equal.
                for trial in np.flatnonzero(n_runs[k] > 0)[: 1 if left_out == 0 else None].tolist():
                    rows.append(
                        {
                            **first,
                            **cell,
                            LEFT_OUT: left_out,
                            WANTED: wanted,
                            names.TRIAL: trial,
                            "variance": float(found[k, step, trial]),
                            "n_runs": int(n_runs[k, trial]),
                            "n_topics": int(n_topics[k, step, trial]),
                            "teams_left_out": ",".join(teams[left[k, trial]]),
                        }
                    )
    return pd.DataFrame(rows)


def first_miss(result: xr.Dataset) -> pd.DataFrame:
    """Smallest number of teams left out at which the interval excludes the variance of all runs (S3 section 5.1), and the mean variance.

    Both are missing where no interval does.
    """
    leaves = result[names.LEAVE].values.tolist()
    rows = []
    for cell, part in parts(result):
        for step, wanted in enumerate(result[names.TOPIC_STEP].values.tolist()):
            mean, miss = (
                part["variance_mean"].values[:, step],
                float(part["first_miss"].values[step]),
            )
            there = None if np.isnan(miss) else int(miss)
            row: dict[str, Any] = {
                **where(result),
                **cell,
                WANTED: wanted,
                "variance": float(mean[0]),
                "first_miss": there,
            }
            rows.append(
                row
                | {"variance_there": None if there is None else float(mean[leaves.index(there)])}
            )
    # Objects, so that whole numbers stay whole beside missing ones.
    return pd.DataFrame(rows, dtype=object)


def reusability(result: xr.Dataset) -> pd.DataFrame:
    """How well the remaining runs keep their order and means by the number of teams left out."""
    rows = []
    for cell, part in parts(result):
        for k, left_out in enumerate(result[names.LEAVE].values.tolist()):
            at = part.isel({names.LEAVE: k})
            change = at["mean_change"].values
            largest = at["mean_change_largest"].values
            some = np.isfinite(largest)
            rows.append(
                {
                    **where(result),
                    **cell,
                    LEFT_OUT: left_out,
                    "tau_mean": float(at["tau_mean"]),
                    "tau_lowest": float(at["tau_lowest"]),
                    "rank_drop_largest": int(at["rank_drop_largest"]),
                    "mean_change": float(np.mean(change[some])) if some.any() else np.nan,
                    "mean_change_largest": float(largest[some][np.abs(largest[some]).argmax()])
                    if some.any()
                    else np.nan,
                }
            )
    return pd.DataFrame(rows)


def own(result: xr.Dataset) -> pd.DataFrame:
    """What each run loses without the unique contributions of its own team: whether a new run would be judged fairly."""
    team_of = [str(team) for team in result[names.TEAM_OF_RUN].values]
    rows = []
    for cell, part in parts(result):
        mean, without = part["own_mean"].values, part["own_mean_without"].values
        rank, rank_without = part["own_rank"].values, part["own_rank_without"].values
        for k, run in enumerate(labels_of(result, names.RUN)):
            rows.append(
                {
                    **where(result),
                    **cell,
                    names.RUN: run,
                    "team": team_of[k],
                    "mean": float(mean[k]),
                    "mean_without": float(without[k]),
                    "change": float(without[k] - mean[k]),
                    "rank": int(rank[k]),
                    "rank_without": int(rank_without[k]),
                }
            )
    return pd.DataFrame(rows)


def contributions(result: xr.Dataset) -> pd.DataFrame:
    """Judged documents that only one team contributed, by team."""
    team_of = [str(team) for team in result[names.TEAM_OF_RUN].values]
    return pd.DataFrame(
        [
            {
                **where(result),
                "team": team,
                "n_runs": team_of.count(team),
                "n_unique": int(result["n_unique"].values[k]),
                "n_unique_relevant": int(result["n_unique_relevant"].values[k]),
            }
            for k, team in enumerate(labels_of(result, names.TEAM))
        ]
    )
