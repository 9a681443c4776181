"""Differences of pairs of runs: estimates with limits, effect sizes, and what is significant."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.kernels.arrays import Int32Array1
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import Estimate, difference_limits, guarded_estimates

RunPairs = tuple[Int32Array1, Int32Array1]
"""First and second runs of pairs, int32 (pair,) each."""
AT_ONCE = 2**21
"""About the most differences that are in memory at a time."""
CONFIDENCE = 0.95
VARIABLES = """
    [metric gain run]
    mean | estimate | score | mean score of a run
    [metric gain pair]
    mean_difference | estimate | score | difference of means, first minus second run
    standard_error | standard_error:mean_difference | score | standard error of the difference
    t | statistic | 1 | t statistic, first run minus second; NaN for equal scores
    difference | limits:mean_difference | score | 95 % limit of the difference
    effect_size | estimate | 1 | difference / residual standard deviation (Sakai 2014)
    d_z | estimate | 1 | difference / standard deviation of the pair's differences over topics
    [metric gain]
    residual_variance | estimate | score^2 | residual variance of runs and topics
    n_tested | count | pairs | pairs that have a p-value
    degenerate_pairs = pairs with equal scores | count | pairs | no difference on any topic
    constant_pairs = pairs with a constant difference | count | pairs | one difference on all topics
"""


def differences(table: Table, pairs: RunPairs) -> tuple[Estimate, Estimate]:
    """Return the mean differences of pairs in each cell with standard errors, (cell, pair).

    Differences of less than 1e-9 of the range are none.

    Returns plain, guarded: The second with pseudo-units where few units differ; its error is NaN
        where nothing is known of other topics: of equal scores of an unknown range.
    """
    plain, guarded = np.zeros((2, 2, len(table.scores), len(pairs[0])))
    (part,), step = table.strata, max(1, AT_ONCE // table.sizes.size)
    for cell, scores in enumerate(table.scores):
        mean, width, binary = table.means[cell], width_of(table, cell), bool(table.binary[cell])
        for low in range(0, len(pairs[0]), step):
            place = slice(low, low + step)
            first, second = pairs[0][place], pairs[1][place]
            z = scores[first] - scores[second]
            error = guarded_estimates(z, table.sizes, None, binary=binary).error
            padded = guarded_estimates(z, table.sizes, width, binary=binary, in_bag=part.in_bag)
            still = np.ptp(z, axis=1) <= EQUAL * scale_of(table, cell)
            plain[:, cell, place] = mean[first] - mean[second], np.where(still, 0.0, error)
            still &= padded.error == error
            guarded[:, cell, place] = padded.mean, np.where(still, 0.0, padded.error)
        for means, _ in (plain, guarded):
            means[cell][np.abs(means[cell]) <= EQUAL * scale_of(table, cell)] = 0.0
    guarded[1][(guarded == 0.0).all(axis=0)] = np.nan
    freedom = table.sizes.size - 1.0
    return Estimate(plain[0], plain[1], freedom), Estimate(guarded[0], guarded[1], freedom)


def width_of(table: Table, cell: int) -> float | None:
    """Return the width of the range of a cell's scores; None where it is unknown."""
    ends = table.ranges[cell]
    return None if ends is None else ends[1] - ends[0]


def scale_of(table: Table, cell: int) -> float:
    """Return the width of a cell's range, else of its scores; 1 of equal scores."""
    return width_of(table, cell) or float(np.ptp(table.scores[cell])) or 1.0


def described(table: Table, plain: Estimate, guarded: Estimate) -> dict[str, Any]:
    """Return means, differences with limits of each pair by itself, and effect sizes, by cell."""
    residual = table.in_bag * residual_variances(table.values)
    widths: Any = np.array([[width_of(table, cell) or np.inf] for cell in range(len(table.scores))])
    low, high = difference_limits(guarded, widths, CONFIDENCE)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(plain.error > 0, plain.mean / plain.error, np.inf * plain.mean)
        effect = plain.mean / np.sqrt(residual)[:, np.newaxis]
    flat = plain.error == 0
    return {
        "mean": table.means,
        "mean_difference": plain.mean,
        "standard_error": plain.error,
        "t": t,
        "difference_low": low,
        "difference_high": high,
        "effect_size": effect,
        "d_z": t / math.sqrt(table.sizes.size * table.in_bag),
        "residual_variance": residual,
        "n_tested": np.full(len(t), t.shape[1]),
        "degenerate_pairs": (flat & (plain.mean == 0)).sum(axis=1),
        "constant_pairs": (flat & (plain.mean != 0)).sum(axis=1),
    }


def residual_variances(scores: FloatArray) -> FloatArray:
    """Return V_E2 of the two-way ANOVA without replication, (cell,), of scores (cell, run, unit).

    Source: Sakai 2014, SIGIR Forum 48(1).
    """
    residuals = scores - scores.mean(axis=1, keepdims=True)
    residuals -= residuals.mean(axis=2, keepdims=True)
    _, n_runs, n_units = scores.shape
    return np.asarray((residuals**2).sum(axis=(1, 2)) / ((n_runs - 1) * (n_units - 1)))
