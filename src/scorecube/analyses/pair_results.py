"""What is shown of pairs of runs: differences with limits and effect sizes, and what p-values decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.table import Table
from scorecube.kernels.arrays import Int32Array1
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import guarded_estimates
from scorecube.statistics.multiple_testing import METHODS, adjusted

FloatArray = NDArray[np.float64]
Pairs = tuple[Int32Array1, Int32Array1]
"""First and second runs of pairs, int32 (pair,) each."""
AT_ONCE = 2**21
"""About the most differences that are in memory at a time."""
CONFIDENCE = 0.95
Z95 = 1.959963984540054


class Moments(NamedTuple):
    """Mean differences and their standard errors, float64 (cell, pair); guarded: with pseudo-units where few units differ."""

    mean: FloatArray
    error: FloatArray
    guarded_mean: FloatArray
    guarded_error: FloatArray


def cell_width(table: Table, cell: int) -> float | None:
    """Return the width of the range of a cell's scores; None where it is unknown."""
    ends = table.ranges[cell]
    return None if ends is None else ends[1] - ends[0]


def scale_of(table: Table, cell: int) -> float:
    """Return the width of a cell's range, or of its scores where that is unknown; 1 of equal scores."""
    return cell_width(table, cell) or float(np.ptp(table.scores[cell])) or 1.0


def differences(table: Table, cell: int, pairs: Pairs) -> FloatArray:
    """Return the differences of pairs on each unit, (pair, unit), rounded to 1e-9 of the range: what differs by less is tied."""
    values, unit = table.values[cell], EQUAL * scale_of(table, cell)
    found: FloatArray = np.rint((values[pairs[0]] - values[pairs[1]]) / unit) * unit
    return found


