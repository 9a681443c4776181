"""Step-down max-T with normal errors of means in plain Python (Chernozhukov, Chetverikov and Kato 2013; Romano and Wolf 2005).

Collections are lists of scores (run, topic), a single one of a leaderboard; deviates are standard normal numbers (trial, run).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from statistics import median
from typing import Any

from tests.oracles.boards import mean, weighted
from tests.oracles.step_down import step_down

Matrix = list[list[float]]


def covariance(collections: Sequence[Any], weights: Sequence[float]) -> Matrix:
    """Return the covariance of the weighted means of runs over the collections."""
    runs = range(len(collections[0]))
    found = [[0.0 for _ in runs] for _ in runs]
    for scores, weight in zip(collections, weights, strict=True):
        n, means = len(scores[0]), [mean(row) for row in scores]
        for j in runs:
            for k in runs:
                products = ((x - means[j]) * (y - means[k]) for x, y in zip(scores[j], scores[k], strict=True))  # fmt: skip
                found[j][k] += weight**2 * math.fsum(products) / (n - 1) / n
    return found


def root(matrix: Matrix) -> Matrix:
    """Return the lower triangular root (Cholesky, Banachiewicz); of a run that depends on those before it a column of zeros."""
    size = len(matrix)
    found = [[0.0] * size for _ in range(size)]
    for j in range(size):
        for k in range(j + 1):
            left = matrix[j][k] - math.fsum(found[j][m] * found[k][m] for m in range(k))
            if j == k:
                found[j][j] = math.sqrt(left) if left > 1e-9 * matrix[j][j] else 0.0
            elif found[k][k]:
                found[j][k] = left / found[k][k]
    return found


def errors(matrix: Matrix, deviates: Any) -> Matrix:
    """Return the error of each run in each trial: (trial, run)."""
    rows = root(matrix)
    return [[math.fsum(a * b for a, b in zip(row, numbers, strict=True)) for row in rows] for numbers in deviates]  # fmt: skip


def adjusted(
    collections: Sequence[Any],
    weights: Sequence[float],
    deviates: Any,
    moderation: float,
    pairs: Sequence[tuple[int, int]],
) -> tuple[dict[tuple[int, int], float], list[float]]:
    """Return the adjusted p-value of each pair, and the largest |t| of each trial over the pairs that vary."""
    matrix = covariance(collections, weights)
    squares = {}
    for j, k in combinations(range(len(matrix)), 2):
        rows = [[[x - y for x, y in zip(scores[j], scores[k], strict=True)]] for scores in collections]  # fmt: skip
        own = covariance(rows, weights)[0][0]
        squares[j, k] = 0.0 if own < 1e-20 else own
    common = moderation * median(filter(None, squares.values()))
    drawn, observed, replicates, p = errors(matrix, deviates), {}, {}, {}
    for j, k in pairs:
        difference = weighted([s[j] for s in collections], list(weights)) - weighted([s[k] for s in collections], list(weights))  # fmt: skip
        own = squares[min(j, k), max(j, k)]
        if not own:
            p[j, k] = 1.0 if abs(difference) < 1e-12 else 0.0
            continue
        error = math.sqrt((own + common) / (1 + moderation))
        observed[j, k] = abs(difference) / error
        replicates[j, k] = [abs(each[j] - each[k]) / error for each in drawn]
    largest = [max(trial) for trial in zip(*replicates.values(), strict=True)]
    return p | step_down(observed, replicates), largest
