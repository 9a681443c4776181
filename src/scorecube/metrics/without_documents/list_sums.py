"""Totals over the relevant entries of one list, see `entry_form.Total`.

Tables have a row for each metric, or for several metrics that share it; functions take the table and the row number, because array views
cost more than the work. In all functions, `k` is the list's position in `Lists`, `rel` the lowest relevant level and `limit` the deepest
rank that counts; the ranks of a list's entries increase and start from 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scorecube.kernels.jit import merged
from scorecube.metrics.without_documents.entry_form import Total


class Lists(NamedTuple):
    """The lists of one topic.

    Parameters
    ----------
    ranks, levels
        uint32, uint8 (entry,): rank and relevance level of each entry.
    begins, ends
        uint64 (kept run,): a list's entries are those from its begin to before its end.
    order
        int64 (kept run,): positions of the lists in the order in which they are totalled.
    """

    ranks: npt.NDArray[np.uint32]
    levels: npt.NDArray[np.uint8]
    begins: npt.NDArray[np.uint64]
    ends: npt.NDArray[np.uint64]
    order: npt.NDArray[np.int64]


@merged
def count_entries(lists: Any, k: int, rel: int, limit: int) -> float:
    """Return the number of relevant entries."""
    count = 0
    for entry in range(lists.begins[k], lists.ends[k]):
        if lists.ranks[entry] > limit:
            break
        count += lists.levels[entry] >= rel
    return float(count)


@merged
def sum_precision(lists: Any, k: int, rel: int, limit: int) -> float:
    """Return the sum of precision at the ranks of relevant entries."""
    count, total = 0.0, 0.0
    for entry in range(lists.begins[k], lists.ends[k]):
        if lists.ranks[entry] > limit:
            break
        # Levels below `rel` add 0: a branch would delay the next addition.
        relevant = 1.0 if lists.levels[entry] >= rel else 0.0
        count += relevant
        total += relevant * (count / lists.ranks[entry])
    return total


@merged
def first_rank(lists: Any, k: int, rel: int, limit: int) -> int:
    """Return the rank of the first relevant entry, 0 if none."""
    for entry in range(lists.begins[k], lists.ends[k]):
        if lists.levels[entry] >= rel:
            return int(lists.ranks[entry]) if lists.ranks[entry] <= limit else 0
    return 0


@merged
def preferred_rank(lists: Any, k: int, rel: int, limit: int, highest: int) -> int:
    """Return the rank of the first entry of the highest level in the list, 0 if none; `highest` is the collection's."""
    rank, best = 0, rel - 1
    for entry in range(lists.begins[k], lists.ends[k]):
        if lists.ranks[entry] > limit:
            break
        if lists.levels[entry] > best:
            rank, best = lists.ranks[entry], lists.levels[entry]
            if best == highest:
                break
    return rank


@merged
def sum_blended(
    lists: Any, k: int, rel: int, limit: int, gains: Any, cell: int, blends: Any, table: int
) -> Any:
    """Return the sum of the blended ratio at relevant entries, its last term and their number."""
    count, gain, ratio, total = 0.0, 0.0, 0.0, 0.0
    for entry in range(lists.begins[k], lists.ends[k]):
        if lists.ranks[entry] > limit:
            break
        if lists.levels[entry] >= rel:
            count += 1.0
            gain += gains[cell, lists.levels[entry]]
            ratio = (gain + count) / blends[table, lists.ranks[entry]]
            total += ratio
    return total, ratio, count


@merged
def sum_discounted(lists: Any, k: int, rel: int, limit: int, discounted: Any, cell: int) -> float:
    """Return the sum of discounted gains."""
    total = 0.0
    for entry in range(lists.begins[k], lists.ends[k]):
        if lists.ranks[entry] > limit:
            break
        if lists.levels[entry] >= rel:
            total += discounted[cell, lists.ranks[entry], lists.levels[entry]]
    return total


@merged
def sum_graded(
    kind: int, lists: Any, k: int, rel: int, limit: int, gains: Any, stops: Any, cell: int
) -> float:
    """Return `Total.GAIN_AND_COUNT`, `GAIN_AT_CUTOFF` or `CASCADE`."""
    count, total, continuing = 0, 0.0, 1.0
    for entry in range(lists.begins[k], lists.ends[k]):
        rank, level = lists.ranks[entry], lists.levels[entry]
        if rank > limit:
            break
        if level < rel:
            continue
        if kind == Total.CASCADE:
            total += continuing * stops[cell, level] / rank
            continuing *= 1.0 - stops[cell, level]
        elif kind == Total.GAIN_AND_COUNT:
            count += 1
            total += gains[cell, level]
        elif rank == limit:
            total = gains[cell, level]
    return total + count if kind == Total.GAIN_AND_COUNT else total
