"""Scores of lists of which documents are gone, from their relevant entries.

What is summed up over a list is known beforehand and changes only where one of its own documents is gone, above the cut-off; then its
other entries are walked again. What it is divided by, and ideal lists, are made anew once a topic. Scores have the same bits as those
of `Metric.score`, from the same sums in the same order; a test compares both for all metrics.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from scorecube.kernels.jit import borrowing, merged
from scorecube.metrics.common import ideal_gain
from scorecube.metrics.without_documents.list_sums import (
    AT_FIRST,
    AT_R,
    AVERAGE,
    BLENDED,
    COUNT,
    GAIN,
    RECIPROCAL,
    count_entries,
    first_rank,
    preferred_rank,
    sum_blended,
    sum_discounted,
    sum_graded,
    sum_precision,
)
from scorecube.metrics.without_documents.tables import (
    BY_BLEND,
    BY_CASCADE,
    BY_CUTOFF,
    BY_FEWER,
    BY_IDEAL,
    BY_IDEAL_RANK,
    BY_RELEVANT,
    WORD,
    Cells,
    Entries,
)

NO_LIMIT = 2**31 - 1
NEVER_GONE = 2**31
"""Behind the last entry of a list, and behind any limit."""


class Space(NamedTuple):
    """Memory of one thread for one topic: what is left of its documents and lists.

    Parameters
    ----------
    judged, own
        int64 (level,): documents that stay; those that are relevant to a metric.
    stay, gone
        bool (document,), uint64 (word,): whether each document stays; a bit for each that is gone.
    ranks, levels
        uint32, uint8 (entry,): entries that stay of the lists that lose any.
    begins, ends
        uint64 (kept run,): where these are, or the list's own entries.
    which
        int64 (kept run,): lists that lose no entry, then those that lose some.
    firsts
        int64 (1,): lowest rank of any entry that is gone.
    blends
        float64 (table, rank): what gain and count are divided by.
    """

    judged: np.ndarray[Any, Any]
    own: np.ndarray[Any, Any]
    stay: np.ndarray[Any, Any]
    gone: np.ndarray[Any, Any]
    ranks: np.ndarray[Any, Any]
    levels: np.ndarray[Any, Any]
    begins: np.ndarray[Any, Any]
    ends: np.ndarray[Any, Any]
    which: np.ndarray[Any, Any]
    firsts: np.ndarray[Any, Any]
    blends: np.ndarray[Any, Any]


def make_space(entries: Entries, cells: Cells, n_runs: int) -> Space:
    """Return the memory for the lists of one topic."""
    most, largest = (
        int(np.diff(entries.starts[::n_runs].astype(np.int64)).max(initial=0)),
        WORD * entries.holds.shape[1],
    )
    n_levels, n_tables = cells.gains.shape[1], int(cells.tables.max(initial=0)) + 1
    # One more place than entries: what is gone is written, too, and then written over.
    return Space(
        np.empty(n_levels, np.int64), np.empty(n_levels, np.int64), np.empty(largest, bool),
        np.empty(entries.holds.shape[1], np.uint64), np.empty(most + 1, np.uint32), np.empty(most + 1, np.uint8),
        np.empty(n_runs, np.uint64), np.empty(n_runs, np.uint64), np.arange(n_runs), np.empty(1, np.int64),
        np.zeros((n_tables, cells.discounts.shape[1])),
    )  # fmt: skip


@merged
def _leave_out(documents: Any, topic: int, left_out: Any, space: Any) -> int:
    """Find which documents of a topic stay, count them by level; return how many are gone."""
    begin, lost, nobody = documents.starts[topic], 0, True
    for word in range(left_out.shape[0]):
        nobody &= left_out[word] == 0
    for level in range(space.judged.shape[0]):
        space.judged[level] = 0
    for word in range(space.gone.shape[0]):
        space.gone[word] = np.uint64(0)
    for k in range(documents.starts[topic + 1] - begin):
        others = np.uint64(nobody or documents.always[begin + k])
        for word in range(left_out.shape[0]):
            others |= documents.words[begin + k, word] & ~left_out[word]
        stays = others != 0
        space.stay[k] = stays
        space.judged[documents.levels[begin + k]] += stays
        space.gone[k // WORD] |= np.uint64(not stays) << np.uint64(k % WORD)
        lost += not stays
    return lost


@merged
def _find_lists(entries: Any, place: int, runs: Any, n: int, space: Any) -> int:
    """Find the entries of one topic's lists, write anew those of lists that lose any; return how many lose none."""
    first: Any = NEVER_GONE
    written, intact, hurt = np.uint64(0), 0, n
    for k in range(n):
        each, hit = place + runs[k], np.uint64(0)
        for word in range(space.gone.shape[0]):
            hit |= entries.holds[each, word] & space.gone[word]
        begin, end = entries.starts[each], entries.starts[each + 1]
        if hit == 0:
            space.begins[k], space.ends[k], space.which[intact] = begin, end, k
            intact += 1
            continue
        hurt -= 1
        space.begins[k], space.which[hurt] = written, k
        for entry in range(begin, end):
            stays, rank = np.uint64(space.stay[entries.documents[entry]]), entries.ranks[entry]
            space.ranks[written], space.levels[written] = rank, entries.levels[entry]
            written += stays
            first = min(first, np.int64(rank) + (np.int64(stays) << np.int64(31)))
        space.ends[k] = written
    space.firsts[0] = first
    return intact


