"""Bootstrap samples and signs of hypothesis tests, addressed by trial.

A draw uses the word at its position in the trial, 64 signs share one word.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import Array2, Float64Array2, Int32Array3, UInt64Array1
from scorecube.kernels.jit import compiled
from scorecube.kernels.random.philox import below, fill_words


@compiled
def bootstrap_samples(key: UInt64Array1, n_topics: int, start: int, stop: int) -> Int32Array3:
    """Draw n topics with replacement in each of the trials start .. stop-1.

    Parameters
    ----------
    key
        uint64 (2,): stream key.
    n_topics
        Number of topics, and of draws.
    start, stop
        Range of trials.

    Returns
    -------
    samples
        int32 (trial, half, draw) with one half: positions of topics, 0 .. n_topics-1.
    """
    samples = np.empty((stop - start, 1, n_topics), np.int32)
    words = np.empty(n_topics, np.uint64)
    for trial in range(start, stop):
        fill_words(key, trial, words)
        for draw in range(n_topics):
            samples[trial - start, 0, draw] = below(words[draw], n_topics)
    return samples


@compiled
def multiplicity_columns(samples: Int32Array3, n_topics: int) -> Float64Array2:
    """Count how often each sample holds each topic.

    Parameters
    ----------
    samples
        int32 (trial, 1, draw): positions of topics.
    n_topics
        Number of topics.

    Returns
    -------
    counts
        float64 (topic, trial).
    """
    counts = np.empty((n_topics, samples.shape[0]))
    count_draws(samples, counts)
    return counts


@compiled
def count_draws(samples: Int32Array3, counts: Array2[np.number]) -> None:
    """Write the results of `multiplicity_columns` to `counts` of any number type."""
    counts[:] = 0
    one = counts.dtype.type(1)
    for trial in range(samples.shape[0]):
        for draw in range(samples.shape[2]):
            counts[samples[trial, 0, draw], trial] += one


@compiled
def sign_columns(key: UInt64Array1, n_topics: int, start: int, stop: int) -> Float64Array2:
    """Draw a sign for each topic in each of the trials start .. stop-1.

    Parameters
    ----------
    key, n_topics, start, stop
        As of `bootstrap_samples`.

    Returns
    -------
    signs
        float64 (topic, trial): -1 or 1.
    """
    signs = np.empty((n_topics, stop - start))
    words = np.empty((n_topics + 63) // 64, np.uint64)
    for trial in range(start, stop):
        fill_words(key, trial, words)
        for topic in range(n_topics):
            bit = (words[topic // 64] >> np.uint64(topic % 64)) & np.uint64(1)
            signs[topic, trial - start] = 1.0 - 2.0 * bit
    return signs
