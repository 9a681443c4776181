"""What several metrics share: judged documents of lists, and the ideal list of a topic.

The ideal list of a topic has all its relevant documents by descending level. Arguments of helpers
are those of metrics, see `scorecube.metrics.registry`.
"""

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from scorecube.kernels.arrays import Ints, Vec
from scorecube.kernels.jit import compiled

Item = TypeVar("Item", bound=np.generic)
BEHIND = 2**31 - 1
"""Rank behind the end of every list, where a list has fewer judged documents than others."""


class Lists(NamedTuple):
    """The judged documents of ranked lists, in their order; -1 and `BEHIND` behind the last one.

    levels: int8 (..., entry): relevance level.
    ranks: int32 (..., entry): rank, from 1.
    """

    levels: NDArray[np.int8]
    ranks: NDArray[np.int32]

    def condensed(self) -> "Lists":
        """Return the lists without the unjudged documents."""
        places = np.arange(1, self.levels.shape[-1] + 1, dtype=np.int32)
        return self._replace(ranks=np.where(self.levels >= 0, places, np.int32(BEHIND)))


def judged_lists(levels: NDArray[np.int8], lowest: int = 0) -> Lists:
    """Return the judged documents of lists.

    levels: int8 (..., rank): relevance level at each rank, -1 for unjudged and behind the end.
    lowest: Level of the documents that are wanted; 1 leaves out those that are not relevant.
    """
    return lists_where(levels >= lowest, levels)


def lists_where(wanted: NDArray[np.bool_], levels: NDArray[np.int8]) -> Lists:
    """Return the wanted documents of lists, (..., rank)."""
    places = np.arange(1, levels.shape[-1] + 1, dtype=np.int32)
    ranks = np.broadcast_to(places, levels.shape)
    return Lists(packed(levels, wanted, -1), packed(ranks, wanted, BEHIND))


def packed(values: NDArray[Item], wanted: NDArray[np.bool_], fill: int) -> NDArray[Item]:
    """Return the wanted values of each list, one behind the other, and `fill` behind the last one.

    values, wanted: (..., rank), of one shape.
    Returns packed: (..., entry).
    """
    count = wanted.sum(axis=-1)
    known = np.arange(int(count.max(initial=0))) < count[..., np.newaxis]
    result = np.full(known.shape, fill, values.dtype)
    result[known] = values[wanted]
    return result


def ideal_lists(judged: NDArray[np.int64]) -> Lists:
    """Return the ideal lists of topics.

    judged: int64 (..., level): number of judged documents of each level.
    """
    ends = judged[..., :0:-1].cumsum(axis=-1)
    places = np.arange(int(ends.max(initial=0)))
    behind = (places >= ends[..., np.newaxis]).sum(axis=-2)
    n_levels = judged.shape[-1] - 1
    levels = np.where(behind < n_levels, n_levels - behind, -1).astype(np.int8)
    ranks = np.where(levels > 0, places + 1, BEHIND).astype(np.int32)
    return Lists(levels, ranks)


@compiled
def n_relevant(judged: Ints) -> int:
    """Return R, the number of relevant documents of the topic."""
    total = 0
    for level in range(1, judged.shape[0]):
        total += judged[level]
    return total


@compiled
def n_best(judged: Ints, cutoff: int) -> int:
    """Return min(l, R), the number of relevant documents of the ideal list down to a cut-off."""
    relevant = n_relevant(judged)
    return cutoff if 0 < cutoff < relevant else relevant


@compiled
def ideal_gain(judged: Ints, gains: Vec, rank: int) -> float:
    """Return cg_I(rank), the cumulative gain of the ideal list; constant beyond R."""
    left = rank
    total = 0.0
    level = judged.shape[0] - 1
    while level > 0:
        taken = judged[level] if judged[level] < left else left
        total += taken * gains[level]
        left -= taken
        level -= 1
    return total


@compiled
def n_scored(ranks: Ints, deepest: int) -> Any:
    """Return how many judged documents of a list are down to a rank; of the whole list for 0."""
    last = deepest if deepest > 0 else BEHIND - 1
    low = 0
    high = ranks.shape[0]
    while low < high:
        middle = (low + high) // 2
        if ranks[middle] <= last:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def first_relevant(levels: Ints, n: int) -> int:
    """Return the place of the first relevant of n judged documents; n if there is none."""
    for k in range(n):
        if levels[k] > 0:
            return k
    return n
