"""What is counted of the runs that remain without some teams: variance, agreement with the full evaluation, changes of means.

Means are compared, and their changes summed up, in whole units of 2**-40, so that sums over trials are exact and free of order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scorecube.analyses.reduced import scores_without
from scorecube.analyses.splits import defined_mean
from scorecube.kernels.concordance import compare, pairs_of
from scorecube.kernels.splits import rank_changes, tie_bounds
from scorecube.kernels.variance import run_means, within_variance
from scorecube.pools import team_bits

Arrays = dict[str, np.ndarray[Any, Any]]
UNITS = 2.0**40
"""Of a mean of 1."""
TIE = 2.0
"""Means that differ by no more units are equal: sums of the same scores in another order."""
NEVER = -(2**62)
"""Largest change of a run that never stayed."""
SLACK = 1e-12
"""Relative: an interval without width holds its own value."""


def variances_of_steps(
    inputs: Mapping[str, np.ndarray[Any, Any]], scores: np.ndarray[Any, Any], present: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the variance over the topics of every step, and how many of them survive, (cell, step).

    Parameters
    ----------
    inputs
        With `kept` (step, topic), `wanted` (step,), 0 for the step of all topics, and `survivors`.
    scores, present
        float64 (cell, run, topic), bool (cell, topic).
    """
    survive = present.astype(np.int64) @ inputs["kept"].T.astype(np.int64)
    variance = within_variance(scores, inputs["kept"])
    if not inputs["survivors"]:
        variance[survive < inputs["wanted"]] = np.nan
    return variance, survive


def compare_means(
    units: np.ndarray[Any, Any], full: np.ndarray[Any, Any]
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Compare rankings of the same runs by their means, float64 (cell, run) in units.

    Returns
    -------
    agreeing, pairs, rank_drop
        int (cell,): concordant less discordant pairs; pairs, 0 where there is no mean; most ranks that a run loses.
    """
    n_cells, n_runs = units.shape
    defined = np.isfinite(units).all(axis=1) & np.isfinite(full).all(axis=1)
    values = np.concatenate([full, units])[np.newaxis]
    values = np.where(np.tile(defined, 2)[:, np.newaxis], values, 0.0)
    tolerances, first = np.full(2 * n_cells, TIE), np.arange(n_cells)
    found = compare(values, tolerances, first, first + n_cells)
    drop = rank_changes(tie_bounds(values, tolerances)[0], first, first + n_cells)[1][0]
    agreeing = found.concordant[0] - found.discordant[0]
    return agreeing, np.where(defined, pairs_of(n_runs), 0), drop


def add_changes(out: Arrays, leave: int, runs: np.ndarray[Any, Any], change: np.ndarray[Any, Any]) -> None:
    """Add one trial's changes of means, float64 (cell, kept run) in units, to those of a block."""
    known = np.isfinite(change)
    units = np.where(known, change, 0.0).astype(np.int64)
    out["change"][:, leave, runs] += units
    out["stayed"][:, leave, runs] += known
    for name, sign in (("rise", 1), ("fall", -1)):
        out[name][:, leave, runs] = np.maximum(out[name][:, leave, runs], np.where(known, sign * units, NEVER))


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
    present = run_means(inputs["whole"])[1]
    own = [
        np.repeat(part[:, np.newaxis, :, np.newaxis], trials, axis=-1)
        for part in variances_of_steps(inputs, inputs["whole"], present)
    ]
    # With equal means, tau-a of a ranking with itself is below 1, as it is of what remains of the ranking.
    units = np.rint(run_means(inputs["whole"])[0] * UNITS)
    first = [np.repeat(part[:, np.newaxis, np.newaxis], trials, axis=-1) for part in compare_means(units, units)]
    agreeing, pairs, drop = (
        np.concatenate([part, totals[name]], axis=1)
        for part, name in zip(first, ("agreeing", "pairs", "rank_drop"), strict=True)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = np.where(pairs > 0, agreeing / pairs, np.nan)
    lowest = np.where(np.isfinite(tau), tau, np.inf).min(axis=-1)
    return {
        "variance": np.concatenate([own[0], totals["variance"]], axis=1), "n_topics": np.concatenate([own[1], totals["n_topics"]], axis=1),
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
    n_cells, n_runs, _ = inputs["whole"].shape

    def means_and_ranks(scores: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        means = run_means(scores)[0]
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