@merged
def _ideal_discounted(judged: Any, cutoff: int, discounted: Any, cell: int) -> float:
    """Discounted gain of the ideal list."""
    rank, total = 0, 0.0
    for level in range(judged.shape[0] - 1, 0, -1):
        last = rank + judged[level]
        if cutoff > 0:
            last = min(last, cutoff)
        while rank < last:
            rank += 1
            total += discounted[cell, rank, level]
    return total


@merged
def _divisor(cells: Any, cell: int, judged: Any, relevant: int) -> float:
    """What a metric is divided by in a topic."""
    kind, cutoff = cells.divisors[cell], cells.cutoffs[cell]
    if kind == BY_CUTOFF:
        return float(cutoff)
    if kind == BY_RELEVANT:
        return float(relevant)
    if kind == BY_FEWER:
        return float(min(cutoff, relevant) if cutoff > 0 else relevant)
    if kind == BY_IDEAL:
        return _ideal_discounted(judged, cutoff, cells.discounted, cell)
    if kind == BY_BLEND:
        return ideal_gain(judged, cells.gains[cell], relevant) + relevant
    if kind == BY_IDEAL_RANK:
        return ideal_gain(judged, cells.gains[cell], cutoff) - ideal_gain(judged, cells.gains[cell], cutoff - 1)
    if kind == BY_CASCADE:
        return _ideal_cascade(judged, cutoff, cells.stops, cell)
    return 1.0


@merged
def _ideal_cascade(judged: Any, cutoff: int, stops: Any, cell: int) -> float:
    """ERR of the ideal list, see `cascade.ideal_expected_reciprocal_rank`."""
    going_on, total, rank = 1.0, 0.0, 0
    for level in range(judged.shape[0] - 1, 0, -1):
        stop, last = stops[cell, level], rank + judged[level]
        if cutoff > 0:
            last = min(last, cutoff)
        while rank < last:
            rank += 1
            total += going_on * stop / rank
            going_on *= 1.0 - stop
    return total


@merged
def _fill_blends(judged: Any, gains: Any, cell: int, blends: Any, table: int) -> None:
    """Write what gain and count are divided by at all ranks, cg_I(r) + r; cg_I is flat beyond the number of relevant documents."""
    n, rank, ideal = blends.shape[1], 1, 0.0
    for level in range(judged.shape[0] - 1, 0, -1):
        for taken in range(1, min(judged[level], n - rank) + 1):
            blends[table, rank] = ideal + taken * gains[cell, level] + rank
            rank += 1
        ideal += judged[level] * gains[cell, level]
    for beyond in range(rank, n):
        blends[table, beyond] = ideal + beyond


@merged
def _sum_lists(
    ranks: Any,
    levels: Any,
    cells: Any,
    cell: int,
    limit: int,
    space: Any,
    first: int,
    end: int,
    out: Any,
    row: int,
    topic: int,
) -> None:
    """Sum up some lists of a topic for a metric: what is divided by its divisor, or for blended ratios the last rank that counts.

    Parameters
    ----------
    ranks, levels
        Entries: all, or those that stay.
    first, end
        Lists `space.which[first:end]`.
    out, row, topic
        Where sums are written.
    """
    kind, rel, highest = cells.kinds[cell], cells.rels[cell], cells.gains.shape[1] - 1
    for place in range(first, end):
        k = space.which[place]
        start, stop = space.begins[k], space.ends[k]
        if kind == COUNT:
            found = count_entries(ranks, levels, start, stop, rel, limit)
        elif kind == AVERAGE:
            found = sum_precision(ranks, levels, start, stop, rel, limit)
        elif kind < BLENDED or kind == AT_FIRST:
            rank = first_rank(ranks, levels, start, stop, rel, limit)
            found = float(rank) if kind == AT_FIRST or rank == 0 else 1.0 / rank if kind == RECIPROCAL else 1.0
        elif kind == BLENDED:
            found = float(limit)
        elif kind < AT_R:
            found = float(preferred_rank(ranks, levels, start, stop, rel, limit, highest))
        elif kind == GAIN:
            found = sum_discounted(ranks, levels, start, stop, rel, limit, cells.discounted, cell)
        else:
            found = sum_graded(kind, ranks, levels, start, stop, rel, limit, cells.gains, cells.stops, cell)
        out[row, topic, k] = found


