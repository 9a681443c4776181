"""Plain Python reference of variance components, coefficients and their jackknife (Brennan 2001, section 2.2; Kott 2001)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.stats import t

Table = Sequence[Sequence[float]]


def mean(values: Sequence[float]) -> float:
    """Return the mean of values."""
    return math.fsum(values) / len(values)


def mean_squares(scores: Table) -> tuple[float, float, float]:
    """Return the mean squares of systems, topics, and the rest; rows are systems."""
    p, n = len(scores), len(scores[0])
    grand = mean([x for row in scores for x in row])
    rows = [mean(row) for row in scores]
    columns = [mean([row[j] for row in scores]) for j in range(n)]
    total = math.fsum((x - grand) ** 2 for row in scores for x in row)
    of_systems = n * math.fsum((x - grand) ** 2 for x in rows)
    of_topics = p * math.fsum((x - grand) ** 2 for x in columns)
    rest = total - of_systems - of_topics
    return of_systems / (p - 1), of_topics / (n - 1), rest / ((p - 1) * (n - 1))


def components(scores: Table) -> tuple[float, float, float]:
    """Return the estimated variances; negative ones are 0."""
    p, n = len(scores), len(scores[0])
    ms, mt, me = mean_squares(scores)
    return max((ms - me) / n, 0.0), max((mt - me) / p, 0.0), me


def coefficients(scores: Table, topics: int) -> tuple[float, float]:
    """Return E rho^2 and Phi for a number of topics."""
    systems, of_topics, rest = components(scores)
    relative, absolute = rest / topics, (of_topics + rest) / topics
    return systems / (systems + relative), systems / (systems + absolute)


def topics_for(scores: Table, target: float) -> tuple[int, int]:
    """Return the numbers of topics for E rho^2 and Phi, by trying one after another."""
    found = []
    for which in (0, 1):
        topics = 1
        while coefficients(scores, topics)[which] < target - 1e-12:
            topics += 1
        found.append(topics)
    return found[0], found[1]


def jackknife_limits(
    scores: Table, groups: Sequence[int], topics: int
) -> list[tuple[float, float]]:
    """Return the 95 % limits of E rho^2 and Phi that leave out each group of topics, on the logit scale."""

    def logits(table: Table) -> list[float]:
        return [math.log(value / (1 - value)) for value in coefficients(table, topics)]

    names = sorted(set(groups))
    without = [
        logits([[x for x, of in zip(row, groups, strict=True) if of != name] for row in scores])
        for name in names
    ]
    found = []
    for which, centre in enumerate(logits(scores)):
        values = [each[which] for each in without]
        squares = math.fsum((x - mean(values)) ** 2 for x in values)
        reach = t.ppf(0.975, len(names) - 1) * math.sqrt((len(names) - 1) / len(names) * squares)
        ends = [1 / (1 + math.exp(-centre - sign * reach)) for sign in (-1, 1)]
        found.append((ends[0], ends[1]))
    return found


def within_systems(systems: Sequence[Table]) -> tuple[float, float]:
    """Return the variances of repetitions and of topic x repetition, pooled over systems with two or more."""
    several = [table for table in systems if len(table) > 1]
    freedoms = [len(table) - 1 for table in several]
    found = []
    for table in several:
        of_runs, _, rest = mean_squares(table)
        found.append(((of_runs - rest) / len(table[0]), rest))
    pooled = [
        math.fsum(f * each[which] for f, each in zip(freedoms, found, strict=True)) / sum(freedoms)
        for which in (0, 1)
    ]
    return max(pooled[0], 0.0), pooled[1]
