"""Limits from replicates without groups, against plain Python and against samples of known distribution."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scorecube.statistics.replicate_limits import DRAWS, Replicates, behind_best, draw_errors

Array = np.ndarray[Any, Any]


def plain_covariance(one: list[float], other: list[float]) -> float:
    """Return the jackknife covariance of two lists of replicates."""
    n = len(one)
    means = sum(one) / n, sum(other) / n
    return (
        (n - 1) / n * sum((a - means[0]) * (b - means[1]) for a, b in zip(one, other, strict=True))
    )


def some_replicates(seed: int, n: int = 3) -> Replicates:
    chance = np.random.default_rng(seed)
    common = chance.normal(0, 0.02, (10, 1, n))
    return Replicates(
        chance.normal(0.4, 0.01, (8, n)), common + chance.normal(0.4, 0.01, (10, 2, n))
    )


@pytest.mark.parametrize("seed", range(10))
def test_limits_are_those_of_the_formula(seed: int) -> None:
    replicates = some_replicates(seed)
    low, high = replicates.limits(np.full(3, 0.4))
    for k in range(3):
        of_runs = plain_covariance(*[replicates.runs[:, k].tolist()] * 2)
        halves = [replicates.topics[:, half, k].tolist() for half in range(2)]
        between = plain_covariance(*halves)
        total = of_runs + max(between, 0.0)
        own = [plain_covariance(half, half) for half in halves]
        freedom = 2 * total**2 / (2 * of_runs**2 / 7 + (own[0] * own[1] + between**2) / 9)
        at_most = total**2 / (of_runs**2 / 7 + max(between, 0.0) ** 2 / 9)
        freedom = max(freedom, min(at_most, 5.0), 1.0)
        half = stats.t.ppf(0.975, freedom) * math.sqrt(total)
        assert (low[k], high[k]) == pytest.approx((0.4 - half, 0.4 + half), rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_deviations_have_the_variances(seed: int) -> None:
    replicates = some_replicates(seed)
    np.testing.assert_allclose((replicates.deviations() ** 2).sum(axis=0), replicates.variance()[0])


def test_halves_that_disagree_have_no_component_of_topics() -> None:
    values = np.linspace(0, 1, 10)[:, np.newaxis]
    replicates = Replicates(np.zeros((5, 1)), np.stack([values, -values], axis=1))
    assert replicates.variance()[0].tolist() == [0.0]


def test_draws_have_the_covariances_of_deviations() -> None:
    deviations = np.array([[1.0, 0.5], [0.0, 0.5]])
    drawn = np.concatenate(
        [draw_errors(deviations, 1e6, np.random.default_rng(seed)) for seed in range(20)]
    )
    assert len(drawn) == 20 * DRAWS
    # Standard errors are at most .01.
    np.testing.assert_allclose(drawn.T @ drawn / len(drawn), deviations.T @ deviations, atol=0.05)


def test_equal_statistics_are_not_separated() -> None:
    column = np.random.default_rng(3).normal(0.4, 0.01, (8, 1))
    replicates = Replicates(np.repeat(column, 2, axis=1), np.full((10, 2, 2), 0.4))
    estimate = np.array([0.4, 0.4])
    low, high = behind_best(estimate, replicates, np.random.default_rng(1))
    assert low.tolist() == high.tolist() == [0.0, 0.0]


def test_claims_of_separation_keep_the_family_wise_error_rate() -> None:
    """Five statistics of equal expectation, 20 independent groups: 400 experiments, 5 standard errors above .05 is .105."""
    wrong = 0
    for seed in range(400):
        chance = np.random.default_rng(seed)
        values = chance.normal(size=(20, 5))
        total = values.mean(axis=0)
        without = (values.sum(axis=0) - values) / 19
        low, _ = behind_best(total, Replicates(without, np.zeros((10, 2, 5))), chance)
        wrong += bool((low > 0).any())
    assert 0.01 < wrong / 400 < 0.105
