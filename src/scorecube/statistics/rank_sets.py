"""Confidence sets of ranks from decided pairs, and groups of systems that are not separated.

Reference: Mogstad, Romano, Shaikh and Wilhelm 2024, "Inference for ranks with applications to
    mobility across neighbourhoods and academic achievement across countries", Review of Economic
    Studies 91(1).
"""

from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def rank_limits(
    first: NDArray[Any], second: NDArray[Any], ahead: NDArray[Any], n: int
) -> tuple[Any, Any]:
    """Return the rank set of each of n systems, 1 the best: int32 (system,), lower and upper limit.

    first, second: int (decided pair,): systems.
    ahead: float64 (decided pair,): by how much the first is better.
    """
    better, worse = np.where(ahead > 0, (first, second), (second, first))
    low = 1 + np.bincount(worse, minlength=n)
    high = n - np.bincount(better, minlength=n)
    return low.astype(np.int32), high.astype(np.int32)


def with_equals(values: FloatArray, least: float) -> FloatArray:
    """Return values (value,) of which those that differ by no more than `least` are one number.

    Sorted, each group of equals has its first and is compared with it, so that a chain of close
    values is no group.
    """
    order = np.argsort(values, kind="stable")
    equal = np.array(values, float)
    first = -np.inf
    for place in order.tolist():
        if equal[place] - first > least:
            first = equal[place]
        equal[place] = first
    return equal


def average_ranks(values: NDArray[Any]) -> Any:
    """Return ranks, float64 (value,): 1 for the smallest; equal values share their mean rank."""
    ordered = np.sort(values)
    below = np.searchsorted(ordered, values, side="left")
    ranks = (below + np.searchsorted(ordered, values, side="right") + 1) / 2
    return np.where(np.isnan(values), np.nan, ranks)


def competition_ranks(values: NDArray[Any]) -> Any:
    """Return ranks, int32 (value,): 1 for the largest; equal values share the best."""
    above = len(values) - np.searchsorted(np.sort(values), values, side="right")
    return (1 + above).astype(np.int32)


def groups_in_order(
    order: NDArray[Any], first: NDArray[Any], second: NDArray[Any]
) -> tuple[Any, Any]:
    """Return the groups of systems that follow each other and of which no two are separated.

    Groups are as large as possible, numbered from the best; systems that share one are not
    separated. Systems that share none may not be separated either, if two between them are.

    order: int (system,): systems from the best to the worst.
    first, second: int (separated pair,): systems.
    Returns begin, end: int32 (system,): number of the first and of the last group, from 1.
    """
    n = len(order)
    place = np.argsort(order)
    ends = place[np.asarray(first, np.int64)], place[np.asarray(second, np.int64)]
    # The first place that is separated from a place at or after the better one of a pair.
    nearest = np.full(n, n)
    np.minimum.at(nearest, np.minimum(*ends), np.maximum(*ends))
    stops = np.minimum.accumulate(nearest[::-1])[::-1]
    starts = np.flatnonzero(np.diff(stops, prepend=0) > 0)
    begin = 1 + np.searchsorted(stops[starts], np.arange(n), side="right")
    end = np.searchsorted(starts, np.arange(n), side="right")
    return begin[place].astype(np.int32), end[place].astype(np.int32)


def group_names(begin: NDArray[Any], end: NDArray[Any]) -> NDArray[Any]:
    """Return the groups of each system, object (system,): letters, or numbers of more than 26.

    begin, end: As of `groups_in_order`.

    Examples
    --------
    >>> group_names(np.array([1, 1, 2]), np.array([1, 2, 2])).tolist()
    ['a', 'ab', 'b']
    """
    spans = list(zip(begin.tolist(), end.tolist(), strict=True))
    names = [ascii_lowercase[first - 1 : last] for first, last in spans]
    if end.max(initial=0) > len(ascii_lowercase):
        names = [f"{first}-{last}" if first < last else f"{first}" for first, last in spans]
    return np.array(names, object)


def normal_step_down(
    first: NDArray[Any],
    second: NDArray[Any],
    differences: NDArray[Any],
    variances: NDArray[Any],
    errors: NDArray[Any],
    alpha: float,
) -> Any:
    """Return which differences step-down max-T finds (Romano and Wolf 2005, Algorithm 4.1).

    first, second: int (difference,): systems.
    differences, variances: float64 (difference,); a difference without a variance is certain.
    errors: float64 (system, trial): errors of the estimates in each trial.
    alpha: Family-wise error rate.
    Returns decided: bool (difference,).
    """
    decided = (variances <= 0) & (differences != 0)
    tested = np.flatnonzero(variances > 0)
    spread = np.sqrt(np.maximum(variances, 0.0))
    order = tested[np.argsort(np.abs(differences[tested]) / spread[tested], kind="stable")]
    reached = np.zeros(len(order), np.int64)
    largest = np.zeros(errors.shape[1])
    for place, k in enumerate(order):
        np.maximum(largest, np.abs(errors[first[k]] - errors[second[k]]) / spread[k], out=largest)
        reached[place] = np.count_nonzero(largest >= np.abs(differences[k]) / spread[k])
    highest = np.maximum.accumulate(reached[::-1])[::-1]
    decided[order] = highest < alpha * errors.shape[1]
    return decided
