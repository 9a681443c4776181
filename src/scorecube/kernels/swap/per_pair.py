"""Swap counting with samples of its own for every pair of runs: Sakai 2005, Fig. 1, to the letter."""

from __future__ import annotations

from typing import Any

import numpy as np

from scorecube.kernels.jit import compiled
from scorecube.kernels.random.draws import draw_samples, pair_words
from scorecube.kernels.swap.pairwise import add_comparison


@compiled
def count_swaps_apart(
    key: Any, sampling: int, units: Any, size: int, start: int, stop: int, units_per_bin: Any, tolerance: float,
    signed: bool, symmetric: bool, counted: Any, largest: Any, widest: Any, overlap: Any,
) -> None:  # fmt: skip
    """Draw and compare: pair x < y has the number y * (y - 1) / 2 + x, and a pair's samples serve all cells.

    Parameters
    ----------
    key, sampling
        As of `kernels.draws.topic_samples`; the words are those of `pair_words`.
    units
        float64 of shape (cell, run, topic): scores in grid units.
    size, start, stop
        Topics in each sample; range of trials.
    units_per_bin, tolerance, signed, counted
        As of `kernels.swap.count_swaps` and `add_comparison`.
    symmetric
        Every comparison also with the second sample as the first.
    largest, widest
        As of `kernels.swap.extremes`, over the two runs of each pair.
    overlap
        As `kernels.draws.overlap` returns it, added to; over pairs and trials.
    """
    n_cells, n_runs, n_topics = units.shape
    words, pools = np.empty(2 * size, np.uint64), np.empty((2, n_topics), np.int32)
    samples = np.empty((2, size), np.int32)
    sums = np.empty((2, 2))
    drawn = np.empty((2, n_topics), np.bool_)
    for y in range(1, n_runs):
        for x in range(y):
            for trial in range(start, stop):
                pair_words(key, trial, y * (y - 1) // 2 + x, words)
                draw_samples(words, sampling, n_topics, pools, samples)
                drawn[:] = False
                for half in range(2):
                    for topic in samples[half]:
                        drawn[half, topic] = True
                for topic in range(n_topics):
                    overlap[0] += drawn[0, topic]
                    overlap[1] += drawn[1, topic]
                    overlap[2] += drawn[0, topic] and drawn[1, topic]
                for cell in range(n_cells):
                    sums[:] = 0.0
                    for half in range(2):
                        for topic in samples[half]:
                            sums[half, 0] += units[cell, x, topic]
                            sums[half, 1] += units[cell, y, topic]
                    d, e = sums[0, 0] - sums[0, 1], sums[1, 0] - sums[1, 1]
                    per_unit, places = 1.0 / units_per_bin[cell], counted[cell, trial - start]
                    add_comparison(d, e, per_unit, tolerance, signed, places)
                    if symmetric:
                        add_comparison(e, d, per_unit, tolerance, signed, places)
                    largest[cell] = max(largest[cell], np.int64(sums.max()))
                    widest[cell] = max(widest[cell], np.int64(max(abs(d), abs(e))))
