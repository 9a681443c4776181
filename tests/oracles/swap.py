"""The swap method in exact rational arithmetic: loops over pairs and trials, as the papers print them.

S0 = Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information retrieval metrics", Fig. 1.
S1 = Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant document", Fig. 4.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

Scores = Sequence[Sequence[Fraction]]
"""Run x topic."""
Samples = Sequence[tuple[Sequence[int], Sequence[int]]]
"""Per trial the topic positions of the first and of the second sample."""
HUNDREDTH = Fraction(1, 100)


@dataclass(frozen=True)
class SwapCounts:
    """What all pairs of runs in all trials did, per difference bin."""

    count: list[int]
    swaps_s0: list[int]
    swaps_s1: list[int]
    both_zero: int
    max_performance: Fraction
    max_difference: Fraction
    differences: Counter[int]
    """How often each |d| occurred, in multiples of `unit`."""
    unit: Fraction


def count_swaps(scores: Scores, samples: Samples, width: Fraction = HUNDREDTH, bins: int = 21) -> SwapCounts:
    """Compare all pairs of runs in all trials.

    Sums over a sample are kept as integers: multiples of 1 / (common denominator * sample size), so nothing is rounded.
    """
    denominator = math.lcm(*(score.denominator for row in scores for score in row))
    whole = [[score.numerator * (denominator // score.denominator) for score in row] for row in scores]
    size = len(samples[0][0])
    unit = Fraction(1, denominator * size)
    units_per_bin = width / unit
    count, swaps_s0, swaps_s1, both_zero = [0] * bins, [0] * bins, [0] * bins, 0
    differences: Counter[int] = Counter()
    best, widest = [], []
    for first_topics, second_topics in samples:
        first = [sum(row[topic] for topic in first_topics) for row in whole]
        second = [sum(row[topic] for topic in second_topics) for row in whole]
        best.append(max(*first, *second))
        widest.append(max(max(first) - min(first), max(second) - min(second)))
        for x, y in combinations(range(len(whole)), 2):
            d, e = first[x] - first[y], second[x] - second[y]
            # S0 Fig. 1 bins a signed d; its text and S1 mean the absolute difference.
            place = min(bins - 1, abs(d) * units_per_bin.denominator // units_per_bin.numerator)
            count[place] += 1
            differences[abs(d)] += 1
            # S0 Fig. 1: opposite signs, or exactly one of the two is zero.
            if d * e < 0 or (d == 0 and e != 0) or (d != 0 and e == 0):
                swaps_s0[place] += 1
            # S1 Fig. 4: whatever is not the same strict order.
            if not d * e > 0:
                swaps_s1[place] += 1
            both_zero += d == 0 and e == 0
    return SwapCounts(
        count, swaps_s0, swaps_s1, both_zero, max(best) * unit, max(widest) * unit, differences, unit
    )  # fmt: skip


def required_first(
    count: Sequence[int], swaps: Sequence[int], accepted: Fraction, width: Fraction = HUNDREDTH
) -> Fraction | None:
    """Return the lower edge of the lowest bin from 1 on whose swap rate is accepted."""
    for k in range(1, len(count)):
        if count[k] and Fraction(swaps[k], count[k]) <= accepted:
            return k * width
    return None


def required_suffix(
    count: Sequence[int], swaps: Sequence[int], accepted: Fraction, width: Fraction = HUNDREDTH
) -> Fraction | None:
    """Return the lower edge of the lowest bin from 1 on that has, like all above it, an accepted swap rate.

    Empty bins have no swap rate: they are never chosen, and do not stand in the way of those below.
    """
    for k in range(1, len(count)):
        above = [Fraction(swaps[j], count[j]) for j in range(k, len(count)) if count[j]]
        if count[k] and all(rate <= accepted for rate in above):
            return k * width
    return None


def share(counts: SwapCounts, required: Fraction) -> Fraction:
    """Return the share of all comparisons whose absolute difference is at least the required one (S0 Table 1, iv)."""
    reached = sum(number for units, number in counts.differences.items() if units * counts.unit >= required)
    return Fraction(reached, counts.differences.total())
