"""Topic samples of the swap method, addressed by trial, and their multiplicities.

The draw-th topic of a half is drawn with word 2 * draw + half in all three samplings. So a sample of size c is the
beginning of the sample of size c + 1 with the same seed, and a trial uses exactly 2 * c words.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array3,
    Int32Array2,
    Int32Array3,
    Int64Array1,
    UInt64Array1,
)
from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.random.philox import below, fill_words

WORDS_AT_ONCE = 2**12
"""Random words held while draws are counted, a multiple of 4; the counts do not depend on it."""


class Sampling(IntEnum):
    """How a trial's two topic samples are drawn (Sakai 2005, sections 2 and 3)."""

    DISJOINT = 0
    REPLACEMENT = 1
    INDEPENDENT = 2


def topic_samples(
    key: UInt64Array1, sampling: int, n_topics: int, size: int, start: int, stop: int
) -> Int32Array3:
    """Draw both topic samples of the trials start .. stop-1.

    key: uint64 (2,): stream key.
    sampling: A `Sampling` value. Disjoint requires 2 * size <= n_topics, independent size <= n_topics.
    n_topics, size: Topics to draw from, topics in each sample.
    start, stop: Range of trials.
    Returns samples: int32 (trial, half, draw): positions of topics, 0 .. n_topics-1.
    """
    samples = np.empty((stop - start, 2, size), np.int32)
    words, pools = np.empty(2 * size, np.uint64), np.empty((2, n_topics), np.int32)
    _draw_trials(key, start, sampling, words, pools, samples)
    return samples


@compiled
def _draw_trials(
    key: UInt64Array1,
    start: int,
    sampling: int,
    words: UInt64Array1,
    pools: Int32Array2,
    samples: Int32Array3,
) -> None:
    """Write the result of `topic_samples`; work arrays are those of `draw_samples`."""
    for k in range(samples.shape[0]):
        fill_words(key, start + k, words)
        draw_samples(words, sampling, pools, samples[k])


def topic_counts(
    key: UInt64Array1, sampling: int, n_topics: int, size: int, start: int, stop: int
) -> Float64Array3:
    """Return the `multiplicities` of the samples of `topic_samples`.

    A sample with replacement, which may be far larger than the number of topics, is never held as a whole.

    key, sampling, n_topics, size, start, stop: As of `topic_samples`.
    Returns counts: float64 (half, trial, topic).
    """
    if sampling != Sampling.REPLACEMENT:
        return multiplicities(topic_samples(key, sampling, n_topics, size, start, stop), n_topics)
    counts = np.zeros((2, stop - start, n_topics))
    _count_replaced(key, start, size, np.empty(min(2 * size, WORDS_AT_ONCE), np.uint64), counts)
    return counts


@compiled
def _count_replaced(
    key: UInt64Array1, start: int, size: int, words: UInt64Array1, counts: Float64Array3
) -> None:
    """Add the result of `topic_counts` with replacement to `counts`; the words are overwritten."""
    n_topics = counts.shape[2]
    for trial in range(counts.shape[1]):
        for before in range(0, 2 * size, words.shape[0]):
            part = words[: min(words.shape[0], 2 * size - before)]
            fill_words(key, start + trial, part, 0, before)
            for k in range(part.shape[0]):
                counts[k & 1, trial, below(part[k], n_topics)] += 1.0


@inlined
def draw_samples(
    words: UInt64Array1, sampling: int, pools: Int32Array2, samples: Int32Array2
) -> None:
    """Write both topic samples of a trial.

    words: uint64 (2 * draw,).
    sampling: As of `topic_samples`.
    pools: int32 (2, topic), overwritten.
    samples: int32 (half, draw), written: positions of topics.
    """
    n_topics = pools.shape[1]
    for topic in range(n_topics):
        pools[0, topic] = topic
        pools[1, topic] = topic
    for position in range(2 * samples.shape[1]):
        half, draw = position & 1, position >> 1
        # Fisher-Yates: disjoint halves share one pool, others have one each. With replacement nothing is used up.
        pool, used = half, draw
        if sampling == 0:  # Sampling.DISJOINT
            pool, used = 0, position
        elif sampling == 1:  # Sampling.REPLACEMENT
            used = 0
        chosen = used + below(words[position], n_topics - used)
        samples[half, draw] = pools[pool, chosen]
        if sampling != 1:
            pools[pool, chosen] = pools[pool, used]


def random_subset(
    key: UInt64Array1, trial: int, stream: int, n_items: int, size: int
) -> Int64Array1:
    """Draw a subset without replacement: the first `size` items of a random order.

    key: uint64 (2,): stream key.
    trial, stream: Address of the words, see `fill_words`.
    n_items, size: Items to draw from, and items drawn, at most all.
    Returns items: int64 (size,), in the order of drawing.
    """
    order = np.arange(n_items)
    _shuffle(key, trial, stream, np.empty(size, np.uint64), order)
    return order[:size].copy()


@compiled
def _shuffle(
    key: UInt64Array1, trial: int, stream: int, words: UInt64Array1, order: Int64Array1
) -> None:
    """Put random items first, as many as there are words, which are overwritten."""
    fill_words(key, trial, words, stream)
    for k in range(words.shape[0]):
        chosen = k + below(words[k], order.shape[0] - k)
        item = order[chosen]
        order[chosen] = order[k]
        order[k] = item


def multiplicities(samples: Int32Array3, n_topics: int) -> Float64Array3:
    """Count how often each sample holds each topic.

    samples: int32 (trial, half, draw): positions of topics.
    Returns counts: float64 (half, trial, topic), the form of a matrix product.
    """
    counts = np.zeros((samples.shape[1], samples.shape[0], n_topics))
    _count_topics(samples, counts)
    return counts


@compiled
def _count_topics(samples: Int32Array3, counts: Float64Array3) -> None:
    """Add the result of `multiplicities` to `counts`."""
    n_trials, n_halves, size = samples.shape
    for trial in range(n_trials):
        for half in range(n_halves):
            for draw in range(size):
                counts[half, trial, samples[trial, half, draw]] += 1.0


def overlap(counts: Float64Array3) -> Int64Array1:
    """Sum over trials the numbers of distinct topics (Sakai 2005, Table 5).

    counts: float64 (2, trial, topic): of `multiplicities`.
    Returns totals: int64 (3,): distinct topics of the first half, of the second half, and topics common to both.
    """
    first, second = counts > 0.0
    return np.array([np.count_nonzero(drawn) for drawn in (first, second, first & second)])
