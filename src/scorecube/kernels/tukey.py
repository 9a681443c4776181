"""Randomised Tukey HSD: runs are permuted within each topic; what matters is the range of the run sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.streams import fill_words


@inlined
def below_half(word: Any, half: int, bound: int) -> Any:
    """Map one half of a word to 0 .. bound-1; the bias is at most bound / 2**32."""
    part = (word >> np.uint64(32 * half)) & np.uint64(0xFFFFFFFF)
    return np.int64((part * np.uint64(bound)) >> np.uint64(32))


@inlined
def shuffle(words: Any, used: int, permutation: Any) -> None:
    """Fill in a random permutation from the halves of words, beginning with half number `used` (Fisher and Yates)."""
    n = permutation.shape[0]
    for run in range(n):
        permutation[run] = run
    for run in range(n - 1):
        position = used + run
        chosen = run + below_half(words[position // 2], position % 2, n - run)
        permutation[run], permutation[chosen] = permutation[chosen], permutation[run]


@compiled
def permutations(key: Any, n_topics: int, n_runs: int, start: int, stop: int) -> Any:
    """Draw a permutation of the runs for each topic in each of the trials start .. stop-1.

    Returns
    -------
    permutations
        int32 (trial, topic, run): whose score a run gets.
    """
    drawn = np.empty((stop - start, n_topics, n_runs), np.int32)
    words = np.empty((n_topics * (n_runs - 1) + 1) // 2, np.uint64)
    for trial in range(start, stop):
        fill_words(key, trial, words)
        for topic in range(n_topics):
            shuffle(words, topic * (n_runs - 1), drawn[trial - start, topic])
    return drawn


@inlined
def add_permuted(scores: Any, permutation: Any, sums: Any) -> None:
    """Add one topic's permuted scores (cell, run) to the sums of the runs."""
    for cell in range(scores.shape[0]):
        row, total = scores[cell], sums[cell]
        for run in range(permutation.shape[0]):
            total[run] += row[permutation[run]]


@inlined
def write_ranges(sums: Any, ranges: Any) -> None:
    """Write the largest minus the smallest sum of each cell."""
    for cell in range(sums.shape[0]):
        low, high = sums[cell, 0], sums[cell, 0]
        for run in range(1, sums.shape[1]):
            low, high = min(low, sums[cell, run]), max(high, sums[cell, run])
        ranges[cell] = high - low


@compiled
def null_ranges(scores: Any, key: Any, start: int, stop: int, ranges: Any) -> None:
    """Write the range of the run sums in each of the trials start .. stop-1, permutations drawn and forgotten.

    Parameters
    ----------
    scores
        float64 (topic, cell, run), in units, so that sums are exact.
    key
        Stream key.
    ranges
        float64 (trial, cell), written.
    """
    n_topics, n_cells, n_runs = scores.shape
    words, permutation = np.empty((n_topics * (n_runs - 1) + 1) // 2, np.uint64), np.empty(n_runs, np.int32)
    sums = np.empty((n_cells, n_runs))
    for trial in range(start, stop):
        fill_words(key, trial, words)
        sums[:] = 0.0
        for topic in range(n_topics):
            shuffle(words, topic * (n_runs - 1), permutation)
            add_permuted(scores[topic], permutation, sums)
        write_ranges(sums, ranges[trial - start])


@compiled
def given_ranges(scores: Any, permutations: Any, ranges: Any) -> None:
    """Write the range of the run sums under given permutations (trial, topic, run); the rest as in `null_ranges`."""
    sums = np.empty(scores.shape[1:])
    for trial in range(permutations.shape[0]):
        sums[:] = 0.0
        for topic in range(scores.shape[0]):
            add_permuted(scores[topic], permutations[trial, topic], sums)
        write_ranges(sums, ranges[trial])
