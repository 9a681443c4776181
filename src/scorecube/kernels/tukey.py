"""Randomised Tukey HSD: permutations of runs within topics, and ranges of run sums.

Four topics are shuffled together: each step of a shuffle waits for the one before, but not for
those of other topics. Topics are filled up to a multiple of four with topics without scores.
"""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array2,
    Float64Array3,
    Int32Array2,
    Int32Array3,
    UInt32Array1,
    UInt64Array1,
)
from scorecube.kernels.jit import compiled
from scorecube.kernels.random.philox import fill_many

TOGETHER = 4
"""Topics that are shuffled together."""


def permutations(
    key: UInt64Array1, n_topics: int, n_runs: int, start: int, stop: int
) -> Int32Array3:
    """Draw a permutation of the runs for each topic and trial start .. stop-1.

    key: uint64 (2,): stream key.
    start, stop: Range of trials.
    Returns permutations: int32 (trial, topic, run): the run whose score a run receives.
    """
    n_filled = n_topics + -n_topics % TOGETHER
    drawn = np.empty((stop - start, n_filled, n_runs), np.int32)
    words = room_for_words(n_filled, n_runs)
    _permute(key, start, words, words.view(np.uint32), drawn)
    return drawn[:, :n_topics]


def null_ranges(scores: Float64Array3, key: UInt64Array1, start: int, stop: int) -> Float64Array2:
    """Return the ranges of the sums of runs over topics, permuted anew in each trial.

    scores: float64 (topic, cell, run), in units, so that sums are exact.
    key: uint64 (2,): stream key.
    Returns ranges: float64 (cell, trial).
    """
    n_topics, n_cells, n_runs = scores.shape
    filled = np.zeros((n_topics + -n_topics % TOGETHER, n_cells, n_runs))
    filled[:n_topics] = scores
    words = room_for_words(len(filled), n_runs)
    places = np.empty((TOGETHER, n_runs), np.int32)
    rest = np.empty((TOGETHER, n_runs))
    ranges = np.empty((n_cells, stop - start))
    sums = np.empty((n_cells, n_runs))
    _null_ranges(filled, key, start, words, words.view(np.uint32), (places, rest, sums), ranges)
    return ranges


