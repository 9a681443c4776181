"""What is shown of pairs of runs: differences with limits and effect sizes, and decisions."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.kernels.arrays import Int32Array1
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import guarded_estimates
from scorecube.statistics.multiple_testing import METHODS, adjusted

Pairs = tuple[Int32Array1, Int32Array1]
"""First and second runs of pairs, int32 (pair,) each."""
AT_ONCE = 2**21
"""About the most differences that are in memory at a time."""
CONFIDENCE = 0.95
VERDICTS = np.array(["equivalent", "different", "inconclusive"], object)


class Moments(NamedTuple):
    """Mean differences and their standard errors, float64 (cell, pair).

    guarded: With pseudo-units where few units differ.
    """

    mean: FloatArray
    error: FloatArray
    guarded_mean: FloatArray
    guarded_error: FloatArray


def cell_width(table: Table, cell: int) -> float | None:
    """Return the width of the range of a cell's scores; None where it is unknown."""
    ends = table.ranges[cell]
    return None if ends is None else ends[1] - ends[0]


def scale_of(table: Table, cell: int) -> float:
    """Return the width of a cell's range, else of its scores; 1 of equal scores."""
    return cell_width(table, cell) or float(np.ptp(table.scores[cell])) or 1.0


def differences(table: Table, cell: int, pairs: Pairs) -> FloatArray:
    """Return the differences of pairs on each unit, (pair, unit).

    They are rounded to 1e-9 of the range: what differs by less is tied.
    """
    values, unit = table.values[cell], EQUAL * scale_of(table, cell)
    return np.asarray(np.rint((values[pairs[0]] - values[pairs[1]]) / unit) * unit)


