"""Topic samples of the swap method, addressed by trial, and their multiplicities.

Word 2 * draw + half serves the draw-th topic of a half, in all three samplings. So a sample of size c is the
beginning of the sample of size c + 1 with the same seed, and a trial uses exactly 2 * c words.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.random.philox import below, fill_words, philox


class Sampling(IntEnum):
    """How a trial's two topic samples are drawn (Sakai 2005, sections 2 and 3)."""

    DISJOINT = 0
    REPLACEMENT = 1
    INDEPENDENT = 2


@compiled
def topic_samples(key: Any, sampling: int, n_topics: int, size: int, start: int, stop: int) -> Any:
    """Draw both topic samples of the trials start .. stop-1.

    Parameters
    ----------
    key
        Stream key, uint64 of shape (2,).
    sampling
        A `Sampling` value. Disjoint needs 2 * size <= n_topics, independent size <= n_topics.
    n_topics, size
        Topics to draw from, topics in each sample.
    start, stop
        Range of trials.

    Returns
    -------
    samples
        int32 of shape (trial, half, draw): topic positions 0 .. n_topics-1.
    """
    samples = np.empty((stop - start, 2, size), np.int32)
    words = np.empty(2 * size, np.uint64)
    pools = np.empty((2, n_topics), np.int32)
    for trial in range(start, stop):
        fill_words(key, trial, words)
        draw_samples(words, sampling, n_topics, pools, samples[trial - start])
    return samples


@inlined
def pair_words(key: Any, trial: int, pair: int, words: Any) -> None:
    """Write the words of one pair of runs in one trial: counter (1 + position // 4 + 2**32 * pair, trial, 0, 0)."""
    n = words.shape[0]
    for block in range((n + 3) // 4):
        quad = philox(key[0], key[1], (np.uint64(pair) << np.uint64(32)) + np.uint64(block + 1), np.uint64(trial))
        for k in range(min(4, n - 4 * block)):
            words[4 * block + k] = quad[k]


@inlined
def draw_samples(words: Any, sampling: int, n_topics: int, pools: Any, samples: Any) -> None:
    """Turn words into both topic samples, int32 of shape (half, draw); `pools` is working space (half, topic)."""
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
        # Fisher-Yates: one pool for both halves if they are to be disjoint, else one pool each.
        pool = pools[0] if sampling == 0 else pools[half]
        used = position if sampling == 0 else draw
        chosen = used + below(words[position], n_topics - used)
        pool[used], pool[chosen] = pool[chosen], pool[used]
        samples[half, draw] = pool[used]


@compiled
def multiplicities(samples: Any, n_topics: int) -> Any:
    """Count how often each topic stands in each sample.

    Parameters
    ----------
    samples
        int32 of shape (trial, half, draw).
    n_topics
        Number of topics.

    Returns
    -------
    counts
        float64 of shape (half, trial, topic), ready for a matrix product.
    """
    n_trials, n_halves, size = samples.shape
    counts = np.zeros((n_halves, n_trials, n_topics), np.float64)
    for trial in range(n_trials):
        for half in range(n_halves):
            for draw in range(size):
                counts[half, trial, samples[trial, half, draw]] += 1.0
    return counts


@compiled
def overlap(counts: Any) -> Any:
    """Sum over trials the distinct topics of each half and those common to both (Sakai 2005, Table 5).

    Parameters
    ----------
    counts
        float64 of shape (2, trial, topic).

    Returns
    -------
    totals
        int64 of shape (3,): distinct topics of the first half, of the second half, common topics.
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
