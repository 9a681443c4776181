"""Plain Python reference of label agreement, corrected means and decisions pair by pair, after the formulas as printed.

Cohen 1960 (kappa), 1968 (weighted kappa, weights of agreement); Krippendorff 2019, section 12.3 (coincidences, ordinal distances); Cochran 1977, section 12.6, and
Angelopoulos et al. 2023 (corrected means).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations

from scipy.stats import t

Pairs = Sequence[tuple[int, int]]


def kappa(pairs: Pairs) -> float:
    """Return Cohen's kappa of two labels of each document."""
    n = len(pairs)
    observed = sum(a == b for a, b in pairs) / n
    levels = {each for pair in pairs for each in pair}
    expected = sum(sum(a == k for a, _ in pairs) * sum(b == k for _, b in pairs) for k in levels) / n**2  # fmt: skip
    return (observed - expected) / (1 - expected)


def weighted_kappa(pairs: Pairs, power: int) -> float:
    """Return Cohen's weighted kappa with weights of agreement 1 - (distance / largest distance) ** power."""
    n = len(pairs)
    top = max(each for pair in pairs for each in pair) or 1
    observed = sum(1 - (abs(a - b) / top) ** power for a, b in pairs) / n
    expected = sum(1 - (abs(a - b) / top) ** power for a, _ in pairs for _, b in pairs) / n**2
    return (observed - expected) / (1 - expected)


def alpha(pairs: Pairs) -> float:
    """Return Krippendorff's alpha of ordinal labels, from all pairs of labels within documents and among all documents."""
    labels = [each for pair in pairs for each in pair]
    n = len(labels)

    @cache
    def squared(a: int, b: int) -> float:
        low, high = min(a, b), max(a, b)
        between = sum(low <= each <= high for each in labels)
        return (between - (labels.count(low) + labels.count(high)) / 2) ** 2 if a != b else 0.0

    within = sum(2 * squared(a, b) for a, b in pairs) / n
    among = sum(squared(a, b) for a in labels for b in labels) / (n * (n - 1))
    return 1 - within / among


def corrected_mean(
    truth: Sequence[float], judge: Sequence[float], others: Sequence[float], labelled: Sequence[int], confidence: float
) -> tuple[float, float, float, float]:  # fmt: skip
    """Return corrected mean, limits and lambda of one run; `labelled` are the topics whose truth is used."""
    every = [*judge, *others]
    n, m = len(every), len(labelled)
    h, f = [truth[k] for k in labelled], [judge[k] for k in labelled]
    mean_h, mean_f, mean_all = math.fsum(h) / m, math.fsum(f) / m, math.fsum(every) / n
    spread = math.fsum((x - mean_f) ** 2 for x in f)
    slope = math.fsum((x - mean_f) * (y - mean_h) for x, y in zip(f, h, strict=True)) / spread
    theta = slope * mean_all + math.fsum(y - slope * x for x, y in zip(f, h, strict=True)) / m
    rest = [y - mean_h - slope * (x - mean_f) for x, y in zip(f, h, strict=True)]
    residual = math.fsum(each**2 for each in rest) / (m - 2)
    of_all = math.fsum((x - mean_all) ** 2 for x in every) / (n - 1)
    variance = slope**2 * of_all / n + residual * (1 / m + (mean_all - mean_f) ** 2 / spread)
    half = float(t.ppf((1 + confidence) / 2, m - 2)) * math.sqrt(variance)
    return theta, theta - half, theta + half, slope


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
    return float(2 * t.sf(abs(float(total)) * math.sqrt((n - 1) / float(spread)), n - 1))
