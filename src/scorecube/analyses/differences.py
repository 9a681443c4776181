"""Differences of pairs of runs: estimates with limits, effect sizes, and what is significant."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.table import Table
from scorecube.analyses.units import FloatArray
from scorecube.kernels.arrays import Int32Array1
from scorecube.statistics.grid import EQUAL
from scorecube.statistics.intervals import Estimate, difference_limits, guarded_estimates
from scorecube.statistics.multiple_testing import METHODS, adjusted

RunPairs = tuple[Int32Array1, Int32Array1]
"""First and second runs of pairs, int32 (pair,) each."""
AT_ONCE, CONFIDENCE = 2**21, 0.95
"""About the most differences that are in memory at a time; of limits."""
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
DECISIONS = """
    [metric gain{0} pair]
    p_value | p_value | 1 | p-value; with the bootstrap, achieved significance level
    p_value_holm | p_value | 1 | adjusted for the number of pairs (Holm 1979: family-wise error)
    p_value_bh | p_value | 1 | adjusted (Benjamini and Hochberg 1995: false discovery rate)
    [metric gain{0} alpha]
    significant = significant pairs | count | pairs | pairs with a p-value below alpha
    share = share of pairs | share | 1 .1% | discriminative power: share of pairs with p < alpha
    significant_better | count | runs | runs that are significantly better than the baseline
    significant_worse | count | runs | runs that are significantly worse than the baseline
    [metric gain{0} adjustment alpha]
    adjusted_significant | count | pairs | pairs with an adjusted p-value below alpha
    adjusted_share = share of pairs | share | 1 .1% | share of pairs with adjusted p < alpha
"""
"""Of one test, or of several along a dim."""


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
            (_, error, _), padded = guarded_estimates(
                z, table.sizes, width, binary=binary, in_bag=part.in_bag
            )
            # An error is at most sqrt(2) times the range of the differences.
            still = error <= 2 * EQUAL * scale_of(table, cell)
            still[still] = np.ptp(z[still], axis=1) <= EQUAL * scale_of(table, cell)
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
    (_, n_runs, n_units), scores = table.values.shape, table.values
    residuals = scores - scores.mean(axis=1, keepdims=True)
    residuals -= residuals.mean(axis=2, keepdims=True)
    # V_E2 of the two-way ANOVA without replication (Sakai 2014, SIGIR Forum 48(1)).
    squares = (residuals**2).sum(axis=(1, 2))
    residual = table.in_bag * (squares / ((n_runs - 1) * (n_units - 1)))
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


def decide(
    p: FloatArray, safe: FloatArray | None, better: FloatArray | None, alphas: Sequence[float]
) -> dict[str, Any]:
    """Return p-values, adjusted ones, and how many are significant at each level.

    p: float64 (cell, ..., pair).
    safe: P-values that are adjusted for the number of pairs, which are never 0; None where they
        account for all pairs together.
    better: Differences from a baseline, above 0 where the first run is better; None without one.
    """

    def n_below(p: FloatArray) -> NDArray[np.int64]:
        return np.stack([(p < alpha).sum(axis=-1) for alpha in alphas], axis=-1)

    values: dict[str, Any] = {"p_value": p, "significant": n_below(p)}
    values["share"] = values["significant"] / p.shape[-1]
    if better is not None:
        values["significant_better"] = n_below(np.where(better > 0, p, 1.0))
        values["significant_worse"] = n_below(np.where(better < 0, p, 1.0))
    if safe is not None:
        holm, bh = (np.apply_along_axis(adjusted, -1, safe, method) for method in METHODS[1:])
        counts = np.stack([n_below(of) for of in (p, holm, bh)], axis=-2)
        values |= {"p_value_holm": holm, "p_value_bh": bh}
        values |= {"adjusted_significant": counts, "adjusted_share": counts / p.shape[-1]}
    return values
