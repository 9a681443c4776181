"""Rank correlation as the papers define it, pair by pair, in exact fractions; nothing is shared with the package."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, permutations, product

Values = Sequence[Fraction | int | float]


@dataclass(frozen=True)
class Counts:
    """Pairs of items."""

    concordant: int
    discordant: int
    tied_a: int
    tied_b: int
    tied_both: int

    @property
    def difference(self) -> int:
        """Concordant minus discordant pairs."""
        return self.concordant - self.discordant


def sign(value: Fraction | int | float) -> int:
    """Return -1, 0 or 1."""
    return (value > 0) - (value < 0)


def count(a: Values, b: Values) -> Counts:
    """Count the pairs."""
    signs = [(sign(a[i] - a[j]), sign(b[i] - b[j])) for i, j in combinations(range(len(a)), 2)]
    return Counts(
        sum(x * y > 0 for x, y in signs), sum(x * y < 0 for x, y in signs), sum(x == 0 for x, _ in signs),
        sum(y == 0 for _, y in signs), sum(x == y == 0 for x, y in signs),
    )  # fmt: skip


def tau_a(a: Values, b: Values) -> float:
    """Return (concordant - discordant) / pairs (Sakai 2007, equation 8)."""
    n = math.comb(len(a), 2)
    return float(Fraction(count(a, b).difference, n)) if n else math.nan


def tau_b(a: Values, b: Values) -> float:
    """Return Kendall's tau-b; NaN if all items are tied."""
    found = count(a, b)
    untied_a = found.concordant + found.discordant + found.tied_b - found.tied_both
    untied_b = found.concordant + found.discordant + found.tied_a - found.tied_both
    return found.difference / math.sqrt(untied_a * untied_b) if untied_a and untied_b else math.nan


def average_ranks(values: Values) -> list[Fraction]:
    """Return ranks, the largest value first, means over tied ones."""
    return [
        1
        + Fraction(
            2 * sum(other > value for other in values)
            + sum(other == value for other in values)
            - 1,
            2,
        )
        for value in values
    ]


def spearman(a: Values, b: Values) -> float:
    """Return the product-moment correlation of average ranks; NaN if all items are tied."""
    x, y = average_ranks(a), average_ranks(b)
    middle = Fraction(len(a) + 1, 2)
    product_ = sum((p - middle) * (q - middle) for p, q in zip(x, y, strict=True))
    squares = sum((p - middle) ** 2 for p in x) * sum((q - middle) ** 2 for q in y)
    return float(product_) / math.sqrt(squares) if squares else math.nan


def ap_of_orders(truth: Sequence[int], walked: Sequence[int]) -> Fraction:
    """Return tau-AP of an order of items against the true order, both best first (Yilmaz et al. 2008, equation 3)."""
    place = {item: k for k, item in enumerate(truth)}
    n = len(walked)
    shares = [
        Fraction(sum(place[walked[j]] < place[walked[i]] for j in range(i)), i) for i in range(1, n)
    ]
    total = sum(shares, Fraction(0))
    return 2 * total / (n - 1) - 1


def orders(values: Values) -> list[tuple[int, ...]]:
    """Return all orders, best first, that break ties."""
    levels = sorted(set(values), reverse=True)
    groups = [[k for k, value in enumerate(values) if value == level] for level in levels]
    return [
        tuple(item for group in chosen for item in group)
        for chosen in product(*map(permutations, groups))
    ]


def ap_accuracy(truth: Values, walked: Values) -> float:
    """Return the mean of tau-AP over all ways to break ties (Urbano and Marrero 2017, rule a)."""
    every = [ap_of_orders(x, y) for x in orders(truth) for y in orders(walked)]
    return float(sum(every, Fraction(0)) / len(every))


def exact_p(n: int, difference: int) -> Fraction:
    """Return the two-sided p-value by trying all orders."""
    first = list(range(n))
    every = [
        abs(count(first, order).difference) >= abs(difference) for order in permutations(first)
    ]
    return Fraction(sum(every), len(every))
