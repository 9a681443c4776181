"""What is counted of the runs that remain without some teams: variance, agreement with the full evaluation, changes of means.

Means are compared, and their changes summed up, in whole units of 2**-40, so that sums over trials are exact and free of order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scorecube.analyses.leave_out.kernel import Found, Rules, nothing_found
from scorecube.analyses.leave_out.rank_changes import TIE, UNITS
from scorecube.analyses.leave_out.rescored_runs import (
    fill_dense,
    kernel_inputs,
    memory_of,
    run_kernel,
    scores_without,
)
from scorecube.collection.pools import team_bits
from scorecube.kernels.pools.variance import run_means
from scorecube.kernels.rank.rank_change import tie_bounds
from scorecube.statistics.quantiles import defined_mean

Arrays = dict[str, np.ndarray[Any, Any]]
SLACK = 1e-12
"""Relative: an interval without width holds its own value."""


def rules_of(inputs: Mapping[str, np.ndarray[Any, Any]], all_zero: bool) -> Rules:
    """Return what is asked of every trial: `kept` (step, topic), `wanted` (step,), 0 for the step of all topics, and `survivors`."""
    units = np.rint(run_means(inputs["whole"]) * UNITS)
    falling = np.argsort(np.where(np.isfinite(units), -units, np.inf), axis=1, kind="stable")
    wanted = np.where(inputs["survivors"], 0, inputs["wanted"])
    return Rules(inputs["kept"], wanted, all_zero, units, falling, inputs["lacking"], inputs["never"])


def leave_out_all(inputs: Mapping[str, np.ndarray[Any, Any]], start: int, stop: int) -> Found:
    """Evaluate the trials start .. stop - 1 of all numbers of teams."""
    n_cells, _, n_runs = inputs["whole"].shape
    bits, team_of, memory = inputs["bits"], inputs["team_of"], memory_of(inputs)
    found = nothing_found(n_cells, len(bits), len(inputs["kept"]), n_runs, stop - start)
    known, how = kernel_inputs(inputs), (rules_of(inputs, bool(inputs["all_zero"])), team_of, bits, False)
    if inputs["sparse"].all():
        run_kernel(known, (*how, -1, start, stop, start), memory, found)
        return found
    for k, trial in np.ndindex(len(bits), stop - start):
        at = start + trial
        fill_dense(inputs, bits[k, at], np.flatnonzero(~inputs["left_out"][k, at][team_of]), memory[-1])
        run_kernel(known, (*how, k, at, at + 1, start), memory, found)
    return found


def whole_found(inputs: Mapping[str, np.ndarray[Any, Any]]) -> Found:
    """Evaluate the whole collection, as if it were a trial."""
    n_cells, _, n_runs = inputs["whole"].shape
    found, memory = nothing_found(n_cells, 1, len(inputs["kept"]), n_runs, 1), memory_of(inputs)
    nobody = team_bits(np.zeros((1, 1, int(inputs["n_teams"])), bool))
    memory[-1][:] = inputs["whole"]
    how = (rules_of(inputs, False), inputs["team_of"], nobody, True, -1, 0, 1, 0)
    run_kernel(kernel_inputs(inputs), how, memory, found)
    return found


def changes(totals: Mapping[str, np.ndarray[Any, Any]], trials: int) -> Arrays:
    """Return mean and largest change of every run's mean, (cell, leave, run); the whole, without any change, comes first."""
    stayed, rise, fall = totals["stayed"], totals["rise"], totals["fall"]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(stayed > 0, totals["change"] / stayed / UNITS, np.nan)
    largest = np.where(stayed > 0, np.where(rise >= fall, rise, -fall) / UNITS, np.nan)
    first = np.zeros((len(mean), 1, mean.shape[-1]))
    return {
        "mean_change": np.concatenate([first, mean], axis=1), "mean_change_largest": np.concatenate([first, largest], axis=1),
        "stayed": np.concatenate([np.full(first.shape, trials, np.int64), stayed], axis=1),
    }  # fmt: skip


def whole_first(
    inputs: Mapping[str, np.ndarray[Any, Any]], totals: Mapping[str, np.ndarray[Any, Any]], trials: int
) -> Arrays:
    """Return what is known of every trial, with the whole collection as the first number of teams."""
    found = whole_found(inputs)
    joined = {
        name: np.concatenate([np.repeat(getattr(found, name), trials, axis=-1), totals[name]], axis=1)
        for name in ("variance", "n_topics", "agreeing", "pairs", "rank_drop")
    }
    # With equal means, tau-a of a ranking with itself is below 1, as it is of what remains of the ranking.
    agreeing, pairs, drop = (joined[name] for name in ("agreeing", "pairs", "rank_drop"))
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = np.where(pairs > 0, agreeing / pairs, np.nan)
    lowest = np.where(np.isfinite(tau), tau, np.inf).min(axis=-1)
    return {
        "variance": joined["variance"], "n_topics": joined["n_topics"],
        "tau": tau, "rank_drop": drop, "tau_mean": defined_mean(tau), "tau_lowest": np.where(np.isfinite(lowest), lowest, np.nan),
        "rank_drop_largest": drop.max(axis=-1),
    }  # fmt: skip


def first_misses(
    whole: np.ndarray[Any, Any], low: np.ndarray[Any, Any], high: np.ndarray[Any, Any]
) -> np.ndarray[Any, Any]:
    """Return the first place at which an interval misses the whole's value, (cell, step); -1 for none.

    Parameters
    ----------
    whole
        float64 (cell, step).
    low, high
        float64 (cell, leave, step).
    """
    value = whole[:, np.newaxis]
    missed = (low > value + SLACK * np.abs(value)) | (high < value - SLACK * np.abs(value))
    return np.where(missed.any(axis=1), missed.argmax(axis=1), -1)


def own_runs(inputs: Mapping[str, np.ndarray[Any, Any]]) -> Arrays:
    """Return means and ranks of every run with and without its own team's unique contributions, all runs kept, (cell, run)."""
    n_cells, _, n_runs = inputs["whole"].shape

    def means_and_ranks(scores: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        means = run_means(scores)
        units = np.where(np.isfinite(means), np.rint(means * UNITS), -UNITS)[np.newaxis]
        return means, 1 + tie_bounds(units, np.full(n_cells, TIE))[0][0].astype(np.int64)

    mean, rank = means_and_ranks(inputs["whole"])
    mean_without, rank_without = np.empty((n_cells, n_runs)), np.empty((n_cells, n_runs), np.int64)
    bits = team_bits(np.eye(int(inputs["n_teams"]), dtype=bool))
    for team in range(len(bits)):
        own = inputs["team_of"] == team
        found = means_and_ranks(scores_without(inputs, bits[team]))
        mean_without[:, own], rank_without[:, own] = (part[:, own] for part in found)
    return {"own_mean": mean, "own_mean_without": mean_without, "own_rank": rank, "own_rank_without": rank_without}
