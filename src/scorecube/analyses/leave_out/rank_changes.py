"""What becomes of an order of runs when some of them are gone and the others have new means: pairs, ranks, changes.

Means are compared in whole units (`UNITS`), so that sums over trials are exact; those that differ by no more than `TIE` from their
neighbour in the order are tied with it. The new order is sorted from the old one, which is near.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import merged

UNITS = 2.0**40
"""Of a mean of 1."""
TIE = 2.0
"""Means that differ by no more units are equal: sums of the same scores in another order."""
NEVER = -(2**62)
"""Largest change of a run that never stayed."""


@merged
def sort_falling(values: Any, order: Any, n: int) -> None:
    """Sort places, int64 (place,), of which the first n count, by falling values; fast where they nearly are already."""
    for k in range(1, n):
        moved, place = order[k], k
        while place > 0 and values[order[place - 1]] < values[moved]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = moved


@merged
def count_above(values: Any, order: Any, n: int, above: Any) -> None:
    """Write how many of the others stand strictly above each: equal for tied ones only.

    Parameters
    ----------
    values
        float64 (run,).
    order
        int64 (place,): by falling values.
    n
        The first so many count.
    above
        int32 (run,): written.
    """
    begin = 0
    for place in range(n):
        if place > 0 and values[order[place - 1]] - values[order[place]] > TIE:
            begin = place
        above[order[place]] = begin


@merged
def agreement(before: Any, after: Any, n: int) -> Any:
    """Compare two orders, each int32 (run,) of `count_above`: concordant less discordant pairs, most ranks that a run loses."""
    agreeing, drop = np.int64(0), np.int32(0)
    for k in range(n):
        mine, new, found = before[k], after[k], np.int32(0)
        for other in range(k):
            one = np.int32(before[other] < mine) - np.int32(before[other] > mine)
            two = np.int32(after[other] < new) - np.int32(after[other] > new)
            found = np.int32(found + np.int32(one * two))
        agreeing += found
        drop = max(drop, new - mine)
    return agreeing, drop


@merged
def compare_orders(full: Any, units: Any, n: int, order: Any, above: Any) -> Any:
    """Compare the order of runs by new means with that by old ones.

    Parameters
    ----------
    full, units
        float64 (run,): old and new means in units.
    n
        The first so many runs count.
    order
        int64 (run,): those runs by falling old means; changed.
    above
        int32 (2, run): space.

    Returns
    -------
    agreeing, pairs, rank_drop
        Concordant less discordant pairs; pairs, 0 where a mean is missing; most ranks that a run loses.
    """
    for k in range(n):
        if not (np.isfinite(full[k]) and np.isfinite(units[k])):
            return np.int64(0), 0, np.int32(0)
    count_above(full, order, n, above[0])
    sort_falling(units, order, n)
    count_above(units, order, n, above[1])
    agreeing, drop = agreement(above[0], above[1], n)
    return agreeing, n * (n - 1) // 2, drop


@merged
def add_changes(full: Any, units: Any, runs: Any, n: int, change: Any, stayed: Any, rise: Any, fall: Any) -> None:
    """Add the changes of a trial's means.

    Parameters
    ----------
    full, units
        float64 (kept run,): old and new means in units, NaN for none.
    runs
        int64 (kept run,).
    n
        The first so many runs were kept.
    change, stayed, rise, fall
        int64 (run,): sum and number of changes, largest changes upwards and downwards; added to.
    """
    for k in range(n):
        by = units[k] - full[k]
        if np.isfinite(by):
            run, whole = runs[k], np.int64(by)
            change[run] += whole
            stayed[run] += 1
            rise[run] = max(rise[run], whole)
            fall[run] = max(fall[run], -whole)
