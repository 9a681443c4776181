"""Randomised Tukey HSD: runs are permuted within each topic; what matters is the range of the run sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.random.philox import fill_words
from scorecube.kernels.random.philox_vector import LANES, fill_many

TOGETHER = 4
"""Topics that are worked on side by side: each step of a shuffle waits for the one before, those of other topics do not."""


@inlined
def choose_places(halves: Any, n_topics: int, n_runs: int) -> None:
    """Turn half words, low halves first, into what Fisher and Yates need: for each place but the last, one from there on.

    Half word `topic (runs - 1) + place` serves a place of a topic; the bias is at most runs / 2**32.
    """
    for topic in range(n_topics):
        row = halves[topic * (n_runs - 1) : (topic + 1) * (n_runs - 1)]
        for place in range(n_runs - 1):
            row[place] = place + ((np.uint64(row[place]) * np.uint64(n_runs - place)) >> np.uint64(32))


@inlined
def shuffle(chosen: Any, topic: int, permutations: Any) -> None:
    """Fill in random permutations of the runs for TOGETHER topics, or one, from `topic` on, as chosen by `choose_places`."""
    n = permutations.shape[1]
    for each in range(permutations.shape[0]):
        for run in range(n):
            permutations[each, run] = run
    length = np.uint64(n - 1)
    at = np.uint64(topic) * length
    a = permutations[0]
    if permutations.shape[0] < TOGETHER:
        for place in range(n - 1):
            k = np.uint64(place)
            i = np.uint64(chosen[at + k])
            a[k], a[i] = a[i], a[k]
        return
    b, c, d = permutations[1], permutations[2], permutations[3]
    at_b, at_c, at_d = at + length, at + length + length, at + length + length + length
    for place in range(n - 1):
        # Unsigned, so that no place has to be checked for counting from the end.
        k = np.uint64(place)
        i, j = np.uint64(chosen[at + k]), np.uint64(chosen[at_b + k])
        u, v = np.uint64(chosen[at_c + k]), np.uint64(chosen[at_d + k])
        a[k], a[i] = a[i], a[k]
        b[k], b[j] = b[j], b[k]
        c[k], c[u] = c[u], c[k]
        d[k], d[v] = d[v], d[k]


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
    chosen = words.view(np.uint32)
    for trial in range(start, stop):
        fill_words(key, trial, words)
        choose_places(chosen, n_topics, n_runs)
        for topic in range(n_topics):
            shuffle(chosen, topic, drawn[trial - start, topic : topic + 1])
    return drawn


@inlined
def add_permuted(scores: Any, permutations: Any, sums: Any) -> None:
    """Add the permuted scores (topic, cell, run) of TOGETHER topics, or one, to the sums of the runs."""
    n_runs = permutations.shape[1]
    for cell in range(scores.shape[1]):
        total = sums[cell]
        if permutations.shape[0] == TOGETHER:
            a, b, c, d = permutations[0], permutations[1], permutations[2], permutations[3]
            x, y, z, w = scores[0, cell], scores[1, cell], scores[2, cell], scores[3, cell]
            for run in range(n_runs):
                two = x[np.uint64(a[run])] + y[np.uint64(b[run])]
                total[run] += two + (z[np.uint64(c[run])] + w[np.uint64(d[run])])
        else:
            row, places = scores[0, cell], permutations[0]
            for run in range(n_runs):
                total[run] += row[np.uint64(places[run])]


@inlined
def add_shuffled(chosen: Any, topic: int, scores: Any, rest: Any, total: Any) -> None:
    """Shuffle TOGETHER topics as `shuffle` does and add their scores to the sums of one cell, which needs no places.

    Parameters
    ----------
    scores
        float64 (topic, run) of these topics.
    rest
        The same shape, overwritten: the scores that are not yet given to a run.
    total
        float64 (run,), added to.
    """
    n = scores.shape[1]
    for each in range(TOGETHER):
        for run in range(n):
            rest[each, run] = scores[each, run]
    a, b, c, d = rest[0], rest[1], rest[2], rest[3]
    length = np.uint64(n - 1)
    at = np.uint64(topic) * length
    at_b, at_c, at_d = at + length, at + length + length, at + length + length + length
    for place in range(n - 1):
        k = np.uint64(place)
        i, j = np.uint64(chosen[at + k]), np.uint64(chosen[at_b + k])
        u, v = np.uint64(chosen[at_c + k]), np.uint64(chosen[at_d + k])
        total[k] += (a[i] + b[j]) + (c[u] + d[v])
        a[i], b[j], c[u], d[v] = a[k], b[k], c[k], d[k]
    total[n - 1] += (a[n - 1] + b[n - 1]) + (c[n - 1] + d[n - 1])


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
    words, state = np.empty((n_topics * (n_runs - 1) + 1) // 2, np.uint64), np.empty((4, LANES), np.uint64)
    chosen, together = words.view(np.uint32), np.empty((TOGETHER, n_runs), np.int32)
    rest, sums = np.empty((TOGETHER, n_runs)), np.empty((n_cells, n_runs))
    whole = n_topics - n_topics % TOGETHER
    for trial in range(start, stop):
        fill_many(key, trial, words, state)
        choose_places(chosen, n_topics, n_runs)
        sums[:] = 0.0
        for topic in range(0, whole, TOGETHER):
            some = scores[topic : topic + TOGETHER]
            if n_cells == 1:
                add_shuffled(chosen, topic, some[:, 0], rest, sums[0])
            else:
                shuffle(chosen, topic, together)
                add_permuted(some, together, sums)
        for topic in range(whole, n_topics):
            shuffle(chosen, topic, together[:1])
            add_permuted(scores[topic : topic + 1], together[:1], sums)
        write_ranges(sums, ranges[trial - start])


@compiled
def given_ranges(scores: Any, permutations: Any, ranges: Any) -> None:
    """Write the range of the run sums under given permutations (trial, topic, run); the rest as in `null_ranges`."""
    sums = np.empty(scores.shape[1:])
    for trial in range(permutations.shape[0]):
        sums[:] = 0.0
        for topic in range(scores.shape[0]):
            add_permuted(scores[topic : topic + 1], permutations[trial, topic : topic + 1], sums)
        write_ranges(sums, ranges[trial])
