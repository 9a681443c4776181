"""Ranked lists of which some documents become unjudged."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import BoolArray2, Int8Array3, Int32Array3, Int64Array1
from scorecube.kernels.jit import compiled


def without_documents(
    levels: Int8Array3,
    ranks: Int32Array3,
    documents: Int32Array3,
    gone: BoolArray2,
    runs: Int64Array1,
    topics: Int64Array1,
) -> tuple[Int8Array3, Int32Array3]:
    """Return the judged documents of some lists that stay judged.

    levels, ranks: int8 and int32 (run, topic, entry): of `scorecube.metrics.common.Lists`.
    documents: int32 (run, topic, entry): number of the document within its topic.
    gone: bool (topic, document): documents that become unjudged.
    runs, topics: int64: positions of the lists that are wanted.
    Returns levels, ranks: int8 and int32 (wanted run, wanted topic, entry).
    """
    shape = (len(runs), len(topics), levels.shape[2])
    kept_levels = np.empty(shape, np.int8)
    kept_ranks = np.empty(shape, np.int32)
    _keep(levels, ranks, documents, gone, runs, topics, kept_levels, kept_ranks)
    return kept_levels, kept_ranks


@compiled
def _keep(
    levels: Int8Array3,
    ranks: Int32Array3,
    documents: Int32Array3,
    gone: BoolArray2,
    runs: Int64Array1,
    topics: Int64Array1,
    kept_levels: Int8Array3,
    kept_ranks: Int32Array3,
) -> None:
    """Write the documents that stay, one behind the other, then level -1 and the largest rank."""
    n_entries = levels.shape[2]
    for i in range(runs.shape[0]):
        for j in range(topics.shape[0]):
            run = runs[i]
            topic = topics[j]
            kept = np.int64(0)
            entry = 0
            while entry < n_entries and levels[run, topic, entry] >= 0:
                kept_levels[i, j, kept] = levels[run, topic, entry]
                kept_ranks[i, j, kept] = ranks[run, topic, entry]
                # Without a branch: which documents are gone is hard to predict.
                kept += 1 - np.int64(gone[topic, documents[run, topic, entry]])
                entry += 1
            kept_levels[i, j, kept:] = -1
            kept_ranks[i, j, kept:] = 2**31 - 1
