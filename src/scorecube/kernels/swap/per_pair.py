"""Swap counts with topic samples drawn for every pair of runs (Sakai 2005, Fig. 1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from scorecube.kernels.arrays import (
    Float64Array1,
    Float64Array3,
    Int32Array3,
    Int64Array1,
    UInt64Array1,
)
from scorecube.kernels.jit import compiled
from scorecube.kernels.random.draws import draw_samples
from scorecube.kernels.random.philox import fill_words
from scorecube.kernels.swap.pairwise import add_comparison


class TrialRange(NamedTuple):
    """Trials whose samples are drawn.

    key, sampling, size: As of `topic_samples`; the stream of the words is the pair.
    start, stop: Range of trials.
    """

    key: UInt64Array1
    sampling: int
    size: int
    start: int
    stop: int


class BinRules(NamedTuple):
    """How comparisons are counted.

    units_per_bin, tolerance: As of `count_swaps`.
    """

    units_per_bin: Float64Array1
    tolerance: float


@compiled
def count_swaps_apart(
    trials: TrialRange,
    units: Float64Array3,
    rules: BinRules,
    counted: Int32Array3,
    largest: Int64Array1,
    widest: Int64Array1,
    overlap: Int64Array1,
) -> None:
    """Draw samples for every pair of runs and add its comparisons.

    Pair x < y has the number y * (y - 1) / 2 + x. The samples of a pair serve all cells.

    trials: Trials to draw.
    units: float64 (cell, run, topic): scores in grid units.
    rules, counted: How comparisons are counted; the counts of `count_swaps`, added to.
    largest, widest: As of `extremes`, over the two runs of each pair.
    overlap: int64 (3,), added to: the totals of `overlap` in `draws`, over pairs and trials.
    """
    (key, sampling, size, start, stop), (units_per_bin, tolerance) = trials, rules
    n_cells, n_runs, n_topics = units.shape
    words, pools = np.empty(2 * size, np.uint64), np.empty((2, n_topics), np.int32)
    samples = np.empty((2, size), np.int32)
    sums = np.empty((2, 2))
    drawn = np.empty((2, n_topics), np.bool_)
    for y in range(1, n_runs):
        for x in range(y):
            for trial in range(start, stop):
                fill_words(key, trial, words, y * (y - 1) // 2 + x)
                draw_samples(words, sampling, pools, samples)
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
                    add_comparison(d, e, per_unit, tolerance, places)
                    highest = max(sums[0, 0], sums[0, 1], sums[1, 0], sums[1, 1])
                    largest[cell] = max(largest[cell], np.int64(highest))
                    widest[cell] = max(widest[cell], np.int64(max(abs(d), abs(e))))
