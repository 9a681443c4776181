"""Bootstrap samples and signs of hypothesis tests, addressed by trial.

A draw uses the word at its position in the trial, 64 signs share one word.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Array2, Float64Array2, Int8Array2, Int32Array3, UInt64Array1
from scorecube.kernels.jit import compiled
from scorecube.kernels.random.philox import below, fill_words


def bootstrap_samples(key: UInt64Array1, n_topics: int, start: int, stop: int) -> Int32Array3:
    """Draw n topics with replacement in each of the trials start .. stop-1.

    key: uint64 (2,): stream key.
    n_topics: Number of topics, and of draws.
    start, stop: Range of trials.
    Returns samples: int32 (trial, half, draw) with one half: positions of topics, 0 .. n_topics-1.
    """
    samples = np.empty((stop - start, 1, n_topics), np.int32)
    _draw_topics(key, start, np.empty(n_topics, np.uint64), samples)
    return samples


@compiled
def _draw_topics(key: UInt64Array1, start: int, words: UInt64Array1, samples: Int32Array3) -> None:
    """Write the result of `bootstrap_samples`; `words` (draw,) are overwritten."""
    n_topics = words.shape[0]
    for trial in range(samples.shape[0]):
        fill_words(key, start + trial, words)
        for draw in range(n_topics):
            samples[trial, 0, draw] = below(words[draw], n_topics)


def multiplicity_columns(samples: Int32Array3, n_topics: int) -> Float64Array2:
    """Count how often each sample holds each topic.

    samples: int32 (trial, 1, draw): positions of topics.
    Returns counts: float64 (topic, trial).
    """
    counts = np.empty((n_topics, samples.shape[0]))
    count_draws(samples, counts)
    return counts


def count_draws(samples: Int32Array3, counts: Array2[np.number]) -> None:
    """Write the results of `multiplicity_columns` to `counts` of any number type."""
    counts[:] = 0
    # A few trials at a time, as the columns of all trials lie apart in memory and in the same places of a cache.
    _add_draws(samples, counts, np.empty((len(counts), 16), counts.dtype))


@compiled
def _add_draws(samples: Int32Array3, counts: Array2[np.number], few: Array2[np.number]) -> None:
    """Add the results of `multiplicity_columns` to `counts`; `few` (topic, trial) are overwritten."""
    one, n_trials = counts.dtype.type(1), samples.shape[0]
    for low in range(0, n_trials, few.shape[1]):
        width = min(few.shape[1], n_trials - low)
        few[:] = 0
        for trial in range(width):
            for draw in range(samples.shape[2]):
                few[samples[low + trial, 0, draw], trial] += one
        for topic in range(counts.shape[0]):
            for trial in range(width):
                counts[topic, low + trial] += few[topic, trial]


def sign_columns(key: UInt64Array1, n_topics: int, start: int, stop: int) -> Int8Array2:
    """Draw a sign for each topic in each of the trials start .. stop-1.

    key, n_topics, start, stop: As of `bootstrap_samples`.
    Returns signs: int8 (topic, trial): -1 or 1.
    """
    signs = np.empty((n_topics, stop - start), np.int8)
    _draw_signs(key, start, np.empty((n_topics + 63) // 64, np.uint64), signs)
    return signs


@compiled
def _draw_signs(key: UInt64Array1, start: int, words: UInt64Array1, signs: Int8Array2) -> None:
    """Write the result of `sign_columns`; `words` (topic // 64,) are overwritten."""
    for trial in range(signs.shape[1]):
        fill_words(key, start + trial, words)
        for topic in range(signs.shape[0]):
            bit = np.int64((words[topic // 64] >> np.uint64(topic % 64)) & np.uint64(1))
            signs[topic, trial] = 1 - 2 * bit
