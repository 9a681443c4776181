"""Decisions of paired tests about many simulated experiments, as counts by significance level.

Differences are integers, so that sums and ties are exact. The level of a p-value is the number of the first significance level, in ascending
order, that it does not exceed: K if it exceeds all K levels, and K + 1 for a test that is not defined for the experiment. Rows of counts: p-values of the alternative that the
second system is better; two-sided p-values; of these the ones of experiments with a negative sum of differences.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from scorecube.kernels.arrays import (
    Array2,
    Float,
    Float64Array2,
    Int32Array2,
    Int32Array3,
    Int64Array1,
    Int64Array2,
    Integer,
)
from scorecube.kernels.jit import compiled, inlined


@inlined
def _level(statistic: Float | Integer, critical: Array2[Any], sided: Integer) -> Integer:
    """Return the first level whose critical value a statistic reaches; they descend with the level."""
    n_levels = critical.shape[1]
    for level in range(n_levels):
        if statistic >= critical[sided, level]:
            return level
    return n_levels


@inlined
def _note(counts: Int64Array2, one: Integer, two: Integer, total: Integer) -> None:
    """Add an experiment to the counts (row, level) of a test."""
    counts[0, one] += 1
    counts[1, two] += 1
    if total < 0:
        counts[2, two] += 1


@inlined
def _sort(values: Int64Array1) -> None:
    """Sort a few numbers in place (Shell's method); NumPy's takes 3 s to compile."""
    n = values.shape[0]
    for gap in (132, 57, 23, 10, 4, 1):
        for k in range(gap, n):
            value, place = values[k], k
            while place >= gap and values[place - gap] > value:
                values[place] = values[place - gap]
                place -= gap
            values[place] = value


@compiled
def decide_t(
    differences: Int32Array2, n_topics: int, critical: Float64Array2, counts: Int64Array2
) -> None:
    """Add the levels of Student's paired t test to the counts.

    differences: int32 (experiment, topic): of scores in units; the first `n_topics` are used.
    n_topics: Topics of an experiment.
    critical: float64 (sided, level): critical values of t.
    counts: int64 (row, level): see the module.
    """
    n_levels = critical.shape[1]
    for k in range(differences.shape[0]):
        total = squares = np.int64(0)
        for topic in range(n_topics):
            d = np.int64(differences[k, topic])
            total += d
            squares += d * d
        spread = n_topics * squares - total * total
        if spread == 0:
            level = n_levels + 1 if total == 0 else 0
            _note(counts, level if total >= 0 else n_levels, level, total)
            continue
        t = total / math.sqrt(spread / (n_topics - 1.0))
        _note(counts, _level(t, critical, 0), _level(abs(t), critical, 1), total)


@compiled
def decide_sign(
    differences: Int32Array2,
    n_topics: int,
    dead_zone: int,
    critical: Int32Array3,
    counts: Int64Array2,
) -> None:
    """Add the levels of the sign test with a dead zone to the counts.

    differences, n_topics, counts: As of `decide_t`.
    dead_zone: Units; differences up to it are ties and left out. The test is not defined for ties only.
    critical: int32 (number of signs, sided, level): the smallest number of equal signs with a p-value up to the level.
    """
    n_levels = critical.shape[2]
    for k in range(differences.shape[0]):
        ahead, behind, total = 0, 0, np.int64(0)
        for topic in range(n_topics):
            d = differences[k, topic]
            total += d
            ahead += d > dead_zone
            behind += d < -dead_zone
        signs, most = ahead + behind, max(ahead, behind)
        if signs == 0:
            _note(counts, n_levels + 1, n_levels + 1, total)
            continue
        one = two = n_levels
        for level in range(n_levels - 1, -1, -1):
            if ahead >= critical[signs, 0, level]:
                one = level
            if most >= critical[signs, 1, level]:
                two = level
        _note(counts, one, two, total)


@compiled
def decide_wilcoxon(
    differences: Int32Array2,
    n_topics: int,
    exact: Int64Array2,
    normal: Float64Array2,
    counts: Int64Array2,
) -> None:
    """Add the levels of Wilcoxon's signed-rank test to the counts.

    Zero differences are left out. Without zeros and ties the p-value is exact if `exact` has levels; otherwise it is that of the normal
    approximation with corrections for ties and continuity, as in R.

    differences, n_topics, counts: As of `decide_t`.
    exact: int64 (sided, level): the smallest sum of ranks with an exact p-value up to the level; without levels if it
        is not to be used.
    normal: float64 (sided, level): critical values of a standard normal variable.
    """
    n_levels = normal.shape[1]
    order = np.empty(n_topics, np.int64)
    for k in range(differences.shape[0]):
        n, total = 0, np.int64(0)
        for topic in range(n_topics):
            d = np.int64(differences[k, topic])
            total += d
            if d != 0:
                order[n] = 2 * abs(d) + (d > 0)  # the sign is the last bit
                n += 1
        if n == 0:
            _note(counts, n_levels + 1, n_levels + 1, total)
            continue
        used = order[:n]
        _sort(used)
        twice, ties, first = np.int64(0), np.int64(0), 0
        while first < n:
            last, positive = first, np.int64(0)
            while last < n and used[last] >> 1 == used[first] >> 1:
                positive += used[last] & 1
                last += 1
            twice += positive * (first + last + 1)  # doubled mean rank
            length = np.int64(last - first)
            ties += length * length * length - length
            first = last
        if exact.shape[1] > 0 and n == n_topics and ties == 0:
            upper = twice // 2
            larger = max(upper, n * (n + 1) // 2 - upper)
            _note(counts, _level(upper, exact, 0), _level(larger, exact, 1), total)
            continue
        centred = 0.5 * twice - 0.25 * n * (n + 1)
        deviation = math.sqrt(n * (n + 1) * (2 * n + 1) / 24.0 - ties / 48.0)
        one = _level((centred - 0.5) / deviation, normal, 0)
        two = _level(max(abs(centred) - 0.5, 0.0) / deviation, normal, 1)
        _note(counts, one, two, total)


@compiled
def count_tails(
    sums: Array2[np.float32], totals: Int64Array1, centred: int, strict: int, tails: Int32Array2
) -> None:
    """Add the resamples whose sums are as far from their centre as the observed sum from 0.

    sums: float32 (experiment, resample): sums of resampled differences, integers.
    totals: int64 (experiment,): sums of observed differences.
    centred: 1 if the centre of a resampled sum is the observed sum (bootstrap), 0 if it is 0 (permutation of signs).
    strict: 0, or 1 to leave out sums that are exactly as far.
    tails: int32 (experiment, 2): resamples above and below the centre, added to.
    """
    for k in range(sums.shape[0]):
        centre = np.float32(totals[k] * centred)
        reach = np.float32(abs(totals[k]))
        high, low = centre + reach + np.float32(strict), centre - reach - np.float32(strict)
        row = sums[k]
        above = below = 0
        for j in range(row.shape[0]):
            above += row[j] >= high
            below += row[j] <= low
        tails[k, 0] += above
        tails[k, 1] += below


@compiled
def decide_tails(
    tails: Int32Array2, totals: Int64Array1, most: Int64Array1, counts: Int64Array2
) -> None:
    """Add the levels of a resampling test to the counts.

    One-sided p-values of experiments with a negative sum are above all levels, which must be far below 1 / 2.

    tails, totals: As of `count_tails`.
    most: int64 (level,): the largest number of resamples in the tails with a p-value up to the level, ascending.
    counts: As of `decide_t`.
    """
    n_levels = most.shape[0]
    for k in range(totals.shape[0]):
        one = two = n_levels
        both = tails[k, 0] + tails[k, 1] if totals[k] != 0 else np.int64(2**31)
        for level in range(n_levels - 1, -1, -1):
            if totals[k] > 0 and tails[k, 0] <= most[level]:
                one = level
            if both <= most[level]:
                two = level
        _note(counts, one, two, totals[k])


@compiled
def sum_differences(differences: Int32Array2, n_topics: int, totals: Int64Array1) -> None:
    """Write the sum of the first `n_topics` differences of each experiment."""
    for k in range(differences.shape[0]):
        total = np.int64(0)
        for topic in range(n_topics):
            total += differences[k, topic]
        totals[k] = total
