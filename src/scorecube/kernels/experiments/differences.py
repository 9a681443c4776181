"""Differences of scores of two simulated systems, addressed by trial."""

from __future__ import annotations

import numpy as np

from scorecube.kernels.arrays import (
    Array3,
    Float64Array1,
    Float64Array2,
    Int32Array1,
    Int32Array2,
    UInt64Array1,
)
from scorecube.kernels.experiments.pair_copulas import WORDS, point, unit
from scorecube.kernels.jit import compiled, inlined
from scorecube.kernels.random.philox import below, fill_words

GUIDES = 1024
"""Parts of the range of probabilities whose first scores are known."""


def guides_of(cumulative: Float64Array2) -> Int32Array2:
    """Return the first point whose cumulative probability exceeds each multiple of 1 / GUIDES.

    cumulative: float64 (system, point): probabilities of scores up to each point; the last is 1.
    Returns guides: int32 (system, GUIDES + 1).
    """
    multiples = np.arange(GUIDES + 1) / GUIDES
    found = [np.searchsorted(row, multiples, side="right") for row in cumulative]
    return np.minimum(np.array(found), cumulative.shape[1] - 1).astype(np.int32)


@inlined
def place_of(u: float, cumulative: Float64Array1, guides: Int32Array1) -> int:
    """Return the first point whose cumulative probability exceeds u."""
    part = int(u * GUIDES)
    low, high = int(guides[part]), int(guides[part + 1])
    while low < high:
        middle = (low + high) // 2
        if cumulative[middle] > u:
            high = middle
        else:
            low = middle + 1
    return low


@inlined
def distorted(u: float, raised: float, lowered: float) -> float:
    """Return the quantile of Beta(a, 1) or Beta(1, b): 1 / a and 1 / b are given, one of them is 1."""
    if raised != 1.0:
        return float(u**raised)
    if lowered != 1.0:
        return float(1.0 - (1.0 - u) ** lowered)
    return u


@compiled
def draw_differences(
    key: UInt64Array1,
    start: int,
    choices: Int32Array2,
    exponents: Float64Array2,
    margins: tuple[Float64Array2, Int32Array2, Int32Array1],
    copulas: tuple[Int32Array2, Array3[np.float64]],
    differences: Int32Array2,
) -> None:
    """Draw two systems and their scores for the trials start, start + 1, ...

    A trial with fewer topics is the beginning of one with more.

    key, start: Stream key, and first trial.
    choices: int32 (choice, 3): baseline, experimental system, and the system whose margin the latter has; all choices
        are equally likely.
    exponents: float64 (choice, 2): of `distorted` for the experimental system's margin.
    margins: Cumulative probabilities float64 (system, point), their guides, and the scores int32 (point,) in units.
    copulas: Copula of each pair of systems, int32 (system, system), and parameters, float64 (system, system, 2).
    differences: int32 (trial, topic), written: experimental system minus baseline.
    """
    cumulative, guides, scores = margins
    kinds, parameters = copulas
    n_topics = differences.shape[1]
    words, uniforms = np.empty(1 + WORDS * n_topics, np.uint64), np.empty(WORDS)
    for k in range(differences.shape[0]):
        fill_words(key, start + k, words)
        choice = below(words[0], choices.shape[0])
        first, second, like = choices[choice, 0], choices[choice, 1], choices[choice, 2]
        # Copulas are stored with the first system of the pair before the second.
        i, j = min(first, second), max(first, second)
        raised, lowered = exponents[choice, 0], exponents[choice, 1]
        for topic in range(n_topics):
            for w in range(WORDS):
                uniforms[w] = unit(words[1 + WORDS * topic + w])
            u, v = point(kinds[i, j], parameters[i, j, 0], parameters[i, j, 1], uniforms)
            if first > second:
                u, v = v, u
            v = distorted(v, raised, lowered)
            u, v = min(max(u, 0.0), 1.0 - 2.0**-53), min(max(v, 0.0), 1.0 - 2.0**-53)
            low = scores[place_of(u, cumulative[first], guides[first])]
            differences[k, topic] = scores[place_of(v, cumulative[like], guides[like])] - low
