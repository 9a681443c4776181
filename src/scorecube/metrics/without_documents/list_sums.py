"""Sums over the relevant entries of one list, for `metrics.rescoring`.

Tables have a row for each metric, or for several that share it; rows are handed over by number, as views cost too much. Entries begin .. end - 1 have rising ranks from 1; those of a level below `rel` and those behind the limit count nothing.
"""

from __future__ import annotations

from typing import Any

from scorecube.kernels.jit import merged

COUNT, AVERAGE, RECIPROCAL, HIT = 0, 1, 2, 3
BLENDED, AT_FIRST, AT_PREFERRED, DOWN_TO_PREFERRED, AT_R = 4, 5, 6, 7, 8
GAIN, ONE_RANK, CASCADE = 9, 10, 11
"""Kinds of sums."""


@merged
def count_entries(ranks: Any, levels: Any, begin: int, end: int, rel: int, limit: int) -> float:
    """Return how many entries stand down to the limit."""
    count = 0
    for k in range(begin, end):
        if ranks[k] > limit:
            break
        count += levels[k] >= rel
    return float(count)


@merged
def sum_precision(ranks: Any, levels: Any, begin: int, end: int, rel: int, limit: int) -> float:
    """Sum of precision at the ranks of relevant documents."""
    count, total = 0.0, 0.0
    for k in range(begin, end):
        if ranks[k] > limit:
            break
        # Nothing is added for levels below: no choice, which the next sum would wait for.
        one = 1.0 if levels[k] >= rel else 0.0
        count += one
        total += one * (count / ranks[k])
    return total


@merged
def first_rank(ranks: Any, levels: Any, begin: int, end: int, rel: int, limit: int) -> int:
    """Rank of the first relevant document, 0 if none."""
    for k in range(begin, end):
        if levels[k] >= rel:
            return int(ranks[k]) if ranks[k] <= limit else 0
    return 0


@merged
def preferred_rank(ranks: Any, levels: Any, begin: int, end: int, rel: int, limit: int, highest: int) -> int:
    """Rank of the first document of the highest level that is there, 0 if none."""
    found, best = 0, rel - 1
    for k in range(begin, end):
        if ranks[k] > limit:
            break
        if levels[k] > best:
            found, best = ranks[k], levels[k]
            if best == highest:
                break
    return found


@merged
def sum_blended(
    kind: int,
    ranks: Any,
    levels: Any,
    begin: int,
    end: int,
    rel: int,
    last: int,
    gains: Any,
    cell: int,
    blends: Any,
    table: int,
) -> float:
    """Sum of the blended ratio down to a rank, its last term or its mean."""
    count, gain, ratio, total = 0.0, 0.0, 0.0, 0.0
    for k in range(begin, end):
        if ranks[k] > last:
            break
        if levels[k] >= rel:
            count += 1.0
            gain += gains[cell, levels[k]]
            ratio = (gain + count) / blends[table, ranks[k]]
            total += ratio
    if kind == BLENDED:
        return total
    if kind == DOWN_TO_PREFERRED:
        return total / count if count > 0.0 else 0.0
    return ratio


@merged
def sum_discounted(
    ranks: Any, levels: Any, begin: int, end: int, rel: int, limit: int, discounted: Any, cell: int
) -> float:
    """Sum of discounted gains."""
    total = 0.0
    for k in range(begin, end):
        if ranks[k] > limit:
            break
        if levels[k] >= rel:
            total += discounted[cell, ranks[k], levels[k]]
    return total


@merged
def sum_graded(
    kind: int, ranks: Any, levels: Any, begin: int, end: int, rel: int, limit: int, gains: Any, stops: Any, cell: int
) -> float:
    """AT_R, ONE_RANK and CASCADE."""
    count, total, going_on = 0, 0.0, 1.0
    for k in range(begin, end):
        rank, level = ranks[k], levels[k]
        if rank > limit:
            break
        if level < rel:
            continue
        if kind == CASCADE:
            total += going_on * stops[cell, level] / rank
            going_on *= 1.0 - stops[cell, level]
        elif kind == AT_R:
            count += 1
            total += gains[cell, level]
        elif rank == limit:
            total = gains[cell, level]
    return total + count if kind == AT_R else total
