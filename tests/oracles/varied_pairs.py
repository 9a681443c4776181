"""Adjusted p-values of pairs that differ on enough topics, in plain Python: Romano and Wolf 2005, Algorithm 4.1, with the moderated t."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations
from typing import Any

from tests.oracles import boards
from tests.oracles.step_down import step_down

FEW = 8


def adjusted(
    scores: boards.Collections, weights: list[float], samples: Any, pairs: list[Any]
) -> dict[Any, float]:
    """Return adjusted p-values (count + 1) / (B + 1): Romano and Wolf 2005, Algorithm 4.1, of pairs that differ on at least 8 topics; 1 of others."""
    every = {p: boards.differences(scores, p) for p in combinations(range(len(scores[0])), 2)}
    usable = {p: rows for p, rows in every.items() if varied(rows) >= FEW}
    own = sorted(boards.error(rows, weights)[0] for rows in usable.values())
    common = (own[(len(own) - 1) // 2] + own[len(own) // 2]) / 2

    def t_of(rows: list[list[float]]) -> float:
        off, square = abs(boards.weighted(rows, weights)), boards.error(rows, weights)[0]
        return off / math.sqrt((square + 4 * common) / 5)

    observed, replicates = {}, {}
    for pair in (p for p in pairs if p in usable):
        rows = usable[pair]
        observed[pair] = t_of(rows)
        centred = [[x - boards.mean(row) for x in row] for row in rows]
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
