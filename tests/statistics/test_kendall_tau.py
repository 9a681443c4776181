"""Tau by chance against all orders and SciPy."""

import math

import numpy as np
import pytest
from scipy.stats import kendalltau

from scorecube.statistics.agreement import discordant_shares, exact_p
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
