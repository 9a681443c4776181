"""Boards in plain Python: weighted means over collections, step-down max-T with topics drawn in each collection, bootstrap-t, Satterthwaite's t.

Collections are lists of scores (run, topic); samples have a list of positions for each collection and trial.
"""

from __future__ import annotations

import math
from itertools import combinations

from tests.oracles.step_down import step_down

Collections = list[list[list[float]]]
Samples = list[list[list[int]]]
Pair = tuple[int, int]


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


def error(rows: list[list[float]], weights: list[float]) -> tuple[float, float]:
    """Return the squared standard error of `weighted`, and Satterthwaite's degrees of freedom."""
    parts = [w * w * square(row) for w, row in zip(weights, rows, strict=True)]
    total = math.fsum(parts)
    spread = math.fsum(part * part / (len(row) - 1) for part, row in zip(parts, rows, strict=True))
    return total, total * total / spread if spread else math.inf


def differences(scores: Collections, pair: Pair) -> list[list[float]]:
    a, b = pair
    return [[x - y for x, y in zip(of[a], of[b], strict=True)] for of in scores]


def adjusted(
    scores: Collections,
    weights: list[float],
    samples: Samples,
    pairs: list[Pair],
    moderation: float,
) -> dict[Pair, float]:
    """Return the adjusted p-values, count / B, of Romano and Wolf 2005, Algorithm 4.1, with the moderated t."""
    every = {pair: differences(scores, pair) for pair in combinations(range(len(scores[0])), 2)}
    own = sorted(error(rows, weights)[0] for rows in every.values())
    varying = [each for each in own if each > 0]
    common = (varying[(len(varying) - 1) // 2] + varying[len(varying) // 2]) / 2

    def t_of(rows: list[list[float]]) -> float:
        off, found = abs(weighted(rows, weights)), error(rows, weights)[0]
        return off / math.sqrt((found + moderation * common) / (1 + moderation))

    observed = {pair: t_of(every[pair]) for pair in pairs}
    replicates: dict[Pair, list[float]] = {}
    for pair in pairs:
        centred = [[value - mean(row) for value in row] for row in every[pair]]
        replicates[pair] = [
            t_of([[row[k] for k in places] for row, places in zip(centred, sample, strict=True)])
            for sample in samples
        ]
    return step_down(observed, replicates)
