"""Limits of bounded means: against the plain reference, in extreme cases, and their coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from scorecube.statistics.bounded_means import (
    SHARES,
    betting_limits,
    bounded_limits,
    mid_p_limits,
    n_varied,
)
from scorecube.statistics.corrected_means import corrected_means
from tests.oracles.bounded_means import betting, mid_p


@pytest.mark.parametrize("n", [1, 10, 50])
def test_mid_p_limits_are_those_of_the_reference(n: int) -> None:
    successes = np.unique([0, 1, n // 2, n - 1, n])
    low, high = mid_p_limits(successes, n, 0.025)
    expected = [mid_p(int(k), n, 0.025) for k in successes]
    np.testing.assert_allclose(np.transpose([low, high]), expected, atol=1e-9)


@pytest.mark.parametrize("error", [0.025, 0.005])
def test_betting_limits_are_those_of_the_reference(error: float) -> None:
    """Rows that vary, that do not, and that are at a bound."""
    chance = np.random.default_rng(1)
    scores = np.stack([chance.random(20), 1 / chance.integers(1, 4, 20), np.full(20, 0.3), np.ones(20), np.zeros(20)])  # fmt: skip
    low, high = betting_limits(scores, error)
    expected = [betting(row.tolist(), SHARES.tolist(), error) for row in scores]
    np.testing.assert_allclose(np.transpose([low, high]), expected, atol=1e-9)
    assert (low <= scores.mean(axis=1)).all()
    assert (high >= scores.mean(axis=1)).all()


def test_the_order_of_topics_does_not_matter() -> None:
    scores = np.random.default_rng(2).random((3, 30))
    np.testing.assert_allclose(
        betting_limits(scores, 0.025), betting_limits(scores[:, ::-1], 0.025), atol=1e-12
    )


def test_equal_scores_have_limits_that_shrink_with_topics() -> None:
    """All topics have the score 1: the upper limit is the bound, the lower one rises."""
    lows = []
    for n in (10, 25, 50, 200):
        low, high = bounded_limits(np.full((1, n), 5.0), (0.0, 5.0), 0.025)
        lows.append(low[0])
        assert high[0] == 5.0
    assert lows == sorted(lows)
    assert 3.0 < lows[0] < lows[-1] < 5.0


def test_topics_that_vary() -> None:
    scores = np.array([[1, 1, 1, 1], [1, 2, 1, 2], [4, 3, 2, 1], [1, 1, 2, 3]], float)
    assert n_varied(scores).tolist() == [0, 2, 3, 2]


@pytest.mark.parametrize("p", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("n", [25, 50, 100])
def test_mid_p_limits_cover_binary_means(n: int, p: float) -> None:
    """Exactly, by the binomial distribution: .93 or more."""
    k = np.arange(n + 1)
    low, high = mid_p_limits(k, n, 0.025)
    assert binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum() > 0.93


@pytest.mark.parametrize("p", [0.5, 0.95])
def test_bets_are_fair(p: float) -> None:
    """The mean is beyond a limit in 2.5 % of samples at most: 2,000 samples of reciprocal ranks."""
    chance = np.random.default_rng(3)
    scores = 1.0 / chance.geometric(p, (2000, 25))
    truth = -p * np.log(p) / (1 - p)
    low, high = betting_limits(scores, 0.025)
    assert (low > truth).mean() < 0.03
    assert (high < truth).mean() < 0.03


def test_corrected_means_within_bounds_are_those_of_the_labels_where_few_vary() -> None:
    """A run with perfect labels has the limits of its labels, by the plain reference; one whose corrections vary keeps those of the regression."""
    chance = np.random.default_rng(4)
    perfect, judge = np.ones(40), chance.beta(4, 2, (2, 40))
    truth = np.stack([perfect, np.clip(judge[1] + 0.1 * chance.standard_normal(40), 0.05, 0.95)])
    chosen = np.zeros((2, 40), bool)
    chosen[0, :20], chosen[1, 15:35] = True, True
    plain, bounded = (corrected_means(truth, judge, judge[:, :0], chosen, 0.95, bounds) for bounds in (None, (0.0, 1.0)))  # fmt: skip
    low, high = mid_p(20, 20, 0.025)
    np.testing.assert_allclose(bounded.low[:, 0], low, atol=1e-9)
    np.testing.assert_allclose(bounded.high[:, 0], high, atol=1e-9)
    assert (plain.low[:, 0] == 1.0).all()
    np.testing.assert_array_equal(bounded.low[:, 1], plain.low[:, 1])
    np.testing.assert_array_equal(bounded.mean, plain.mean)
    truth[0, [3, 18]] = 0.5
    found = corrected_means(truth, judge, judge[:, :0], chosen, 0.95, (0.0, 1.0))
    for choice, halves in ((0, 2), (1, 1)):
        expected = betting([1.0] * (20 - halves) + [0.5] * halves, SHARES.tolist(), 0.025)
        assert (found.low[choice, 0], found.high[choice, 0]) == pytest.approx(expected, abs=1e-7)