@merged
def _blend_lists(
    ranks: Any, levels: Any, cells: Any, cell: int, space: Any, first: int, end: int, out: Any, row: int, topic: int
) -> None:
    """Turn the last rank that counts of each list into its sum of blended ratios."""
    kind, rel, table = cells.kinds[cell], cells.rels[cell], cells.tables[cell]
    for place in range(first, end):
        k = space.which[place]
        last: Any = np.int64(out[row, topic, k])
        out[row, topic, k] = sum_blended(
            kind, ranks, levels, space.begins[k], space.ends[k], rel, last, cells.gains, cell, space.blends, table
        )


@merged
def score_topic(
    entries: Any, documents: Any, cells: Any, rows: Any, sums: Any, whole: Any, topic: int, left_out: Any, runs: Any, n: int,
    space: Any, out: Any,
) -> None:  # fmt: skip
    """Score one topic's lists without the documents that only teams left out contributed.

    Parameters
    ----------
    entries, documents, cells
        See `sparse`.
    rows
        int64 (cell,): rows of scores that are written.
    sums
        float64 (cell, topic, run), of `sum_whole_lists`.
    whole
        float64 (row, topic, run): scores if nobody is left out; no topics if they are not known yet.
    topic, left_out
        Its number; uint64 (word,): bits of the teams that are left out.
    runs, n
        int64 (kept run,): runs to be scored, the first n of them.
    space
        Of `make_space`, for so many runs or more.
    out
        float64 (row, topic, kept run): written; NaN for a topic without a relevant document.
    """
    lost = _leave_out(documents, topic, left_out, space)
    if lost == 0 and whole.shape[1] > 0:
        for cell in range(rows.shape[0]):
            for k in range(n):
                out[rows[cell], topic, k] = whole[rows[cell], topic, runs[k]]
        return
    intact = _find_lists(entries, topic * sums.shape[2], runs, n, space)
    filled: Any = np.int64(0)
    for cell in range(rows.shape[0]):
        relevant = _count_relevant(space, cells.rels[cell])
        if cells.tables[cell] == filled:
            _fill_blends(space.own, cells.gains, cell, space.blends, filled)
            filled += 1
        divisor = _divisor(cells, cell, space.own, relevant)
        if relevant > 0 and divisor > 0.0:
            _score_lists(entries, cells, cell, relevant, divisor, sums, intact, topic, runs, n, space, out, rows[cell])
        else:
            # In the second case, no document has a gain.
            for k in range(n):
                out[rows[cell], topic, k] = np.nan if relevant == 0 else 0.0


@merged
def _count_relevant(space: Any, rel: int) -> int:
    """Write how many documents of each level stay that are relevant to a metric; return how many in all."""
    relevant = 0
    for level in range(space.own.shape[0]):
        space.own[level] = space.judged[level] if level >= rel else 0
        relevant += space.own[level]
    return relevant


@merged
def _score_lists(
    entries: Any, cells: Any, cell: int, relevant: int, divisor: float, sums: Any, intact: int, topic: int, runs: Any, n: int,
    space: Any, out: Any, row: int,
) -> None:  # fmt: skip
    """Score one topic's lists, the first of which lose no entry, by one metric."""
    none: Any = np.int64(0)
    varies, cutoff = cells.at_relevant[cell], cells.cutoffs[cell]
    limit = relevant if varies else cutoff if cutoff > 0 else NO_LIMIT
    for k in range(n):
        out[row, topic, k] = sums[cell, topic, runs[k]]
    if varies:
        _sum_lists(entries.ranks, entries.levels, cells, cell, limit, space, none, intact, out, row, topic)
    if varies or limit >= space.firsts[0]:
        _sum_lists(space.ranks, space.levels, cells, cell, limit, space, intact, n, out, row, topic)
    if BLENDED <= cells.kinds[cell] < AT_R:
        _blend_lists(entries.ranks, entries.levels, cells, cell, space, none, intact, out, row, topic)
        _blend_lists(space.ranks, space.levels, cells, cell, space, intact, n, out, row, topic)
    for k in range(n):
        out[row, topic, k] /= divisor


def sum_whole_lists(entries: Entries, cells: Cells, n_topics: int, n_runs: int) -> np.ndarray[Any, Any]:
    """Return what metrics sum up over lists of which nothing is gone, float64 (cell, topic, run), see `_sum_lists`."""
    sums = np.empty((len(cells.kinds), n_topics, n_runs))
    _sum_whole_lists(entries, cells, make_space(entries, cells, n_runs), sums)
    return sums


@borrowing
def _sum_whole_lists(entries: Any, cells: Any, space: Any, sums: Any) -> None:
    n_cells, n_topics, n_runs = sums.shape
    none: Any = np.int64(0)
    for topic in range(n_topics):
        for run in range(n_runs):
            each = topic * n_runs + run
            space.begins[run], space.ends[run] = entries.starts[each], entries.starts[each + 1]
        for cell in range(n_cells):
            limit = cells.cutoffs[cell] if cells.cutoffs[cell] > 0 else NO_LIMIT
            _sum_lists(entries.ranks, entries.levels, cells, cell, limit, space, none, n_runs, sums, cell, topic)
