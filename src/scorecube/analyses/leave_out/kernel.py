"""Compiled trials that leave teams out: scores, variance and ranks of remaining runs.

Means are compared in integer units (`UNITS`), so that sums over trials are exact. A mean is tied with its neighbour in the order if they
differ by at most `TIE`. Insertion sort makes the new order from the old one, as the two are similar.
"""

from typing import Any, NamedTuple

import numpy as np

from scorecube.analyses.base import Array
from scorecube.kernels.jit import borrowing, merged
from scorecube.kernels.pools.variance import pool_squares, sum_runs
from scorecube.metrics.without_documents.rescore import score_topic

UNITS = 2.0**40
"""Units of a mean of 1."""
TIE = 2.0
"""Largest difference of equal means in units: sums of the same scores in another order differ by less."""
UNSET = -(2**62)
"""Initial value of largest changes."""


@merged
def sort_descending(values: Any, order: Any, n: int) -> None:
    """Sort the first n of an order by descending values; fast if nearly sorted."""
    for k in range(1, n):
        moved, position = order[k], k
        while position > 0 and values[order[position - 1]] < values[moved]:
            order[position] = order[position - 1]
            position -= 1
        order[position] = moved


@merged
def count_above(values: Any, order: Any, n: int, above: Any) -> None:
    """Write the number of runs above each run; equal numbers for tied runs only.

    values: float64 (run,): means in units.
    order: int64 (position,): runs by descending values.
    n: Number of runs, the first of `order`.
    above: int32 (run,): written.
    """
    begin = 0
    for position in range(n):
        if position > 0 and values[order[position - 1]] - values[order[position]] > TIE:
            begin = position
        above[order[position]] = begin


@merged
def compare_ranks(before: Any, after: Any, n: int) -> Any:
    """Return concordant less discordant pairs, and the most ranks that a run loses."""
    agreeing, drop = np.int64(0), np.int32(0)
    for run in range(n):
        old, new, total = before[run], after[run], np.int32(0)
        for other in range(run):
            old_sign = np.int32(before[other] < old) - np.int32(before[other] > old)
            new_sign = np.int32(after[other] < new) - np.int32(after[other] > new)
            total = np.int32(total + np.int32(old_sign * new_sign))
        agreeing += total
        drop = new - old if new - old > drop else drop
    return agreeing, drop


@merged
def compare_orders(full: Any, units: Any, n: int, order: Any, above: Any) -> Any:
    """Compare the orders of runs by their old and their new means.

    full, units: float64 (run,): old and new means in units.
    n: Number of runs, the first of the arrays.
    order: int64 (run,): runs by descending old means; changed.
    above: int32 (2, run): working memory.
    Returns agreeing, pairs, rank_drop: Concordant less discordant pairs; pairs, 0 where a mean is missing; most ranks
        that a run loses.
    """
    for k in range(n):
        if not (np.isfinite(full[k]) and np.isfinite(units[k])):
            return np.int64(0), 0, np.int32(0)
    values = full
    for side in range(2):
        if side == 1:
            values = units
        # The order by old means is sorted already; one place of the call is less to compile than two.
        sort_descending(values, order, n)
        count_above(values, order, n, above[side])
    agreeing, drop = compare_ranks(above[0], above[1], n)
    return agreeing, n * (n - 1) // 2, drop


@merged
def add_changes(
    full: Any, units: Any, runs: Any, n: int, changes: Any, cell: int, row: int
) -> None:
    """Add the changes of the means of a trial.

    full, units: float64 (kept run,): old and new means in units, NaN if missing.
    runs: int64 (kept run,): positions of the kept runs.
    n: Number of kept runs.
    changes: int64 (4, cell, leave, run): sum and number of changes, largest changes upwards and downwards; updated.
    cell, row: Positions along cell and leave.
    """
    for k in range(n):
        difference = units[k] - full[k]
        if np.isfinite(difference):
            run, amount = runs[k], np.int64(difference)
            changes[0, cell, row, run] += amount
            changes[1, cell, row, run] += 1
            if amount > changes[2, cell, row, run]:
                changes[2, cell, row, run] = amount
            if -amount > changes[3, cell, row, run]:
                changes[3, cell, row, run] = -amount


