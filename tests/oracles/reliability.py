"""Plain Python reference of variance components, coefficients, their intervals and the jackknife.

Formulas as printed: Brennan 2001, sections 2.2 (two-way) and 6.2 (intervals); Feldt 1965; Arteaga, Jeyaratnam and Franklin 1982 in the form of
Brennan's equation 6.20; quantiles by SciPy's distributions.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from scipy.stats import chi2, f, t

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


def relative_limits(scores: Table, topics: int, confidence: float) -> tuple[float, float]:
    """Return Feldt's interval of E rho^2 for a number of topics."""
    p, n = len(scores), len(scores[0])
    ms, _, me = mean_squares(scores)
    limits = []
    for level in ((1 + confidence) / 2, (1 - confidence) / 2):
        ratio = max((ms / (me * f.ppf(level, p - 1, (p - 1) * (n - 1))) - 1) / n, 0.0)
        limits.append(topics * ratio / (1 + topics * ratio))
    return limits[0], limits[1]


def absolute_limits(scores: Table, topics: int, confidence: float) -> tuple[float, float]:
    """Return the interval of Phi of Arteaga et al.: that of one topic, taken to a number of topics by Spearman and Brown."""
    p, n = len(scores), len(scores[0])
    ms, mt, me = mean_squares(scores)
    limits = []
    for level in ((1 + confidence) / 2, (1 - confidence) / 2):
        endless = chi2.ppf(level, p - 1) / (p - 1)
        of_rest = f.ppf(level, p - 1, (p - 1) * (n - 1))
        of_topics = f.ppf(level, p - 1, n - 1)
        above = ms**2 - endless * ms * me + (endless - of_rest) * of_rest * me**2
        below = (p - 1) * endless * ms * me + of_topics * ms * mt
        share = p * above / below if ms > of_rest * me else 0.0
        one = share / (n + share)
        limits.append(topics * one / (1 + (topics - 1) * one))
    return limits[0], limits[1]


def jackknife_limits(
    scores: Table, teams: Sequence[str], topics: int, confidence: float
) -> list[tuple[float, float]]:
    """Return the intervals of E rho^2 and Phi that leave out each topic, and each team, in turn."""

    def logs(table: Table) -> tuple[float, float]:
        systems, of_topics, rest = components(table)
        return math.log(systems / rest), math.log(systems / (of_topics + rest))

    n = len(scores[0])
    by_topic = [
        logs([[x for k, x in enumerate(row) if k != j] for row in scores]) for j in range(n)
    ]
    by_team = [
        logs([row for row, other in zip(scores, teams, strict=True) if other != team])
        for team in sorted(set(teams))
    ]
    found = []
    for which in (0, 1):
        parts = []
        for values in ([each[which] for each in by_topic], [each[which] for each in by_team]):
            count, centre = len(values), mean(values)
            parts.append(
                ((count - 1) / count * math.fsum((x - centre) ** 2 for x in values), count)
            )
        total = math.fsum(part for part, _ in parts)
        freedom = total**2 / math.fsum(part**2 / (count - 1) for part, count in parts)
        reach = t.ppf((1 + confidence) / 2, freedom) * math.sqrt(total)
        ends = [math.exp(logs(scores)[which] + sign * reach) for sign in (-1, 1)]
        found.append(
            (topics * ends[0] / (1 + topics * ends[0]), topics * ends[1] / (1 + topics * ends[1]))
        )
    return found


def total(values: Iterable[Fraction]) -> Fraction:
    """Return the exact sum."""
    return sum(values, Fraction(0))


def exact_ratios(scores: Table) -> list[Fraction]:
    """Return systems' variance over the error variance: relative and absolute, in exact fractions."""
    x = [[Fraction(value) for value in row] for row in scores]
    p, n = len(x), len(x[0])
    systems, topics = range(p), range(n)
    row = [total(x[i]) / n for i in systems]
    column = [total(x[i][t] for i in systems) / p for t in topics]
    grand = total(row) / p
    rest = [[x[i][t] - row[i] - column[t] + grand for t in topics] for i in systems]
    ms_systems = n * total((value - grand) ** 2 for value in row) / (p - 1)
    ms_topics = p * total((value - grand) ** 2 for value in column) / (n - 1)
    ms_rest = total(value**2 for each in rest for value in each) / ((p - 1) * (n - 1))
    of_systems = max((ms_systems - ms_rest) / n, Fraction(0))
    of_topics = max((ms_topics - ms_rest) / p, Fraction(0))
    return [of_systems / ms_rest, of_systems / (of_topics + ms_rest)]
