"""Lists, judged documents and metrics as arrays of numbers, prepared once for many rescorings of the same lists.

Most metrics depend only on the ranks of relevant documents. Lists are therefore kept as these entries, and metrics as the numbers that
their `EntryForm` stands for; `rescore` computes scores from both.
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from scorecube.kernels.jit import compiled
from scorecube.metrics.cascade import stop_probability
from scorecube.metrics.cumulative_gain import discount
from scorecube.metrics.registry import Metric
from scorecube.metrics.without_documents.entry_form import BLENDED, EntryForm

WORD = 64


class Entries(NamedTuple):
    """Relevant documents of all lists; the list of a topic and run has the number `topic * n_runs + run`.

    starts: uint64 (list + 1,): where each list's entries begin. Compiled code does not check unsigned indices for
        negative values.
    ranks, levels, documents: uint32, uint8, uint32 (entry,): rank from 1, relevance level, number of the document among
        the relevant ones of its topic.
    holds: uint64 (list, word): a bit for each of these documents, set if the list holds it.
    """

    starts: npt.NDArray[np.uint64]
    ranks: npt.NDArray[np.uint32]
    levels: npt.NDArray[np.uint8]
    documents: npt.NDArray[np.uint32]
    holds: npt.NDArray[np.uint64]


class Documents(NamedTuple):
    """Relevant documents of all topics, topic after topic.

    starts: int64 (topic + 1,): where each topic's documents begin.
    words: uint64 (document, word): a bit for each team, set if the team contributed the document.
    levels: int64 (document,): relevance level.
    always: bool (document,): whether the document stays judged whichever teams are left out.
    """

    starts: npt.NDArray[np.int64]
    words: npt.NDArray[np.uint64]
    levels: npt.NDArray[np.int64]
    always: npt.NDArray[np.bool_]


class Number(IntEnum):
    """Columns of `Cells.numbers`."""

    TOTAL = 0
    """`Total` of the metric."""
    DIVISOR = 1
    """`Divisor` of the metric."""
    REL = 2
    """Lowest relevant level."""
    CUTOFF = 3
    """Cut-off, 0 for none."""
    TO_R = 4
    """1 if the ranks down to the number of relevant documents count, in place of those down to the cut-off."""
    BLEND = 5
    """Number of the table of cg_I(r) + r, shared by cells with the same gains and lowest relevant level and numbered in the
    order of their first use; -1 for none."""


class Cells(NamedTuple):
    """Metrics under gain settings, as numbers.

    numbers: int64 (cell, number): see `Number`; one array, as compiled functions take every array apart.
    gains, stops: float64 (cell, level): gain, and probability of stopping at a document.
    discounted: float64 (cell, rank, level): gain over the rank's discount; rank 0 is not used.
    """

    numbers: npt.NDArray[np.int64]
    gains: npt.NDArray[np.float64]
    stops: npt.NDArray[np.float64]
    discounted: npt.NDArray[np.float64]


class Tables(NamedTuple):
    """Everything that rescoring needs and that does not depend on which documents are lost.

    entries, documents, cells: Lists, documents and metrics.
    rows: int64 (cell,): row of each cell in arrays of scores, which may have further rows.
    sums: float64 (cell, topic, run): totals over whole lists, see `rescore.score_topic`; no cells if these are not
        known yet.
    whole: float64 (row, topic, run): scores if no document is lost; no topics if these are not known yet.
    """

    entries: Entries
    documents: Documents
    cells: Cells
    rows: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float64]
    whole: npt.NDArray[np.float64]


def relevant_entries(
    levels: npt.NDArray[np.int8], documents: npt.NDArray[np.int32], known: npt.NDArray[np.int8]
) -> Entries:
    """Return the relevant entries of lists.

    levels, documents: int8 and int32 (run, topic, rank): relevance level at each rank, and number of the document
        within its topic.
    known: int8 (topic, document): relevance level of each document.
    Returns entries: Of all lists, those of the first topic first.
    """
    most = int((known > 0).sum(axis=1).max(initial=0))
    number = np.where(known > 0, np.cumsum(known > 0, axis=1) - 1, 0).astype(np.uint32)
    starts = np.concatenate([[0], np.cumsum((levels > 0).sum(axis=2).T)]).astype(np.uint64)
    entries = Entries(
        starts,
        ranks=np.empty(starts[-1], np.uint32),
        levels=np.empty(starts[-1], np.uint8),
        documents=np.empty(starts[-1], np.uint32),
        holds=np.zeros((len(starts) - 1, max(1, -(-most // WORD))), np.uint64),
    )
    _fill_entries(levels, documents, number, entries)
    return entries


@compiled
def _fill_entries(levels: Any, documents: Any, number: Any, entries: Any) -> None:
    n_runs, n_topics, n_ranks = levels.shape
    for run in range(n_runs):
        for topic in range(n_topics):
            place = topic * n_runs + run
            k = entries.starts[place]
            for rank in range(n_ranks):
                if levels[run, topic, rank] > 0:
                    document = number[topic, documents[run, topic, rank]]
                    entries.ranks[k], entries.levels[k] = rank + 1, levels[run, topic, rank]
                    entries.documents[k] = document
                    entries.holds[place, document // WORD] |= np.uint64(1) << np.uint64(
                        document % WORD
                    )
                    k += np.uint64(1)


def metric_cells(metrics: Sequence[Metric], gains: npt.NDArray[np.float64], deepest: int) -> Cells:
    """Return metrics, all with an entry form, as numbers.

    metrics: One a cell.
    gains: float64 (cell, level): gain of each level.
    deepest: Deepest rank of any ideal or other list.
    Returns cells: In the order of `metrics`.
    """
    forms = [_entry_form(metric) for metric in metrics]
    bases = [_number(metric, form.base) for metric, form in zip(metrics, forms, strict=True)]
    stop_forms = [
        _number(metric, form.form or 0.0) for metric, form in zip(metrics, forms, strict=True)
    ]
    values = np.ascontiguousarray(gains, np.float64)
    discounted = np.empty((len(metrics), deepest + 1, gains.shape[1]))
    stops = np.empty(gains.shape)
    _fill_cells(values, np.array(bases), np.array(stop_forms), discounted, stops)
    shared: dict[tuple[float, ...], int] = {}
    blends = [
        shared.setdefault((metric.rel, *own), len(shared)) if form.total in BLENDED else -1
        for metric, form, own in zip(metrics, forms, gains.tolist(), strict=True)
    ]
    numbers = [
        (form.total, form.divisor, metric.rel, metric.cutoff, form.to_r, blend)
        for metric, form, blend in zip(metrics, forms, blends, strict=True)
    ]
    return Cells(
        np.array(numbers, np.int64).reshape(len(metrics), len(Number)), values, stops, discounted
    )


@compiled
def _fill_cells(gains: Any, bases: Any, forms: Any, discounted: Any, stops: Any) -> None:
    """Write `Cells.discounted` and `Cells.stops`."""
    n_levels = gains.shape[1]
    for cell in range(gains.shape[0]):
        for level in range(n_levels):
            stops[cell, level] = stop_probability(
                gains[cell, level], gains[cell, n_levels - 1], forms[cell]
            )
        for rank in range(discounted.shape[1]):
            # Rank 0 is not used.
            divisor = discount(rank, bases[cell]) if rank > 0 else 1.0
            for level in range(n_levels):
                discounted[cell, rank, level] = gains[cell, level] / divisor


def _entry_form(metric: Metric) -> EntryForm:
    form = metric.entry_form
    if form is None:
        raise TypeError(f"{metric} does not follow from relevant entries alone")
    return form


def _number(metric: Metric, given: float | str) -> float:
    """Return a number, or the value of the parameter of that name."""
    return metric.values(given)[0] if isinstance(given, str) else given
