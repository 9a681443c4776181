"""Plain Python reference of limits for other topics and other training runs (Miller 2024; Satterthwaite 1946)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from scipy.stats import nct, t

Table = Sequence[Sequence[float]]
"""Scores of the training runs of a system: rows are runs, columns are topics."""


class Difference(NamedTuple):
    """A difference with its 95 % limits, and its two-sided p-value."""

    mean: float
    low: float
    high: float
    p: float


def mean(values: Sequence[float]) -> float:
    """Return the mean of values."""
    return math.fsum(values) / len(values)


def variance(values: Sequence[float]) -> float:
    """Return the unbiased variance of values."""
    centre = mean(values)
    return math.fsum((x - centre) ** 2 for x in values) / (len(values) - 1)


def by_topic(table: Table) -> list[float]:
    """Return the mean over training runs on each topic."""
    return [mean(column) for column in zip(*table, strict=True)]


def explained(table: Table) -> float:
    """Return the variance of a run's mean that is due to topics: topic x run, over their number."""
    k, n = len(table), len(table[0])
    topics = by_topic(table)
    runs = [mean(row) for row in table]
    grand = mean(runs)
    squares = [(table[i][j] - runs[i] - topics[j] + grand) ** 2 for i in range(k) for j in range(n)]
    return math.fsum(squares) / ((k - 1) * (n - 1)) / n


def difference(collections: Sequence[tuple[Table, Table]]) -> Difference:
    """Return the difference of two systems in the mean over collections; one may have a single run."""
    b = len(collections)
    pairs = [
        [x - y for x, y in zip(by_topic(ours), by_topic(theirs), strict=True)]
        for ours, theirs in collections
    ]
    centre = mean([mean(each) for each in pairs])
    of_topics = [variance(each) / len(each) / b**2 for each in pairs]
    total = math.fsum(of_topics)
    parts = math.fsum(v**2 / (len(each) - 1) for v, each in zip(of_topics, pairs, strict=True))
    sizes = [len(collections[0][side]) for side in (0, 1)]
    for side in (0, 1):
        k = sizes[side]
        if k == 1:
            continue
        other = sizes[1 - side]
        share = 1 / k + (1 if other == 1 else 0)
        means = [mean([mean(both[side][run]) for both in collections]) for run in range(k)]
        square = variance(means)
        less = math.fsum(explained(both[side]) for both in collections) / b**2
        total += share * max(0.0, square - less)
        parts += (share * square) ** 2 / (k - 1)
    freedom = total**2 / parts
    half = float(t.ppf(0.975, freedom)) * math.sqrt(total)
    p = 2 * float(t.sf(abs(centre) / math.sqrt(total), freedom))
    return Difference(centre, centre - half, centre + half, p)


def power(
    tables: tuple[Table, Table], n: int, runs: int, wanted: float, *, retrained: bool
) -> float:
    """Return the power at .05 of the difference of two systems with as many runs each, of their estimated variances."""
    rests = [explained(table) * len(table[0]) for table in tables]
    between = [
        max(0.0, variance([mean(row) for row in table]) - rest / len(table[0]))
        for table, rest in zip(tables, rests, strict=True)
    ]
    apart = [x - y for x, y in zip(by_topic(tables[0]), by_topic(tables[1]), strict=True)]
    less = math.fsum(rest / len(table) for table, rest in zip(tables, rests, strict=True))
    of_topic = max(variance(apart) - less, 0.0) + sum(rests) / runs
    error = of_topic / n
    freedom = n - 1.0
    if retrained:
        squares = [(s + r / n) / runs for s, r in zip(between, rests, strict=True)]
        total = error + sum(between) / runs
        parts = error**2 / (n - 1) + math.fsum(x**2 / (runs - 1) for x in squares)
        error, freedom = total, total**2 / parts
    shift = wanted / math.sqrt(error)
    critical = float(t.ppf(0.975, freedom))
    above = float(nct.sf(critical, freedom, shift))
    return above + float(nct.cdf(-critical, freedom, shift))
