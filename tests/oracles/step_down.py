"""Step-down adjusted p-values in plain Python (Romano and Wolf 2005, algorithm 4.1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

Pair = TypeVar("Pair")


def step_down(
    observed: Mapping[Pair, float], replicates: Mapping[Pair, Sequence[float]]
) -> dict[Pair, float]:
    """Return the adjusted p-value of each pair: the share of trials whose maximum over the pairs that are left reaches it, made monotone."""
    p = dict[Pair, float]()
    previous, left = 0.0, sorted(observed, key=lambda pair: -observed[pair])
    while left:
        pair = left.pop(0)
        trials = list(zip(*(replicates[other] for other in (pair, *left)), strict=True))
        reached = sum(max(trial) >= observed[pair] * (1 - 1e-9) for trial in trials)
        previous = max(previous, reached / len(trials))
        p[pair] = previous
    return p
