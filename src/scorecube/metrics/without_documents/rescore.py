"""Scores of lists that lose documents, from their relevant entries.

The total over a list is computed once for the whole list, and again only if the list loses a document above the cut-off. Divisors and
ideal lists are computed once a topic. Scores have the same bits as those of `Metric.score`, which adds the same terms in the same order;
a test compares both for all metrics.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scorecube.kernels.jit import merged
from scorecube.metrics.without_documents.entry_form import Divisor
from scorecube.metrics.without_documents.list_sums import blend_list, total_list
from scorecube.metrics.without_documents.tables import WORD, Cells, Entries, Number

NO_LIMIT = 2**31 - 1
NEVER_LOST = 2**31
"""Above any rank and any limit."""


class Space(NamedTuple):
    """Working memory of one thread for one topic: the documents and entries that are left.

    above: int64 (level + 1,): judged documents that are left, of each level or a higher one.
    stay, lost: bool (document,), uint64 (word,): whether each document is left; a bit for each document, set if it is
        lost.
    ranks, levels: uint32, uint8 (entry,): the entries left of the lists that lose any.
    bounds: uint64 (2, kept run): where each list's entries begin and end, here or, for a list that loses none, in
        `Entries`.
    order: int64 (kept run,): lists that lose no entry, then those that lose some.
    blends: float64 (table, rank): cg_I(r) + r.
    """

    above: npt.NDArray[np.int64]
    stay: npt.NDArray[np.bool_]
    lost: npt.NDArray[np.uint64]
    ranks: npt.NDArray[np.uint32]
    levels: npt.NDArray[np.uint8]
    bounds: npt.NDArray[np.uint64]
    order: npt.NDArray[np.int64]
    blends: npt.NDArray[np.float64]


def make_space(entries: Entries, cells: Cells, n_runs: int) -> Space:
    """Return the working memory for the lists of one topic.

    entries, cells: Lists and metrics.
    n_runs: Number of runs in all.
    Returns space: To be used by one thread at a time.
    """
    # One entry more than any topic has: a lost entry is also written, and then overwritten by the next one.
    n_entries = int(np.diff(entries.starts[::n_runs].astype(np.int64)).max(initial=0)) + 1
    n_words, n_levels = entries.holds.shape[1], cells.gains.shape[1]
    n_tables = int(cells.numbers[:, Number.BLEND].max(initial=0)) + 1
    return Space(
        above=np.empty(n_levels + 1, np.int64),
        stay=np.empty(WORD * n_words, bool),
        lost=np.empty(n_words, np.uint64),
        ranks=np.empty(n_entries, np.uint32),
        levels=np.empty(n_entries, np.uint8),
        bounds=np.empty((2, n_runs), np.uint64),
        order=np.arange(n_runs),
        blends=np.zeros((n_tables, cells.discounted.shape[1])),
    )


@merged
def _remove_documents(documents: Any, topic: int, left_out: Any, nobody: bool, space: Any) -> int:
    """Find which documents of a topic are left, and count them by level; return the number of lost ones."""
    begin, above, n_lost = documents.starts[topic], space.above, 0
    for level in range(above.shape[0]):
        above[level] = 0
    for word in range(space.lost.shape[0]):
        space.lost[word] = np.uint64(0)
    for k in range(documents.starts[topic + 1] - begin):
        stays = nobody or documents.always[begin + k]
        for word in range(left_out.shape[0]):
            # Loops that end early are not unrolled into vectors: most have one round.
            if stays:
                break
            stays = (documents.words[begin + k, word] & ~left_out[word]) != 0
        space.stay[k] = stays
        above[documents.levels[begin + k]] += stays
        space.lost[k // WORD] |= np.uint64(not stays) << np.uint64(k % WORD)
        n_lost += not stays
    for level in range(above.shape[0] - 2, -1, -1):
        above[level] += above[level + 1]
    return n_lost


@merged
def _remove_entries(entries: Any, place: int, runs: Any, n: int, space: Any) -> Any:
    """Find the entries left of one topic's lists, copying those of lists that lose any.

    The list of a run has the number `place + run`.

    Returns intact, first_lost: Number of lists that lose no entry; lowest rank of any entry that is lost.
    """
    bounds, first = space.bounds, np.int64(NEVER_LOST)
    written, intact, shortened = np.uint64(0), 0, n
    for k in range(n):
        number, hit = place + runs[k], np.uint64(0)
        for word in range(space.lost.shape[0]):
            hit = entries.holds[number, word] & space.lost[word]
            if hit != 0:
                break
        begin, end = entries.starts[number], entries.starts[number + 1]
        if hit == 0:
            bounds[0, k], bounds[1, k], space.order[intact] = begin, end, k
            intact += 1
            continue
        shortened -= 1
        bounds[0, k], space.order[shortened] = written, k
        for entry in range(begin, end):
            stays, rank = np.uint64(space.stay[entries.documents[entry]]), entries.ranks[entry]
            space.ranks[written], space.levels[written] = rank, entries.levels[entry]
            written += stays
            lost = np.int64(rank) + (np.int64(stays) << np.int64(31))
            first = lost if lost < first else first
        bounds[1, k] = written
    return intact, first


@merged
def _divisor(
    kind: int, cutoff: int, rel: int, relevant: int, above: Any, cells: Any, cell: int
) -> float:
    """Return the divisor of a metric in a topic with so many relevant documents.

    That of the ideal list equals `common.ideal_gain`, or `cascade.ideal_expected_reciprocal_rank`.
    """
    if kind == Divisor.CUTOFF:
        return float(cutoff)
    if kind == Divisor.RELEVANT:
        return float(relevant)
    if kind == Divisor.CUTOFF_OR_RELEVANT:
        return float(cutoff if 0 < cutoff < relevant else relevant)
    if kind == Divisor.ONE:
        return 1.0
    rank, total, before, continuing = 0, 0.0, 0.0, 1.0
    for level in range(above.shape[0] - 2, rel - 1, -1):
        gain, stop, last = cells.gains[cell, level], cells.stops[cell, level], above[level]
        if kind == Divisor.IDEAL_GAIN_AND_COUNT:
            total += (last - rank) * gain
            rank = last
            continue
        if kind == Divisor.IDEAL_GAIN_AT_CUTOFF:
            if rank < cutoff:
                before += ((last if last < cutoff else cutoff - 1) - rank) * gain
                total += ((last if last < cutoff else cutoff) - rank) * gain
            rank = last
            continue
        last = cutoff if 0 < cutoff < last else last
        while rank < last:
            rank += 1
            if kind == Divisor.IDEAL_CASCADE:
                total += continuing * stop / rank
                continuing *= 1.0 - stop
            else:
                total += cells.discounted[cell, rank, level]
    if kind == Divisor.IDEAL_GAIN_AND_COUNT:
        return total + relevant
    return total - before


@merged
def _fill_blends(above: Any, rel: int, gains: Any, cell: int, blends: Any, table: int) -> None:
    """Write cg_I(r) + r for all ranks r; cg_I is constant beyond the number of relevant documents."""
    n, begin, ideal = blends.shape[1], 1, 0.0
    for level in range(above.shape[0] - 2, rel - 1, -1):
        gain, end = gains[cell, level], above[level] + 1
        for rank in range(begin, end if end < n else n):
            blends[table, rank] = ideal + (rank - begin + 1) * gain + rank
        ideal += (end - begin) * gain
        begin = end
    for rank in range(begin, n):
        blends[table, rank] = ideal + rank


@merged
def score_topic(
    inputs: Any, topic: int, left_out: Any, nobody: bool, runs: Any, n: int, space: Any, out: Any
) -> None:
    """Score one topic's lists without the documents that only teams left out contributed.

    inputs: See `tables.Tables`.
    topic, left_out, nobody: Number of the topic; uint64 (word,), a bit for each team, set if it is left out; whether
        none is.
    runs, n: int64 (kept run,): the runs to be scored are the first n of these.
    space: From `make_space`, for n runs or more.
    out: float64 (row, topic, kept run): written; NaN for a topic without a relevant document. Without `Tables.sums`,
        the totals over whole lists in place of scores; for blended ratios, the deepest rank that counts.
    """
    cells, rows, whole, sums = inputs.cells, inputs.rows, inputs.whole, inputs.sums
    n_lost = _remove_documents(inputs.documents, topic, left_out, nobody, space)
    if n_lost == 0 and whole.shape[1] > 0:
        for cell in range(rows.shape[0]):
            row = rows[cell]
            for k in range(n):
                out[row, topic, k] = whole[row, topic, runs[k]]
        return
    intact, lost = _remove_entries(inputs.entries, topic * sums.shape[2], runs, n, space)
    filled: Any = np.int64(0)
    for cell in range(rows.shape[0]):
        row, rel, cutoff = (
            rows[cell],
            cells.numbers[cell, Number.REL],
            cells.numbers[cell, Number.CUTOFF],
        )
        relevant = space.above[rel]
        if cells.numbers[cell, Number.BLEND] == filled:
            _fill_blends(space.above, rel, cells.gains, cell, space.blends, filled)
            filled += 1
        divisor = _divisor(
            cells.numbers[cell, Number.DIVISOR], cutoff, rel, relevant, space.above, cells, cell
        )
        if (relevant > 0 and divisor > 0.0) or sums.shape[0] == 0:
            _write_scores(
                inputs.entries,
                cells,
                cell,
                relevant,
                divisor,
                intact,
                lost,
                sums,
                topic,
                runs,
                n,
                space,
                out,
                row,
            )
        else:
            # With relevant documents, a divisor of 0 means that none of them has a gain.
            for k in range(n):
                out[row, topic, k] = np.nan if relevant == 0 else 0.0


@merged
def _write_scores(
    entries: Any,
    cells: Any,
    cell: int,
    relevant: int,
    divisor: float,
    intact: int,
    lost: int,
    sums: Any,
    topic: int,
    runs: Any,
    n: int,
    space: Any,
    out: Any,
    row: int,
) -> None:
    """Write the scores of one metric for one topic's lists.

    The first `intact` lists in order lose no entry; `lost` is the lowest rank of any entry that is lost.
    """
    numbers, bounds, known = cells.numbers, space.bounds, sums.shape[0] > 0
    kind, rel, table = (
        numbers[cell, Number.TOTAL],
        numbers[cell, Number.REL],
        numbers[cell, Number.BLEND],
    )
    varies, cutoff = numbers[cell, Number.TO_R] > 0, numbers[cell, Number.CUTOFF]
    limit = relevant if varies else cutoff if cutoff > 0 else NO_LIMIT
    first: Any = np.int64(0)
    ranks, levels, end = entries.ranks, entries.levels, intact
    # Lists that lose no entry, then the others: one place of a call is inlined once.
    for part in range(2):
        if part == 1:
            ranks, levels, first, end = space.ranks, space.levels, intact, n
        again = varies or not known or (part == 1 and limit >= lost)
        for place in range(first, end):
            k = space.order[place]
            start, stop = bounds[0, k], bounds[1, k]
            if again:
                total = total_list(ranks, levels, start, stop, kind, rel, limit, cells, cell)
            else:
                total = sums[cell, topic, runs[k]]
            if known and table >= 0:
                deepest: Any = np.int64(total)
                total = blend_list(
                    ranks,
                    levels,
                    start,
                    stop,
                    kind,
                    rel,
                    deepest,
                    cells.gains,
                    cell,
                    space.blends,
                    table,
                )
            out[row, topic, k] = total / divisor if known else total