def room_for_words(n_topics: int, n_runs: int) -> UInt64Array1:
    """Return an array for the random words of a trial: half a word for each exchange."""
    return np.empty((n_topics * (n_runs - 1) + 1) // 2, np.uint64)


@compiled
def _permute(
    key: UInt64Array1, start: int, words: UInt64Array1, chosen: UInt32Array1, drawn: Int32Array3
) -> None:
    """Write the result of `permutations`; `chosen` are the half words of `words`."""
    for trial in range(drawn.shape[0]):
        fill_many(key, start + trial, words)
        choose_places(chosen, drawn.shape[1], drawn.shape[2])
        for topic in range(0, drawn.shape[1], TOGETHER):
            shuffle(chosen, topic, drawn[trial, topic : topic + TOGETHER])


@compiled
def _null_ranges(
    scores: Float64Array3,
    key: UInt64Array1,
    start: int,
    words: UInt64Array1,
    chosen: UInt32Array1,
    room: tuple[Int32Array2, Float64Array2, Float64Array2],
    ranges: Float64Array2,
) -> None:
    """Write the result of `null_ranges`; `chosen` are the half words of `words`.

    `room` is overwritten.
    """
    n_topics, n_cells, n_runs = scores.shape
    places, rest, sums = room
    for trial in range(ranges.shape[1]):
        fill_many(key, start + trial, words)
        choose_places(chosen, n_topics, n_runs)
        for cell in range(n_cells):
            for run in range(n_runs):
                sums[cell, run] = 0.0
        for topic in range(0, n_topics, TOGETHER):
            if n_cells == 1:
                add_shuffled(chosen, topic, scores, rest, sums[0])
            else:
                shuffle(chosen, topic, places)
                add_permuted(scores, topic, places, sums)
        for cell in range(n_cells):
            low = sums[cell, 0]
            high = sums[cell, 0]
            for run in range(1, n_runs):
                low = min(low, sums[cell, run])
                high = max(high, sums[cell, run])
            ranges[cell, trial] = high - low


@compiled
def choose_places(halves: UInt32Array1, n_topics: int, n_runs: int) -> None:
    """Turn half words into the exchanges of a Fisher-Yates shuffle, in place.

    Half word `topic * (runs - 1) + place`, the low half of a word first, becomes the place, from
    `place` on, with which `place` is exchanged; the last place needs none. The bias is at most runs
    / 2**32.
    """
    for topic in range(n_topics):
        row = halves[topic * (n_runs - 1) : (topic + 1) * (n_runs - 1)]
        for place in range(n_runs - 1):
            drawn = np.uint64(row[place]) * np.uint64(n_runs - place)
            row[place] = place + (drawn >> np.uint64(32))


@compiled
def shuffle(chosen: UInt32Array1, topic: int, permutations: Int32Array2) -> None:
    """Write the permutations of the runs for four topics from a first one on.

    chosen: uint32 (topic * (run - 1),): exchanges of `choose_places`.
    permutations: int32 (topic, run), written.
    """
    n = permutations.shape[1]
    for row in range(TOGETHER):
        for run in range(n):
            permutations[row, run] = run
    a = permutations[0]
    b = permutations[1]
    c = permutations[2]
    d = permutations[3]
    length = np.uint64(n - 1)
    at = np.uint64(topic) * length
    at_b = at + length
    at_c = at + length + length
    at_d = at + length + length + length
    for place in range(n - 1):
        k = np.uint64(place)  # unsigned indices spare the check for negative ones
        i = np.uint64(chosen[at + k])
        j = np.uint64(chosen[at_b + k])
        u = np.uint64(chosen[at_c + k])
        v = np.uint64(chosen[at_d + k])
        a[k], a[i] = a[i], a[k]
        b[k], b[j] = b[j], b[k]
        c[k], c[u] = c[u], c[k]
        d[k], d[v] = d[v], d[k]


@compiled
def add_permuted(
    scores: Float64Array3, topic: int, permutations: Int32Array2, sums: Float64Array2
) -> None:
    """Add the permuted scores (topic, cell, run) of four topics to the sums of runs (cell, run)."""
    a = permutations[0]
    b = permutations[1]
    c = permutations[2]
    d = permutations[3]
    for cell in range(scores.shape[1]):
        total = sums[cell]
        x = scores[topic, cell]
        y = scores[topic + 1, cell]
        z = scores[topic + 2, cell]
        w = scores[topic + 3, cell]
        for run in range(permutations.shape[1]):
            two = x[np.uint64(a[run])] + y[np.uint64(b[run])]
            total[run] += two + (z[np.uint64(c[run])] + w[np.uint64(d[run])])


@compiled
def add_shuffled(
    chosen: UInt32Array1,
    topic: int,
    scores: Float64Array3,
    rest: Float64Array2,
    total: Float64Array1,
) -> None:
    """Shuffle the scores of four topics and add them to the sums of the only cell.

    It spares the permutations of `shuffle`.

    rest: float64 (topic, run), overwritten: scores that are not yet assigned to a run.
    total: float64 (run,), added to.
    """
    n = rest.shape[1]
    for row in range(TOGETHER):
        for run in range(n):
            rest[row, run] = scores[topic + row, 0, run]
    a = rest[0]
    b = rest[1]
    c = rest[2]
    d = rest[3]
    length = np.uint64(n - 1)
    at = np.uint64(topic) * length
    at_b = at + length
    at_c = at + length + length
    at_d = at + length + length + length
    for place in range(n - 1):
        k = np.uint64(place)
        i = np.uint64(chosen[at + k])
        j = np.uint64(chosen[at_b + k])
        u = np.uint64(chosen[at_c + k])
        v = np.uint64(chosen[at_d + k])
        total[k] += (a[i] + b[j]) + (c[u] + d[v])
        a[i], b[j], c[u], d[v] = a[k], b[k], c[k], d[k]
    total[n - 1] += (a[n - 1] + b[n - 1]) + (c[n - 1] + d[n - 1])
