"""Scores of pairs of runs as integers, whose differences and sums are exact."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scorecube.analyses.base import Array, Inputs
from scorecube.errors import BadPlan
from scorecube.statistics.integer_scores import SNAP, Units, comparable_scores, in_units

PAIRS_AT_ONCE, DIFFERENCES_AT_ONCE = 2**14, 2**22
"""Most pairs, and about the most differences of topics, that are in memory at a time."""


@dataclass(frozen=True)
class Group:
    """The pairs of runs of one cell.

    cell: Index of the cell (metric and gain setting).
    units: Scores of the runs of these pairs.
    first, second: int64 (pair,): rows of `units`.
    """

    cell: int
    units: Units
    first: Any
    second: Any


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


def whole_cells(scores: Array, form: Callable[[Any], Any] = comparable) -> dict[str, Array]:
    """Return scores (cell, run, topic) as integers, for `pair_groups`."""
    whole, per_score, rounded = zip(*map(form, scores), strict=True)
    return {
        "whole": np.stack(whole),
        "per_score": np.array(per_score),
        "rounded": np.array(rounded),
    }


def pair_groups(inputs: Inputs, first: Any, second: Any) -> list[Group]:
    """Return the pairs of runs of each cell.

    inputs: Contains the arrays of `whole_cells`.
    first, second: int (pair,): indices of the runs.
    """
    runs, row_a, row_b = compact_runs(first, second, inputs["whole"].shape[1])
    grids = zip(inputs["per_score"], inputs["rounded"], strict=True)
    return [
        Group(
            cell,
            in_units(
                np.ascontiguousarray(inputs["whole"][cell, runs]), float(per_score), bool(rounded)
            ),
            row_a,
            row_b,
        )
        for cell, (per_score, rounded) in enumerate(grids)
    ]


def compact_runs(first: Any, second: Any, n_runs: int) -> tuple[Any, Any, Any]:
    """Return the runs of some pairs, and the pairs as indices into them."""
    used = np.zeros(n_runs, bool)
    used[first], used[second] = True, True
    if used.all():  # avoids a copy of millions of pairs
        return np.arange(n_runs), first, second
    index = (np.cumsum(used) - 1).astype(np.int32)
    return np.flatnonzero(used), index[first], index[second]
