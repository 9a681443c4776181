"""Teams that contributed judged documents to pools, and pools without some teams.

The teams that contributed a document are the bits of its words.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import (
    BoolArray2,
    Int8Array2,
    Int8Array3,
    Int32Array3,
    Int64Array1,
    Int64Array2,
    UInt64Array1,
    UInt64Array2,
    UInt64Array3,
)
from scorecube.kernels.jit import compiled

WORD = 64
"""Teams per word."""


def pool_words(
    documents: Int32Array3, team_of: Int64Array1, depth: int, n_documents: int, n_words: int
) -> UInt64Array3:
    """Mark the teams whose runs have a document among their first ranks.

    documents: int32 (run, topic, rank): number of the judged document within its topic, -1 for none.
    team_of: int64 (run,): number of the run's team.
    depth: Number of first ranks: the pool depth.
    n_documents, n_words: Largest number of documents of a topic, and words for the bits of all teams.
    Returns words: uint64 (topic, document, word): bit `team % 64` of word `team // 64` is set if the team contributed
        the document.
    """
    words = np.zeros((documents.shape[1], n_documents, n_words), np.uint64)
    _mark_teams(documents, team_of, min(depth, documents.shape[2]), words)
    return words


@compiled
def _mark_teams(
    documents: Int32Array3, team_of: Int64Array1, n_ranks: int, words: UInt64Array3
) -> None:
    for run in range(documents.shape[0]):
        word, bit = team_of[run] // WORD, np.uint64(1) << np.uint64(team_of[run] % WORD)
        for topic in range(documents.shape[1]):
            for rank in range(n_ranks):
                document = documents[run, topic, rank]
                if document >= 0:
                    words[topic, document, word] |= bit


@compiled
def leave_out(
    words: UInt64Array2,
    topics: Int64Array1,
    documents: Int64Array1,
    levels: Int64Array1,
    gone: BoolArray2,
    judged: Int64Array2,
    left_out: UInt64Array1,
) -> None:
    """Remove the documents that only left-out teams contributed; count the others.

    words: uint64 (pooled document, word): bits of the teams that contributed the document.
    topics, documents, levels: int64 (pooled document,): its topic, its number within the topic, and its relevance
        level, -1 for not judged.
    gone: bool (topic, document): set to True for removed documents.
    judged: int64 (topic, level), added to: judged documents that stay.
    left_out: uint64 (word,): bits of the teams that are left out.
    """
    for k in range(topics.shape[0]):
        others = np.uint64(0)
        for word in range(words.shape[1]):
            others |= words[k, word] & ~left_out[word]
        if others == 0:
            gone[topics[k], documents[k]] = True
        elif levels[k] >= 0:
            judged[topics[k], levels[k]] += 1


def remaining_levels(
    levels: Int8Array3, documents: Int32Array3, gone: BoolArray2, runs: Int64Array1
) -> Int8Array3:
    """Return the levels at ranks of some runs, -1 where the document was removed.

    levels, documents: int8 and int32 (run, topic, rank): level and number of the document, -1 for unjudged.
    gone: bool (topic, document): removed documents.
    runs: int64 (kept run,).
    Returns levels: int8 (kept run, topic, rank).
    """
    result = np.empty((runs.shape[0], *levels.shape[1:]), np.int8)
    _remove_levels(levels, documents, gone, runs, result)
    return result


@compiled
def _remove_levels(
    levels: Int8Array3,
    documents: Int32Array3,
    gone: BoolArray2,
    runs: Int64Array1,
    result: Int8Array3,
) -> None:
    for k in range(runs.shape[0]):
        run = runs[k]
        for topic in range(levels.shape[1]):
            for rank in range(levels.shape[2]):
                document = documents[run, topic, rank]
                kept = document < 0 or not gone[topic, document]
                result[k, topic, rank] = levels[run, topic, rank] if kept else -1


@compiled
def same_levels(levels: Int8Array3, documents: Int32Array3, known: Int8Array2) -> bool:
    """Return whether all levels at ranks are the levels of the documents there.

    levels, documents: int8 and int32 (run, topic, rank): level and number of the document, -1 for unjudged.
    known: int8 (topic, document): levels of documents.
    """
    for run in range(levels.shape[0]):
        for topic in range(levels.shape[1]):
            differing = 0
            for rank in range(levels.shape[2]):
                document = documents[run, topic, rank]
                differing += levels[run, topic, rank] != (
                    known[topic, document] if document >= 0 else -1
                )
            if differing > 0:
                return False
    return True
