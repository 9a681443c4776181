"""Totals over the relevant entries of one list, see `entry_form.Total`.

Each function is optimised by itself and again within every function that it is inlined into. So one function has the loops
of all totals but those of blended ratios, and both are called at one place. Tables have a row for each metric, or for
several metrics that share it; functions take the table and the row number, because array views cost more than the work.
The ranks of a list's entries increase and start from 1.
"""

from typing import Any

from scorecube.kernels.jit import merged
from scorecube.metrics.without_documents.entry_form import Total


@merged
def total_list(
    ranks: Any,
    levels: Any,
    begin: int,
    end: int,
    kind: int,
    rel: int,
    limit: int,
    cells: Any,
    cell: int,
) -> float:
    """Return a metric's total over one list; for blended ratios, the deepest rank that counts instead.

    ranks, levels, begin, end: uint32, uint8 (entry,): rank and relevance level; the list's entries are those from begin
        to before end.
    kind, rel, limit: `Total`, lowest relevant level and deepest rank that counts.
    cells, cell: See `tables.Cells`; number of the metric.
    """
    hits, count, total = 0, 0.0, 0.0
    if kind == Total.PRECISION:
        for entry in range(begin, end):
            if ranks[entry] > limit:
                break
            # Levels below `rel` add 0: a branch would delay the next addition.
            relevant = 1.0 if levels[entry] >= rel else 0.0
            count += relevant
            total += relevant * (count / ranks[entry])
    elif kind == Total.COUNT:
        for entry in range(begin, end):
            if ranks[entry] > limit:
                break
            hits += levels[entry] >= rel
        total = float(hits)
    elif kind == Total.BLENDED:
        total = float(limit)
    elif kind < Total.GAIN_AND_COUNT:
        total = _total_to_rank(ranks, levels, begin, end, kind, rel, limit, cells.gains.shape[1])
    else:
        total = _total_gains(ranks, levels, begin, end, kind, rel, limit, cells, cell)
    return total


@merged
def _total_to_rank(
    ranks: Any, levels: Any, begin: int, end: int, kind: int, rel: int, limit: int, n_levels: int
) -> float:
    """Return the total of the first entry or, for `Total.BLENDED_AT_PREFERRED` and `MEAN_BLENDED_TO_PREFERRED`, the preferred rank.

    The preferred rank is that of the first entry of the highest level in the list, 0 if none.
    """
    preferred = kind == Total.BLENDED_AT_PREFERRED or kind == Total.MEAN_BLENDED_TO_PREFERRED
    rank, best, enough = 0, rel - 1, n_levels - 1 if preferred else rel
    for entry in range(begin, end):
        if ranks[entry] > limit:
            break
        if levels[entry] > best:
            rank, best = ranks[entry], levels[entry]
            if best >= enough:
                break
    if kind == Total.RECIPROCAL_RANK:
        return 1.0 / rank if rank > 0 else 0.0
    if kind == Total.HIT:
        return 1.0 if rank > 0 else 0.0
    return float(rank)


@merged
def _total_gains(
    ranks: Any,
    levels: Any,
    begin: int,
    end: int,
    kind: int,
    rel: int,
    limit: int,
    cells: Any,
    cell: int,
) -> float:
    """Return `Total.DISCOUNTED_GAIN`, `GAIN_AND_COUNT`, `GAIN_AT_CUTOFF` or `CASCADE`."""
    gains, stops = cells.gains, cells.stops
    count, total, continuing = 0, 0.0, 1.0
    for entry in range(begin, end):
        rank, level = ranks[entry], levels[entry]
        if rank > limit:
            break
        if level < rel:
            continue
        if kind == Total.DISCOUNTED_GAIN:
            total += cells.discounted[cell, rank, level]
        elif kind == Total.CASCADE:
            total += continuing * stops[cell, level] / rank
            continuing *= 1.0 - stops[cell, level]
        elif kind == Total.GAIN_AND_COUNT:
            count += 1
            total += gains[cell, level]
        elif rank == limit:
            total = gains[cell, level]
    return total + count


@merged
def blend_list(
    ranks: Any,
    levels: Any,
    begin: int,
    end: int,
    kind: int,
    rel: int,
    limit: int,
    gains: Any,
    cell: int,
    blends: Any,
    table: int,
) -> float:
    """Return a metric's total of blended ratios down to a rank.

    Arguments are as of `total_list`; `blends` is float64 (table, rank), see `rescore.Space`.
    """
    count, gain, ratio, total = 0.0, 0.0, 0.0, 0.0
    for entry in range(begin, end):
        if ranks[entry] > limit:
            break
        if levels[entry] >= rel:
            count += 1.0
            gain += gains[cell, levels[entry]]
            ratio = (gain + count) / blends[table, ranks[entry]]
            total += ratio
    if kind == Total.MEAN_BLENDED_TO_PREFERRED:
        return total / count if count > 0.0 else 0.0
    return total if kind == Total.BLENDED else ratio
