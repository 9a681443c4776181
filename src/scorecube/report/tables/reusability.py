"""Up to how many teams left out variance and ranking are nearly those of the whole collection, and what an absent team would lose.

A number of teams k is within the margin if the mean variance over all subsets of k teams differs from the variance of all runs by at most
`MARGIN` of it, or if the mean tau of the remaining runs with the full evaluation is at least `LEAST_TAU`. Trials are a sample of these subsets.
The statement is the largest K so that all k up to K are within. Its limits take each k at the ends of a t interval over trials with a
confidence of 1 - 0.05 / (numbers of teams), so that all numbers of teams together have 95 %: more trials bring the limits together, and only
change the statement within them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import scipy
import xarray as xr

from scorecube import names
from scorecube.collection.schema import labels_of
from scorecube.report.tables.rows import parts, where

MARGIN = 0.05
"""Relative bias of the variance that is small against its uncertainty over topics and teams (see topic set size design)."""
LEAST_TAU = 0.95
CONFIDENCE = 0.95
QUANTITIES = ("variance", "tau")


def bias(result: xr.Dataset) -> pd.DataFrame:
    """Relative bias of the variance, and tau, by the number of teams left out, with intervals over trials for each number alone."""
    rows = []
    for labels, k, quantity, values in _samples(result):
        low, high = _interval(values, 1 - CONFIDENCE)
        mean = float(values.mean()) if len(values) else np.nan
        rows.append(
            labels
            | {
                "left_out": k,
                "quantity": quantity,
                "value": mean,
                "value_low": low,
                "value_high": high,
                "trials": len(values),
            }
        )
    return pd.DataFrame(rows)


def equivalence(result: xr.Dataset) -> pd.DataFrame:
    """Largest number of teams up to which variance and tau are within the margin, with its limits over trials."""
    n_leaves = result.sizes[names.LEAVE] - 1
    found: dict[tuple[Any, ...], list[tuple[int, float, float, float]]] = {}
    rows = []
    for labels, k, quantity, values in _samples(result):
        low, high = _interval(values, (1 - CONFIDENCE) / max(n_leaves, 1))
        mean = float(values.mean()) if len(values) else np.nan
        found.setdefault((*labels.values(), quantity), []).append((k, mean, low, high))
    for key, steps in found.items():
        *labels_of_row, quantity = key
        within = [_up_to(steps, _is_within(quantity, which)) for which in ("mean", "all", "some")]
        rows.append(
            dict(
                zip(
                    (*where(result), "metric", "gain", "n_topics_wanted"),
                    labels_of_row,
                    strict=True,
                )
            )
            | {"quantity": quantity, "margin": MARGIN if quantity == "variance" else LEAST_TAU}
            | {
                "within": within[0],
                "within_low": min(within[1], within[0]),
                "within_high": max(within[2], within[0]),
            }
            | {
                "n_teams": result.attrs["n_teams"],
                "most_left_out": max(k for k, *_ in steps),
                "trials": result.attrs["trials"],
            }
        )
    return pd.DataFrame(rows)


def within_of(cells: xr.Dataset, n_topics: int) -> dict[tuple[str, str], int]:
    """Return the largest number of teams up to which the variance is within the margin, by metric and gain setting of one step."""
    one = cells.expand_dims(names.GAIN) if names.GAIN not in cells.dims else cells
    frame = equivalence(one)
    if frame.empty:
        return {}
    rows = frame[(frame["quantity"] == "variance") & (frame["n_topics_wanted"] == n_topics)]
    return {
        (str(m), str(g)): int(k)
        for m, g, k in zip(rows["metric"], rows["gain"], rows["within"], strict=True)
    }


def absent(result: xr.Dataset) -> pd.DataFrame:
    """What a team loses that does not take part: its runs without the team's unique contributions, over all teams.

    Means are over runs, each team with equal weight, with t intervals over teams; ranks are among all runs.
    """
    team_of = np.array([str(team) for team in result[names.TEAM_OF_RUN].values], object)
    teams = list(dict.fromkeys(team_of))
    runs = labels_of(result, names.RUN)
    rows = []
    for cell, part in parts(result):
        mean, without = part["own_mean"].values, part["own_mean_without"].values
        lost = part["own_rank_without"].values - part["own_rank"].values
        with np.errstate(invalid="ignore", divide="ignore"):
            change = np.where(mean > 0, without / mean - 1, np.nan)
        row: dict[str, Any] = {**where(result), **cell}
        for name, values in (("change", change), ("rank_change", lost.astype(np.float64))):
            by_team = np.array(
                [
                    np.nanmean(values[team_of == team])
                    if np.isfinite(values[team_of == team]).any()
                    else np.nan
                    for team in teams
                ]
            )
            by_team = by_team[np.isfinite(by_team)]
            low, high = _interval(by_team, 1 - CONFIDENCE)
            row |= {
                f"{name}_mean": float(by_team.mean()) if len(by_team) else np.nan,
                f"{name}_low": low,
                f"{name}_high": high,
            }
        worst = int(lost.argmax())
        row |= {
            "rank_change_largest": int(lost[worst]),
            "run": runs[worst] if lost[worst] > 0 else "",
        }
        rows.append(row | {"n_teams": len(teams), "pool_depth": int(result.attrs["pool_depth"])})
    return pd.DataFrame(rows)


def judged(result: xr.Dataset) -> pd.DataFrame:
    """Share of judged documents among the first ranks of each run, and residuals of RBP; the least judged runs first."""
    if "judged_share" not in result:
        return pd.DataFrame()
    columns: dict[str, Any] = {
        names.RUN: labels_of(result, names.RUN),
        "team": [str(team) for team in result[names.TEAM_OF_RUN].values],
    }
    for k, cutoff in enumerate(result[names.CUTOFF].values.tolist()):
        columns[f"judged@{cutoff}"] = result["judged_share"].values[:, k]
    for k, p in enumerate(result[names.PERSISTENCE].values.tolist()):
        columns[f"rbp_residual_{p:g}"] = result["rbp_residual"].values[:, k]
    frame = pd.DataFrame(where(result) | columns)
    depth = f"judged@{int(result.attrs['pool_depth'])}"
    return frame.sort_values(depth, kind="stable", ignore_index=True)


def _samples(result: xr.Dataset) -> Iterator[tuple[dict[str, Any], int, str, Any]]:
    """Yield labels, number of teams, quantity and its values over trials; tau for all topics only."""
    wanted = result[names.TOPIC_STEP].values.tolist()
    leaves = result[names.LEAVE].values.tolist()
    for cell, part in parts(result):
        variance, tau = part["variance"].values, part["tau"].values
        for step, topics in enumerate(wanted):
            labels = {**where(result), **cell, "n_topics_wanted": topics}
            whole = variance[0, step, 0]
            for k, left_out in list(enumerate(leaves))[1:]:
                relative = (
                    variance[k, step] / whole - 1 if whole > 0 else variance[k, step] * np.nan
                )
                yield labels, left_out, "variance", relative[np.isfinite(relative)]
        labels = {**where(result), **cell, "n_topics_wanted": wanted[0]}
        for k, left_out in list(enumerate(leaves))[1:]:
            yield labels, left_out, "tau", tau[k][np.isfinite(tau[k])]


def _interval(values: Any, error: float) -> tuple[float, float]:
    """Return the t interval of a mean; NaN for fewer than two values."""
    if len(values) < 2:
        return np.nan, np.nan
    half = scipy.special.stdtrit(len(values) - 1, 1 - error / 2) * values.std(ddof=1)
    half /= np.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def _is_within(quantity: str, which: str) -> Any:
    """Return a function of (number, mean, low, high): the mean, or all or some values of the interval are within the margin."""

    def within(mean: float, low: float, high: float) -> bool:
        ends = {"mean": (mean, mean), "all": (low, high), "some": (low, high)}[which]
        if np.isnan(ends).any():
            return which == "some"
        if quantity == "tau":
            return (ends[1] if which == "some" else ends[0]) >= LEAST_TAU
        if which == "some":
            return ends[0] <= MARGIN and ends[1] >= -MARGIN
        return max(abs(ends[0]), abs(ends[1])) <= MARGIN

    return within


def _up_to(steps: list[tuple[int, float, float, float]], within: Any) -> int:
    """Return the largest number so that all up to it are within; 0 if the first is not."""
    last = 0
    for k, mean, low, high in sorted(steps):
        if not within(mean, low, high):
            break
        last = k
    return last
