"""Metrics from relevant entries alone, for many evaluations of the same lists with ever fewer documents: what is known beforehand.

Most metrics ask of a list only where relevant documents stand. So lists are kept as these entries, and metrics as numbers; `rescoring`
computes scores from both. Metrics that need judged non-relevant documents have no such form.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from scorecube.kernels.jit import compiled
from scorecube.metrics.cascade import stop_probability
from scorecube.metrics.cumulative_gain import discount
from scorecube.metrics.registry import Metric
from scorecube.metrics.without_documents.list_sums import (
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
)

KINDS = {
    "P": COUNT, "Recall": COUNT, "Rprec": COUNT, "AP": AVERAGE, "RR": RECIPROCAL, "Hit": HIT, "Q": BLENDED, "O": AT_FIRST,
    "P-measure": AT_PREFERRED, "P+": DOWN_TO_PREFERRED, "Rmeasure": AT_R, "nCG": GAIN, "nDCG": GAIN, "nG": ONE_RANK,
    "ERR": CASCADE, "nERR": CASCADE,
}  # fmt: skip
"""What is summed up over relevant entries; what it is divided by depends on the topic, see `rescoring`."""
BY_CUTOFF, BY_RELEVANT, BY_FEWER, BY_IDEAL, BY_BLEND, BY_IDEAL_RANK, BY_CASCADE, BY_NOTHING = 0, 1, 2, 3, 4, 5, 6, 7
DIVISORS = {
    "P": BY_CUTOFF, "Recall": BY_RELEVANT, "Rprec": BY_RELEVANT, "AP": BY_FEWER, "Q": BY_FEWER, "Rmeasure": BY_BLEND, "nCG": BY_IDEAL,
    "nDCG": BY_IDEAL, "nG": BY_IDEAL_RANK, "nERR": BY_CASCADE,
}  # fmt: skip
WORD = 64


class Entries(NamedTuple):
    """Relevant documents of all lists; the list of a topic and run is number `topic * runs + run`.

    Parameters
    ----------
    starts
        uint64 (list + 1,): where each list's entries begin. Indices without a sign need no look at it.
    ranks, levels, documents
        uint32, uint8, uint32 (entry,): rank from 1, level, number of the document among the relevant ones of its topic.
    holds
        uint64 (list, word): a bit for each of these documents that a list has.
    """

    starts: np.ndarray[Any, Any]
    ranks: np.ndarray[Any, Any]
    levels: np.ndarray[Any, Any]
    documents: np.ndarray[Any, Any]
    holds: np.ndarray[Any, Any]


class Documents(NamedTuple):
    """Relevant documents of all topics, topic after topic.

    Parameters
    ----------
    starts
        int64 (topic + 1,): where each topic's documents begin.
    words
        uint64 (document, word): a bit for each team that contributed it.
    levels
        int64 (document,).
    always
        bool (document,): stays whoever is left out.
    """

    starts: np.ndarray[Any, Any]
    words: np.ndarray[Any, Any]
    levels: np.ndarray[Any, Any]
    always: np.ndarray[Any, Any]


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
    discounts
        float64 (row, rank): divisors of gains by rank, from 0.
    discounted
        float64 (cell, rank, level): gain over its divisor.
    tables
        int64 (cell,): which cells share sums of the ideal list, numbered in order; -1 for none.
    """

    kinds: np.ndarray[Any, Any]
    divisors: np.ndarray[Any, Any]
    rels: np.ndarray[Any, Any]
    cutoffs: np.ndarray[Any, Any]
    at_relevant: np.ndarray[Any, Any]
    gains: np.ndarray[Any, Any]
    stops: np.ndarray[Any, Any]
    forms: np.ndarray[Any, Any]
    discounts: np.ndarray[Any, Any]
    discounted: np.ndarray[Any, Any]
    tables: np.ndarray[Any, Any]


def has_sparse_form(metric: Metric) -> bool:
    """Whether a metric can be computed from relevant entries."""
    return metric.name in KINDS and not metric.judged_only


def sparse_entries(
    levels: np.ndarray[Any, Any], documents: np.ndarray[Any, Any], known: np.ndarray[Any, Any]
) -> Entries:
    """Return the relevant entries of lists.

    Parameters
    ----------
    levels, documents
        int8 and int32 (run, topic, rank): level at each rank, and number of the document within its topic.
    known
        int8 (topic, document): level of each document.
    """
    most = int((known > 0).sum(axis=1).max(initial=0))
    number = np.where(known > 0, np.cumsum(known > 0, axis=1) - 1, 0).astype(np.uint32)
    starts = np.concatenate([[0], np.cumsum((levels > 0).sum(axis=2).T)]).astype(np.uint64)
    entries = Entries(
        starts, np.empty(starts[-1], np.uint32), np.empty(starts[-1], np.uint8), np.empty(starts[-1], np.uint32),
        np.zeros((len(starts) - 1, max(1, -(-most // WORD))), np.uint64),
    )  # fmt: skip
    _list_entries(levels, documents, number, entries)
    return entries


@compiled
def _list_entries(levels: Any, documents: Any, number: Any, entries: Any) -> None:
    n_runs, n_topics, n_ranks = levels.shape
    for run in range(n_runs):
        for topic in range(n_topics):
            each = topic * n_runs + run
            k = entries.starts[each]
            for rank in range(n_ranks):
                if levels[run, topic, rank] > 0:
                    document = number[topic, documents[run, topic, rank]]
                    entries.ranks[k], entries.levels[k] = rank + 1, levels[run, topic, rank]
                    entries.documents[k] = document
                    entries.holds[each, document // WORD] |= np.uint64(1) << np.uint64(document % WORD)
                    k += np.uint64(1)


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
    forms = np.array([1.0 if own.get("form") == "exp2" else 0.0 for own in given], np.float64)
    rows = list(dict.fromkeys(bases)) or [-1.0]
    stops = [
        [stop_probability(gain, own[-1], form) for gain in own] for own, form in zip(gains.tolist(), forms, strict=True)
    ]
    places = np.array([rows.index(base) for base in bases], np.int64)
    discounts = np.array([[1.0, *(discount(rank, base) for rank in range(1, deepest + 1))] for base in rows])

    def whole(numbers: Iterable[int]) -> np.ndarray[Any, Any]:
        return np.array(list(numbers), np.int64)

    return Cells(
        whole(KINDS[metric.name] for metric in metrics), whole(DIVISORS.get(metric.name, BY_NOTHING) for metric in metrics),
        whole(metric.rel for metric in metrics), whole(metric.cutoff for metric in metrics),
        np.array([metric.name in ("Rprec", "Rmeasure") for metric in metrics], bool), np.ascontiguousarray(gains, np.float64),
        np.array(stops, np.float64).reshape(gains.shape), forms, discounts, gains[:, np.newaxis, :] / discounts[places][:, :, np.newaxis],
        _share_tables(metrics, gains),
    )  # fmt: skip


def _share_tables(metrics: Sequence[Metric], gains: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    known: dict[tuple[float, ...], int] = {}
    return np.array([
        known.setdefault((metric.rel, *own), len(known)) if BLENDED <= KINDS[metric.name] < AT_R else -1
        for metric, own in zip(metrics, gains.tolist(), strict=True)
    ], np.int64)  # fmt: skip
