"""Step-down max-T of weighted means over collections, and groups of runs, in plain Python.

Romano and Wolf 2005, Algorithm 4.1, with the moderated t, of pairs that differ on enough topics. Collections are lists of scores (run, topic); samples have
a list of positions for each collection and trial.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

FEW = 8
Scores = list[list[float]]
Collections = list[Scores]
Samples = list[list[list[int]]]
Of = TypeVar("Of")


def step_down(
    observed: Mapping[Of, float], replicates: Mapping[Of, Sequence[float]]
) -> dict[Of, float]:
    """Return the adjusted p-value of each pair: the share of trials whose maximum over the pairs that are left reaches it, made monotone."""
    p = dict[Of, float]()
    previous, left = 0.0, sorted(observed, key=lambda pair: -observed[pair])
    while left:
        pair = left.pop(0)
        trials = list(zip(*(replicates[other] for other in (pair, *left)), strict=True))
        reached = sum(max(trial) >= observed[pair] * (1 - 1e-9) for trial in trials)
        previous = max(previous, reached / len(trials))
        p[pair] = previous
    return p


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def square(values: list[float]) -> float:
    """Return the squared standard error of a mean."""
    n, middle = len(values), mean(values)
    found = math.fsum((value - middle) ** 2 for value in values) / (n - 1) / n
    return 0.0 if found < 1e-20 else found


def weighted(rows: list[list[float]], weights: list[float]) -> float:
    """Return the weighted mean over collections of the means of some scores."""
    return math.fsum(w * mean(row) for w, row in zip(weights, rows, strict=True))


def error(rows: list[list[float]], weights: list[float]) -> float:
    """Return the squared standard error of `weighted`."""
    return math.fsum(w * w * square(row) for w, row in zip(weights, rows, strict=True))


def differences(scores: Collections, pair: tuple[int, int]) -> list[list[float]]:
    a, b = pair
    return [[x - y for x, y in zip(of[a], of[b], strict=True)] for of in scores]


def adjusted(
    scores: Collections, weights: list[float], samples: Any, pairs: list[Any]
) -> dict[Any, float]:
    """Return adjusted p-values (count + 1) / (B + 1): Romano and Wolf 2005, Algorithm 4.1, of pairs that differ on at least 8 topics; 1 of others."""
    every = {p: differences(scores, p) for p in combinations(range(len(scores[0])), 2)}
    usable = {p: rows for p, rows in every.items() if varied(rows) >= FEW}
    own = sorted(error(rows, weights) for rows in usable.values())
    common = (own[(len(own) - 1) // 2] + own[len(own) // 2]) / 2

    def t_of(rows: list[list[float]]) -> float:
        off, square = abs(weighted(rows, weights)), error(rows, weights)
        return off / math.sqrt((square + 4 * common) / 5)

    observed, replicates = {}, {}
    for pair in (p for p in pairs if p in usable):
        rows = usable[pair]
        observed[pair] = t_of(rows)
        centred = [[x - mean(row) for x in row] for row in rows]
        replicates[pair] = [
            t_of([[row[k] for k in places] for row, places in zip(centred, sample, strict=True)])
            for sample in samples
        ]
    found = step_down(observed, replicates)
    n = len(samples)
    return {p: (found[p] * n + 1) / (n + 1) if p in found else 1.0 for p in pairs}


def varied(rows: list[list[float]]) -> int:
    """Return how many topics have another difference than the most frequent one of their collection."""
    counts = [Counter(round(x, 9) for x in row) for row in rows]
    return sum(len(row) - max(count.values()) for row, count in zip(rows, counts, strict=True))


def groups(order: list[int], separated: set[frozenset[int]]) -> list[set[int]]:
    """Return the largest sets of runs that follow each other and of which no two are separated, the best first."""
    spans = [
        order[a:b]
        for a in range(len(order))
        for b in range(a + 1, len(order) + 1)
        if not any(frozenset(pair) in separated for pair in combinations(order[a:b], 2))
    ]
    sets = [set(span) for span in spans]
    return [one for one in sets if not any(one < other for other in sets)]
