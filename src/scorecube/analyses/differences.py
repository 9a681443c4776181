"""Differences of the mean scores of pairs of runs, with errors, limits and effect sizes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.kernels.arrays import Int32Array1
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import Estimate, difference_limits, estimate, guarded_estimate

RunPairs = tuple[Int32Array1, Int32Array1]
"""First and second runs of pairs, int32 (pair,) each."""
AT_ONCE, CONFIDENCE = 2**21, 0.95
"""About the most differences that are in memory at a time; of limits."""


def described(table: Table, pairs: RunPairs) -> dict[str, Any]:
    """Return means, differences with limits of each pair by itself, and effect sizes, by cell."""
    (_, n_runs, n_units), scores = table.values.shape, table.values
    residuals = scores - scores.mean(axis=1, keepdims=True)
    residuals -= residuals.mean(axis=2, keepdims=True)
    # V_E2 of the two-way ANOVA without replication (Sakai 2014, SIGIR Forum 48(1)).
    squares = (residuals**2).sum(axis=(1, 2))
    residual = table.in_bag * (squares / ((n_runs - 1) * (n_units - 1)))
    difference, error, guarded = differences(table, pairs)
    widths: Any = np.array([[width_of(table, cell) or np.inf] for cell in range(len(scores))])
    low, high = difference_limits(guarded, widths, CONFIDENCE)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, difference / error, np.inf * difference)
        effect = difference / np.sqrt(residual)[:, np.newaxis]
    return {
        "mean": table.means,
        "mean_difference": difference,
        "t": t,
        "difference_low": low,
        "difference_high": high,
        "effect_size": effect,
        "d_z": t / math.sqrt(n_units * table.in_bag),
        "n_tested": np.full(len(t), t.shape[1]),
    }


def differences(table: Table, pairs: RunPairs) -> tuple[FloatArray, FloatArray, Estimate]:
    """Return mean differences, their errors, and estimates with pseudo-units, (cell, pair)."""
    (first, second), step = pairs, max(1, AT_ONCE // table.sizes.size)
    moments = np.zeros((4, len(table.scores), len(first)))
    for cell, scores in enumerate(table.scores):
        mean, width, binary = table.means[cell], width_of(table, cell), bool(table.binary[cell])
        least = EQUAL * scale_of(table, cell)
        for low in range(0, len(first), step):
            place = slice(low, low + step)
            a, b = first[place], second[place]
            z = scores[a] - scores[b]
            samples, still = table.samples(z), np.ptp(z, axis=1) <= least
            plain = estimate(samples)
            guarded = guarded_estimate(samples, width, binary=binary, plain=plain)
            error = np.where(still, 0.0, plain.error)
            other = error if width is None else guarded.error
            moments[:, cell, place] = mean[a] - mean[b], error, guarded.mean, other
        for means in moments[::2, cell]:
            means[np.abs(means) <= least] = 0.0
    difference, error, of_guarded, guarded_error = moments
    guarded_error[(of_guarded == 0.0) & (guarded_error == 0.0)] = np.nan
    return difference, error, Estimate(of_guarded, guarded_error, table.sizes.size - 1.0)


def width_of(table: Table, cell: int) -> float | None:
    """Return the width of the range of a cell's scores; None where it is unknown."""
    ends = table.ranges[cell]
    return None if ends is None else ends[1] - ends[0]


def scale_of(table: Table, cell: int) -> float:
    """Return the width of a cell's range, else of its scores; 1 of equal scores."""
    return width_of(table, cell) or float(np.ptp(table.scores[cell])) or 1.0


def single_p_values(t: FloatArray, freedom: float) -> FloatArray:
    """Return the two-sided p-values of Student's t; 1 for equal scores, whose t is NaN."""
    from scipy.special import stdtr

    return np.where(np.isnan(t), 1.0, 2 * stdtr(freedom, -np.abs(t)))
