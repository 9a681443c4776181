"""Samples of topics, signs and subsets, each a function of its address: seed, purpose, trial.

Swap: the draw-th topic of a half is drawn with word 2 * draw + half in all three samplings. So a
sample of size c is the beginning of the sample of size c + 1 with the same seed, and a trial uses
exactly 2 * c words. Bootstrap: a draw uses the word at its position in the trial. 64 signs share
one word.

key: uint64 (2,), in all functions: of `stream_key`.
start, stop: Range of trials start .. stop-1.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array3,
    Int8Array2,
    Int32Array2,
    Int32Array3,
    Int64Array1,
    UInt64Array1,
)
from scorecube.kernels.jit import compiled
from scorecube.kernels.random.philox import NONE, below, fill_words

WORDS_AT_ONCE = 2**12
"""Random words held while draws are counted, a multiple of 4; the counts do not depend on it."""


class Sampling(IntEnum):
    """How a trial's two topic samples are drawn (Sakai 2005, sections 2 and 3)."""

    DISJOINT = 0
    REPLACEMENT = 1
    INDEPENDENT = 2


@compiled
def topic_samples(
    key: UInt64Array1,
    sampling: int,
    n_topics: int,
    size: int,
    start: int,
    stop: int,
    stream: int = 0,
) -> Int32Array3:
    """Draw both topic samples of trials.

    sampling: A `Sampling` value. Disjoint requires 2 * size <= n_topics, independent size <=
        n_topics.
    n_topics, size: Topics to draw from, topics in each sample.
    stream: Of the words, such as a pair of runs with samples of its own.
    Returns samples: int32 (trial, half, draw): positions of topics, 0 .. n_topics-1.
    """
    samples = np.empty((stop - start, 2, size), np.int32)
    words = np.empty(2 * size, np.uint64)
    pools = np.empty((2, n_topics), np.int32)
    for k in range(stop - start):
        fill_words(key, start + k, words, stream, NONE)
        draw_samples(words, sampling, pools, samples[k])
    return samples


@compiled
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
        half = position & 1
        draw = position >> 1
        # Fisher-Yates: disjoint halves share one pool, others have one each. With replacement
        # nothing is used up.
        pool = half
        used = draw
        if sampling == 0:  # Sampling.DISJOINT
            pool = 0
            used = position
        elif sampling == 1:  # Sampling.REPLACEMENT
            used = 0
        chosen = used + below(words[position], n_topics - used)
        samples[half, draw] = pools[pool, chosen]
        if sampling != 1:
            pools[pool, chosen] = pools[pool, used]


def topic_counts(
    key: UInt64Array1,
    sampling: int,
    n_topics: int,
    size: int,
    start: int,
    stop: int,
    stream: int = 0,
) -> Float64Array3:
    """Return the `multiplicities` of the samples of `topic_samples`.

    A sample with replacement, which may be far larger than the number of topics, is never held as a
    whole.

    Returns counts: float64 (half, trial, topic).
    """
    if sampling == Sampling.REPLACEMENT:
        return _replaced(key, stream, n_topics, size, start, stop)
    samples = topic_samples(key, sampling, n_topics, size, start, stop, stream)
    return multiplicities(samples, n_topics)


@compiled
def _replaced(
    key: UInt64Array1, stream: int, n_topics: int, size: int, start: int, stop: int
) -> Float64Array3:
    """Return `topic_counts` with replacement."""
    counts = np.zeros((2, stop - start, n_topics))
    words = np.empty(min(2 * size, WORDS_AT_ONCE), np.uint64)
    for trial in range(stop - start):
        for before in range(0, 2 * size, words.shape[0]):
            part = words[: min(words.shape[0], 2 * size - before)]
            fill_words(key, start + trial, part, stream, before)
            for k in range(part.shape[0]):
                counts[k & 1, trial, below(part[k], n_topics)] += 1.0
    return counts


@compiled
def multiplicities(samples: Int32Array3, n_topics: int) -> Float64Array3:
    """Count how often each sample holds each topic.

    samples: int32 (trial, half, draw): positions of topics.
    Returns counts: float64 (half, trial, topic), the form of a matrix product.
    """
    n_trials, n_halves, size = samples.shape
    counts = np.zeros((n_halves, n_trials, n_topics))
    for trial in range(n_trials):
        for half in range(n_halves):
            for draw in range(size):
                counts[half, trial, samples[trial, half, draw]] += 1.0
    return counts


def overlap(counts: Float64Array3) -> Int64Array1:
    """Sum over trials the numbers of distinct topics (Sakai 2005, Table 5).

    counts: float64 (2, trial, topic): of `multiplicities`.
    Returns totals: int64 (3,): distinct topics of the first half, of the second half, and topics
        common to both.
    """
    first, second = counts > 0.0
    return np.array([np.count_nonzero(drawn) for drawn in (first, second, first & second)])


@compiled
def bootstrap_samples(key: UInt64Array1, n_topics: int, start: int, stop: int) -> Int32Array3:
    """Draw as many topics as there are, with replacement, in each trial.

    Returns samples: int32 (trial, half, draw) with one half: positions of topics, 0 .. n_topics-1.
    """
    samples = np.empty((stop - start, 1, n_topics), np.int32)
    words = np.empty(n_topics, np.uint64)
    for trial in range(stop - start):
        fill_words(key, start + trial, words, NONE, NONE)
        for draw in range(n_topics):
            samples[trial, 0, draw] = below(words[draw], n_topics)
    return samples


@compiled
def sign_columns(key: UInt64Array1, n_topics: int, start: int, stop: int) -> Int8Array2:
    """Draw a sign for each topic in each trial.

    Returns signs: int8 (topic, trial): -1 or 1.
    """
    signs = np.empty((n_topics, stop - start), np.int8)
    words = np.empty((n_topics + 63) // 64, np.uint64)
    for trial in range(stop - start):
        fill_words(key, start + trial, words, NONE, NONE)
        for topic in range(n_topics):
            bit = np.int64((words[topic // 64] >> np.uint64(topic % 64)) & np.uint64(1))
            signs[topic, trial] = 1 - 2 * bit
    return signs


@compiled
def random_subset(
    key: UInt64Array1, trial: int, stream: int, n_items: int, size: int
) -> Int64Array1:
    """Draw a subset without replacement: the first `size` items of a random order.

    trial, stream: Address of the words, see `fill_words`.
    n_items, size: Items to draw from, and items drawn, at most all.
    Returns items: int64 (size,), in the order of drawing.
    """
    order = np.arange(n_items)
    words = np.empty(size, np.uint64)
    fill_words(key, trial, words, stream, NONE)
    for k in range(size):
        chosen = k + below(words[k], n_items - k)
        order[k], order[chosen] = order[chosen], order[k]
    return order[:size].copy()