def moments(table: Table, pairs: Pairs) -> Moments:
    """Return the estimates of pairs in each cell: weighted means over collections, which are independent.

    Differences of less than 1e-9 of the range are none.
    """
    found = np.zeros((4, len(table.scores), len(pairs[0])))
    step = max(1, AT_ONCE // table.sizes.size)
    for cell, scores in enumerate(table.scores):
        mean, least = table.means[cell], EQUAL * scale_of(table, cell)
        for low in range(0, len(pairs[0]), step):
            place = slice(low, low + step)
            first, second = pairs[0][place], pairs[1][place]
            z = scores[first] - scores[second]
            found[1:, cell, place] = _errors(table, cell, z, least)
            found[0, cell, place] = mean[first] - mean[second]
        found[::2, cell][np.abs(found[::2, cell]) <= least] = 0.0
    return Moments(*found)


def _errors(table: Table, cell: int, z: FloatArray, least: float) -> FloatArray:
    """Return standard errors, guarded means, and their standard errors of differences (pair, unit): (3, pair)."""
    found = np.zeros((3, len(z)))
    width, binary = cell_width(table, cell), bool(table.binary[cell])
    for part in table.strata:
        own, sizes = z[:, part.units], table.sizes[part.units]
        plain = guarded_estimates(own, sizes, None, binary=binary)
        guarded = guarded_estimates(own, sizes, width, binary=binary, in_bag=part.in_bag)
        still = np.ptp(own, axis=1) <= least
        found[0] += np.where(still, 0.0, part.weight * plain.error) ** 2
        found[1] += part.weight * guarded.mean
        found[2] += (
            np.where(still & (guarded.error == plain.error), 0.0, part.weight * guarded.error) ** 2
        )
    found[[0, 2]] **= 0.5
    return found


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
    """Return the 95 % limits of differences by Student's t, clipped to the width of the range: float64 (cell, pair).

    Of equal scores of an unknown range nothing is known of other topics: NaN.
    """
    from scipy.special import stdtrit

    half = stdtrit(table.sizes.size - 1, (1 + CONFIDENCE) / 2) * found.guarded_error
    half[(found.guarded_error == 0) & (found.guarded_mean == 0)] = np.nan
    cells = range(len(table.scores))
    widths = [cell_width(table, cell) or np.inf for cell in cells]
    most = np.array(widths)[:, np.newaxis]
    low = np.maximum(found.guarded_mean - half, -most)
    return low, np.minimum(found.guarded_mean + half, most)


def residual_variances(scores: FloatArray) -> FloatArray:
    """Return the residual variance V_E2 of the two-way ANOVA without replication (Sakai 2014, SIGIR Forum 48(1)), (cell,).

    scores: float64 (cell, run, unit).
    """
    residuals = scores - scores.mean(axis=1, keepdims=True)
    residuals -= residuals.mean(axis=2, keepdims=True)
    _, n_runs, n_units = scores.shape
    return np.asarray((residuals**2).sum(axis=(1, 2)) / ((n_runs - 1) * (n_units - 1)))


def adjustments(p: FloatArray, alphas: Sequence[float], safe: FloatArray) -> dict[str, Any]:
    """Return p-values adjusted for the number of pairs, and how many are significant under each adjustment.

    p, safe: float64 (..., pair): p-values, and those that are adjusted, which are never 0.
    """
    by_method = {"none": p}
    for method in METHODS[1:]:
        rows = [adjusted(row, method) for row in safe.reshape(-1, safe.shape[-1])]
        by_method[method] = np.reshape(rows, safe.shape)
    counts = np.stack([n_below(each, alphas) for each in by_method.values()], axis=-2)
    return {
        "p_value_holm": by_method["holm"],
        "p_value_bh": by_method["bh"],
        "adjusted_significant": counts,
        "adjusted_share": counts / p.shape[-1],
    }


def n_below(p: FloatArray, alphas: Sequence[float]) -> NDArray[np.int64]:
    """Return how many p-values are below each level: int64 (..., alpha)."""
    return np.stack([(p < alpha).sum(axis=-1) for alpha in alphas], axis=-1)


def decided(
    p: FloatArray, difference: FloatArray, alphas: Sequence[float], baseline: str | None
) -> dict[str, Any]:
    """Return p-values, how many pairs are significant at each level, and of runs against a baseline how many are better and worse.

    p: float64 (..., pair).
    difference: float64, as p, larger ones better: first minus second run.
    """
    significant = n_below(p, alphas)
    found = {"p_value": p, "significant": significant, "share": significant / p.shape[-1]}
    if baseline is not None:
        found["significant_better"] = n_below(np.where(difference > 0, p, 1.0), alphas)
        found["significant_worse"] = n_below(np.where(difference < 0, p, 1.0), alphas)
    return found


def single_p_values(t: FloatArray, freedom: float) -> FloatArray:
    """Return the two-sided p-values of Student's t; 1 for equal scores, whose t is NaN."""
    from scipy.special import stdtr

    found = 2 * stdtr(freedom, -np.abs(t))
    return np.where(np.isnan(t), 1.0, found)


def n_undecided(p: FloatArray, alphas: Sequence[float], trials: int) -> NDArray[np.int64]:
    """Return how many p-values have alpha inside their 95 % Monte Carlo interval: int64 (..., alpha)."""
    margins = [Z95 * math.sqrt(alpha * (1 - alpha) / trials) for alpha in alphas]
    near = [
        (np.abs(p - alpha) < margin).sum(axis=-1)
        for alpha, margin in zip(alphas, margins, strict=True)
    ]
    return np.stack(near, axis=-1)


def largest_not_significant(
    p: FloatArray, difference: FloatArray, alphas: Sequence[float]
) -> FloatArray:
    """Return the largest absolute difference of a pair with p >= alpha, (cell, alpha); NaN without such a pair."""
    sizes = [
        np.where(p >= alpha, np.abs(difference), -1.0).max(axis=-1, initial=-1.0)
        for alpha in alphas
    ]
    found = np.stack(sizes, axis=-1)
    return np.where(found < 0, np.nan, found)


def verdicts(within: FloatArray, unequal: FloatArray, alphas: Sequence[float]) -> Mapping[str, Any]:
    """Return the verdict on each pair at each level, and the pairs of each verdict under each adjustment.

    A pair is equivalent if both one-sided tests find its difference smaller than the margin, else different if the t test finds a difference, else
    inconclusive.

    within, unequal: float64 (cell, pair): p-values of both hypotheses.
    """
    labels, counts = [], []
    for cell in range(len(within)):
        by_method = []
        for method in METHODS:
            rows = (adjusted(each[cell], method) for each in (within, unequal))
            near, apart = (np.stack([row < alpha for alpha in alphas]) for row in rows)
            code = np.where(near, 0, np.where(apart, 1, 2))
            labels.append(VERDICTS[code]) if method == "none" else None
            by_method.append([np.bincount(row, minlength=len(VERDICTS)) for row in code])
        counts.append(by_method)
    return {"verdict_on_pair": np.stack(labels), "verdict_pairs": np.array(counts)}


VERDICTS = np.array(["equivalent", "different", "inconclusive"], object)
