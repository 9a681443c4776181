"""Bootstrap samples, signs and permutations, addressed by trial: what hypothesis tests resample.

A trial uses one word per draw, sign or place, at the position of that number, so that trials can be drawn anywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled
from scorecube.kernels.random.philox import below, fill_words


@compiled
def bootstrap_samples(key: Any, n_topics: int, start: int, stop: int) -> Any:
    """Draw n topics with replacement in each of the trials start .. stop-1.

    Parameters
    ----------
    key
        Stream key, uint64 of shape (2,).
    n_topics
        Topics to draw from, and draws.

    Returns
    -------
    samples
        int32 (trial, half, draw) with one half: topic positions 0 .. n_topics-1.
    """
    samples = np.empty((stop - start, 1, n_topics), np.int32)
    words = np.empty(n_topics, np.uint64)
    for trial in range(start, stop):
        fill_words(key, trial, words)
        for draw in range(n_topics):
            samples[trial - start, 0, draw] = below(words[draw], n_topics)
    return samples


@compiled
def multiplicity_columns(samples: Any, n_topics: int) -> Any:
    """Count how often each topic stands in each sample.

    Parameters
    ----------
    samples
        int32 (trial, 1, draw).

    Returns
    -------
    counts
        float64 (topic, trial), a column for each trial.
    """
    counts = np.empty((n_topics, samples.shape[0]))
    count_draws(samples, counts)
    return counts


@compiled
def count_draws(samples: Any, counts: Any) -> None:
    """Write the same into an array of any type (topic, trial)."""
    counts[:] = 0
    one = counts.dtype.type(1)
    for trial in range(samples.shape[0]):
        for draw in range(samples.shape[2]):
            counts[samples[trial, 0, draw], trial] += one


@compiled
def sign_columns(key: Any, n_topics: int, start: int, stop: int) -> Any:
    """Draw a sign for each topic in each of the trials start .. stop-1.

    Returns
    -------
    signs
        float64 (topic, trial): -1 or 1, a column for each trial.
    """
    signs = np.empty((n_topics, stop - start))
    words = np.empty((n_topics + 63) // 64, np.uint64)
    for trial in range(start, stop):
        fill_words(key, trial, words)
        for topic in range(n_topics):
            bit = (words[topic // 64] >> np.uint64(topic % 64)) & np.uint64(1)
            signs[topic, trial - start] = 1.0 - 2.0 * bit
    return signs
