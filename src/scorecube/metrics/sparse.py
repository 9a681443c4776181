"""Metrics from relevant entries alone, for many evaluations of the same lists with ever fewer documents.

Most metrics ask of a list only where relevant documents stand. So lists are kept as these entries, documents that are gone are passed over,
and ideal lists are summed up once a topic. Scores have the same bits as those of `Metric.score`, from the same sums in the same order; a
test compares both for all metrics. Metrics that need judged non-relevant documents have no such form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scorecube.kernels.jit import compiled, inlined
from scorecube.metrics.cascade import ideal_expected_reciprocal_rank, stop_probability
from scorecube.metrics.entries import (
    AT_FIRST,
    AT_PREFERRED,
    AT_R,
    AVERAGE,
    BLENDED,
    CASCADE,
    COUNT,
    DOWN_TO_PREFERRED,
    GAIN,
    HIT,
    ONE_RANK,
    RECIPROCAL,
    count_entries,
    first_rank,
    preferred_rank,
    sum_blended,
    sum_discounted,
    sum_graded,
    sum_precision,
)
from scorecube.metrics.gain import discount
from scorecube.metrics.ideal import ideal_gain, n_relevant
from scorecube.metrics.metric import Metric

KINDS = {
    "P": COUNT, "Recall": COUNT, "Rprec": COUNT, "AP": AVERAGE, "RR": RECIPROCAL, "Hit": HIT, "Q": BLENDED, "O": AT_FIRST,
    "P-measure": AT_PREFERRED, "P+": DOWN_TO_PREFERRED, "Rmeasure": AT_R, "nCG": GAIN, "nDCG": GAIN, "nG": ONE_RANK,
    "ERR": CASCADE, "nERR": CASCADE,
}  # fmt: skip
"""What is summed up over relevant entries; what it is divided by depends on the topic, see `_divisor`."""
BY_CUTOFF, BY_RELEVANT, BY_FEWER, BY_IDEAL, BY_BLEND, BY_IDEAL_RANK, BY_CASCADE, BY_NOTHING = 0, 1, 2, 3, 4, 5, 6, 7
DIVISORS = {
    "P": BY_CUTOFF, "Recall": BY_RELEVANT, "Rprec": BY_RELEVANT, "AP": BY_FEWER, "Q": BY_FEWER, "Rmeasure": BY_BLEND, "nCG": BY_IDEAL,
    "nDCG": BY_IDEAL, "nG": BY_IDEAL_RANK, "nERR": BY_CASCADE,
}  # fmt: skip
NO_LIMIT = 2**31 - 1


class Entries(NamedTuple):
    """Relevant documents of all lists; the list of a topic and run is number `topic * runs + run`.

    Parameters
    ----------
    starts
        int64 (list + 1,): where each list's entries begin.
    ranks, levels, documents
        int32, int8, int32 (entry,): rank from 1, level, number of the document within its topic.
    """

    starts: np.ndarray[Any, Any]
    ranks: np.ndarray[Any, Any]
    levels: np.ndarray[Any, Any]
    documents: np.ndarray[Any, Any]


class Cells(NamedTuple):
    """Metrics under gain settings, as numbers.

    Parameters
    ----------
    kinds, divisors, rels, cutoffs
        int64 (cell,): of `KINDS` and `DIVISORS`; lowest relevant level; 0 for no cut-off.
    at_relevant
        bool (cell,): ranks up to the number of relevant documents count.
    gains, stops
        float64 (cell, level): gain, and probability to stop.
    forms
        float64 (cell,): of the probability to stop.
    discount_of, discounts
        int64 (cell,), float64 (row, rank): divisors of gains by rank, from 0.
    discounted
        float64 (cell, rank, level): gain over its divisor.
    """

    kinds: np.ndarray[Any, Any]
    divisors: np.ndarray[Any, Any]
    rels: np.ndarray[Any, Any]
    cutoffs: np.ndarray[Any, Any]
    at_relevant: np.ndarray[Any, Any]
    gains: np.ndarray[Any, Any]
    stops: np.ndarray[Any, Any]
    forms: np.ndarray[Any, Any]
    discount_of: np.ndarray[Any, Any]
    discounts: np.ndarray[Any, Any]
    discounted: np.ndarray[Any, Any]


def has_sparse_form(metric: Metric) -> bool:
    """Whether a metric can be computed from relevant entries."""
    return metric.name in KINDS and not metric.judged_only


def sparse_entries(levels: np.ndarray[Any, Any], documents: np.ndarray[Any, Any]) -> Entries:
    """Return the relevant entries of lists, int8 and int32 (run, topic, rank)."""
    by_topic = levels.transpose(1, 0, 2)
    topic, run, rank = np.nonzero(by_topic > 0)
    counts = np.bincount(topic * levels.shape[0] + run, minlength=levels.shape[0] * levels.shape[1])
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return Entries(
        starts, (rank + 1).astype(np.int32), np.ascontiguousarray(by_topic[topic, run, rank]),
        documents[run, topic, rank].astype(np.int32),
    )  # fmt: skip


def sparse_cells(metrics: Sequence[Metric], gains: np.ndarray[Any, Any], deepest: int) -> Cells:
    """Turn metrics, all with a sparse form, into numbers.

    Parameters
    ----------
    metrics
        One a cell.
    gains
        float64 (cell, level).
    deepest
        Deepest rank of any ideal or other list.
    """
    given = [dict(metric.settings) for metric in metrics]
    bases = [
        np.inf if metric.name == "nCG" else float(str(own.get("b", -1.0)))
        for metric, own in zip(metrics, given, strict=True)
    ]
    forms = np.array([1.0 if own.get("form") == "exp2" else 0.0 for own in given])
    rows = list(dict.fromkeys(bases))
    stops = [
        [stop_probability(gain, own[-1], form) for gain in own] for own, form in zip(gains.tolist(), forms, strict=True)
    ]
    places = np.array([rows.index(base) for base in bases])
    discounts = np.array([[1.0, *(discount(rank, base) for rank in range(1, deepest + 1))] for base in rows])
    return Cells(
        np.array([KINDS[metric.name] for metric in metrics]), np.array([DIVISORS.get(metric.name, BY_NOTHING) for metric in metrics]),
        np.array([metric.rel for metric in metrics]), np.array([metric.cutoff for metric in metrics]),
        np.array([metric.name in ("Rprec", "Rmeasure") for metric in metrics]), np.ascontiguousarray(gains, np.float64),
        np.array(stops, np.float64), forms, places, discounts, gains[:, np.newaxis, :] / discounts[places][:, :, np.newaxis],
    )  # fmt: skip


@inlined
def _ideal_discounted(judged: Any, gains: Any, cutoff: int, discounts: Any) -> float:
    """Discounted gain of the ideal list."""
    rank, total = 0, 0.0
    for level in range(judged.shape[0] - 1, 0, -1):
        for _ in range(judged[level]):
            rank += 1
            if cutoff == 0 or rank <= cutoff:
                total += gains[level] / discounts[rank]
    return total


@inlined
def _divisor(kind: int, judged: Any, gains: Any, cutoff: int, discounts: Any, form: float) -> float:
    """What a metric is divided by in a topic."""
    relevant = n_relevant(judged)
    if kind == BY_CUTOFF:
        return float(cutoff)
    if kind == BY_RELEVANT:
        return float(relevant)
    if kind == BY_FEWER:
        return float(min(cutoff, relevant) if cutoff > 0 else relevant)
    if kind == BY_IDEAL:
        return _ideal_discounted(judged, gains, cutoff, discounts)
    if kind == BY_BLEND:
        return ideal_gain(judged, gains, relevant) + relevant
    if kind == BY_IDEAL_RANK:
        return ideal_gain(judged, gains, cutoff) - ideal_gain(judged, gains, cutoff - 1)
    if kind == BY_CASCADE:
        return ideal_expected_reciprocal_rank(judged, gains, cutoff, form)
    return 1.0


@inlined
def _score_binary(
    kind: int, ranks: Any, levels: Any, bounds: Any, rel: int, limit: int, divisor: float, out: Any
) -> None:
    """Score all lists of a topic with COUNT, AVERAGE, RECIPROCAL or HIT."""
    for k in range(bounds.shape[0] - 1):
        if kind == COUNT:
            out[k] = count_entries(ranks, levels, bounds[k], bounds[k + 1], rel, limit) / divisor
        elif kind == AVERAGE:
            out[k] = sum_precision(ranks, levels, bounds[k], bounds[k + 1], rel, limit) / divisor
        else:
            first = first_rank(ranks, levels, bounds[k], bounds[k + 1], rel, limit)
            out[k] = 0.0 if first == 0 else 1.0 / first if kind == RECIPROCAL else 1.0


@inlined
def _score_blended(
    kind: int, ranks: Any, levels: Any, bounds: Any, rel: int, limit: int, divisor: float, gains: Any, blend: Any, out: Any
) -> None:  # fmt: skip
    """Score all lists of a topic with BLENDED, AT_FIRST, AT_PREFERRED or DOWN_TO_PREFERRED."""
    highest = gains.shape[0] - 1
    for k in range(bounds.shape[0] - 1):
        begin, end, last = bounds[k], bounds[k + 1], limit
        if kind == AT_FIRST:
            last = first_rank(ranks, levels, begin, end, rel, limit)
        elif kind != BLENDED:
            last = preferred_rank(ranks, levels, begin, end, rel, limit, highest)
        out[k] = sum_blended(kind, ranks, levels, begin, end, rel, last, gains, blend) / divisor


@inlined
def _score_graded(
    kind: int, ranks: Any, levels: Any, bounds: Any, rel: int, limit: int, divisor: float, gains: Any, stops: Any, discounted: Any, out: Any
) -> None:  # fmt: skip
    """Score all lists of a topic with GAIN, AT_R, ONE_RANK or CASCADE; 0 where no document has a gain."""
    for k in range(bounds.shape[0] - 1):
        begin, end = bounds[k], bounds[k + 1]
        if divisor == 0.0:
            out[k] = 0.0
        elif kind == GAIN:
            out[k] = sum_discounted(ranks, levels, begin, end, rel, limit, discounted) / divisor
        else:
            out[k] = sum_graded(kind, ranks, levels, begin, end, rel, limit, gains, stops) / divisor


@inlined
def _blends(judged: Any, gains: Any, out: Any) -> None:
    """Write what gain and count are divided by at all ranks, cg_I(r) + r; cg_I is flat beyond the number of relevant documents."""
    relevant, ideal = n_relevant(judged), 0.0
    for rank in range(out.shape[0]):
        if rank <= relevant:
            ideal = ideal_gain(judged, gains, rank)
        out[rank] = ideal + rank


@inlined
def _remaining(entries: Any, place: int, runs: Any, gone: Any, ranks: Any, levels: Any, bounds: Any) -> None:
    """Write the entries of one topic's lists that are not gone, list after list."""
    n = 0
    for k in range(runs.shape[0]):
        bounds[k] = n
        for entry in range(entries.starts[place + runs[k]], entries.starts[place + runs[k] + 1]):
            ranks[n], levels[n] = entries.ranks[entry], entries.levels[entry]
            n += not gone[entries.documents[entry]]
    bounds[runs.shape[0]] = n


