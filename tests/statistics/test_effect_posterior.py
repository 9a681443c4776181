"""Draws of true means of systems: linear estimates, covariances and degenerate cases, against plain formulas."""

from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.special import ndtri
from scipy.stats import kendalltau

from scorecube.statistics import effect_posterior
from scorecube.statistics.effect_posterior import (
    FAR,
    LEAST_FREEDOM,
    N_COVARIANCE,
    Effects,
    draw_effects,
    fit_effects,
    stacked,
)
from tests.validation.truths import Floats
from tests.validation.two_metrics import DESIGNS, simulate


def scores_of(design: str = "normal", n_systems: int = 24, seed: int = 1) -> Floats:
    return simulate(np.random.default_rng(seed), n_systems, 20, 0.8, DESIGNS[design])[0]


def plain_covariances(scores: Floats) -> tuple[list[float], list[float]]:
    """Return covariances of means, and of their errors, by two-way analysis of variance."""
    rows, columns = len(scores[0]), len(scores[0][0])
    means = [[statistics.fmean(row) for row in metric] for metric in scores.tolist()]
    residuals = []
    for metric, mean in zip(scores.tolist(), means, strict=True):
        of_topic = [statistics.fmean(metric[i][j] for i in range(rows)) for j in range(columns)]
        grand = statistics.fmean(mean)
        residuals.append([
            metric[i][j] - mean[i] - of_topic[j] + grand for i in range(rows) for j in range(columns)
        ])  # fmt: skip
    spread, error = [], []
    for a, b in ((0, 0), (0, 1), (1, 1)):
        spread.append(statistics.covariance(means[a], means[b]))
        products = math.fsum(x * y for x, y in zip(residuals[a], residuals[b], strict=True))
        error.append(products / ((rows - 1) * (columns - 1)) / columns)
    return spread, error


def test_covariances_are_those_of_two_way_analysis() -> None:
    scores = scores_of()
    spread, error = plain_covariances(scores)
    fitted = fit_effects(*scores)
    assert list(fitted.spread) == pytest.approx(spread, rel=1e-9)
    assert list(fitted.error) == pytest.approx(error, rel=1e-9)
    ranked = fit_effects(scores[0], scores[1], "rank")
    tau = kendalltau(scores[0].mean(axis=1), scores[1].mean(axis=1)).statistic
    correlation = ranked.spread[1] / math.sqrt(ranked.spread[0] * ranked.spread[2])
    assert correlation == pytest.approx(math.sin(math.pi * tau / 2))


def test_draws_are_linear_estimates_with_their_errors() -> None:
    # Without errors of covariances (very many degrees of freedom) and of topics a draw is the linear estimate with a prior draw mixed in.
    means = np.array([[0.3, -0.1, -0.2], [0.1, 0.2, -0.3]])
    effects = Effects(
        means, (0.05, 0.03, 0.06), (0.01, 0.004, 0.02), 1e12, np.ones((2, 3)), np.zeros((2, 3))
    )
    uniforms = np.random.default_rng(2).random((5, N_COVARIANCE + 6))
    errors = 0.01 * np.random.default_rng(3).standard_normal((2, 5, 3))
    drawn = draw_effects(stacked([effects]), uniforms, errors[:, np.newaxis])[:, 0]
    total = np.array([[0.05, 0.03], [0.03, 0.06]])
    prior = total - np.array([[0.01, 0.004], [0.004, 0.02]])
    gain = prior @ np.linalg.inv(total)
    root = np.linalg.cholesky(prior)
    for k in range(5):
        start = root @ ndtri(uniforms[k, N_COVARIANCE:]).reshape(2, 3)
        expected = start + gain @ (means - start - errors[:, k])
        np.testing.assert_allclose(drawn[:, k], expected, atol=1e-5)


