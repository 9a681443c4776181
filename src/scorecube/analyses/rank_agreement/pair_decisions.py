"""Decisions on pairs of runs under two sets of judgements.

A pair is active if it is significant under both sets, mixed if under one, passive if under neither. It is a
disagreement if the two sets order its runs oppositely, else an agreement; a pair with equal means under a set
is therefore an agreement.

References: Moffat, Scholer and Thomas 2012, "Models and metrics: IR evaluation as a user process", ADCS;
Ferro and Sanderson 2019, 2022; Otero, Parapar and Ferro 2023, "How discriminative are your qrels?"; Otero,
Parapar and Barreiro 2025 (false positives among top runs).
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from scorecube.analyses.base import Array
from scorecube.analyses.pair_tests.classical import classical_p_values
from scorecube.analyses.pair_tests.pairwise_complete import (
    pairs_at_once,
    score_differences,
    score_rounding,
)
from scorecube.analyses.rank_agreement.agreement_quantities import DECISIONS, TOP_PAIR_COUNTS
from scorecube.kernels.pairs.pair_order import label_order
from scorecube.statistics.integer_scores import in_units, single_scores

ONE_SET = {
    "only_first": "pairs significant under the first set only",
    "only_second": "pairs significant under the second set only",
}
"""Names and meanings of the two parts of the mixed pairs."""


def count_decisions(
    scores: Sequence[Array],
    sums: Array,
    tolerances: Array,
    ranks: Array,
    test: str,
    alphas: Sequence[float],
    top: int,
) -> dict[str, Array]:
    """Count the decisions of each kind on pairs of runs.

    scores: float64 (run, topic), one for each set and cell: the cells of the first set, then those of the second.
    sums, tolerances: float64 (set * cell, run) and (set * cell,): sums of scores as integers, and the largest
        difference of tied sums.
    ranks: int (set * cell, run).
    test: One of `pair_tests.classical.TESTS`.
    alphas: Significance levels.
    top: Number of best runs of the first set for counts of false positives and negatives; ties in run order.
    Returns counts: int64 (cell, alpha) for each name of `DECISIONS`, `TOP_PAIR_COUNTS` and `ONE_SET`.
    """
    half, levels = len(scores) // 2, [float(Fraction(str(alpha))) for alpha in alphas]
    n_runs = sums.shape[1]
    first, second = label_order(n_runs)
    counts = {
        name: np.zeros((half, len(levels)), np.int64)
        for name in (*DECISIONS, *TOP_PAIR_COUNTS, *ONE_SET)
    }
    for cell in range(half):
        best = np.zeros(n_runs, bool)
        best[np.argsort(ranks[cell], kind="stable")[:top]] = True
        step = pairs_at_once(scores[cell].shape[-1])
        for low in range(0, len(first), step):
            a, b = first[low : low + step], second[low : low + step]
            p, orders = zip(
                *(
                    p_values_and_signs(scores[k], sums[k], float(tolerances[k]), a, b, test)
                    for k in (cell, cell + half)
                ),
                strict=True,
            )
            opposite, top_pairs = orders[0] * orders[1] < 0, best[a] & best[b]
            for level, alpha in enumerate(levels):
                under_first, under_second = p[0] < alpha, p[1] < alpha
                kinds = {
                    "active": under_first & under_second,
                    "mixed": under_first ^ under_second,
                    "passive": ~(under_first | under_second),
                }
                masks = {
                    f"{kind}_{direction}": pairs & mask
                    for kind, pairs in kinds.items()
                    for direction, mask in (("agreement", ~opposite), ("disagreement", opposite))
                } | {
                    "top_pairs": top_pairs,
                    "top_significant": top_pairs & under_first,
                    "top_significant_second": top_pairs & under_second,
                    "false_positives": top_pairs & under_second & ~under_first,
                    "false_negatives": top_pairs & under_first & ~under_second,
                    "only_first": under_first & ~under_second,
                    "only_second": under_second & ~under_first,
                }
                for name, mask in masks.items():
                    counts[name][cell, level] += int(mask.sum())
    return counts


def p_values_and_signs(
    scores: Array, sums: Array, tolerance: float, first: Array, second: Array, test: str
) -> tuple[Array, Array]:
    """Return p-values of pairs of runs, and signs of their mean differences."""
    # Integers where possible, so that ties of differences are exact.
    units = in_units(*single_scores(scores))
    rounding = score_rounding(units)
    differences = score_differences(units.whole, rounding, first, second)
    difference = sums[first] - sums[second]
    difference[np.abs(difference) <= tolerance] = 0.0
    return classical_p_values(test, differences, rounding), np.sign(difference).astype(np.int64)
