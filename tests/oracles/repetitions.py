"""Max-T over topics and repetitions of systems in plain Python, from the formulas of `scorecube.analyses.pair_tests.repetitions`."""

from __future__ import annotations

import math
from itertools import combinations

from tests.oracles.step_down import step_down

Pair = tuple[str, str]
Systems = dict[str, list[list[float]]]
"""System -> repetition -> score of each topic."""


def mean(values: list[float]) -> float:
    return math.fsum(values) / len(values)


def variance(values: list[float]) -> float:
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def averaged(runs: list[list[float]]) -> list[float]:
    return [mean(list(column)) for column in zip(*runs, strict=True)]


def moderated(single: dict[str, float], counts: dict[str, int], weight: float) -> dict[str, float]:
    """Return the variance of the mean of each system: that of a single run, with the mean of all systems at `weight` degrees of freedom, over R."""
    freedom = sum(count - 1 for count in counts.values())
    pooled = math.fsum((counts[s] - 1) * single[s] for s in single) / max(freedom, 1)
    return {
        s: ((counts[s] - 1) * single[s] + weight * pooled) / (counts[s] - 1 + weight) / counts[s]
        if counts[s] > 1
        else 0.0
        for s in single
    }


def adjusted(
    systems: Systems,
    samples: list[list[int]],
    deviates: list[dict[str, list[float]]],
    moderation: float,
) -> dict[Pair, float]:
    """Return the adjusted p-value of each pair of systems by Romano and Wolf 2005, Algorithm 4.1.

    Parameters
    ----------
    systems
        Scores.
    samples
        Trial -> positions of the topics that are drawn.
    deviates
        Trial -> system -> a standard normal number for each repetition.
    moderation
        Weight of the median squared standard error over topics; half of it is the degrees of freedom of the mean variance over repetitions.
    """
    scores = {s: averaged(runs) for s, runs in systems.items()}
    counts = {s: len(runs) for s, runs in systems.items()}
    single = {
        s: variance([mean(run) for run in runs]) if len(runs) > 1 else 0.0
        for s, runs in systems.items()
    }
    pairs = list(combinations(sorted(systems), 2))
    n = len(next(iter(scores.values())))
    differences = {(a, b): [x - y for x, y in zip(scores[a], scores[b], strict=True)] for a, b in pairs}  # fmt: skip
    own = sorted(variance(values) / n for values in differences.values())
    common = (own[(len(own) - 1) // 2] + own[len(own) // 2]) / 2

    def t(pair: Pair, difference: float, over_topics: float, over_runs: dict[str, float]) -> float:
        squared = (over_topics + moderation * common) / (1 + moderation)
        return abs(difference) / math.sqrt(squared + over_runs[pair[0]] + over_runs[pair[1]])

    over_runs = moderated(single, counts, moderation / 2)
    observed = {
        pair: t(pair, mean(values), variance(values) / n, over_runs)
        for pair, values in differences.items()
    }
    replicates: dict[Pair, list[float]] = {pair: [] for pair in pairs}
    for topics, drawn in zip(samples, deviates, strict=True):
        errors = {s: math.sqrt(single[s]) * mean(drawn[s]) if counts[s] > 1 else 0.0 for s in drawn}
        estimated = {s: single[s] * variance(drawn[s]) if counts[s] > 1 else 0.0 for s in drawn}
        over = moderated(estimated, counts, moderation / 2)
        for pair, values in differences.items():
            centre = mean(values)
            resampled = [values[topic] - centre for topic in topics]
            error = mean(resampled) + errors[pair[0]] - errors[pair[1]]
            replicates[pair].append(t(pair, error, variance(resampled) / n, over))
    return step_down(observed, replicates)