def moments(table: Table, pairs: Pairs) -> Moments:
    """Return the estimates of pairs in each cell: weighted means over independent collections.

    Differences of less than 1e-9 of the range are none.
    """
    values = np.zeros((4, len(table.scores), len(pairs[0])))
    step = max(1, AT_ONCE // table.sizes.size)
    for cell, scores in enumerate(table.scores):
        mean, least = table.means[cell], EQUAL * scale_of(table, cell)
        for low in range(0, len(pairs[0]), step):
            place = slice(low, low + step)
            first, second = pairs[0][place], pairs[1][place]
            values[0, cell, place] = mean[first] - mean[second]
            values[1:, cell, place] = _errors(table, cell, scores[first] - scores[second], least)
        values[::2, cell][np.abs(values[::2, cell]) <= least] = 0.0
    return Moments(*values)


def _errors(table: Table, cell: int, z: FloatArray, least: float) -> FloatArray:
    """Return standard errors, guarded means and their standard errors: float64 (3, pair).

    z: float64 (pair, unit): differences.
    """
    values, width, binary = np.zeros((3, len(z))), cell_width(table, cell), bool(table.binary[cell])
    for part in table.strata:
        of_part, sizes = z[:, part.units], table.sizes[part.units]
        plain = guarded_estimates(of_part, sizes, None, binary=binary)
        guarded = guarded_estimates(of_part, sizes, width, binary=binary, in_bag=part.in_bag)
        still = np.ptp(of_part, axis=1) <= least
        values[0] += np.where(still, 0.0, part.weight * plain.error) ** 2
        values[1] += part.weight * guarded.mean
        still &= guarded.error == plain.error
        values[2] += np.where(still, 0.0, part.weight * guarded.error) ** 2
    values[[0, 2]] **= 0.5
    return values


def estimates(table: Table, found: Moments) -> dict[str, Any]:
    """Return means, differences with limits of each pair by itself, and effect sizes, by cell."""
    residual = table.in_bag * residual_variances(table.values)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(found.error > 0, found.mean / found.error, np.inf * found.mean)
        effect = found.mean / np.sqrt(residual)[:, np.newaxis]
    low, high = student_limits(table, found)
    flat = found.error == 0
    return {
        "mean": table.means,
        "mean_difference": found.mean,
        "standard_error": found.error,
        "t": t,
        "difference_low": low,
        "difference_high": high,
        "effect_size": effect,
        "d_z": t / math.sqrt(table.sizes.size * table.in_bag),
        "residual_variance": residual,
        "n_tested": np.full(len(t), t.shape[1]),
        "degenerate_pairs": (flat & (found.mean == 0)).sum(axis=1),
        "constant_pairs": (flat & (found.mean != 0)).sum(axis=1),
    }


def student_limits(table: Table, found: Moments) -> tuple[FloatArray, FloatArray]:
    """Return the 95 % limits of differences by Student's t: float64 (cell, pair) each.

    They are clipped to the width of the range. Of equal scores of an unknown range nothing is
    known of other topics: NaN.
    """
    from scipy.special import stdtrit

    half = stdtrit(table.sizes.size - 1, (1 + CONFIDENCE) / 2) * found.guarded_error
    half[(found.guarded_error == 0) & (found.guarded_mean == 0)] = np.nan
    widths = [cell_width(table, cell) or np.inf for cell in range(len(table.scores))]
    most = np.array(widths)[:, np.newaxis]
    low = np.maximum(found.guarded_mean - half, -most)
    return low, np.minimum(found.guarded_mean + half, most)


def residual_variances(scores: FloatArray) -> FloatArray:
    """Return the residual variance V_E2 of the two-way ANOVA without replication, (cell,).

    Source: Sakai 2014, SIGIR Forum 48(1).

    scores: float64 (cell, run, unit).
    """
    residuals = scores - scores.mean(axis=1, keepdims=True)
    residuals -= residuals.mean(axis=2, keepdims=True)
    _, n_runs, n_units = scores.shape
    return np.asarray((residuals**2).sum(axis=(1, 2)) / ((n_runs - 1) * (n_units - 1)))


def n_below(p: FloatArray, alphas: Sequence[float]) -> NDArray[np.int64]:
    """Return how many p-values are below each level: int64 (..., alpha)."""
    return np.stack([(p < alpha).sum(axis=-1) for alpha in alphas], axis=-1)


def decisions(
    table: Table, p: FloatArray, difference: FloatArray, alphas: Sequence[float], baseline: Any
) -> dict[str, Any]:
    """Return how many pairs are significant at each level; of a baseline how many runs are better.

    p, difference: float64 (cell, ..., pair): first minus second run.
    """
    significant = n_below(p, alphas)
    counts = {"significant": significant, "share": significant / p.shape[-1]}
    if baseline is not None:
        better = (difference.T * np.where(table.higher, 1, -1)).T
        counts["significant_better"] = n_below(np.where(better > 0, p, 1.0), alphas)
        counts["significant_worse"] = n_below(np.where(better < 0, p, 1.0), alphas)
    return counts


def adjustments(p: FloatArray, alphas: Sequence[float], safe: FloatArray) -> dict[str, Any]:
    """Return p-values adjusted for the number of pairs, and how many are significant by each.

    p, safe: float64 (..., pair): p-values, and those that are adjusted, which are never 0.
    """
    by_method = {"none": p}
    for method in METHODS[1:]:
        by_method[method] = np.apply_along_axis(adjusted, -1, safe, method)
    counts = np.stack([n_below(values, alphas) for values in by_method.values()], axis=-2)
    return {
        "p_value_holm": by_method["holm"],
        "p_value_bh": by_method["bh"],
        "adjusted_significant": counts,
        "adjusted_share": counts / p.shape[-1],
    }


def single_p_values(t: FloatArray, freedom: float) -> FloatArray:
    """Return the two-sided p-values of Student's t; 1 for equal scores, whose t is NaN."""
    from scipy.special import stdtr

    return np.where(np.isnan(t), 1.0, 2 * stdtr(freedom, -np.abs(t)))


def verdicts(within: FloatArray, unequal: FloatArray, alphas: Sequence[float]) -> Mapping[str, Any]:
    """Return the verdict on each pair at each level, and the pairs of each verdict.

    A pair is equivalent if both one-sided tests find its difference smaller than the margin, else
    different if the t test finds a difference, else inconclusive.

    within, unequal: float64 (cell, pair): p-values of both hypotheses.
    """
    levels, codes = np.array(alphas)[:, np.newaxis], []
    for method in METHODS:
        near, apart = (
            np.apply_along_axis(adjusted, -1, p, method)[:, np.newaxis] < levels
            for p in (within, unequal)
        )
        codes.append(np.where(near, 0, np.where(apart, 1, 2)))
    by_cell = np.stack(codes, axis=1)[..., np.newaxis, :]
    counts = (by_cell == np.arange(len(VERDICTS))[:, np.newaxis]).sum(axis=-1)
    return {"verdict_on_pair": VERDICTS[codes[0]], "verdict_pairs": counts}
