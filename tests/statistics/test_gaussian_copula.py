"""Gaussian copulas: correlations of scores against quadrature, and back."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from scorecube.statistics import copulas
from scorecube.statistics.copulas import (
    BITS,
    hermite_coefficients,
    loadings,
    normal_correlations,
    score_covariances,
)
from scorecube.statistics.margin_fits import fit_margin, score_grid
from scorecube.statistics.margins import Margin

TENTHS = np.arange(11) / 10


def discrete(*probabilities: float) -> Margin:
    cumulative = np.cumsum(probabilities) / sum(probabilities)
    cumulative[-1] = 1.0
    return Margin("given", (), 0.0, TENTHS[: len(probabilities)], cumulative)


MARGINS = (discrete(3, 2, 4, 1), discrete(1, 1, 1, 1, 5, 2), discrete(9, 1))


def covariance(one: Margin, other: Margin, r: float) -> float:
    """Return E[XY] - E[X] E[Y] from probabilities of quadrants of the normal distribution."""
    total = 0.0
    normal = scipy.stats.multivariate_normal([0, 0], [[1, r], [r, 1]])
    for a, step in zip(
        scipy.stats.norm.ppf(one.cumulative[:-1]), np.diff(one.support), strict=True
    ):
        for b, other_step in zip(
            scipy.stats.norm.ppf(other.cumulative[:-1]), np.diff(other.support), strict=True
        ):
            both = normal.cdf([-a, -b])
            total += step * other_step * (both - scipy.stats.norm.sf(a) * scipy.stats.norm.sf(b))
    return total


@pytest.mark.parametrize("r", [-0.7, 0.0, 0.4, 0.85])
def test_covariances_are_those_of_quadrants(r: float) -> None:
    coefficients = np.array([hermite_coefficients(each) for each in MARGINS])
    found = score_covariances(np.full((3, 3), r), coefficients)
    for i, one in enumerate(MARGINS):
        for j, other in enumerate(MARGINS):
            rest = abs(r) ** copulas.DEGREES * 0.05
            assert found[i, j] == pytest.approx(covariance(one, other, r), abs=2e-6 + rest)


def test_squares_of_coefficients_are_the_variance_of_a_smooth_margin() -> None:
    scores = np.round(np.random.default_rng(1).beta(2, 3, 60), 4)
    margin = fit_margin(scores, score_grid(scores))
    assert (hermite_coefficients(margin) ** 2).sum() == pytest.approx(margin.variance, rel=1e-4)


def test_normal_correlations_give_the_wanted_correlations() -> None:
    wanted = np.array([[1.0, 0.5, -0.2], [0.5, 1.0, 0.1], [-0.2, 0.1, 1.0]])
    normal = normal_correlations(wanted, MARGINS)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        one, other = MARGINS[i], MARGINS[j]
        reached = covariance(one, other, normal[i, j]) / np.sqrt(one.variance * other.variance)
        assert reached == pytest.approx(wanted[i, j], abs=1e-5)
    assert np.diag(normal).tolist() == [1.0, 1.0, 1.0]


def test_loadings_are_short_numbers_with_the_wanted_products() -> None:
    random = np.random.default_rng(2)
    sample = random.normal(size=(12, 6)) + random.normal(size=6)
    correlations = np.asarray(np.corrcoef(sample))
    found = loadings(correlations, rank=5)  # more systems than topics: rank 5
    assert found.shape == (12, 5)
    np.testing.assert_allclose(found @ found.T, correlations, atol=1e-5)
    assert (np.rint(found * 2.0**BITS) == found * 2.0**BITS).all()
    few = loadings(correlations, rank=2)
    np.testing.assert_allclose((few**2).sum(axis=1), 1.0, atol=1e-5)


def test_constant_scores_have_loadings() -> None:
    correlations = np.eye(5)
    correlations[:4, :4] = 0.5 + 0.5 * np.eye(4)
    found = loadings(correlations, rank=1)  # the last system is correlated with none
    np.testing.assert_allclose((found**2).sum(axis=1), 1.0, atol=1e-5)
