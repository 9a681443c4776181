"""Limits over topics from a statistic without each group of topics: the delete-a-group jackknife.

References: Kott 2001, "The delete-a-group jackknife", Journal of Official Statistics; Efron and
    Stein 1981, "The jackknife estimate of variance", Annals of Statistics, by whom it does not
    underestimate the variance.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from scorecube.analyses.table import ScoreTable
from scorecube.analyses.topic_units import FloatArray, groups_left_out

Scale = Literal["plain", "log", "logit", "atanh"]
CONFIDENCE = 0.95
"""Of limits."""
LINKS: dict[Scale, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "plain": (np.asarray, np.asarray),
    "log": (np.log, np.exp),
    "logit": (lambda share: np.log(share / (1 - share)), lambda odds: 1 / (1 + np.exp(-odds))),
    "atanh": (np.arctanh, np.tanh),
}
"""Scales on which limits are symmetric, of any statistic, of positive ones, of shares, of
correlations: the way to them, and back."""


def limits(
    estimate: FloatArray,
    replicates: ArrayLike,
    scale: Scale = "plain",
    confidence: float = CONFIDENCE,
) -> tuple[FloatArray, FloatArray]:
    """Return limits of statistics: Student's t with as many degrees of freedom as groups but one.

    estimate, replicates: float64 (...), (group, ...): of all topics, and without each group.
    Returns low, high: float64 (...): NaN where a value is not finite on the scale, and of fewer
        than 2 groups.
    """
    from scipy.special import stdtrit

    without = np.asarray(replicates, float)
    n_groups = len(without)
    there, back = LINKS[scale]
    if n_groups < 2:
        return np.full(np.shape(estimate), np.nan), np.full(np.shape(estimate), np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        centre = there(np.asarray(estimate, float))
        values = there(without)
        # One group after the other: numpy adds in another order where the other axes are short.
        mean = reduce(np.add, values) / n_groups
        squares = reduce(np.add, (np.square(value - mean) for value in values))
        variance = (n_groups - 1) / n_groups * squares
        half = stdtrit(n_groups - 1, (1 + confidence) / 2) * np.sqrt(variance)
        finite = np.isfinite(centre) & np.isfinite(half)
        low, high = (np.where(finite, back(end), np.nan) for end in (centre - half, centre + half))
    return low, high


def of_scores(table: ScoreTable, statistic: Callable[[FloatArray], FloatArray]) -> FloatArray:
    """Return a statistic of all units, then without each group of units, of each cell.

    table: Its `values` are what is taken: scores, unless groups of topics have several sizes.
    statistic: Of one cell.
    Returns values: float64 (1 + group, cell, ...).
    """
    group = groups_left_out([part.size() for part in table.strata])
    kept = [np.ones(table.sizes.size, bool), *(group != k for k in np.unique(group))]
    parts = [np.ascontiguousarray(table.values[..., units]) for units in kept]
    return np.array([[statistic(scores) for scores in part] for part in parts])