def test_covariances_are_inverse_wishart() -> None:
    effects = Effects(
        np.zeros((2, 3)),
        (0.05, 0.03, 0.06),
        (0.0, 0.0, 0.0),
        12.0,
        np.ones((2, 3)),
        np.zeros((2, 3)),
    )
    uniforms = np.random.default_rng(4).random((40_000, N_COVARIANCE))
    drawn = effect_posterior._draw_prior(stacked([effects]), uniforms)
    # The mean of freedom x inverse Wishart is S freedom / (freedom - 3).
    for values, value in zip(drawn, effects.spread, strict=True):
        assert values.mean() == pytest.approx(value * 12 / 9, rel=0.02)


@pytest.mark.parametrize("seed", range(5))
def test_least_excess_is_the_smallest_generalized_eigenvalue(seed: int) -> None:
    random = np.random.default_rng(seed)
    spread, error = (part @ part.T for part in random.standard_normal((2, 2, 2)))
    values, vectors = eigh(spread, error)  # vectors have an error of variance 1
    parts = [(part[0, 0], part[0, 1], part[1, 1]) for part in (spread, error)]
    weights, excess = effect_posterior._least_excess(*parts)
    assert excess == pytest.approx(max(values[0] - 1, 0), rel=1e-9)
    assert abs(np.array(weights) @ error @ vectors[:, 0]) == pytest.approx(1, rel=1e-9)
    assert np.array(weights) @ error @ np.array(weights) == pytest.approx(1, rel=1e-9)
    ten = effect_posterior._least_excess(*(tuple(scale * each for each in part) for scale, part in zip((10, 1), parts, strict=True)))  # fmt: skip
    assert ten[1] == pytest.approx(max(10 * values[0] - 1, 0), rel=1e-9)


@pytest.mark.parametrize(
    ("spread", "error", "same"),
    [
        ((1.0, 2.0, 4.0), (0.25, 0.5, 1.0), True),
        ((1.0, 2.0, 4.0), (0.0, 0.0, 0.0), True),
        ((1.0, 2.0, 4.0), (0.25, 0.4, 1.0), False),
        ((1.0, 1.9, 4.0), (0.0, 0.0, 0.0), False),
    ],
)
def test_metrics_of_one_scale_are_the_same(
    spread: tuple[float, float, float], error: tuple[float, float, float], same: bool
) -> None:
    assert (
        Effects(np.zeros((2, 3)), spread, error, 10.0, np.ones((2, 3)), np.zeros((2, 3))).same
        is same
    )


def test_metrics_with_the_same_errors_have_the_excess_of_the_first() -> None:
    found = effect_posterior._least_excess((0.5, 0.5, 0.5), (0.2, 0.2, 0.2))
    assert found[0] == (1.0, 0.0)
    assert found[1] == pytest.approx(1.5)
    assert effect_posterior._least_excess((0.5, 0.5, 0.5), (0.0, 0.0, 0.0)) == ((1.0, 0.0), 0.0)


@pytest.mark.parametrize(("n_systems", "n_topics"), [(4, 30), (30, 6)])
def test_independent_systems_are_those_of_the_unbiased_traces(
    n_systems: int, n_topics: int
) -> None:
    """Himeno and Yamada 2014: an unbiased estimate of the trace of the squared covariance."""
    random = np.random.default_rng(1)
    common = 2 * random.standard_normal(n_topics)
    rows = (common + random.standard_normal((n_systems, n_topics))).tolist()
    n = n_topics
    gram = [[math.fsum(x * y for x, y in zip(a, b, strict=True)) / (n - 1) for b in rows] for a in rows]  # fmt: skip
    trace = sum(gram[k][k] for k in range(n_systems))
    squares = math.fsum(value**2 for row in gram for value in row)
    unbiased = (n - 1) ** 2 / ((n - 2) * (n + 1)) * (squares - trace**2 / (n - 1))
    found = effect_posterior._independent_systems(np.array(rows))
    assert found == pytest.approx(trace**2 / unbiased, rel=1e-9)


