"""P-values of pairs of runs: adjusted for their number, and how many are significant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scorecube.analyses.units import FloatArray
from scorecube.statistics.multiple_testing import METHODS, adjusted

VARIABLES = """
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


def single_p_values(t: FloatArray, freedom: float) -> FloatArray:
    """Return the two-sided p-values of Student's t; 1 for equal scores, whose t is NaN."""
    from scipy.special import stdtr

    return np.where(np.isnan(t), 1.0, 2 * stdtr(freedom, -np.abs(t)))
