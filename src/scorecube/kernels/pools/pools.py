"""Which teams contributed which judged document, as bits, and what is gone without some of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled
from scorecube.kernels.random.draws import pair_words
from scorecube.kernels.random.philox import below

WORD = 64


@compiled
def pool_words(documents: Any, team_of: Any, depth: int, n_documents: int, n_words: int) -> Any:
    """Mark the teams whose runs have a judged document among their first ranks.

    Parameters
    ----------
    documents
        int32 (run, topic, rank): number of the judged document within its topic, -1 for none.
    team_of
        int64 (run,).
    depth
        Ranks that count.
    n_documents, n_words
        Most documents of a topic, words for the bits of all teams.

    Returns
    -------
    words
        uint64 (topic, document, word): bit `team % 64` of word `team // 64` is set if the team contributed the document.
    """
    n_runs, n_topics, n_ranks = documents.shape
    words = np.zeros((n_topics, n_documents, n_words), np.uint64)
    for run in range(n_runs):
        word, bit = team_of[run] // WORD, np.uint64(1) << np.uint64(team_of[run] % WORD)
        for topic in range(n_topics):
            for rank in range(min(depth, n_ranks)):
                document = documents[run, topic, rank]
                if document >= 0:
                    words[topic, document, word] |= bit
    return words


@compiled
def leave_out(words: Any, topics: Any, documents: Any, levels: Any, gone: Any, judged: Any, left_out: Any) -> None:
    """Mark the documents that only teams left out contributed, and count the judged ones that stay.

    Parameters
    ----------
    words
        uint64 (pooled document, word): bits of the teams that contributed it.
    topics, documents, levels
        int64 (pooled document,): its topic, its number within the topic, its level, -1 for not judged.
    gone, judged
        bool (topic, document), int64 (topic, level): what holds for all other documents; the pooled ones are added in place.
    left_out
        uint64 (word,): bits of the teams that are left out.
    """
    for k in range(topics.shape[0]):
        others = np.uint64(0)
        for word in range(words.shape[1]):
            others |= words[k, word] & ~left_out[word]
        if others == 0:
            gone[topics[k], documents[k]] = True
        elif levels[k] >= 0:
            judged[topics[k], levels[k]] += 1


@compiled
def remaining_levels(levels: Any, documents: Any, gone: Any, runs: Any) -> Any:
    """Return the levels at ranks of some runs, -1 where the document is gone.

    Parameters
    ----------
    levels, documents
        int8 and int32 (run, topic, rank).
    gone
        bool (topic, document).
    runs
        int64 (kept run,).
    """
    n_topics, n_ranks = levels.shape[1:]
    result = np.empty((runs.shape[0], n_topics, n_ranks), np.int8)
    for k in range(runs.shape[0]):
        for topic in range(n_topics):
            for rank in range(n_ranks):
                document = documents[runs[k], topic, rank]
                kept = document < 0 or not gone[topic, document]
                result[k, topic, rank] = levels[runs[k], topic, rank] if kept else -1
    return result


@compiled
def same_levels(levels: Any, documents: Any, known: Any) -> bool:
    """Whether all levels at ranks, int8 (run, topic, rank), are those of the documents there (int32; -1 for none), int8 (topic, document)."""
    for run in range(levels.shape[0]):
        for topic in range(levels.shape[1]):
            differing = 0
            for rank in range(levels.shape[2]):
                document = documents[run, topic, rank]
                differing += levels[run, topic, rank] != (known[topic, document] if document >= 0 else -1)
            if differing > 0:
                return False
    return True


@compiled
def random_subset(key: Any, trial: int, stream: int, n_items: int, size: int) -> Any:
    """Draw a subset without replacement: the first `size` items of a random order.

    Parameters
    ----------
    key
        Stream key.
    trial, stream
        Which words serve: positions 0 .. size - 1 of a trial and a stream of it, below 2**32.
    n_items, size
        Items to draw from, items drawn; at most all.

    Returns
    -------
    items
        int64 (size,), in the order of drawing.
    """
    words, order = np.empty(size, np.uint64), np.arange(n_items)
    pair_words(key, trial, stream, words)
    for k in range(size):
        chosen = k + below(words[k], n_items - k)
        order[k], order[chosen] = order[chosen], order[k]
    return order[:size].copy()
