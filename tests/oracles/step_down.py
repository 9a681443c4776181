"""Step-down max-T, rank sets and groups in plain Python, from the papers.

Romano and Wolf 2005, Algorithm 4.1; Mogstad, Romano, Shaikh and Wilhelm 2024, sections 2 and 3.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, TypeVar

MODERATION = 4.0
"""Weight of the median variance of all pairs beside a pair's own."""
Scores = list[list[float]]
Pair = tuple[int, int]
Of = TypeVar("Of")


def squares_of(values: list[float]) -> float:
    """Return the squared standard error of the mean of differences."""
    n = len(values)
    mean = math.fsum(values) / n
    return math.fsum((value - mean) ** 2 for value in values) / (n - 1) / n


def t_of(values: list[float], moderation: float, common: float) -> float | None:
    """Return the moderated t of differences; None for a pair without differences, infinite for one without spread."""
    mean, own = math.fsum(values) / len(values), squares_of(values)
    own = 0.0 if own <= 1e-20 else own
    if own == 0.0 and abs(mean) < 1e-12:
        return 0.0 if moderation else None
    pooled = (own + moderation * common) / (1 + moderation)
    return mean / math.sqrt(pooled) if pooled else math.inf


def adjusted(
    scores: Scores, samples: Any, pairs: list[Pair], moderation: float
) -> dict[Pair, float]:
    """Return the adjusted p-value of each pair: Romano and Wolf 2005, Algorithm 4.1, step by step."""
    n, trials = len(scores[0]), len(samples)
    differences = {
        (a, b): [x - y for x, y in zip(scores[a], scores[b], strict=True)]
        for a, b in combinations(range(len(scores)), 2)
    }
    own = sorted(filter(lambda found: found > 1e-20, map(squares_of, differences.values())))
    common = (own[(len(own) - 1) // 2] + own[len(own) // 2]) / 2
    observed, p = dict[Pair, float](), dict[Pair, float]()
    for pair in pairs:
        if squares_of(differences[pair]) <= 1e-20:
            p[pair] = 1.0 if abs(math.fsum(differences[pair])) < 1e-12 else 0.0
        else:
            t = t_of(differences[pair], moderation, common)
            assert t is not None
            observed[pair] = abs(t)
    replicates = {}
    for pair in observed:
        mean = math.fsum(differences[pair]) / n
        centred = [value - mean for value in differences[pair]]
        resampled = ([centred[topic] for topic in sample] for sample in samples)
        found = [t_of(values, moderation, common) for values in resampled]
        replicates[pair] = [0.0 if t is None else abs(t) for t in found]
    previous, left = 0.0, sorted(observed, key=lambda pair: -observed[pair])
    while left:
        pair = left[0]
        reached = 0
        for trial in range(trials):
            finite = (replicates[other][trial] for other in left)
            largest = max((t for t in finite if not math.isinf(t)), default=0.0)
            reached += max(largest, replicates[pair][trial]) >= observed[pair] * (1 - 1e-9)
        previous = max(previous, reached / trials)
        p[pair] = previous
        left.remove(pair)
    return p


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


def rank_sets(scores: Scores, samples: Any, alpha: float) -> list[tuple[int, int]]:
    """Return the rank set of each run: L = 1 + those that are better, U = p - those that are worse."""
    runs, means = range(len(scores)), [math.fsum(row) for row in scores]
    pairs = list(combinations(runs, 2))
    p, sets = adjusted(scores, samples, pairs, MODERATION), []
    for run in runs:
        others = [(a if b == run else b, p[a, b]) for a, b in pairs if run in (a, b)]
        better = sum(means[other] > means[run] for other, value in others if value < alpha)
        worse = sum(means[other] < means[run] for other, value in others if value < alpha)
        sets.append((1 + better, len(scores) - worse))
    return sets


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
