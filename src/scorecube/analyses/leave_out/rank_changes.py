"""Changes of the order and of the means of runs: compiled functions for one trial.

Means are compared in integer units (`UNITS`), so that sums over trials are exact. A mean is tied with its neighbour in the order if they
differ by at most `TIE`. Insertion sort makes the new order from the old one, as the two are similar.
"""

from typing import Any

import numpy as np

from scorecube.kernels.jit import merged

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
