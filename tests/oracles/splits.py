"""Rankings of runs by samples of topics, compared in plain Python with exact fractions and by definition only."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product

Scores = Sequence[Sequence[Fraction]]
"""Run by topic."""
Values = Sequence[Fraction]
"""One number a run, the larger the better."""


@dataclass(frozen=True)
class Comparison:
    """What two rankings of the same runs have in common."""

    concordant: int
    discordant: int
    tied: tuple[int, int]
    rank_change: int
    drop: int
    same_best: bool

    @property
    def tau(self) -> Fraction:
        pairs = self.concordant + self.discordant
        return Fraction(self.concordant - self.discordant, pairs) if pairs else Fraction(0)


def sums(scores: Scores, topics: Sequence[int]) -> list[Fraction]:
    """Return each run's sum of scores over drawn topics."""
    return [sum((row[topic] for topic in topics), Fraction(0)) for row in scores]


def sign(number: Fraction) -> int:
    return (number > 0) - (number < 0)


def rank(values: Values) -> list[int]:
    """Return 1 + the number of better runs."""
    return [1 + sum(other > value for other in values) for value in values]


def compare(a: Values, b: Values) -> Comparison:
    """Compare two rankings pair by pair."""
    products, tied = [], [0, 0]
    for i, j in combinations(range(len(a)), 2):
        products.append(sign(a[i] - a[j]) * sign(b[i] - b[j]))
        tied[0] += a[i] == a[j]
        tied[1] += b[i] == b[j]
    lost = [after - before for before, after in zip(rank(a), rank(b), strict=True)]
    best = [{run for run, place in enumerate(rank(values)) if place == 1} for values in (a, b)]
    return Comparison(
        products.count(1), products.count(-1), (tied[0], tied[1]), max(map(abs, lost)), max(0, *lost), best[0] == best[1],
    )  # fmt: skip


def tau_a(a: Values, b: Values) -> Fraction:
    """Return Kendall's tau with all pairs in the denominator."""
    found = compare(a, b)
    return Fraction(found.concordant - found.discordant, math.comb(len(a), 2))


def tau_b(a: Values, b: Values) -> float:
    """Return Kendall's tau-b, NaN where a ranking ties all runs."""
    found, pairs = compare(a, b), math.comb(len(a), 2)
    untied = (pairs - found.tied[0]) * (pairs - found.tied[1])
    return (found.concordant - found.discordant) / math.sqrt(untied) if untied else math.nan


def orders(values: Values) -> Iterator[list[int]]:
    """Iterate over all orders of the runs, best first, that tied runs allow."""
    groups = [
        [run for run, each in enumerate(values) if each == value]
        for value in sorted(set(values), reverse=True)
    ]
    for choice in product(*(permutations(group) for group in groups)):
        yield [run for group in choice for run in group]


def tau_ap(truth: Sequence[int], estimate: Sequence[int]) -> Fraction:
    """Return AP correlation of two orders without ties (Yilmaz, Aslam and Robertson 2008, equation 6)."""
    place, n = {run: k for k, run in enumerate(truth)}, len(truth)
    total = Fraction(0)
    for i in range(1, n):
        above = sum(place[estimate[j]] < place[estimate[i]] for j in range(i))
        total += Fraction(above, i)
    return 2 * total / (n - 1) - 1


def tau_ap_accuracy(truth: Values, estimate: Values) -> Fraction:
    """Return the mean AP correlation over all ways to break ties."""
    every = [tau_ap(a, b) for a in orders(truth) for b in orders(estimate)]
    return sum(every, Fraction(0)) / len(every)


def tau_ap_agreement(a: Values, b: Values) -> float:
    """Return AP correlation by rule b (Urbano and Marrero 2017, section 4), NaN where a ranking ties all runs."""
    both = []
    for truth, estimate in ((a, b), (b, a)):
        below = [i for i in range(len(a)) if any(other > estimate[i] for other in estimate)]
        if not below:
            return math.nan
        total = Fraction(0)
        for i in below:
            above = [j for j in range(len(a)) if estimate[j] > estimate[i]]
            total += Fraction(sum(truth[j] > truth[i] for j in above), len(above))
        both.append(2 * total / len(below) - 1)
    return float((both[0] + both[1]) / 2)


def order_statistics(values: Sequence[Fraction], share: Fraction) -> tuple[Fraction, Fraction]:
    """Return the K-th smallest and K-th largest value, K = share x number of values rounded up."""
    ordered, k = sorted(values), max(1, math.ceil(share * len(values)))
    return ordered[k - 1], ordered[-k]