class Trials(NamedTuple):
    """Range of trials.

    bits: uint64 (leave, trial, word): teams that are left out.
    keep_all_runs: Whether to keep the runs of these teams.
    row: Position along leave to which trials are restricted, -1 for all.
    start, stop, first: Trials start .. stop - 1; trial at the first position of `Outputs`.
    """

    bits: Array
    keep_all_runs: bool
    row: int
    start: int
    stop: int
    first: int


class Rules(NamedTuple):
    """Rules that are the same for all trials.

    order: int32 (leave, trial, position): topics in the order of a trial, of which each step behind the first keeps the
        first ones that are not lost; empty if there are no such steps.
    sizes: int64 (step,): numbers of topics of the steps; the first has all.
    min_topics: int64 (step,): smallest number of topics for a variance, 0 for any number.
    units: float64 (cell, run): means of the full evaluation in units.
    descending: int64 (cell, run): runs by descending means.
    always_missing, always_zero: bool (run, topic) or empty, bool (cell, topic): scores that are missing, or 0, in all
        trials.
    """

    order: Array
    sizes: Array
    min_topics: Array
    units: Array
    descending: Array
    always_missing: Array
    always_zero: Array


class Outputs(NamedTuple):
    """Outputs of a block; compiled functions take every array apart, so those of one shape are one array.

    variance, n_topics: (cell, leave, step, trial).
    orders: int32 (3, cell, leave, trial): see `ORDERS`.
    changes: int64 (4, cell, leave, run): see `CHANGES`.
    """

    variance: Array
    n_topics: Array
    orders: Array
    changes: Array

    def by_name(self) -> dict[str, Array]:
        """Return the arrays under their names in `Teams.outputs`; see also `team_quantities.VARIABLES`."""
        return {
            "variance": self.variance,
            "n_topics": self.n_topics,
            **dict(zip(ORDERS, self.orders, strict=True)),
            **dict(zip(CHANGES, self.changes, strict=True)),
        }


ORDERS = ("agreeing", "pairs", "rank_drop")
"""Concordant less discordant pairs, pairs, most ranks that a run loses."""
CHANGES = ("change", "stayed", "rise", "fall")
"""Sum and number of changes of a run's mean in units, largest changes upwards and downwards."""


def empty_outputs(n_cells: int, n_leaves: int, n_steps: int, n_runs: int, n_trials: int) -> Outputs:
    """Return the outputs of trials before any is computed."""
    changes = np.zeros((len(CHANGES), n_cells, n_leaves, n_runs), np.int64)
    changes[2:] = UNSET
    steps = (n_cells, n_leaves, n_steps, n_trials)
    return Outputs(
        np.full(steps, np.nan),
        np.zeros(steps, np.int32),
        np.zeros((len(ORDERS), n_cells, n_leaves, n_trials), np.int32),
        changes,
    )


class Workspace(NamedTuple):
    """Working memory of one thread.

    space: Working memory from `rescore.make_space`.
    scores: float64 (cell, topic, run): scores of the remaining runs of the latest trial.
    chosen: bool (topic,): topics of a step.
    runs: int64 (kept run,): the remaining runs.
    reals, order, above: float64 (6, kept run), int64 (position,), int32 (3, kept run): means, sums and ranks.
    """

    space: Any
    scores: Array
    chosen: Array
    runs: Array
    reals: Array
    order: Array
    above: Array


@merged
def _set_constant_scores(scores: Any, rules: Any, runs: Any, n: int) -> None:
    """Write the scores (cell, topic, run) that are 0 or missing in all trials."""
    missing, some_missing = rules.always_missing, rules.always_missing.shape[0] > 0
    for cell in range(scores.shape[0]):
        for topic in range(scores.shape[1]):
            zero = rules.always_zero[cell, topic]
            if not (zero or some_missing):
                continue
            for k in range(n):
                if some_missing and missing[runs[k], topic]:
                    scores[cell, topic, k] = np.nan
                elif zero:
                    scores[cell, topic, k] = 0.0


