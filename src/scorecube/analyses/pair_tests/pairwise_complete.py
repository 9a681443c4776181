"""Missing scores, pair by pair: each pair of runs is compared on the topics on which both have scores.

The test of a pair is then that of the cube of its two runs and common topics. Pairs with the same common topics are tested
together; systems fail on few sets of topics, so these are few. Each pair has its own n, and pairs may be compared on topics
that differ in difficulty: what is the same for all pairs (a rank correlation, one required difference) means less.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from scorecube import names
from scorecube.analyses.options import option_field
from scorecube.collection.schema import Variable
from scorecube.collection.selection import cells
from scorecube.statistics.integer_scores import Units, in_units, whole_scores

REFUSE, PAIRWISE = "refuse", "pairwise"
LEAST = 2
"""Topics that a test needs."""
NOT_TESTED = -1
AT_ONCE = 2**14
"""Pairs whose common topics are sought at the same time."""
VARIABLES = (
    Variable(
        "common_topics", (names.METRIC, names.GAIN, names.PAIR), "iu", "topics", "topics on which both runs of a pair have scores"
    ),
    Variable(
        "common_difference", (names.METRIC, names.GAIN, names.PAIR), "f", "score", "difference of means on the common topics, first minus second run"
    ),
    Variable("untested_pairs", (names.METRIC, names.GAIN), "iu", "pairs", "pairs with fewer than 2 common topics: no p-value"),
)  # fmt: skip
"""Of results of tests that leave missing scores out pair by pair."""


@dataclass(frozen=True)
class Group:
    """Pairs of runs of one cell with the same common topics.

    Parameters
    ----------
    cell
        Number of the cell (metric and gain setting).
    pairs
        Their places among the pairs that were asked for: int64 (pair,), or a slice of all.
    topics
        Places of the common topics: int64 (topic,), or a slice of all.
    units
        Scores of some runs on these topics.
    first, second
        int64 (pair,): rows of `units`.
    """

    cell: int
    pairs: Any
    topics: Any
    units: Units
    first: Any
    second: Any


def missing_field() -> str:
    """Declare the option of a test of pairs that says what becomes of missing scores."""
    return option_field(
        REFUSE,
        "Missing scores: refuse; or pairwise: test each pair on the topics that both runs have.",
        choices=(REFUSE, PAIRWISE),
    )


def whole_cells(scores: np.ndarray[Any, Any]) -> dict[str, np.ndarray[Any, Any]]:
    """Return what `groups` takes: the scores of all cells (cell, run, topic) as integers, missing ones NaN."""
    whole, per_score, rounded = zip(*map(whole_scores, scores), strict=True)
    return {"whole": np.stack(whole), "per_score": np.array(per_score), "rounded": np.array(rounded)}


def groups(inputs: Mapping[str, np.ndarray[Any, Any]], first: Any, second: Any) -> list[Group]:
    """Return pairs of runs with the same common topics together, in all cells; groups with few topics first.

    Pairs with fewer than two common topics are in none. A complete cell is one group.

    Parameters
    ----------
    inputs
        With the arrays of `whole_cells`.
    first, second
        int (pair,): runs.
    """
    runs, a, b = runs_of(first, second, inputs["whole"].shape[1])
    found: list[Group] = []
    for cell, (per_score, rounded) in enumerate(zip(inputs["per_score"], inputs["rounded"], strict=True)):
        whole = np.ascontiguousarray(inputs["whole"][cell, runs])
        known, grid = ~np.isnan(whole), (float(per_score), bool(rounded))
        if known.all():
            found.append(Group(cell, slice(None), slice(None), in_units(whole, *grid), a, b))
            continue
        for topics, pairs in _together(known, a, b):
            rows, x, y = runs_of(a[pairs], b[pairs], len(runs))
            part = in_units(np.ascontiguousarray(whole[np.ix_(rows, topics)]), *grid)
            found.append(Group(cell, pairs, topics, part, x, y))
    return sorted(found, key=lambda group: group.units.n_topics)


def runs_of(first: Any, second: Any, n_runs: int) -> tuple[Any, Any, Any]:
    """Return the runs of some pairs, and first and second run of each pair as places among them."""
    used = np.zeros(n_runs, bool)
    used[first], used[second] = True, True
    if used.all():  # of millions of pairs no second copy is made
        return np.arange(n_runs), first, second
    place = (np.cumsum(used) - 1).astype(np.int32)
    return np.flatnonzero(used), place[first], place[second]


def _together(known: Any, first: Any, second: Any) -> Iterator[tuple[Any, Any]]:
    """Yield sets of at least two topics, and the pairs that have exactly these in common."""
    members: dict[bytes, list[Any]] = {}
    for low in range(0, len(first), AT_ONCE):
        common = np.packbits(known[first[low : low + AT_ONCE]] & known[second[low : low + AT_ONCE]], axis=1)
        kinds, kind_of = np.unique(common, axis=0, return_inverse=True)
        order = np.argsort(kind_of.ravel(), kind="stable")
        for kind, pairs in zip(kinds, np.split(order, np.cumsum(np.bincount(kind_of.ravel()))[:-1]), strict=True):
            members.setdefault(kind.tobytes(), []).append(low + pairs)
    for kind, parts in sorted(members.items()):
        topics = np.flatnonzero(np.unpackbits(np.frombuffer(kind, np.uint8))[: known.shape[1]])
        if len(topics) >= LEAST:
            yield topics, np.concatenate(parts)


def describe_pairs(
    scores: np.ndarray[Any, Any], first: Any, second: Any
) -> tuple[dict[str, np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    """Return what `VARIABLES` says of pairs of runs, by cell, and which pairs have too few common topics, (cell, pair)."""
    known = ~np.isnan(scores)
    together = [(each.astype(np.float32) @ each.T.astype(np.float32))[first, second] for each in known]
    common = np.rint(np.stack(together)).astype(np.int32)
    untested, difference = common < LEAST, np.full(common.shape, np.nan)
    for group in groups(whole_cells(scores), first, second):
        sums, scale = group.units.sums, group.units.n_topics * group.units.per_score
        difference[group.cell, group.pairs] = (sums[group.first] - sums[group.second]) / scale
    found = {"common_topics": common, "common_difference": difference, "untested_pairs": untested.sum(axis=-1)}
    return found, untested


def mean_scores(scores: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the means of scores (cell, run, topic) over topics; over those that a run has, NaN for a run without any."""
    known = ~np.isnan(scores)
    if known.all():
        return np.asarray(scores.mean(axis=-1))
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(known, scores, 0.0).sum(axis=-1) / known.sum(axis=-1))


def sizes_of(cube: xr.Dataset) -> list[int]:
    """Return how many topics runs have, without repetition: about as many sizes of samples are drawn."""
    sizes: list[int] = np.unique((~np.isnan(cells(cube)[0])).sum(axis=-1)).tolist()
    return sizes


def is_complete(cube: xr.Dataset) -> bool:
    """Whether no score is missing."""
    return not bool(np.isnan(cube.variables[names.SCORE].values).any())
