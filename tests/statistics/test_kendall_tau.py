"""Tau by chance against all orders, SciPy and the papers."""

import math

import numpy as np
import pytest
from scipy.stats import kendalltau, norm

from scorecube.statistics.agreement import discordant_shares, exact_p, null_error
from tests.oracles import correlation as oracle


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_exact_p_equals_all_orders(n: int) -> None:
    assert discordant_shares(n).sum() == pytest.approx(1.0, rel=1e-14)
    pairs = math.comb(n, 2)
    for discordant in range(pairs + 1):
        expected = float(oracle.exact_p(n, pairs - 2 * discordant))
        assert exact_p(n, pairs - discordant, discordant) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("n", [5, 12, 30, 44, 60])
def test_exact_p_equals_scipy(n: int) -> None:
    random = np.random.default_rng(n)
    for noise in (0.1, 0.5, 2.0, 50.0):
        a = np.arange(n)
        b = np.argsort(np.argsort(a / n + noise * random.standard_normal(n)))
        found = oracle.count(a.tolist(), b.tolist())
        p = exact_p(n, found.concordant, found.discordant)
        assert p == pytest.approx(kendalltau(a, b, method="exact").pvalue, rel=1e-9)


def test_thresholds_at_thirty_runs() -> None:
    # S1 section 5.1: "all the correlation values exceed 0.34 and therefore are statistically significant" at 1 %.
    threshold = norm.isf(0.005) * null_error(30)
    assert threshold == pytest.approx(0.3319, abs=5e-5)
    # Exactly: 145/435 is the smallest significant one.
    assert exact_p(30, (435 + 145) // 2, (435 - 145) // 2) == pytest.approx(0.009346, abs=5e-7)
    assert exact_p(30, (435 + 143) // 2, (435 - 143) // 2) > 0.01
    assert norm.isf(0.025) * null_error(44) == pytest.approx(0.204844, abs=5e-7)
    assert math.isnan(null_error(2))
