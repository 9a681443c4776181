"""Kinds of systems: known ones are found, one kind is not divided, and the models of two kinds draw about the right correlation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from scorecube.statistics.effect_posterior import (
    MODELS,
    SMALLEST_VARIANCE,
    _em,
    _log_densities,
    fit_models,
    kinds_of,
)
from tests.oracles.two_kinds import bic_prefers_two
from tests.validation.truths import samples, two_generations


def _means(apart: float, n: int, seed: int) -> np.ndarray:
    chance = np.random.default_rng(seed)
    return chance.standard_normal((2, n)) + apart * (np.arange(n) % 2)


@pytest.mark.parametrize("seed", range(10))
def test_kinds_far_apart_are_told(seed: int) -> None:
    means = _means(6.0, 30, seed)
    kinds = kinds_of(means, np.ones(30, bool))
    truth = np.arange(30) % 2
    assert (kinds == truth).all() or (kinds == 1 - truth).all()
    assert bic_prefers_two(means.T.tolist(), kinds.tolist())


def test_one_kind_is_seldom_divided() -> None:
    """BIC errs sometimes: in less than a quarter of samples of 30."""
    divided = [kinds_of(_means(0.0, 30, seed), np.ones(30, bool)).any() for seed in range(100)]
    assert np.mean(divided) < 0.25


def test_far_systems_belong_to_the_nearest_kind() -> None:
    means = _means(8.0, 31, 1)
    means[:, 30] = -40.0
    near = np.arange(31) < 30
    kinds = kinds_of(means, near)
    assert kinds[30] == kinds[0] != kinds[1]


@pytest.mark.parametrize(
    "means",
    [np.ones((2, 30)), np.zeros((2, 5)), np.array([np.arange(30.0), np.arange(30.0)])],
    ids=["equal", "few", "on one line"],
)
def test_degenerate_means_have_one_kind_or_two(means: np.ndarray) -> None:
    kinds = kinds_of(means, np.ones(means.shape[1], bool))
    assert kinds.shape == (means.shape[1],)


def test_scale_and_order_of_metrics_do_not_matter() -> None:
    means = _means(6.0, 24, 3)
    kinds = kinds_of(means, np.ones(24, bool))
    np.testing.assert_array_equal(kinds, kinds_of(means * [[3.0], [0.01]] + 5, np.ones(24, bool)))
    again = kinds_of(means[::-1], np.ones(24, bool))
    assert (again == kinds).all() or (again == 1 - kinds).all()


def test_within_kinds_the_correlation_is_theirs() -> None:
    """Two metrics that agree on kinds alone: one kind has a correlation near .9, two kinds one near 0."""
    found: dict[int, list[float]] = {0: [], len(MODELS): []}
    for sample in samples(two_generations(60, 200, 0.0, 6.0), 20, 1):
        for place, values in found.items():
            fitted = fit_models(sample.scores[0], sample.scores[1])[place]
            (a, ab, b), (e, ef, f) = fitted.spread, fitted.error
            values.append((ab - ef) / np.sqrt((a - e) * (b - f)))
    assert np.mean(found[0]) > 0.85
    assert abs(np.mean(found[len(MODELS)])) < 0.15


@pytest.mark.parametrize("model", ["linear", "rank", "matched"])
def test_centres_and_differences_make_the_observed_means(model: str) -> None:
    (sample,) = samples(two_generations(), 1, 2)
    fitted = fit_models(*sample.scores)[len(MODELS) + MODELS.index(model)]
    observed = sample.scores.mean(axis=-1)
    expected = observed - observed.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(fitted.means + fitted.centres, expected, atol=1e-12)
    assert fitted.centres.any()


def test_cuts_are_fitted_as_if_each_were_alone() -> None:
    """They take steps together, and some are settled, or left with too few systems of a kind, before others."""
    chance = np.random.default_rng(4)
    x = _means(2.0, 40, 4)
    shares = chance.uniform(0.05, 0.95, (5, 1, 40)) ** np.array([1, 1, 1, 1, 9])[:, None, None]
    shares = np.concatenate([shares, 1 - shares], axis=1)
    likelihoods, fitted = _em(x, shares.copy())
    alone = [_em(x, shares[k : k + 1].copy()) for k in range(5)]
    np.testing.assert_array_equal(likelihoods, [found[0] for found, _ in alone])
    np.testing.assert_array_equal(fitted, [found[0] for _, found in alone])
    assert likelihoods[4] == -np.inf
    assert np.isfinite(likelihoods[:4]).all()


def test_densities_are_those_of_two_weighted_normal_distributions() -> None:
    """As scipy's, with the mean of each kind and the covariance within kinds, each term a sum over systems in plain Python."""
    x, n = _means(3.0, 20, 7), 20
    shares = np.random.default_rng(7).uniform(0.1, 0.9, n)
    shares = np.array([shares, 1 - shares])
    centres = [
        [sum(w * v for w, v in zip(kind, row, strict=True)) / sum(kind) for row in x]
        for kind in shares
    ]
    covariance = [
        [
            sum(
                shares[k][s] * (x[i][s] - centres[k][i]) * (x[j][s] - centres[k][j])
                for k in (0, 1)
                for s in range(n)
            )
            / n
            + (SMALLEST_VARIANCE if i == j else 0.0)
            for j in (0, 1)
        ]
        for i in (0, 1)
    ]
    expected = [
        np.log(sum(shares[k]) / n) + multivariate_normal(centres[k], covariance).logpdf(x.T)
        for k in (0, 1)
    ]
    np.testing.assert_allclose(_log_densities(x, shares[np.newaxis])[0], expected, rtol=1e-12)
