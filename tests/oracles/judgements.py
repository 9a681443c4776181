"""Agreement of two sets of judgements in plain Python: rank-biased overlap by definition, decisions pair by pair."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from scipy import stats

from tests.oracles.splits import Scores, Values, rank, sign, sums

Ranking = Sequence[Sequence[str]]
"""Tie groups, best first."""


def as_ranking(values: Values) -> list[list[str]]:
    """Return the tie groups of runs, called by their number."""
    return [
        [str(run) for run, each in enumerate(values) if each == value]
        for value in sorted(set(values), reverse=True)
    ]


def parse(text: str) -> list[list[str]]:
    """Read a ranking as the authors of the tie-aware overlap write it: ``a (b c) d``."""
    groups: list[list[str]] = []
    inside = False
    for word in text.replace("(", " ( ").replace(")", " ) ").split():
        if word in "()":
            inside = word == "("
            groups += [[]] if inside else []
        elif inside:
            groups[-1].append(word)
        else:
            groups.append([word])
    return groups


def contributions(ranking: Ranking, depth: int, rule: str) -> dict[str, Fraction]:
    """Return what each item contributes to a depth (Corsi and Urbano 2024, sections 3 and 4)."""
    found: dict[str, Fraction] = {}
    above = 0
    for group in ranking:
        share = Fraction(min(len(group), max(0, depth - above)), len(group))
        if rule == "w":
            share = Fraction(1 if depth > above else 0)
        found |= dict.fromkeys(group, share)
        above += len(group)
    return found


def overlap(a: Ranking, b: Ranking, p: Fraction, rule: str) -> float:
    """Return RBO_ext of two rankings of equal length (Webber, Moffat and Zobel 2010, equation 30), exactly up to square roots."""
    length = sum(map(len, a))
    assert length == sum(map(len, b))
    total, agreement = Fraction(0), Fraction(0)
    for depth in range(1, length + 1):
        left, right = contributions(a, depth, rule), contributions(b, depth, rule)
        common = sum((left[item] * right.get(item, Fraction(0)) for item in left), Fraction(0))
        if rule == "w":
            agreement = 2 * common / (sum(left.values()) + sum(right.values()))
        elif rule == "a":
            agreement = common / depth
        else:
            squares = [sum(each**2 for each in side.values()) for side in (left, right)]
            agreement = Fraction(float(common) / math.sqrt(squares[0] * squares[1]))
        total += (1 - p) * p ** (depth - 1) * agreement
    return float(total + agreement * p**length)


def decisions(first: Scores, second: Scores, test: str, alpha: float, top: int) -> Counter[str]:
    """Count pairs of runs by what two sets of judgements decide on them."""
    topics = range(len(first[0]))
    means = [sums(scores, topics) for scores in (first, second)]
    best = set(sorted(range(len(first)), key=lambda run: (rank(means[0])[run], run))[:top])
    found: Counter[str] = Counter()
    for i, j in combinations(range(len(first)), 2):
        significant = [p_value(scores[i], scores[j], test) < alpha for scores in (first, second)]
        order = [sign(values[i] - values[j]) for values in means]
        kind = ("passive", "mixed", "active")[sum(significant)]
        found[f"{kind}_{'disagreement' if order[0] * order[1] < 0 else 'agreement'}"] += 1
        if {i, j} <= best:
            found["top_pairs"] += 1
            found["top_significant"] += significant[0]
            found["top_significant_second"] += significant[1]
            found["false_positives"] += significant == [False, True]
            found["false_negatives"] += significant == [True, False]
    return found


def p_value(a: Sequence[Fraction], b: Sequence[Fraction], test: str) -> float:
    """Return the two-sided p-value of a paired test, from exact differences."""
    differences = [x - y for x, y in zip(a, b, strict=True)]
    if not any(differences):
        return 1.0
    if test == "sign":
        ahead, behind = sum(each > 0 for each in differences), sum(each < 0 for each in differences)
        return float(stats.binomtest(ahead, ahead + behind).pvalue)
    n, total = len(differences), sum(differences, Fraction(0))
    spread = n * sum((each**2 for each in differences), Fraction(0)) - total**2
    if spread == 0:
        return 0.0
    return float(2 * stats.t.sf(abs(float(total)) * math.sqrt((n - 1) / float(spread)), n - 1))
