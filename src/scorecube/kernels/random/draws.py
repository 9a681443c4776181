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
from scorecube.kernels.random.philox import below, fill_words, philox


class Sampling(IntEnum):
    """How a trial's two topic samples are drawn (Sakai 2005, sections 2 and 3)."""

    DISJOINT = 0
    REPLACEMENT = 1
    INDEPENDENT = 2


@compiled
def topic_samples(
    key: UInt64Array1, sampling: int, n_topics: int, size: int, start: int, stop: int
) -> Int32Array3:
    """Draw both topic samples of the trials start .. stop-1.

    Parameters
    ----------
    key
        uint64 (2,): stream key.
    sampling
        A `Sampling` value. Disjoint requires 2 * size <= n_topics, independent size <= n_topics.
    n_topics, size
        Topics to draw from, topics in each sample.
    start, stop
        Range of trials.

    Returns
    -------
    samples
        int32 (trial, half, draw): positions of topics, 0 .. n_topics-1.
    """
    samples = np.empty((stop - start, 2, size), np.int32)
    words = np.empty(2 * size, np.uint64)
    pools = np.empty((2, n_topics), np.int32)
    for trial in range(start, stop):
        fill_words(key, trial, words)
        draw_samples(words, sampling, n_topics, pools, samples[trial - start])
    return samples


@inlined
def pair_words(key: UInt64Array1, trial: int, pair: int, words: UInt64Array1) -> None:
    """Write the words of one pair of runs in one trial to `words` (position,).

    The counter is (1 + position // 4 + 2**32 * pair, trial, 0, 0); the number of words and the pair are below 2**32.
    """
    n = words.shape[0]
    for block in range((n + 3) // 4):
        quad = philox(
            key[0],
            key[1],
            (np.uint64(pair) << np.uint64(32)) + np.uint64(block + 1),
            np.uint64(trial),
        )
        for k in range(min(4, n - 4 * block)):
            words[4 * block + k] = quad[k]


@inlined
def draw_samples(
    words: UInt64Array1, sampling: int, n_topics: int, pools: Int32Array2, samples: Int32Array2
) -> None:
    """Write both topic samples of a trial.

    Parameters
    ----------
    words
        uint64 (2 * draw,).
    sampling, n_topics
        As of `topic_samples`.
    pools
        int32 (2, topic), overwritten.
    samples
        int32 (half, draw), written: positions of topics.
    """
    size = samples.shape[1]
    if sampling == 1:  # Sampling.REPLACEMENT
        for position in range(2 * size):
            samples[position % 2, position // 2] = below(words[position], n_topics)
        return
    for topic in range(n_topics):
        pools[0, topic] = topic
        pools[1, topic] = topic
    for position in range(2 * size):
        half, draw = position % 2, position // 2
        # Fisher-Yates: disjoint halves share one pool, others have one each.
        pool = pools[0] if sampling == 0 else pools[half]
        used = position if sampling == 0 else draw
        chosen = used + below(words[position], n_topics - used)
        pool[used], pool[chosen] = pool[chosen], pool[used]
        samples[half, draw] = pool[used]


@compiled
def random_subset(
    key: UInt64Array1, trial: int, stream: int, n_items: int, size: int
) -> Int64Array1:
    """Draw a subset without replacement: the first `size` items of a random order.

    Parameters
    ----------
    key
        uint64 (2,): stream key.
    trial, stream
        Address of the words, see `pair_words`; `stream` replaces the pair.
    n_items, size
        Items to draw from, and items drawn, at most all.

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


@compiled
def multiplicities(samples: Int32Array3, n_topics: int) -> Float64Array3:
    """Count how often each sample holds each topic.

    Parameters
    ----------
    samples
        int32 (trial, half, draw): positions of topics.
    n_topics
        Number of topics.

    Returns
    -------
    counts
        float64 (half, trial, topic), the form of a matrix product.
    """
    n_trials, n_halves, size = samples.shape
    counts = np.zeros((n_halves, n_trials, n_topics), np.float64)
    for trial in range(n_trials):
        for half in range(n_halves):
            for draw in range(size):
                counts[half, trial, samples[trial, half, draw]] += 1.0
    return counts


@compiled
def overlap(counts: Float64Array3) -> Int64Array1:
    """Sum over trials the numbers of distinct topics (Sakai 2005, Table 5).

    Parameters
    ----------
    counts
        float64 (2, trial, topic): of `multiplicities`.

    Returns
    -------
    totals
        int64 (3,): distinct topics of the first half, of the second half, and topics common to both.
    """
    totals = np.zeros(3, np.int64)
    for trial in range(counts.shape[1]):
        for topic in range(counts.shape[2]):
            first = counts[0, trial, topic] > 0.0
            second = counts[1, trial, topic] > 0.0
            totals[0] += first
            totals[1] += second
            totals[2] += first and second
    return totals
