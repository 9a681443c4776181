"""Per-topic differences of pairs of runs, in units of the grid of the scores."""

from typing import Any

import numpy as np

from scorecube.analyses.base import Array
from scorecube.errors import BadPlan
from scorecube.statistics.integer_scores import SNAP, Units, comparable_scores

PAIRS_AT_ONCE, DIFFERENCES_AT_ONCE = 4096, 2**22
"""Most pairs, and about the most differences of topics, that are in memory at a time."""


def pairs_at_once(n_topics: int) -> int:
    """Return the number of pairs whose differences are in memory at a time."""
    return max(1, min(PAIRS_AT_ONCE, DIFFERENCES_AT_ONCE // n_topics))


def differences_bytes(n_topics: int, n_pairs: int) -> float:
    """Return the memory of the differences of so many pairs, and of what tests make of them."""
    return 60.0 * n_topics * min(n_pairs, pairs_at_once(n_topics))


def comparable(scores: Any, *, paired: bool = True) -> tuple[Any, float, bool]:
    """Return the scores of a cell as integers; BadPlan where `comparable_scores` has none."""
    try:
        return comparable_scores(scores, paired=paired)
    except OverflowError as error:
        raise BadPlan(str(error)) from None


def score_rounding(units: Units) -> float:
    """Return the largest difference of two scores, in units, that rounding alone can cause."""
    return SNAP if units.rounded else 0.0


def score_differences(scores: Array, rounding: float, first: Array, second: Array) -> Array:
    """Return the differences of pairs of runs (pair, topic); those that rounding alone can cause are 0.

    scores: float64 (run, topic): in units.
    rounding: As from `score_rounding`.
    first, second: Positions (pair,) of runs.
    """
    differences: Array = scores[first] - scores[second]
    differences[np.abs(differences) <= rounding] = 0.0
    return differences
