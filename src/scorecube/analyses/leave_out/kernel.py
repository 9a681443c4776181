"""Trials that leave teams out, whole blocks in one call: scores of the runs that remain, their variance, order and means."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scorecube.analyses.leave_out.rank_changes import NEVER, UNITS, add_changes, compare_orders
from scorecube.kernels.jit import borrowing, merged
from scorecube.kernels.pools.variance import lose_failures, pool_squares, sum_runs
from scorecube.metrics.without_documents.rescore import score_topic


class Trials(NamedTuple):
    """Which trials are computed.

    Parameters
    ----------
    bits
        uint64 (leave, trial, word): teams that are left out; a trial that leaves none out stays empty.
    everyone
        Whether the runs of these teams remain all the same; then no trial stays empty.
    leave
        The only number of teams that counts, -1 for all.
    start, stop, first
        Trials start .. stop - 1; the first one of `Found`.
    """

    bits: np.ndarray[Any, Any]
    everyone: bool
    leave: int
    start: int
    stop: int
    first: int


class Rules(NamedTuple):
    """What is asked of every trial.

    Parameters
    ----------
    kept
        bool (step, topic): topics of each step; the first step has all.
    wanted
        int64 (step,): topics that a variance takes at least, 0 for any number.
    all_zero
        Whether a topic is lost where all runs score 0.
    units
        float64 (cell, run): means of the full evaluation in units.
    falling
        int64 (cell, run): runs by falling means.
    lacking, never
        bool (run, topic) or empty, bool (cell, topic): scores that are always missing, or always 0.
    """

    kept: np.ndarray[Any, Any]
    wanted: np.ndarray[Any, Any]
    all_zero: bool
    units: np.ndarray[Any, Any]
    falling: np.ndarray[Any, Any]
    lacking: np.ndarray[Any, Any]
    never: np.ndarray[Any, Any]


class Found(NamedTuple):
    """What is found: (cell, leave, step, trial), then (cell, leave, trial) and (cell, leave, run); see `analyses.teams.VARIABLES`."""

    variance: np.ndarray[Any, Any]
    n_topics: np.ndarray[Any, Any]
    agreeing: np.ndarray[Any, Any]
    pairs: np.ndarray[Any, Any]
    rank_drop: np.ndarray[Any, Any]
    change: np.ndarray[Any, Any]
    stayed: np.ndarray[Any, Any]
    rise: np.ndarray[Any, Any]
    fall: np.ndarray[Any, Any]


def nothing_found(n_cells: int, n_leaves: int, n_steps: int, n_runs: int, n_trials: int) -> Found:
    """Return arrays for what trials will find."""
    shape, runs = (n_cells, n_leaves, n_trials), (n_cells, n_leaves, n_runs)
    steps = (n_cells, n_leaves, n_steps, n_trials)
    agreeing, pairs, drop = (np.zeros(shape, np.int32) for _ in range(3))
    change, stayed = (np.zeros(runs, np.int64) for _ in range(2))
    rise, fall = (np.full(runs, NEVER) for _ in range(2))
    variance, n_topics = np.full(steps, np.nan), np.zeros(steps, np.int32)
    return Found(variance, n_topics, agreeing, pairs, drop, change, stayed, rise, fall)


class Desk(NamedTuple):
    """Memory of one thread for one trial.

    Parameters
    ----------
    runs
        int64 (kept run,): the runs that remain.
    reals, order, above
        float64 (6, kept run), int64 (place,), int32 (3, kept run): means and what else is needed to compare them.
    """

    runs: np.ndarray[Any, Any]
    reals: np.ndarray[Any, Any]
    order: np.ndarray[Any, Any]
    above: np.ndarray[Any, Any]


def make_desk(n_runs: int) -> Desk:
    """Return the memory for so many runs."""
    return Desk(
        np.empty(n_runs, np.int64),
        np.empty((6, n_runs)),
        np.empty(n_runs + 1, np.int64),
        np.empty((3, n_runs), np.int32),
    )


class Memory(NamedTuple):
    """Memory of one thread.

    Parameters
    ----------
    space
        Of `rescore.make_space`.
    desk
        Of `make_desk`.
    scores
        float64 (cell, topic, run): scores of the remaining runs, of the last trial in the end.
    """

    space: Any
    desk: Desk
    scores: np.ndarray[Any, Any]


@merged
def _amend(scores: Any, lacking: Any, never: Any, runs: Any, n: int) -> None:
    """Write the scores (cell, topic, run) that are always 0 and those that are always missing."""
    for cell in range(scores.shape[0]):
        for topic in range(scores.shape[1]):
            if never[cell, topic]:
                scores[cell, topic, :n] = 0.0
            if lacking.shape[0] > 0:
                for k in range(n):
                    if lacking[runs[k], topic]:
                        scores[cell, topic, k] = np.nan


@merged
def _sum_up(scores: Any, runs: Any, n: int, rules: Any, leave: int, place: int, found: Any, desk: Any) -> None:
    """Write what is found of one trial's scores, (cell, topic, run), of the first n runs."""
    reals, order, above = desk.reals, desk.order, desk.above
    means, counts, rests, units, full = reals[0], reals[1], reals[2:4], reals[4], reals[5]
    for cell in range(scores.shape[0]):
        if rules.all_zero:
            lose_failures(scores[cell], n)
        for step in range(rules.kept.shape[0] - 1, -1, -1):
            present = sum_runs(scores[cell], rules.kept[step], n, means, counts)
            if step == 0:
                for k in range(n):
                    units[k] = np.rint(means[k] / counts[k] * UNITS) if counts[k] > 0.0 else np.nan
                    full[k] = rules.units[cell, runs[k]]
            found.n_topics[cell, leave, step, place] = present
            if present >= rules.wanted[step]:
                found.variance[cell, leave, step, place] = pool_squares(
                    scores[cell], rules.kept[step], n, means, counts, rests
                )
        placed = np.int64(0)
        for run in rules.falling[cell]:
            k = above[2, run]
            order[placed] = k
            placed += k >= 0
        agreeing, pairs, drop = compare_orders(full, units, n, order, above)
        found.agreeing[cell, leave, place], found.pairs[cell, leave, place] = agreeing, pairs
        found.rank_drop[cell, leave, place] = drop
        add_changes(
            full, units, runs, n, found.change[cell, leave], found.stayed[cell, leave], found.rise[cell, leave], found.fall[cell, leave]
        )  # fmt: skip