@compiled
def score_remaining(
    entries: Any, cells: Any, table_of: Any, n_tables: int, n_all: int, runs: Any, gone: Any, judged: Any, out: Any
) -> None:
    """Score lists without the documents that are gone.

    Parameters
    ----------
    entries, cells
        See `Entries` and `Cells`.
    table_of, n_tables
        int64 (cell,): which cells share sums of the ideal list, -1 for none; from `share_tables`.
    n_all
        Runs of the entries.
    runs
        int64 (kept run,): runs to be scored.
    gone
        bool (topic, document).
    judged
        int64 (topic, level): documents that stay.
    out
        float64 (cell, kept run, topic): written; NaN for a topic without a relevant document.
    """
    blends, bounds = np.empty((n_tables, cells.discounts.shape[1])), np.empty(runs.shape[0] + 1, np.int64)
    own, found, most = np.empty(judged.shape[1], np.int64), np.empty(runs.shape[0]), 1
    for topic in range(judged.shape[0]):
        most = max(most, entries.starts[(topic + 1) * n_all] - entries.starts[topic * n_all])
    # One more place than entries: what is gone is written, too, and then written over.
    ranks, levels = np.empty(most + 1, np.int32), np.empty(most + 1, np.int8)
    for topic in range(judged.shape[0]):
        _remaining(entries, topic * n_all, runs, gone[topic], ranks, levels, bounds)
        filled = 0
        for cell in range(cells.kinds.shape[0]):
            own[:] = judged[topic]
            own[1 : cells.rels[cell]] = 0
            kind, rel, cutoff, gains, relevant = (
                cells.kinds[cell],
                cells.rels[cell],
                cells.cutoffs[cell],
                cells.gains[cell],
                n_relevant(own),
            )
            if table_of[cell] == filled:
                _blends(own, gains, blends[filled])
                filled += 1
            if relevant == 0:
                out[cell, :, topic] = np.nan
                continue
            limit = relevant if cells.at_relevant[cell] else cutoff if cutoff > 0 else NO_LIMIT
            divisor = _divisor(
                cells.divisors[cell], own, gains, cutoff, cells.discounts[cells.discount_of[cell]], cells.forms[cell]
            )
            if kind < BLENDED:
                _score_binary(kind, ranks, levels, bounds, rel, limit, divisor, found)
            elif kind < AT_R:
                _score_blended(kind, ranks, levels, bounds, rel, limit, divisor, gains, blends[table_of[cell]], found)
            else:
                _score_graded(
                    kind,
                    ranks,
                    levels,
                    bounds,
                    rel,
                    limit,
                    divisor,
                    gains,
                    cells.stops[cell],
                    cells.discounted[cell],
                    found,
                )
            out[cell, :, topic] = found


def share_tables(cells: Cells) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return which cells share sums of the ideal list, and how many such tables there are."""
    blended = (cells.kinds >= BLENDED) & (cells.kinds < AT_R)
    keys = [(int(rel), *gains) for rel, gains in zip(cells.rels, cells.gains.tolist(), strict=True)]
    known: dict[tuple[float, ...], int] = {}
    tables = [known.setdefault(key, len(known)) if used else -1 for key, used in zip(keys, blended, strict=True)]
    return np.array(tables, np.int64), np.array(max(1, len(known)))
