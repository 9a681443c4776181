"""Statistics of trials that leave teams out: variance, rank correlation, changes.

Means are compared, and their changes summed, in integer units of 2**-40, so that sums over trials are exact in any order.
"""

import numpy as np

from scorecube.analyses.base import Array, Arrays, Inputs
from scorecube.analyses.leave_out.kernel import (
    Outputs,
    Rules,
    Trials,
    empty_outputs,
    leave_teams_out,
)
from scorecube.analyses.leave_out.rank_changes import TIE, UNITS
from scorecube.analyses.leave_out.rescored_runs import (
    make_tables,
    make_workspace,
    score_whole_lists,
    scores_without,
)
from scorecube.analyses.leave_out.team_samples import chain_of
from scorecube.collection.pools import team_bits
from scorecube.kernels.pools.variance import run_means
from scorecube.kernels.rank.rank_change import tie_bounds
from scorecube.statistics.quantiles import defined_mean

TOLERANCE = 1e-12
"""Relative tolerance of comparisons, so that an interval of width 0, whose limits are sums of its own value, holds it."""


def make_rules(inputs: Inputs, all_zero: bool, order: Array) -> Rules:
    """Return the rules of all trials from the inputs of `Teams`, with their orders of topics."""
    units = np.rint(run_means(inputs["whole"]) * UNITS)
    descending = np.argsort(np.where(np.isfinite(units), -units, np.inf), axis=1, kind="stable")
    sizes = inputs["sizes"]
    min_topics = np.where(inputs["survivors"], 0, np.where(np.arange(len(sizes)), sizes, 0))
    order = np.ascontiguousarray(order if inputs["own_order"] else order[:0], np.int32)
    constant = inputs["always_missing"], inputs["always_zero"]
    kept = chain_of(inputs["order"][0, 0], sizes)
    return Rules(kept, order, sizes, min_topics, all_zero, units, descending, *constant)


def compute_trials(inputs: Inputs, start: int, stop: int) -> Outputs:
    """Compute the trials start .. stop - 1 of all numbers of teams."""
    n_cells, _, n_runs = inputs["whole"].shape
    bits, team_of, tables = inputs["bits"], inputs["team_of"], make_tables(inputs)
    workspace, rules = (
        make_workspace(tables, n_cells),
        make_rules(inputs, bool(inputs["all_zero"]), inputs["order"][1:]),
    )
    outputs = empty_outputs(n_cells, len(bits), len(inputs["sizes"]), n_runs, stop - start)
    if inputs["sparse"].all():
        leave_teams_out(
            tables, rules, team_of, Trials(bits, False, -1, start, stop, start), workspace, outputs
        )
        return outputs
    for row, position in np.ndindex(len(bits), stop - start):
        trial = start + position
        runs = np.flatnonzero(~inputs["left_out"][row, trial][team_of])
        score_whole_lists(inputs, bits[row, trial], runs, workspace.scores)
        leave_teams_out(
            tables,
            rules,
            team_of,
            Trials(bits, False, row, trial, trial + 1, start),
            workspace,
            outputs,
        )
    return outputs


def compute_whole(inputs: Inputs) -> Outputs:
    """Compute the outputs of the whole collection as one trial."""
    n_cells, _, n_runs = inputs["whole"].shape
    outputs, tables = (
        empty_outputs(n_cells, 1, len(inputs["sizes"]), n_runs, 1),
        make_tables(inputs),
    )
    workspace = make_workspace(tables, n_cells)
    no_teams = team_bits(np.zeros((1, 1, int(inputs["n_teams"])), bool))
    workspace.scores[:] = inputs["whole"]
    trials = Trials(no_teams, True, -1, 0, 1, 0)
    leave_teams_out(
        tables,
        make_rules(inputs, False, inputs["order"][:1]),
        inputs["team_of"],
        trials,
        workspace,
        outputs,
    )
    return outputs


def mean_changes(totals: Inputs, trials: int) -> Arrays:
    """Return changes of the means of runs, (cell, leave, run), the whole first."""
    stayed, rise, fall = totals["stayed"], totals["rise"], totals["fall"]
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(stayed > 0, totals["change"] / stayed / UNITS, np.nan)
    largest = np.where(stayed > 0, np.where(rise >= fall, rise, -fall) / UNITS, np.nan)
    first = np.zeros((len(mean), 1, mean.shape[-1]))
    return {
        "mean_change": np.concatenate([first, mean], axis=1),
        "mean_change_largest": np.concatenate([first, largest], axis=1),
        "stayed": np.concatenate([np.full(first.shape, trials, np.int64), stayed], axis=1),
    }


def trial_measures(inputs: Inputs, totals: Inputs, trials: int) -> Arrays:
    """Return variance, rank correlation and rank changes of trials, the whole first."""
    whole = compute_whole(inputs).by_name()
    measures = {
        name: np.concatenate([np.repeat(whole[name], trials, axis=-1), totals[name]], axis=1)
        for name in ("variance", "n_topics", "agreeing", "pairs", "rank_drop")
    }
    # With tied means, tau-a of the whole with itself is below 1, as it is in trials.
    agreeing, pairs, drop = (measures[name] for name in ("agreeing", "pairs", "rank_drop"))
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = np.where(pairs > 0, agreeing / pairs, np.nan)
    lowest = np.where(np.isfinite(tau), tau, np.inf).min(axis=-1)
    return {
        "variance": measures["variance"],
        "n_topics": measures["n_topics"],
        "tau": tau,
        "rank_drop": drop,
        "tau_mean": defined_mean(tau),
        "tau_lowest": np.where(np.isfinite(lowest), lowest, np.nan),
        "rank_drop_largest": drop.max(axis=-1),
    }


def first_misses(whole: Array, low: Array, high: Array) -> Array:
    """Return the first position along leave with an interval off the whole; -1 for none.

    whole: float64 (cell, step): values of the whole collection.
    low, high: float64 (cell, leave, step): limits of the intervals.
    """
    value = whole[:, np.newaxis]
    missed = (low > value + TOLERANCE * np.abs(value)) | (high < value - TOLERANCE * np.abs(value))
    return np.where(missed.any(axis=1), missed.argmax(axis=1), -1)


def own_contributions(inputs: Inputs) -> Arrays:
    """Return means and ranks of runs with and without own contributions, (cell, run)."""
    n_cells, _, n_runs = inputs["whole"].shape

    def means_and_ranks(scores: Array) -> tuple[Array, Array]:
        means = run_means(scores)
        units = np.where(np.isfinite(means), np.rint(means * UNITS), -UNITS)[np.newaxis]
        return means, 1 + tie_bounds(units, np.full(n_cells, TIE))[0][0].astype(np.int64)

    mean, rank = means_and_ranks(inputs["whole"])
    mean_without, rank_without = np.empty((n_cells, n_runs)), np.empty((n_cells, n_runs), np.int64)
    bits = team_bits(np.eye(int(inputs["n_teams"]), dtype=bool))
    for team in range(len(bits)):
        own = inputs["team_of"] == team
        means, ranks = means_and_ranks(scores_without(inputs, bits[team]))
        mean_without[:, own], rank_without[:, own] = means[:, own], ranks[:, own]
    return {
        "own_mean": mean,
        "own_mean_without": mean_without,
        "own_rank": rank,
        "own_rank_without": rank_without,
    }
