"""Randomised Tukey HSD: permutations of runs within topics, and ranges of run sums."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array2,
    Float64Array3,
    Int32Array2,
    Int32Array3,
    Integer,
    UInt32Array1,
    UInt64Array1,
)
from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.random.philox import fill_many

TOGETHER = 4
"""Topics that are shuffled together: each step of a shuffle waits for the one before, but not for those of other
topics."""


@inlined
def choose_places(halves: UInt32Array1, n_topics: int, n_runs: int) -> None:
    """Turn half words into the exchanges of a Fisher-Yates shuffle, in place.

    Half word `topic * (runs - 1) + place`, the low half of a word first, becomes the place, from `place` on, with which
    `place` is exchanged; the last place needs none. The bias is at most runs / 2**32.
    """
    for topic in range(n_topics):
        row = halves[topic * (n_runs - 1) : (topic + 1) * (n_runs - 1)]
        for place in range(n_runs - 1):
            row[place] = place + (
                (np.uint64(row[place]) * np.uint64(n_runs - place)) >> np.uint64(32)
            )


@inlined
def shuffle(chosen: UInt32Array1, topic: int, n_topics: Integer, permutations: Int32Array2) -> None:
    """Write the permutations of the runs for TOGETHER topics, or for one.

    chosen: uint32 (topic * (run - 1),): exchanges of `choose_places`.
    topic, n_topics: The first topic, and TOGETHER or 1.
    permutations: int32 (topic, run), written; there may be more topics.
    """
    n = permutations.shape[1]
    for each in range(n_topics):
        for run in range(n):
            permutations[each, run] = run
    length = np.uint64(n - 1)
    at = np.uint64(topic) * length
    a = permutations[0]
    if n_topics < TOGETHER:
        for place in range(n - 1):
            k = np.uint64(place)
            i = np.uint64(chosen[at + k])
            a[k], a[i] = a[i], a[k]
        return
    b, c, d = permutations[1], permutations[2], permutations[3]
    at_b, at_c, at_d = at + length, at + length + length, at + length + length + length
    for place in range(n - 1):
        # Unsigned indices spare the check for negative ones, which count from the end.
        k = np.uint64(place)
        i, j = np.uint64(chosen[at + k]), np.uint64(chosen[at_b + k])
        u, v = np.uint64(chosen[at_c + k]), np.uint64(chosen[at_d + k])
        a[k], a[i] = a[i], a[k]
        b[k], b[j] = b[j], b[k]
        c[k], c[u] = c[u], c[k]
        d[k], d[v] = d[v], d[k]


@compiled
def permutations(
    key: UInt64Array1, n_topics: int, n_runs: int, start: int, stop: int
) -> Int32Array3:
    """Draw a permutation of the runs for each topic and trial start .. stop-1.

    key: uint64 (2,): stream key.
    start, stop: Range of trials.
    Returns permutations: int32 (trial, topic, run): the run whose score a run receives.
    """
    drawn = np.empty((stop - start, n_topics, n_runs), np.int32)
    words = np.empty((n_topics * (n_runs - 1) + 1) // 2, np.uint64)
    chosen = words.view(np.uint32)
    for trial in range(start, stop):
        fill_many(key, trial, words)
        choose_places(chosen, n_topics, n_runs)
        for topic in range(n_topics):
            shuffle(chosen, topic, np.int64(1), drawn[trial - start, topic : topic + 1])
    return drawn


@inlined
def add_permuted(
    scores: Float64Array3,
    topic: int,
    n_topics: Integer,
    permutations: Int32Array2,
    sums: Float64Array2,
) -> None:
    """Add permuted scores (topic, cell, run) to the sums of runs (cell, run).

    Topics, and the permutations (topic, run) of them, are those of `shuffle`.
    """
    n_runs, one = permutations.shape[1], permutations[0]
    for cell in range(scores.shape[1]):
        total, x = sums[cell], scores[topic, cell]
        if n_topics == TOGETHER:
            b, c, d = permutations[1], permutations[2], permutations[3]
            y, z, w = scores[topic + 1, cell], scores[topic + 2, cell], scores[topic + 3, cell]
            for run in range(n_runs):
                two = x[np.uint64(one[run])] + y[np.uint64(b[run])]
                total[run] += two + (z[np.uint64(c[run])] + w[np.uint64(d[run])])
        else:
            for run in range(n_runs):
                total[run] += x[np.uint64(one[run])]


@inlined
def add_shuffled(
    chosen: UInt32Array1,
    topic: int,
    scores: Float64Array3,
    rest: Float64Array2,
    total: Float64Array1,
) -> None:
    """Shuffle the scores of TOGETHER topics and add them to the sums of the only cell.

    Shuffling the scores themselves spares the permutations of `shuffle`.

    chosen, topic: As of `shuffle`.
    scores: float64 (topic, cell, run) of all topics.
    rest: float64 (topic, run), overwritten: scores that are not yet assigned to a run.
    total: float64 (run,), added to.
    """
    n = rest.shape[1]
    for each in range(TOGETHER):
        for run in range(n):
            rest[each, run] = scores[topic + each, 0, run]
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
def write_ranges(sums: Float64Array2, ranges: Float64Array1) -> None:
    """Write the largest minus the smallest sum (cell, run) to `ranges` (cell,)."""
    for cell in range(sums.shape[0]):
        low, high = sums[cell, 0], sums[cell, 0]
        for run in range(1, sums.shape[1]):
            total = sums[cell, run]
            low, high = total if total < low else low, total if total > high else high
        ranges[cell] = high - low


@inlined
def clear(sums: Float64Array2) -> None:
    """Set all sums to zero."""
    for cell in range(sums.shape[0]):
        for run in range(sums.shape[1]):
            sums[cell, run] = 0.0


def null_ranges(
    scores: Float64Array3, key: UInt64Array1, start: int, stop: int, ranges: Float64Array2
) -> None:
    """Draw permutations and write the range of the run sums in trials start .. stop-1.

    scores: float64 (topic, cell, run), in units, so that sums are exact.
    key: uint64 (2,): stream key.
    start, stop: Range of trials.
    ranges: float64 (trial, cell), written.
    """
    n_topics, n_cells, n_runs = scores.shape
    words = np.empty((n_topics * (n_runs - 1) + 1) // 2, np.uint64)
    # numba compiles faster what does not make arrays.
    _null_ranges(
        scores,
        key,
        start,
        stop,
        ranges,
        words,
        words.view(np.uint32),
        np.empty((TOGETHER, n_runs), np.int32),
        np.empty((TOGETHER, n_runs)),
        np.empty((n_cells, n_runs)),
    )


@compiled
def _null_ranges(
    scores: Float64Array3,
    key: UInt64Array1,
    start: int,
    stop: int,
    ranges: Float64Array2,
    words: UInt64Array1,
    chosen: UInt32Array1,
    together: Int32Array2,
    rest: Float64Array2,
    sums: Float64Array2,
) -> None:
    """Do what `null_ranges` does; arrays behind `ranges` are overwritten.

    `chosen` are the half words of `words`.
    """
    n_topics, n_cells, n_runs = scores.shape
    whole = n_topics - n_topics % TOGETHER
    several, one = np.int64(TOGETHER), np.int64(1)  # literals would make two signatures
    for trial in range(start, stop):
        fill_many(key, trial, words)
        choose_places(chosen, n_topics, n_runs)
        clear(sums)
        for topic in range(0, whole, TOGETHER):
            if n_cells == 1:
                add_shuffled(chosen, topic, scores, rest, sums[0])
            else:
                shuffle(chosen, topic, several, together)
                add_permuted(scores, topic, several, together, sums)
        for topic in range(whole, n_topics):
            shuffle(chosen, topic, one, together)
            add_permuted(scores, topic, one, together, sums)
        write_ranges(sums, ranges[trial - start])
