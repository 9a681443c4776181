"""Limits of the winner's mean: against the plain reference, in simple cases, and their coverage for normal estimates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import norm

from scorecube.statistics.winner_limits import error_of_choice, may_lead, winner_limits
from tests.oracles.winners import limits, possible_winners

ALPHA = 0.05


@pytest.mark.parametrize("seed", range(6))
def test_they_are_those_of_the_reference(seed: int) -> None:
    """Correlated errors, unequal ones, and runs that cannot lead."""
    chance = np.random.default_rng(seed)
    means, errors = chance.normal(0, 0.6, 9), chance.uniform(0.1, 0.4, 9)
    drawn = chance.standard_normal((9, 399)) + chance.standard_normal(399)
    margins = chance.uniform(0.1, 0.5, 9)
    margins[np.argmax(means)] = 0.0
    chosen = may_lead(means, margins)
    runs = possible_winners(means.tolist(), margins.tolist())
    assert np.flatnonzero(chosen).tolist() == runs
    found = winner_limits(means, errors, drawn, chosen, ALPHA)
    expected = limits(means.tolist(), errors.tolist(), drawn.tolist(), runs, ALPHA, ALPHA / 10)
    assert found == pytest.approx(expected, abs=1e-12)


def test_far_ahead_they_are_those_of_a_run_by_itself_with_a_little_less_error() -> None:
    chance = np.random.default_rng(1)
    means, errors = np.array([9.0, 0.0, 0.0]), np.ones(3)
    drawn = chance.standard_normal((3, 99_999))
    chosen = may_lead(means, np.array([0.0, 2.0, 2.0]))
    assert chosen.tolist() == [True, False, False]
    half = norm.ppf(1 - 0.45 * ALPHA)
    found = winner_limits(means, errors, drawn, chosen, ALPHA)
    assert found == pytest.approx((9 - half, 9 + half), abs=0.03)


def test_a_tie_has_limits_around_the_estimate() -> None:
    """The estimate is inside, and only the lower side is wider."""
    chance = np.random.default_rng(2)
    drawn = chance.standard_normal((2, 99_999))
    low, high = winner_limits(np.ones(2), np.ones(2), drawn, np.ones(2, bool), ALPHA)
    assert low < 1.0 - norm.ppf(1 - 0.45 * ALPHA) - 0.1
    assert high == pytest.approx(1.0 + norm.ppf(1 - 0.45 * ALPHA), abs=0.03)


def test_runs_whose_margin_is_not_known_may_lead() -> None:
    assert may_lead(np.array([1.0, 0.0]), np.array([0.0, math.nan])).tolist() == [True, True]


@pytest.mark.parametrize(
    ("errors", "trials"), [(np.zeros(2), 999), (np.ones(2), 30)], ids=["no spread", "few trials"]
)
def test_without_spread_or_trials_nothing_is_known(errors: np.ndarray, trials: int) -> None:
    drawn = np.random.default_rng(3).standard_normal((2, trials))
    found = winner_limits(np.array([1.0, 0.0]), errors, drawn, np.ones(2, bool), ALPHA)
    assert np.isnan(found).all()


def test_errors_without_a_finite_quantile_have_no_limit_on_that_side() -> None:
    drawn = np.random.default_rng(4).standard_normal((2, 999))
    drawn[1, :100] = np.inf
    low, high = winner_limits(np.ones(2), np.ones(2), drawn, np.ones(2, bool), ALPHA)
    assert math.isnan(low)
    assert math.isfinite(high)


@pytest.mark.slow
@pytest.mark.parametrize(("spread", "worst_alone"), [(0.0, 0.92), (0.5, 0.94), (3.0, 0.97)])
def test_they_cover_the_mean_of_the_winner(spread: float, worst_alone: float) -> None:
    """2,000 draws of 12 correlated estimates whose errors are known: the standard error of the coverage is .005."""
    chance = np.random.default_rng(5)
    root = np.linalg.cholesky(0.5 + 0.5 * np.eye(12))
    means = spread * np.linspace(-1, 1, 12)
    drawn = root @ chance.standard_normal((12, 9_999))
    # All differences have variance 1: the margin of all pairs is that of the range.
    margin = float(np.quantile(np.ptp(drawn, axis=0), 1 - error_of_choice(ALPHA)))
    held, alone = [], []
    for _ in range(2000):
        x = means + root @ chance.standard_normal(12)
        truth = means[np.argmax(x)]
        low, high = winner_limits(x, np.ones(12), drawn, may_lead(x, np.full(12, margin)), ALPHA)
        held.append(low <= truth <= high)
        alone.append(abs(x.max() - truth) <= norm.ppf(0.975))
    assert 0.945 < np.mean(held) < 0.995
    assert np.mean(alone) < worst_alone