@pytest.mark.parametrize("n_systems", [10, 40])
def test_degrees_of_freedom_add_errors_and_true_means(n_systems: int) -> None:
    scores = scores_of("teams", n_systems, seed=3)
    fitted = fit_effects(*scores)
    scores = scores[:, effect_posterior._near(scores.mean(axis=2))]
    (one, other), excess = effect_posterior._least_excess(fitted.spread, fitted.error)
    noise = one * scores[0] + other * scores[1]
    noise = noise - noise.mean(axis=1, keepdims=True)
    noise = noise - noise.mean(axis=0)
    most = scores.shape[1] - 1
    independent = min(effect_posterior._independent_systems(noise), most)
    # Weights of the variances: of errors 1, of true means the excess.
    freedom = (1 + excess) ** 2 / (1 / independent + (excess**2 + 2 * excess) / most)
    assert fitted.freedom == pytest.approx(min(max(freedom, LEAST_FREEDOM), most), rel=1e-6)
    assert LEAST_FREEDOM < fitted.freedom < most


def test_a_correlation_beyond_one_makes_the_order_the_same() -> None:
    effects = Effects(np.array([[0.3, -0.3, 0.0], [0.2, 0.1, -0.3]]), (0.05, 0.05, 0.05), (0.01, 0.0, 0.01), 50.0, np.ones((2, 3)), np.zeros((2, 3)))  # fmt: skip
    first, second = draw_effects(stacked([effects]), np.random.default_rng(5).random((50, 9)), np.zeros((2, 1, 50, 3)))[:, 0]  # fmt: skip
    assert (np.argsort(first, axis=1) == np.argsort(second, axis=1)).all()


def test_teams_and_unequal_variances_have_fewer_degrees_of_freedom() -> None:
    random = np.random.default_rng(6)
    alone, teams = (
        np.mean([fit_effects(*simulate(random, 30, 50, 1.0, DESIGNS[name])[0]).freedom for _ in range(20)])
        for name in ("normal", "teams")
    )  # fmt: skip
    assert LEAST_FREEDOM < teams < 0.7 * alone
    assert alone > 20


def test_broken_systems_have_no_part_in_covariances() -> None:
    scores = scores_of()
    broken = np.concatenate([scores, scores[:, :1] - 30.0], axis=1)
    fitted, other = fit_effects(*scores), fit_effects(*broken)
    assert other.spread == pytest.approx(fitted.spread)
    assert other.error == pytest.approx(fitted.error)
    distance = np.abs(scores.mean(axis=2) - np.median(scores.mean(axis=2), axis=1)[:, None])
    assert (distance < FAR * 3 * distance.std()).all()


def test_matched_distributions_undo_an_increasing_function() -> None:
    first = np.linspace(-1, 1, 40)
    means = np.array([first, (first + 0.3 * first**3) / 5])
    mapped, slopes = effect_posterior._matched(means - means.mean(axis=1, keepdims=True), np.ones(40, bool))  # fmt: skip
    np.testing.assert_allclose(mapped[0], mapped[1], atol=0.03)
    assert (slopes > 0).all()


def test_means_of_two_values_are_matched_by_a_line() -> None:
    """A cubic polynomial through two different means is not defined; it ended in a traceback."""
    two = np.repeat([0.0, 1.0], 8)
    other = np.random.default_rng(9).standard_normal(16)
    mapped, slopes = effect_posterior._matched(
        np.array([two - two.mean(), other - other.mean()]), np.ones(16, bool)
    )
    assert len(np.unique(mapped[0].round(9))) == 2
    assert np.isfinite(slopes).all()
    assert (slopes > 0).all()


def test_equal_means_but_for_rounding_are_not_matched() -> None:
    """As where a measure has the same score for all systems: their mean is off by a rounding."""
    equal, other = np.full(16, 0.1), np.random.default_rng(9).standard_normal(16)
    means = np.array([equal - 0.1 - 1e-17, other - other.mean()])
    mapped, slopes = effect_posterior._matched(means, np.ones(16, bool))
    np.testing.assert_array_equal(mapped, means)
    np.testing.assert_array_equal(slopes, 1.0)
