"""Rank-biased overlap of two rankings of the same runs, with ties.

References: Webber, Moffat and Zobel 2010, "A similarity measure for indefinite rankings", ACM TOIS (equations 4 and
30); Corsi and Urbano 2024, "The treatment of ties in rank-biased overlap", SIGIR.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array2,
    Int32Array1,
    Int32Array3,
    Int64Array1,
    Int64Array2,
)
from scorecube.kernels.jit import compiled, inlined


class TieRule(IntEnum):
    """Treatment of ties (Corsi and Urbano 2024, section 1.1)."""

    W = 0
    """Equality: tied runs share the best of their ranks."""
    A = 1
    """Uncertainty: the mean over all orders of the tied runs."""
    B = 2
    """Uncertainty, normalised so that a ranking with ties agrees fully with itself."""


def rank_biased_overlap(
    above: Int32Array3,
    until: Int32Array3,
    first: Int64Array1,
    second: Int64Array1,
    p: float,
    rule: TieRule,
) -> Float64Array2:
    """Return RBO_ext of pairs of rankings of the same runs.

    RBO_ext is 1 - (1 - p) sum over depths d of p**(d - 1) (1 - A_d). Both rankings hold all runs, so the agreement A_d
    is 1 from the last rank on, and extrapolation adds nothing. A_d is 2 X / (S + L) by rule w, X / d by rule a and X /
    sqrt(SS LL) by rule b, where X, S, L, SS, LL are sums over runs of the products, values and squares of what a run
    contributes to depth d in either ranking: by rule w 1 from its tie group's first rank on, by rules a and b the share
    of its tie group's ranks that lie within d.

    above, until: int32 (trial, ranking, run), of `rank_change.tie_bounds`.
    first, second: int64 (comparison,): the rankings of each comparison.
    p: Persistence, between 0 and 1.
    rule: Treatment of ties.
    Returns overlap: float64 (trial, comparison): 0 to 1.

    Examples
    --------
    >>> above = np.array([[[0, 1, 2, 3, 4], [3, 0, 1, 2, 4]]], np.int32)  # the second ranking moves one run down by three
    >>> rank_biased_overlap(above, above + 1, np.array([0]), np.array([1]), 0.9, TieRule.W).round(6).tolist()
    [[0.828]]
    """
    # By rule w a tie group lies within all depths from its first rank on.
    ends = above + np.int32(1) if rule is TieRule.W else until
    found = np.empty((len(above), len(first)))
    compared, n_depths = np.array([first, second], np.int64), above.shape[2] + 2
    work = np.empty((3, n_depths)), np.empty(n_depths, np.int64)
    _overlap(above, ends, compared, float(p), int(rule), *work, found)
    return found


@compiled
def _overlap(
    above: Int32Array3,
    until: Int32Array3,
    compared: Int64Array2,
    p: float,
    rule: int,
    sums: Float64Array2,
    whole: Int64Array1,
    found: Float64Array2,
) -> None:
    """Write `rank_biased_overlap`; by rule w `until` is `above` + 1.

    above, until, p, rule, found: As of `rank_biased_overlap`.
    compared: int64 (2, comparison): the rankings of each comparison.
    sums, whole: float64 (3, run + 2) and int64 (run + 2,), overwritten: of `contribute`.
    """
    n_runs = above.shape[2]
    product, left, right = sums[0], sums[1], sums[2]
    for trial in range(above.shape[0]):
        for k in range(compared.shape[1]):
            # The first ranking with the second, the first with itself, the second with itself.
            for part in range(3):
                a, b = compared[part >> 1, k], compared[0 if part == 1 else 1, k]
                contribute(
                    above[trial, a],
                    until[trial, a],
                    above[trial, b],
                    until[trial, b],
                    whole,
                    sums[part],
                )
            missing, weight = 0.0, 1.0 - p
            for depth in range(1, n_runs + 1):
                if rule == 0:
                    agreement = 2.0 * product[depth] / (left[depth] + right[depth])
                elif rule == 1:
                    agreement = product[depth] / depth
                else:
                    agreement = product[depth] / np.sqrt(left[depth] * right[depth])
                missing += weight * (1.0 - agreement)
                weight *= p
            found[trial, k] = 1.0 - missing


@inlined
def contribute(
    above_a: Int32Array1,
    until_a: Int32Array1,
    above_b: Int32Array1,
    until_b: Int32Array1,
    whole: Int64Array1,
    sums: Float64Array1,
) -> None:
    """Write the sum over runs of the products of their contributions, by depth.

    above_a, until_a, above_b, until_b: int32 (run,): ranks between which the contribution of a run to rankings a and b
        grows from 0 to 1.
    whole: int64 (run + 2,), overwritten.
    sums: float64 (run + 2,), written at the depths 1 .. number of runs.
    """
    n_runs = above_a.shape[0]
    for depth in range(n_runs + 2):
        whole[depth] = 0
        sums[depth] = 0.0
    for run in range(n_runs):
        whole[max(until_a[run], until_b[run])] += 1
        for depth in range(max(above_a[run], above_b[run]) + 1, max(until_a[run], until_b[run])):
            part_a = min(1.0, (depth - above_a[run]) / (until_a[run] - above_a[run]))
            part_b = min(1.0, (depth - above_b[run]) / (until_b[run] - above_b[run]))
            sums[depth] += part_a * part_b
    total = np.int64(0)
    for depth in range(1, n_runs + 1):
        total += whole[depth]
        sums[depth] += total
