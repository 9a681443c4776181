"""Decisions on pairs of runs under two sets of judgements: significant or not, and for which run.

A pair is active if both sets find it significant, mixed if one does, passive if neither does; it is an agreement unless the two sets put
its runs in opposite orders. A pair with equal means under a set has no order there, which contradicts none, so it is an agreement.

References: Moffat, Scholer and Thomas 2012, "Models and metrics: IR evaluation as a user process", ADCS; Ferro and Sanderson 2019, 2022;
Otero, Parapar and Ferro 2023, "How discriminative are your qrels?"; Otero, Parapar and Barreiro 2025 (false positives among top runs).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from scorecube.analyses.pair_tests.classical import AT_ONCE, p_of
from scorecube.kernels.pairs.pair_order import label_order
from scorecube.statistics.integer_scores import centred_units

DECISIONS = {
    "active_agreement": "significant under both sets, for the same run",
    "active_disagreement": "significant under both sets, for opposite runs",
    "mixed_agreement": "significant under one set only, runs in the same order",
    "mixed_disagreement": "significant under one set only, runs in opposite orders",
    "passive_agreement": "significant under neither set, runs in the same order",
    "passive_disagreement": "significant under neither set, runs in opposite orders",
}
FALSE = {
    "top_pairs": "pairs of the best runs of the first set",
    "top_significant": "of these, significant under the first set",
    "top_significant_second": "of these, significant under the second set",
    "false_positives": "of these, significant under the second set but not under the first",
    "false_negatives": "of these, significant under the first set but not under the second",
}


def all_decisions(
    scores: np.ndarray[Any, Any], sums: np.ndarray[Any, Any], tolerances: np.ndarray[Any, Any], ranks: np.ndarray[Any, Any], test: str,
    alphas: Sequence[float], top: int,
) -> dict[str, np.ndarray[Any, Any]]:  # fmt: skip
    """Count the decisions of each kind.

    Parameters
    ----------
    scores
        float64 (set * cell, run, topic): the cells of the first set, then those of the second.
    sums, tolerances
        float64 (set * cell, run) and (set * cell,): sums of scores as integers, and the difference up to which two are equal.
    ranks
        int (set * cell, run).
    test
        Of `paired.TESTS`.
    alphas
        Significance levels.
    top
        Number of best runs of the first set among which false positives and negatives are counted; ties by run order.

    Returns
    -------
    counts
        int64 (cell, alpha) for each name of `DECISIONS` and `FALSE`.
    """
    half, levels = len(scores) // 2, [float(Fraction(str(alpha))) for alpha in alphas]
    first, second = label_order(scores.shape[1])
    out = {name: np.zeros((half, len(levels)), np.int64) for name in (*DECISIONS, *FALSE)}
    for cell in range(half):
        best = np.zeros(scores.shape[1], bool)
        best[np.argsort(ranks[cell], kind="stable")[:top]] = True
        for low in range(0, len(first), AT_ONCE):
            a, b = first[low : low + AT_ONCE], second[low : low + AT_ONCE]
            p, orders = zip(
                *(decide(scores[k], sums[k], float(tolerances[k]), a, b, test) for k in (cell, cell + half)),
                strict=True,
            )
            opposite, among = orders[0] * orders[1] < 0, best[a] & best[b]
            for level, alpha in enumerate(levels):
                found = p[0] < alpha, p[1] < alpha
                kinds = {"active": found[0] & found[1], "mixed": found[0] ^ found[1], "passive": ~(found[0] | found[1])}
                masks = {
                    f"{kind}_{word}": pairs & side
                    for kind, pairs in kinds.items()
                    for word, side in (("agreement", ~opposite), ("disagreement", opposite))
                } | {
                    "top_pairs": among, "top_significant": among & found[0], "top_significant_second": among & found[1],
                    "false_positives": among & found[1] & ~found[0], "false_negatives": among & found[0] & ~found[1],
                }  # fmt: skip
                for name, mask in masks.items():
                    out[name][cell, level] += int(mask.sum())
    return out


def decide(
    scores: np.ndarray[Any, Any], sums: np.ndarray[Any, Any], tolerance: float, first: np.ndarray[Any, Any], second: np.ndarray[Any, Any],
    test: str,
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:  # fmt: skip
    """Return the p-values of pairs of runs under one set, and their orders: 1 if the first run is better, -1, or 0 for equal means."""
    # As integers where they can be, so that equal differences of scores are equal to the test.
    units = centred_units(scores).uncentred
    difference = sums[first] - sums[second]
    difference[np.abs(difference) <= tolerance] = 0.0
    return p_of(test, units[first] - units[second]), np.sign(difference).astype(np.int64)
