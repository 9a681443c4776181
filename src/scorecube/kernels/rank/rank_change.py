"""Changes of ranks between two rankings, and whether the best run stays best.

Pairs of runs that change order are counted in `concordance.py`, with the same tie groups.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array3,
    Int8Array2,
    Int32Array2,
    Int32Array3,
    Int64Array1,
    Int64Array3,
)
from scorecube.kernels.jit import compiled
from scorecube.kernels.rank.concordance import run_bits, sort_keys


def tie_bounds(values: Float64Array3, tolerances: Float64Array1) -> tuple[Int32Array3, Int32Array3]:
    """Return where the tie group of each run begins and ends in each ranking.

    Parameters
    ----------
    values
        float64 (trial, ranking, run): scores by which runs are ranked, larger is better.
    tolerances
        float64 (ranking,): neighbours in the order that differ by no more are tied.

    Returns
    -------
    above, until
        int32 (trial, ranking, run): number of runs strictly above each run, and of runs above it or tied with it,
        itself included.

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
def _walk_groups(
    keys: Int64Array3, bits: int, limits: Int64Array1, above: Int32Array3, until: Int32Array3
) -> None:
    """Write the results of `tie_bounds`; keys are of `sort_keys`, limits tolerances."""
    n_trials, n_rankings, n_runs = keys.shape
    mask = (np.int64(1) << bits) - np.int64(1)
    for trial in range(n_trials):
        for each in range(n_rankings):
            row = keys[trial, each]
            begin = 0
            while begin < n_runs:
                end = begin + 1
                while (
                    end < n_runs
                    and (row[n_runs - end] >> bits) - (row[n_runs - end - 1] >> bits)
                    <= limits[each]
                ):
                    end += 1
                for place in range(begin, end):
                    run = row[n_runs - 1 - place] & mask
                    above[trial, each, run] = begin
                    until[trial, each, run] = end
                begin = end


@compiled
def rank_changes(
    above: Int32Array3, first: Int64Array1, second: Int64Array1
) -> tuple[Int32Array2, Int32Array2, Int8Array2]:
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
        int32 (trial, comparison): largest rank change of a run in either direction; largest number of ranks that a run
        loses from the first to the second ranking, at least 0.
    same_best
        int8 (trial, comparison): whether the same run, or the same tied runs, have the first rank.
    """
    n_trials, _, n_runs = above.shape
    shape = (n_trials, first.shape[0])
    change, drop, same_best = (
        np.zeros(shape, np.int32),
        np.zeros(shape, np.int32),
        np.ones(shape, np.int8),
    )
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
