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
    Int64Array2,
    Int64Array3,
)
from scorecube.kernels.jit import compiled
from scorecube.kernels.rank.concordance import run_bits, sort_keys


def ranks_above(values: Float64Array3, tolerances: Float64Array1) -> Int32Array3:
    """Return the number of runs strictly above each run in each ranking.

    values: float64 (trial, ranking, run): scores by which runs are ranked, larger is better.
    tolerances: float64 (ranking,): neighbours in the order that differ by no more are tied.
    Returns above: int32 (trial, ranking, run).

    Examples
    --------
    >>> ranks_above(np.array([[[2.0, 5.0, 2.0, 1.0]]]), np.zeros(1)).tolist()
    [[[1, 0, 1, 3]]]
    """
    keys, replaced = sort_keys(values, tolerances)
    limits = np.zeros(values.shape[1]) if replaced else np.asarray(tolerances, np.float64)
    above = np.empty(values.shape, np.int32)
    if values.size > 0:
        _walk_groups(keys, run_bits(values.shape[-1]), limits.astype(np.int64), above)
    return above


@compiled
def _walk_groups(keys: Int64Array3, bits: int, limits: Int64Array1, above: Int32Array3) -> None:
    """Write the result of `ranks_above`; keys are of `sort_keys`, limits tolerances."""
    n_runs = keys.shape[2]
    mask = (np.int64(1) << bits) - np.int64(1)
    for trial in range(keys.shape[0]):
        for each in range(keys.shape[1]):
            limit, begin = limits[each], 0
            last = keys[trial, each, n_runs - 1] >> bits
            for place in range(n_runs):
                key = keys[trial, each, n_runs - 1 - place]
                begin = place if last - (key >> bits) > limit else begin
                last = key >> bits
                above[trial, each, key & mask] = begin


def rank_changes(
    above: Int32Array3, first: Int64Array1, second: Int64Array1
) -> tuple[Int32Array2, Int32Array2, Int8Array2]:
    """Compare ranks, 1 + the number of runs strictly above, in pairs of rankings.

    above: int32 (trial, ranking, run), of `ranks_above`.
    first, second: int64 (comparison,): the rankings of each comparison.
    Returns change, drop: int32 (trial, comparison): largest rank change of a run in either direction; largest number of
        ranks that a run loses from the first to the second ranking, at least 0.
    Returns same_best: int8 (trial, comparison): whether the same run, or the same tied runs, have the first rank.
    """
    shape = (len(above), len(first))
    change, drop = np.empty(shape, np.int32), np.empty(shape, np.int32)
    same_best = np.empty(shape, np.int8)
    _compare_ranks(above, np.array([first, second], np.int64), change, drop, same_best)
    return change, drop, same_best


@compiled
def _compare_ranks(
    above: Int32Array3,
    compared: Int64Array2,
    change: Int32Array2,
    drop: Int32Array2,
    same_best: Int8Array2,
) -> None:
    """Write the results of `rank_changes`; `compared` is int64 (2, comparison)."""
    for trial in range(above.shape[0]):
        for k in range(compared.shape[1]):
            a, b = above[trial, compared[0, k]], above[trial, compared[1, k]]
            lost, gained, differing = np.int64(0), np.int64(0), np.int64(0)
            for run in range(a.shape[0]):
                x, y = np.int64(a[run]), np.int64(b[run])
                lost, gained = max(lost, y - x), max(gained, x - y)
                differing |= np.int64((x == 0) != (y == 0))
            drop[trial, k] = lost
            change[trial, k] = max(lost, gained)
            same_best[trial, k] = 1 - differing
