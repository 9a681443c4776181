"""Variances and topic set sizes in plain Python, one number at a time, with lists and loops; distributions are SciPy's.

S2 = Sakai 2017, S3 = Sakai and Shang 2016, both as SPEC B.6, B.8 and B.9 tell them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy import stats
from scipy.optimize import brentq

NAGATA = {(0.01, 0.1): (10.439, 5.213), (0.01, 0.2): (7.736, 4.551), (0.05, 0.1): (6.903, 4.285), (0.05, 0.2): (4.86, 3.584)}  # fmt: skip


def within_variance(runs: Sequence[Sequence[float]]) -> float:
    """S3 equation 1; scores that are NaN are missing."""
    squares, free = 0.0, 0
    for scores in runs:
        present = [score for score in scores if not math.isnan(score)]
        if present:
            mean = math.fsum(present) / len(present)
            squares += math.fsum((score - mean) ** 2 for score in present)
            free += len(present) - 1
    return squares / free if free else math.nan


def residual_variance(runs: Sequence[Sequence[float]]) -> float:
    """Two-way residual of a table without gaps."""
    n_runs, n_topics = len(runs), len(runs[0])
    grand = math.fsum(map(math.fsum, runs)) / (n_runs * n_topics)
    of_run = [math.fsum(scores) / n_topics for scores in runs]
    of_topic = [math.fsum(scores[j] for scores in runs) / n_runs for j in range(n_topics)]
    squares = math.fsum(
        (runs[i][j] - of_run[i] - of_topic[j] + grand) ** 2
        for i in range(n_runs)
        for j in range(n_topics)
    )
    return squares / ((n_runs - 1) * (n_topics - 1))


def lambda0(systems: int, alpha: float, beta: float, tool: bool) -> float:
    """Noncentrality of the first estimate."""
    if tool and (alpha, beta) in NAGATA:
        a, b = NAGATA[alpha, beta]
        return a + b * math.sqrt(systems - 1)
    critical = stats.chi2.isf(alpha, systems - 1)
    return float(
        brentq(
            lambda x: stats.ncx2.sf(critical, systems - 1, x) - (1 - beta), 1e-9, 1e4, xtol=1e-12
        )
    )


def anova_power(n: int, variance: float, difference: float, systems: int, alpha: float) -> float:
    """Exact power of the analysis of variance."""
    critical = stats.f.isf(alpha, systems - 1, systems * (n - 1))
    return float(
        stats.ncf.sf(critical, systems - 1, systems * (n - 1), n * difference**2 / (2 * variance))
    )


def anova_tool_power(
    n: int, variance: float, difference: float, systems: int, alpha: float
) -> float:
    """Patnaik and Fisher, as SPEC B.8 prints them."""
    phi_a, phi_e = systems - 1, systems * (n - 1)
    w = stats.f.ppf(1 - alpha, phi_a, phi_e)
    big_l = n * difference**2 / (2 * variance)
    c = (phi_a + 2 * big_l) / (phi_a + big_l)
    p = (phi_a + big_l) ** 2 / (phi_a + 2 * big_l)
    top = math.sqrt(w / phi_e) * math.sqrt(2 * phi_e - 1) - math.sqrt(c / phi_a) * math.sqrt(
        2 * p - 1
    )
    return float(1 - stats.norm.cdf(top / math.sqrt(c / phi_a + w / phi_e)))


def anova_size(variance: float, difference: float, systems: int, alpha: float, beta: float) -> int:
    """Smallest n with enough exact power, counted up from 2."""
    n = 2
    while anova_power(n, variance, difference, systems, alpha) < 1 - beta:
        n += 1
    return n


def rule_a(variance: float, difference: float, systems: int, alpha: float, beta: float) -> int:
    """Rule A of SPEC B.8."""
    n = max(2, math.ceil(2 * variance * lambda0(systems, alpha, beta, tool=True) / difference**2))
    while round(anova_tool_power(n, variance, difference, systems, alpha), 2) < 1 - beta:
        n += 1
    return n


def t_power(n: int, variance: float, difference: float, alpha: float) -> float:
    """Power of the paired t test; differences have twice the variance."""
    shift = math.sqrt(n) * difference / math.sqrt(2 * variance)
    critical = stats.t.isf(alpha / 2, n - 1)
    lower = stats.nct.sf(critical, n - 1, -shift)
    return float(stats.nct.sf(critical, n - 1, shift) + lower)


def t_size(variance: float, difference: float, alpha: float, beta: float) -> int:
    """Smallest n with enough power, counted up from 2."""
    n = 2
    while t_power(n, variance, difference, alpha) < 1 - beta:
        n += 1
    return n


def expected_width(n: int, variance: float, alpha: float) -> float:
    """S2 section 2."""
    c4 = math.sqrt(2 / (n - 1)) * math.exp(math.lgamma(n / 2) - math.lgamma((n - 1) / 2))
    return float(2 * stats.t.isf(alpha / 2, n - 1) * math.sqrt(2 * variance / n) * c4)


def interval_size(variance: float, width: float, alpha: float) -> int:
    """S2 equation 1, then incremented until the expected width is small enough."""
    n = max(2, math.ceil(4 * float(stats.norm.isf(alpha / 2)) ** 2 * 2 * variance / width**2))
    while expected_width(n, variance, alpha) > width:
        n += 1
    return n


def tool_width(
    n: int, variance: float, systems: int = 10, alpha: float = 0.05, beta: float = 0.2
) -> float:
    """Smallest difference, in steps of 0.001, for which rule A gives at most n; tried one after the other."""
    step = 1
    while step / 1000 < math.sqrt(8 * variance / n):  # far too small: rule A would count for long
        step += 1
    while rule_a(variance, step / 1000, systems, alpha, beta) > n:
        step += 1
    return step / 1000
