"""Scores of lists that lose documents, from their relevant entries.

The total over a list is computed once for the whole list, and again only if the list loses a document above the cut-off. Divisors and
ideal lists are computed once a topic. Scores have the same bits as those of `Metric.score`, which adds the same terms in the same order;
a test compares both for all metrics.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scorecube.kernels.jit import merged
from scorecube.metrics.common import ideal_gain
from scorecube.metrics.without_documents.entry_form import Divisor
from scorecube.metrics.without_documents.list_sums import blend_list, total_list
from scorecube.metrics.without_documents.tables import WORD, Cells, Entries

NO_LIMIT = 2**31 - 1
NEVER_LOST = 2**31
"""Above any rank and any limit."""


class Space(NamedTuple):
    """Working memory of one thread for one topic: the documents and entries that are left.

    Parameters
    ----------
    judged, relevant
        int64 (level,): judged documents that are left; those of them that are relevant to a metric.
    stay, lost
        bool (document,), uint64 (word,): whether each document is left; a bit for each document, set if it is lost.
    ranks, levels
        uint32, uint8 (entry,): the entries left of the lists that lose any.
    begins, ends
        uint64 (kept run,): where each list's entries are, here or, for a list that loses none, in `Entries`.
    order
        int64 (kept run,): lists that lose no entry, then those that lose some.
    first_lost
        int64 (1,): lowest rank of any entry that is lost.
    blends
        float64 (table, rank): cg_I(r) + r.
    """

    judged: npt.NDArray[np.int64]
    relevant: npt.NDArray[np.int64]
    stay: npt.NDArray[np.bool_]
    lost: npt.NDArray[np.uint64]
    ranks: npt.NDArray[np.uint32]
    levels: npt.NDArray[np.uint8]
    begins: npt.NDArray[np.uint64]
    ends: npt.NDArray[np.uint64]
    order: npt.NDArray[np.int64]
    first_lost: npt.NDArray[np.int64]
    blends: npt.NDArray[np.float64]


def make_space(entries: Entries, cells: Cells, n_runs: int) -> Space:
    """Return the working memory for the lists of one topic.

    Parameters
    ----------
    entries, cells
        Lists and metrics.
    n_runs
        Number of runs in all.

    Returns
    -------
    space
        To be used by one thread at a time.
    """
    # One entry more than any topic has: a lost entry is also written, and then overwritten by the next one.
    n_entries = int(np.diff(entries.starts[::n_runs].astype(np.int64)).max(initial=0)) + 1
    n_words, n_levels = entries.holds.shape[1], cells.gains.shape[1]
    n_tables = int(cells.blends.max(initial=0)) + 1
    return Space(
        judged=np.empty(n_levels, np.int64),
        relevant=np.empty(n_levels, np.int64),
        stay=np.empty(WORD * n_words, bool),
        lost=np.empty(n_words, np.uint64),
        ranks=np.empty(n_entries, np.uint32),
        levels=np.empty(n_entries, np.uint8),
        begins=np.empty(n_runs, np.uint64),
        ends=np.empty(n_runs, np.uint64),
        order=np.arange(n_runs),
        first_lost=np.empty(1, np.int64),
        blends=np.zeros((n_tables, cells.discounted.shape[1])),
    )


@merged
def _remove_documents(documents: Any, topic: int, left_out: Any, space: Any) -> int:
    """Find which documents of a topic are left, and count them by level; return the number of lost ones."""
    begin, n_lost, nobody = documents.starts[topic], 0, True
    for word in range(left_out.shape[0]):
        nobody &= left_out[word] == 0
    for level in range(space.judged.shape[0]):
        space.judged[level] = 0
    for word in range(space.lost.shape[0]):
        space.lost[word] = np.uint64(0)
    for k in range(documents.starts[topic + 1] - begin):
        others = np.uint64(nobody or documents.always[begin + k])
        for word in range(left_out.shape[0]):
            others |= documents.words[begin + k, word] & ~left_out[word]
        stays = others != 0
        space.stay[k] = stays
        space.judged[documents.levels[begin + k]] += stays
        space.lost[k // WORD] |= np.uint64(not stays) << np.uint64(k % WORD)
        n_lost += not stays
    return n_lost


@merged
def _remove_entries(entries: Any, place: int, runs: Any, n: int, space: Any) -> int:
    """Find the entries left of one topic's lists, copying those of lists that lose any; return the number of lists that lose none.

    The list of a run has the number `place + run`.
    """
    first: Any = NEVER_LOST
    written, intact, shortened = np.uint64(0), 0, n
    for k in range(n):
        number, hit = place + runs[k], np.uint64(0)
        for word in range(space.lost.shape[0]):
            hit |= entries.holds[number, word] & space.lost[word]
        begin, end = entries.starts[number], entries.starts[number + 1]
        if hit == 0:
            space.begins[k], space.ends[k], space.order[intact] = begin, end, k
            intact += 1
            continue
        shortened -= 1
        space.begins[k], space.order[shortened] = written, k
        for entry in range(begin, end):
            stays, rank = np.uint64(space.stay[entries.documents[entry]]), entries.ranks[entry]
            space.ranks[written], space.levels[written] = rank, entries.levels[entry]
            written += stays
            first = min(first, np.int64(rank) + (np.int64(stays) << np.int64(31)))
        space.ends[k] = written
    space.first_lost[0] = first
    return intact


@merged
def _divisor(cells: Any, cell: int, judged: Any, relevant: int) -> float:
    """Return the divisor of a metric in a topic with so many relevant documents."""
    kind, cutoff = cells.divisors[cell], cells.cutoffs[cell]
    if kind == Divisor.CUTOFF:
        return float(cutoff)
    if kind == Divisor.RELEVANT:
        return float(relevant)
    if kind == Divisor.CUTOFF_OR_RELEVANT:
        return float(min(cutoff, relevant) if cutoff > 0 else relevant)
    if kind == Divisor.IDEAL_GAIN_AND_COUNT or kind == Divisor.IDEAL_GAIN_AT_CUTOFF:
        counted = kind == Divisor.IDEAL_GAIN_AND_COUNT
        gain = ideal_gain(judged, cells.gains[cell], relevant if counted else cutoff)
        if counted:
            return gain + relevant
        return gain - ideal_gain(judged, cells.gains[cell], cutoff - 1)
    if kind == Divisor.IDEAL_DISCOUNTED_GAIN or kind == Divisor.IDEAL_CASCADE:
        return _ideal_total(kind, judged, cutoff, cells, cell)
    return 1.0


@merged
def _ideal_total(kind: int, judged: Any, cutoff: int, cells: Any, cell: int) -> float:
    """Return the discounted gain of the ideal list, or its ERR, as `cascade.ideal_expected_reciprocal_rank`."""
    continuing, total, rank = 1.0, 0.0, 0
    for level in range(judged.shape[0] - 1, 0, -1):
        stop, last = cells.stops[cell, level], rank + judged[level]
        if cutoff > 0:
            last = min(last, cutoff)
        while rank < last:
            rank += 1
            if kind == Divisor.IDEAL_CASCADE:
                total += continuing * stop / rank
                continuing *= 1.0 - stop
            else:
                total += cells.discounted[cell, rank, level]
    return total


@merged
def _fill_blends(judged: Any, gains: Any, cell: int, blends: Any, table: int) -> None:
    """Write cg_I(r) + r for all ranks r; cg_I is constant beyond the number of relevant documents."""
    n, rank, ideal = blends.shape[1], 1, 0.0
    for level in range(judged.shape[0] - 1, 0, -1):
        for taken in range(1, min(judged[level], n - rank) + 1):
            blends[table, rank] = ideal + taken * gains[cell, level] + rank
            rank += 1
        ideal += judged[level] * gains[cell, level]
    for beyond in range(rank, n):
        blends[table, beyond] = ideal + beyond


@merged
def score_topic(
    inputs: Any, topic: int, left_out: Any, runs: Any, n: int, space: Any, out: Any
) -> None:
    """Score one topic's lists without the documents that only teams left out contributed.

    Parameters
    ----------
    inputs
        See `tables.Inputs`.
    topic, left_out
        Number of the topic; uint64 (word,), a bit for each team, set if it is left out.
    runs, n
        int64 (kept run,): the runs to be scored are the first n of these.
    space
        From `make_space`, for n runs or more.
    out
        float64 (row, topic, kept run): written; NaN for a topic without a relevant document. Without `Inputs.sums`, the totals
        over whole lists in place of scores; for blended ratios, the deepest rank that counts.
    """
    cells, rows, whole = inputs.cells, inputs.rows, inputs.whole
    n_lost = _remove_documents(inputs.documents, topic, left_out, space)
    if n_lost == 0 and whole.shape[1] > 0:
        for cell in range(rows.shape[0]):
            for k in range(n):
                out[rows[cell], topic, k] = whole[rows[cell], topic, runs[k]]
        return
    intact = _remove_entries(inputs.entries, topic * inputs.sums.shape[2], runs, n, space)
    filled: Any = np.int64(0)
    for cell in range(rows.shape[0]):
        relevant = _count_relevant(space, cells.rels[cell])
        if cells.blends[cell] == filled:
            _fill_blends(space.relevant, cells.gains, cell, space.blends, filled)
            filled += 1
        divisor = _divisor(cells, cell, space.relevant, relevant)
        if (relevant > 0 and divisor > 0.0) or inputs.sums.shape[0] == 0:
            _write_scores(inputs, cell, relevant, divisor, intact, topic, runs, n, space, out)
        else:
            # With relevant documents, a divisor of 0 means that none of them has a gain.
            for k in range(n):
                out[rows[cell], topic, k] = np.nan if relevant == 0 else 0.0


@merged
def _count_relevant(space: Any, rel: int) -> int:
    """Write how many of the documents left at each level are relevant to a metric; return their number."""
    relevant = 0
    for level in range(space.relevant.shape[0]):
        space.relevant[level] = space.judged[level] if level >= rel else 0
        relevant += space.relevant[level]
    return relevant


@merged
def _write_scores(
    inputs: Any,
    cell: int,
    relevant: int,
    divisor: float,
    intact: int,
    topic: int,
    runs: Any,
    n: int,
    space: Any,
    out: Any,
) -> None:
    """Write the scores of one metric for one topic's lists, of which the first `intact` in order lose no entry."""
    entries, cells, row = inputs.entries, inputs.cells, inputs.rows[cell]
    known, blended = inputs.sums.shape[0] > 0, cells.blends[cell] >= 0
    varies, cutoff = cells.to_r[cell], cells.cutoffs[cell]
    limit = relevant if varies else cutoff if cutoff > 0 else NO_LIMIT
    ranks, levels, first, end = entries.ranks, entries.levels, np.int64(0), intact
    for part in range(2):
        if part == 1:
            ranks, levels, first, end = space.ranks, space.levels, intact, n
        again = varies or not known or (part == 1 and limit >= space.first_lost[0])
        for place in range(first, end):
            k = space.order[place]
            if again:
                total = total_list(
                    ranks, levels, space.begins[k], space.ends[k], cells, cell, limit
                )
            else:
                total = inputs.sums[cell, topic, runs[k]]
            if known and blended:
                total = blend_list(
                    ranks,
                    levels,
                    space.begins[k],
                    space.ends[k],
                    cells,
                    cell,
                    np.int64(total),
                    space.blends,
                )
            out[row, topic, k] = total / divisor if known else total
