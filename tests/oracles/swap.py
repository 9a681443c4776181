"""The swap method in exact rational arithmetic: loops over pairs and trials, as the papers print them.

S0 = Sakai 2005, "The effect of topic sampling in sensitivity comparisons of information retrieval metrics", Fig. 1.
S1 = Sakai 2007, "On the properties of evaluation metrics for finding one highly relevant document", Fig. 4.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

Scores = Sequence[Sequence[Fraction]]
"""Run x topic."""
Samples = Sequence[tuple[Sequence[int], Sequence[int]]]
"""Per trial the topic positions of the first and of the second sample."""
OwnSamples = Mapping[tuple[int, int], Samples]
"""Samples of each pair of runs."""
HUNDREDTH = Fraction(1, 100)


@dataclass(frozen=True)
class SwapCounts:
    """What all pairs of runs in all trials did, per difference bin."""

    count: list[int]
    swaps_s0: list[int]
    swaps_s1: list[int]
    both_zero: int
    max_performance: Fraction
    differences: Counter[int]
    """How often each |d| occurred, in multiples of `unit`."""
    unit: Fraction


def count_swaps(scores: Scores, samples: Samples | OwnSamples, bins: int = 21) -> SwapCounts:
    """Compare all pairs of runs in all trials.

    Sums over a sample are kept as integers: multiples of 1 / (common denominator * sample size), so nothing is rounded.
    """
    denominator = math.lcm(*(score.denominator for row in scores for score in row))
    whole = [
        [score.numerator * (denominator // score.denominator) for score in row] for row in scores
    ]
    pairs = list(combinations(range(len(whole)), 2))
    own = samples if isinstance(samples, Mapping) else dict.fromkeys(pairs, samples)
    unit = Fraction(1, denominator * len(own[0, 1][0][0]))
    units_per_bin = HUNDREDTH / unit
    count, swaps_s0, swaps_s1, both_zero = [0] * bins, [0] * bins, [0] * bins, 0
    differences: Counter[int] = Counter()
    best = []
    for x, y in pairs:
        for halves in own[x, y]:
            sums = [[sum(whole[run][topic] for topic in half) for run in (x, y)] for half in halves]
            best += [*sums[0], *sums[1]]
            d, e = sums[0][0] - sums[0][1], sums[1][0] - sums[1][1]
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
    return SwapCounts(count, swaps_s0, swaps_s1, both_zero, max(best) * unit, differences, unit)


def count_orders(
    scores: Scores, samples: Sequence[Sequence[int]], fuzziness: Fraction
) -> dict[tuple[int, int], tuple[int, int, int]]:
    """Count, for each pair of runs, the samples on which its first run is better, its second, and neither.

    Buckley and Voorhees 2000: equal if the difference is less than a share of the larger mean; equal means always are.
    """
    orders = {}
    for x, y in combinations(range(len(scores)), 2):
        first = second = equal = 0
        for sample in samples:
            a, b = (
                sum((scores[run][topic] for topic in sample), Fraction(0)) / len(sample)
                for run in (x, y)
            )
            if a == b or abs(a - b) < fuzziness * max(a, b):
                equal += 1
            elif a > b:
                first += 1
            else:
                second += 1
        orders[x, y] = (first, second, equal)
    return orders


def required_suffix(
    count: Sequence[int], swaps: Sequence[int], accepted: Fraction
) -> Fraction | None:
    """Return the lower edge of the lowest bin but the first that has, like all above it, an accepted swap rate.

    Empty bins have no swap rate: they are never chosen, and do not stand in the way of those below.
    """
    for k in range(1, len(count)):
        above = [Fraction(swaps[j], count[j]) for j in range(k, len(count)) if count[j]]
        if count[k] and all(rate <= accepted for rate in above):
            return k * HUNDREDTH
    return None


def share(counts: SwapCounts, required: Fraction) -> Fraction:
    """Return the share of all comparisons whose absolute difference is at least the required one (S0 Table 1, iv)."""
    reached = sum(
        number for units, number in counts.differences.items() if units * counts.unit >= required
    )
    return Fraction(reached, counts.differences.total())