@merged
def _keep_first(scores: Any, n: int, order: Any, place: int, missing: int, chosen: Any) -> int:
    """Choose the next topics of an order in which any of the first n runs has a score; return the place behind them."""
    while place < order.shape[0] and missing > 0:
        for k in range(n):
            if not np.isnan(scores[order[place], k]):
                chosen[order[place]] = True
                missing -= 1
                break
        place += 1
    return place


@merged
def _write_outputs(
    scores: Any,
    runs: Any,
    n: int,
    rules: Any,
    row: int,
    trial: int,
    position: int,
    outputs: Any,
    workspace: Any,
) -> None:
    """Write the outputs of one trial from the scores (cell, topic, run) of its first n runs."""
    chosen = workspace.chosen
    place: Any
    taken: Any
    reals, order, above = workspace.reals, workspace.order, workspace.above
    orders = outputs.orders
    means, counts, rests, units, full = reals[0], reals[1], reals[2:4], reals[4], reals[5]
    for cell in range(scores.shape[0]):
        of_cell = scores[cell]
        chosen[:] = False
        place, taken = np.int64(0), np.int64(0)
        for step in range(rules.sizes.shape[0] - 1, -1, -1):
            if step > 0:
                place = _keep_first(
                    of_cell, n, rules.order[row, trial], place, rules.sizes[step] - taken, chosen
                )
                taken = rules.sizes[step]
            else:
                chosen[:] = True
            n_topics = sum_runs(of_cell, chosen, n, means, counts)
            if step == 0:
                for k in range(n):
                    units[k] = np.rint(means[k] / counts[k] * UNITS) if counts[k] > 0.0 else np.nan
                    full[k] = rules.units[cell, runs[k]]
            outputs.n_topics[cell, row, step, position] = n_topics
            if n_topics >= rules.min_topics[step]:
                outputs.variance[cell, row, step, position] = pool_squares(
                    of_cell, chosen, n, means, counts, rests
                )
        n_ordered = np.int64(0)
        for place in range(rules.descending.shape[1]):
            k = above[2, rules.descending[cell, place]]
            order[n_ordered] = k
            n_ordered += k >= 0
        agreeing, pairs, drop = compare_orders(full, units, n, order, above)
        orders[0, cell, row, position] = agreeing
        orders[1, cell, row, position] = pairs
        orders[2, cell, row, position] = drop
        add_changes(full, units, runs, n, outputs.changes, cell, row)


@borrowing
def leave_teams_out(
    tables: Any, rules: Any, team_of: Any, trials: Any, workspace: Any, outputs: Any
) -> None:
    """Score the remaining runs of trials, and write the outputs.

    tables: See `metrics.without_documents.tables.Tables`; scores of cells that are not in `rows` must be in the
        workspace.
    rules: See `Rules`.
    team_of: int64 (run,): position of each run's team.
    trials: See `Trials`.
    workspace: See `Workspace`.
    outputs: See `Outputs`; with arrays for no trial, only the scores are computed.
    """
    bits, scores, runs, above = (trials.bits, workspace.scores, workspace.runs, workspace.above)
    n: Any
    for row in range(bits.shape[0]):
        for trial in range(trials.start, trials.stop):
            # Typed zeros: with literals, the called functions would be compiled twice.
            gone, n = np.uint64(0), np.int64(0)
            for word in range(bits.shape[2]):
                gone |= bits[row, trial, word]
            none_left_out = gone == 0
            if trials.row >= 0 and trials.row != row:
                continue
            for run in range(scores.shape[2]):
                team = np.uint64(team_of[run])
                left_out = bits[row, trial, team >> np.uint64(6)] >> (
                    team & np.uint64(63)
                ) & np.uint64(1)
                kept = trials.keep_all_runs or left_out == 0
                runs[n], above[2, run] = run, n if kept else -1
                n += kept
            for topic in range(scores.shape[1]):
                score_topic(
                    tables, topic, bits[row, trial], none_left_out, runs, n, workspace.space, scores
                )
            _set_constant_scores(scores, rules, runs, n)
            if outputs.orders.shape[3] > 0:
                _write_outputs(
                    scores, runs, n, rules, row, trial, trial - trials.first, outputs, workspace
                )
