"""Agreement of two sets of judgements in plain Python: decisions pair by pair."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

from scipy import stats

Scores = Sequence[Sequence[Fraction]]
"""Run by topic."""


def decisions(first: Scores, second: Scores, alpha: float) -> Counter[str]:
    """Count pairs of runs by what two sets of judgements decide on them."""
    means = [[sum(run, Fraction(0)) for run in scores] for scores in (first, second)]
    found: Counter[str] = Counter()
    for i, j in combinations(range(len(first)), 2):
        significant = tuple(p_value(scores[i], scores[j]) < alpha for scores in (first, second))
        same = (means[0][i] > means[0][j]) == (means[1][i] > means[1][j])
        kinds: dict[tuple[bool, ...], str] = {
            (False, False): "neither",
            (True, False): "only_truth",
            (False, True): "only_judge",
        }
        found[kinds.get(significant, "agree" if same else "opposite")] += 1
    return found


def p_value(a: Sequence[Fraction], b: Sequence[Fraction]) -> float:
    """Return the two-sided p-value of the paired t test, from exact differences."""
    differences = [x - y for x, y in zip(a, b, strict=True)]
    if not any(differences):
        return 1.0
    n, total = len(differences), sum(differences, Fraction(0))
    spread = n * sum((each**2 for each in differences), Fraction(0)) - total**2
    if spread == 0:
        return 0.0
    return float(2 * stats.t.sf(abs(float(total)) * math.sqrt((n - 1) / float(spread)), n - 1))