@borrowing
def leave_teams_out(tables: Any, rules: Any, team_of: Any, trials: Any, memory: Any, found: Any) -> None:
    """Score the runs that remain in some trials of some numbers of teams, and write what is found.

    Parameters
    ----------
    tables
        See `metrics.without_documents.tables.Inputs`; all rows of scores that are not in `rows` hold scores already.
    rules
        See `Rules`.
    team_of
        int64 (run,).
    trials
        See `Trials`.
    memory
        See `Memory`.
    found
        See `Found`; without trials, only the scores are computed.
    """
    bits, scores, runs, above = trials.bits, memory.scores, memory.desk.runs, memory.desk.above
    n: Any
    for k in range(bits.shape[0]):
        for trial in range(trials.start, trials.stop):
            # Numbers with a type: a literal would have all that is called compiled twice.
            nobody, n = True, np.int64(0)
            for word in range(bits.shape[2]):
                nobody &= bits[k, trial, word] == 0
            if (nobody and not trials.everyone) or trials.leave not in (-1, k):
                continue
            for run in range(scores.shape[2]):
                team = np.uint64(team_of[run])
                gone = bits[k, trial, team >> np.uint64(6)] >> (team & np.uint64(63)) & np.uint64(1)
                kept = trials.everyone or gone == 0
                runs[n], above[2, run] = run, n if kept else -1
                n += kept
            for topic in range(scores.shape[1]):
                score_topic(tables, topic, bits[k, trial], runs, n, memory.space, scores)
            _amend(scores, rules.lacking, rules.never, runs, n)
            if found.agreeing.shape[2] > 0:
                _sum_up(scores, runs, n, rules, k, trial - trials.first, found, memory.desk)
