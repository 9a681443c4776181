"""Comparison of each pair of runs on the topics on which both have scores.

The test of a pair equals the test on a cube of its two runs and their common topics. Pairs with the same
common topics are tested together. Each pair has its own number of topics, and topics differ in difficulty, so
a statistic over all pairs (a rank correlation, one required difference) is harder to interpret.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.base import Array, Inputs
from scorecube.analyses.options import option_field
from scorecube.collection.selection import cells
from scorecube.errors import BadPlan
from scorecube.statistics.integer_scores import (
    SNAP,
    Units,
    comparable_scores,
    in_units,
    single_scores,
)

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


REFUSE, PAIRWISE = "refuse", "pairwise"
MIN_TOPICS = 2
"""Smallest number of common topics for which a pair is tested."""
NOT_TESTED = -1
"""Count of a pair with too few common topics."""
PAIRS_AT_ONCE = 2**14
"""Number of pairs whose common topics are computed at once; bounds memory."""


@dataclass(frozen=True)
class Group:
    """Pairs of runs of one cell with the same common topics.

    cell: Index of the cell (metric and gain setting).
    pairs: Their indices among the pairs passed to `pair_groups`: int64 (pair,), or a slice of all.
    topics: Indices of the common topics: int64 (topic,), or a slice of all.
    units: Scores of the runs of these pairs on these topics.
    first, second: int64 (pair,): rows of `units`.
    """

    cell: int
    pairs: Any
    topics: Any
    units: Units
    first: Any
    second: Any


def missing_field() -> Literal["refuse", "pairwise"]:
    """Declare the option for the treatment of missing scores."""
    return option_field(
        "refuse",
        "Missing scores: refuse; or pairwise: test each pair on the topics that both runs have.",
        detail="Each pair is then tested, with its own draws of topics or signs, as on a cube of these two runs and topics. Pairs differ in "
        "their topics: use it if dropping all topics with missing scores would drop too many.",
    )


def whole_cells(scores: Array, form: Callable[[Any], Any] = comparable) -> dict[str, Array]:
    """Return scores (cell, run, topic) as integers, for `pair_groups`."""
    whole, per_score, rounded = zip(*map(form, scores), strict=True)
    return {
        "whole": np.stack(whole),
        "per_score": np.array(per_score),
        "rounded": np.array(rounded),
    }


def pair_groups(inputs: Inputs, first: Any, second: Any) -> list[Group]:
    """Group the pairs of runs of each cell by their common topics, fewest first.

    Pairs with fewer than two common topics are in no group. The pairs of a cell without missing scores are
    one group.

    inputs: Contains the arrays of `whole_cells`.
    first, second: int (pair,): indices of the runs.
    """
    runs, row_a, row_b = compact_runs(first, second, inputs["whole"].shape[1])
    result: list[Group] = []
    for cell, (per_score, rounded) in enumerate(
        zip(inputs["per_score"], inputs["rounded"], strict=True)
    ):
        whole = np.ascontiguousarray(inputs["whole"][cell, runs])
        known, grid = ~np.isnan(whole), (float(per_score), bool(rounded))
        if known.all():
            result.append(
                Group(cell, slice(None), slice(None), in_units(whole, *grid), row_a, row_b)
            )
            continue
        for topics, pairs in _pairs_by_common_topics(known, row_a, row_b):
            rows, group_first, group_second = compact_runs(row_a[pairs], row_b[pairs], len(runs))
            units = in_units(np.ascontiguousarray(whole[np.ix_(rows, topics)]), *grid)
            result.append(Group(cell, pairs, topics, units, group_first, group_second))
    return sorted(result, key=lambda group: group.units.n_topics)


def compact_runs(first: Any, second: Any, n_runs: int) -> tuple[Any, Any, Any]:
    """Return the runs of some pairs, and the pairs as indices into them."""
    used = np.zeros(n_runs, bool)
    used[first], used[second] = True, True
    if used.all():  # avoids a copy of millions of pairs
        return np.arange(n_runs), first, second
    index = (np.cumsum(used) - 1).astype(np.int32)
    return np.flatnonzero(used), index[first], index[second]


def _pairs_by_common_topics(known: Any, first: Any, second: Any) -> Iterator[tuple[Any, Any]]:
    """Yield sets of at least two topics, and the pairs with these in common."""
    pairs_of: dict[bytes, list[Any]] = {}
    for low in range(0, len(first), PAIRS_AT_ONCE):
        common = np.packbits(
            known[first[low : low + PAIRS_AT_ONCE]] & known[second[low : low + PAIRS_AT_ONCE]],
            axis=1,
        )
        topic_sets, set_of = np.unique(common, axis=0, return_inverse=True)
        order = np.argsort(set_of.ravel(), kind="stable")
        pairs_by_set = np.split(order, np.cumsum(np.bincount(set_of.ravel()))[:-1])
        for topic_set, pairs in zip(topic_sets, pairs_by_set, strict=True):
            pairs_of.setdefault(topic_set.tobytes(), []).append(low + pairs)
    for bits, parts in sorted(pairs_of.items()):
        topics = np.flatnonzero(np.unpackbits(np.frombuffer(bits, np.uint8))[: known.shape[1]])
        if len(topics) >= MIN_TOPICS:
            yield topics, np.concatenate(parts)


def describe_pairs(scores: Array, first: Any, second: Any) -> tuple[dict[str, Array], Array]:
    """Return `pair_quantities.PAIRWISE_VARIABLES` by cell, and untested pairs: bool (cell, pair)."""
    known = ~np.isnan(scores)
    products = [
        (cell.astype(np.float32) @ cell.T.astype(np.float32))[first, second] for cell in known
    ]
    common = np.rint(np.stack(products)).astype(np.int32)
    untested, difference = common < MIN_TOPICS, np.full(common.shape, np.nan)
    for group in pair_groups(whole_cells(scores, single_scores), first, second):
        sums, scale = group.units.totals, group.units.n_topics * group.units.fine_units
        difference[group.cell, group.pairs] = (sums[group.first] - sums[group.second]) / scale
    values = {
        "common_topics": common,
        "common_difference": difference,
        "untested_pairs": untested.sum(axis=-1),
    }
    return values, untested


def mean_scores(scores: Array) -> Array:
    """Return the means of the scores (cell, run, topic) that are not missing."""
    known = ~np.isnan(scores)
    if known.all():
        return np.asarray(scores.mean(axis=-1))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, scores, 0.0).sum(axis=-1) / known.sum(axis=-1))


def sample_sizes(cube: xr.Dataset) -> list[int]:
    """Return the distinct numbers of topics with scores of runs."""
    sizes: list[int] = np.unique((~np.isnan(cells(cube)[0])).sum(axis=-1)).tolist()
    return sizes


def is_complete(cube: xr.Dataset) -> bool:
    """Whether no score is missing."""
    return not bool(np.isnan(cube.variables[names.SCORE].values).any())
