"""Ranks of runs by two samples of the topics: how far a run moves, and whether the best run stays the best.

How many pairs of runs change order is counted in `concordance.py`, with the same tie groups.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled
from scorecube.kernels.rank.concordance import run_bits, sort_keys


def tie_bounds(values: Any, tolerances: Any) -> tuple[Any, Any]:
    """Return where each run's tie group begins and ends in each ranking.

    Parameters
    ----------
    values
        float64 (trial, ranking, run): what runs are ranked by, larger is better.
    tolerances
        float64 (ranking,): neighbours in the order that differ by no more are tied.

    Returns
    -------
    above, until
        int32 (trial, ranking, run): runs strictly above each; these and the runs tied with it, itself included.

    Examples
    --------
    >>> above, until = tie_bounds(np.array([[[2.0, 5.0, 2.0, 1.0]]]), np.zeros(1))
    >>> above.tolist(), until.tolist()
    ([[[1, 0, 1, 3]]], [[[3, 1, 3, 4]]])
    """
    keys, replaced = sort_keys(values, tolerances)
    limits = np.zeros(values.shape[1]) if replaced else np.asarray(tolerances, np.float64)
    above, until = np.empty(values.shape, np.int32), np.empty(values.shape, np.int32)
    _walk_groups(keys, run_bits(values.shape[-1]), limits.astype(np.int64), above, until)
    return above, until


@compiled
def _walk_groups(keys: Any, bits: int, limits: Any, above: Any, until: Any) -> None:
    n_trials, n_rankings, n_runs = keys.shape
    mask = (np.int64(1) << bits) - np.int64(1)
    for trial in range(n_trials):
        for each in range(n_rankings):
            row = keys[trial, each]
            begin = 0
            while begin < n_runs:
                end = begin + 1
                while end < n_runs and (row[n_runs - end] >> bits) - (row[n_runs - end - 1] >> bits) <= limits[each]:
                    end += 1
                for place in range(begin, end):
                    run = row[n_runs - 1 - place] & mask
                    above[trial, each, run] = begin
                    until[trial, each, run] = end
                begin = end


@compiled
def rank_changes(above: Any, first: Any, second: Any) -> Any:
    """Compare ranks, 1 + the number of runs strictly above, in pairs of rankings.

    Parameters
    ----------
    above
        int32 (trial, ranking, run), of `tie_bounds`.
    first, second
        int64 (comparison,): the rankings of each comparison.

    Returns
    -------
    change, drop
        int32 (trial, comparison): largest rank change of a run either way; largest number of ranks that a run of the first
        ranking loses in the second, 0 or more.
    same_best
        int8 (trial, comparison): whether the best run, or all that share the first rank, are the same.
    """
    n_trials, _, n_runs = above.shape
    shape = (n_trials, first.shape[0])
    change, drop, same_best = np.zeros(shape, np.int32), np.zeros(shape, np.int32), np.ones(shape, np.int8)
    for trial in range(n_trials):
        for k in range(first.shape[0]):
            a, b = above[trial, first[k]], above[trial, second[k]]
            for run in range(n_runs):
                lost = b[run] - a[run]
                drop[trial, k] = max(drop[trial, k], lost)
                change[trial, k] = max(change[trial, k], abs(lost))
                if (a[run] == 0) != (b[run] == 0):
                    same_best[trial, k] = 0
    return change, drop, same_best
