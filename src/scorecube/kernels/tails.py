"""Statistics of pairs of runs in every resample, and in how many they reach the observed one.

On the exact grid sums of resamples, also of squares, are integers: they have the same bits for any
matrix product, and so have the statistics, elementwise.
"""

from __future__ import annotations

import math

import numpy as np

from scorecube.kernels.arrays import Float64Array1, Float64Array2, Int32Array1, Int64Array1
from scorecube.kernels.jit import compiled

ROUNDING = 1e-12
"""Relative difference up to which statistics tie, and share of a sum of squares below which what is
left of it is rounding."""

CHUNK = 128
"""Trials that are searched together."""


@compiled
def studentised(
    pairs: tuple[Int32Array1, Int32Array1],
    sums: Float64Array2,
    observed: tuple[Float64Array1, Float64Array1],
    n: float,
    statistics: Float64Array2,
    reached: Int32Array1,
) -> None:
    """Turn the sums of squared differences of resamples into squared t, up to a factor.

    A resample without difference and spread has t = 0; one with a difference and no spread has
    infinite t.

    pairs: int32 (pair,) each: rows of `sums`.
    sums: float64 (run, trial): sums of the scores of a resample.
    observed: Differences of sums, float64 (pair,), and the least statistics that reach the observed
        ones, float64 (pair,).
    n: Units of a resample; a difference of sums of at most n is none.
    statistics: float64 (pair, trial): sums of squared differences, overwritten with the statistics.
    reached: int32 (pair,), written: trials that reach the observed statistic.
    """
    (first, second), (centres, edges) = pairs, observed
    for pair in range(edges.shape[0]):
        x = sums[first[pair]]
        y = sums[second[pair]]
        centre = centres[pair]
        edge = edges[pair]
        row = statistics[pair]
        count = np.int32(0)
        for trial in range(row.shape[0]):
            drawn = x[trial] - y[trial]
            moved = drawn - centre
            moved = moved if abs(moved) > n else 0.0
            spread = row[trial] - drawn * drawn / n
            extreme = math.inf if moved != 0.0 else 0.0
            value = moved * moved / spread if spread > ROUNDING * row[trial] else extreme
            row[trial] = value
            count = np.int32(count + (value >= edge))  # 32 bits let the compiler vectorise the loop
        reached[pair] = count


@compiled
def widest(
    pairs: tuple[Int32Array1, Int32Array1],
    sums: Float64Array2,
    centres: Float64Array1,
    found: Float64Array1,
) -> None:
    """Write the largest absolute difference of sums, less the observed one, of any trial.

    found: float64 (pair,), written; other arguments are those of `studentised`.
    """
    n_trials = sums.shape[1]
    first, second = pairs
    largest_of_lane = np.empty(CHUNK)
    whole = n_trials - n_trials % CHUNK
    for pair in range(found.shape[0]):
        x = sums[first[pair]]
        y = sums[second[pair]]
        centre = centres[pair]
        for lane in range(CHUNK):
            largest_of_lane[lane] = 0.0
        for low in range(0, whole, CHUNK):
            for lane in range(CHUNK):
                apart = abs(x[low + lane] - y[low + lane] - centre)
                above = largest_of_lane[lane]
                largest_of_lane[lane] = apart if apart > above else above
        for trial in range(whole, n_trials):
            apart = abs(x[trial] - y[trial] - centre)
            largest_of_lane[0] = max(largest_of_lane[0], apart)
        found[pair] = largest_of_lane.max()


def largest(statistics: Float64Array2, ranks: Int64Array1, room: Float64Array2) -> Float64Array2:
    """Return the K-th largest statistic of each pair: float64 (rank, pair).

    NumPy partitions for one rank at a time with vector instructions.

    statistics: float64 (pair, trial).
    ranks: int64 (rank,): K, from 1.
    room: As `statistics`, overwritten.
    """
    found = np.empty((len(ranks), len(statistics)))
    top = room
    np.copyto(room, statistics)
    for level in np.argsort(-ranks):  # the largest K first: few values are left for the others
        place = top.shape[1] - ranks[level]
        top.partition(place, axis=1)
        top = top[:, place:]
        found[level] = top[:, 0]
    return found


@compiled
def differences_at(
    pairs: tuple[Int32Array1, Int32Array1],
    sums: Float64Array2,
    centres: Float64Array1,
    statistics: Float64Array2,
    wanted: Float64Array1,
    found: Float64Array1,
) -> None:
    """Write the absolute difference of sums, less the centre, in a trial with a wanted statistic.

    It is the first trial whose statistic ties with that.

    wanted: float64 (pair,): a statistic of each pair.
    found: float64 (pair,), written; other arguments are those of `studentised`.
    """
    first, second = pairs
    n_trials = statistics.shape[1]
    for pair in range(wanted.shape[0]):
        value = wanted[pair]
        row = statistics[pair]
        trial = 0
        hits = np.int32(0)
        most = value + ROUNDING * value
        least = value - ROUNDING * value if value < math.inf else value
        while hits == 0:  # a few trials at a time, as the compiler vectorises the inner loop
            for k in range(trial, min(trial + CHUNK, n_trials)):
                hits = np.int32(hits + ((row[k] >= least) & (row[k] <= most)))
            trial += CHUNK
        trial -= CHUNK
        while row[trial] < least or row[trial] > most:
            trial += 1
        x = sums[first[pair], trial]
        y = sums[second[pair], trial]
        found[pair] = abs(x - y - centres[pair])
