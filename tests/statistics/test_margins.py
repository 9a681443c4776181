"""Margins: likelihoods against SciPy, smoothing against plain loops, moments, distortions, grids of scores."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from scorecube.statistics import margin_fits as margins
from scorecube.statistics import margins as distortions
from scorecube.statistics.margin_fits import fit_margin, score_grid
from scorecube.statistics.margins import Margin

TENTHS = np.arange(11) / 10
FINE = np.round(np.arange(10_001) / 10_000, 4)


def beta_scores(n: int = 60, a: float = 1.5, b: float = 4.0) -> np.ndarray:
    return np.asarray(np.round(np.random.default_rng(3).beta(a, b, n), 4))


def candidates(scores: np.ndarray) -> dict[str, Margin]:
    return {each.kind: each.on(FINE) for each in margins._continuous(scores, 1e-4)}


def test_normal_margin_is_a_truncated_normal_variable() -> None:
    scores = np.clip(np.round(np.random.default_rng(1).normal(0.4, 0.2, 80), 4), 0, 1)
    found = candidates(scores)["normal"]
    mu, sigma = found.parameters
    exact = scipy.stats.truncnorm(-mu / sigma, (1 - mu) / sigma, loc=mu, scale=sigma)
    assert found.aic == pytest.approx(4 - 2 * exact.logpdf(scores).sum(), abs=1e-6)
    assert found.mean == pytest.approx(exact.mean(), abs=1e-5)
    assert found.variance == pytest.approx(exact.var(), abs=1e-5)
    for other in ((mu + 0.01, sigma), (mu, sigma * 1.03)):
        changed = scipy.stats.truncnorm(
            -other[0] / other[1], (1 - other[0]) / other[1], loc=other[0], scale=other[1]
        )
        assert changed.logpdf(scores).sum() < exact.logpdf(scores).sum()


def test_normal_margin_keeps_its_limits() -> None:
    narrow = np.round(0.5 + 0.001 * np.arange(-20, 20), 4)
    assert candidates(narrow)["normal"].parameters[1] == margins.LEAST_SIGMA
    skewed = np.round(np.random.default_rng(1).exponential(0.1, 80).clip(0, 1), 4)
    assert candidates(skewed)["normal"].parameters[0] == 0.0


def test_beta_margin_is_a_beta_variable() -> None:
    scores = beta_scores()
    found = candidates(scores)["beta"]
    exact = scipy.stats.beta(*found.parameters)
    assert found.aic == pytest.approx(4 - 2 * exact.logpdf(scores).sum(), abs=1e-6)
    assert found.mean == pytest.approx(exact.mean(), abs=1e-5)
    fitted = scipy.stats.beta.fit(scores, floc=0, fscale=1)[:2]
    assert found.parameters == pytest.approx(fitted, rel=1e-3)


def test_beta_shapes_at_a_limit_are_the_most_likely_within_it() -> None:
    """One shape is at its limit; the other makes the derivative of the likelihood 0."""
    psi = scipy.special.psi
    for scores, limit, at in ((0.9 * (np.arange(1, 30) / 30) ** 3, margins.LEAST_SHAPE, 0),
                              (1 - 1e-5 * np.arange(1, 30), margins.MOST_SHAPE, 0)):  # fmt: skip
        first, second = np.log(scores).mean(), np.log1p(-scores).mean()
        found = margins._likely_shapes(first, second, np.array([2.0, 3.0]))
        assert found[at] == limit
        free = scipy.optimize.brentq(lambda b, a=limit, s=second: psi(b) - psi(a + b) - s, 1e-3, 1e5)  # fmt: skip
        assert found[1 - at] == pytest.approx(max(free, margins.LEAST_SHAPE), rel=1e-5)
    both = margins._likely_shapes(math.log(0.01), math.log(0.01), np.array([2.0, 3.0]))
    assert both.tolist() == [margins.LEAST_SHAPE] * 2


@pytest.mark.parametrize("values", ["spread", "equal"])
def test_kernels_have_silvermans_bandwidth_and_the_freedom_of_their_smoother(values: str) -> None:
    scores = beta_scores(30)
    if values == "equal":  # the quartiles are equal
        scores = np.append(np.full(25, 0.3), scores[:5])
    found = candidates(scores)["kernel"]
    low, high = np.quantile(scores, (0.25, 0.75))
    spread = scores.std(ddof=1) if low == high else min(scores.std(ddof=1), (high - low) / 1.34)
    assert found.parameters == pytest.approx((0.9 * spread / 30**0.2,))
    (h,) = found.parameters

    def weight(x: float, s: float) -> float:
        return float(scipy.stats.norm.pdf(x, [s, -s, 2 - s], h).sum())

    at = [sum(weight(x, s) for s in scores) for x in scores]
    freedom = sum(weight(x, x) / each for x, each in zip(scores, at, strict=True))
    logs = sum(math.log(each / 30) for each in at)
    assert found.aic == pytest.approx(2 * freedom - 2 * logs, rel=1e-9)


def test_kernel_margins_have_their_densities() -> None:
    scores = beta_scores(30)
    found = candidates(scores)
    h = found["kernel"].parameters[0]

    def reflected(x: float) -> float:
        images = [each for s in scores for each in (s, -s, 2 - s)]
        return float(scipy.stats.norm.pdf(x, images, h).sum() / len(scores))

    b = found["beta kernel"].parameters[0]
    assert b == pytest.approx(30**-0.4)

    def chen(x: float) -> float:
        return float(np.mean([scipy.stats.beta.pdf(s, x / b + 1, (1 - x) / b + 1) for s in scores]))

    for kind, density in (("kernel", reflected), ("beta kernel", chen)):
        whole = scipy.integrate.quad(density, 0, 1, limit=200)[0]
        for low, high in ((0.0, 0.05), (0.1, 0.3), (0.5, 1.0)):
            area = scipy.integrate.quad(density, low, high, limit=200)[0] / whole
            inside = (low < FINE if low else FINE >= 0) & (high >= FINE)
            assert found[kind].probabilities[inside].sum() == pytest.approx(area, abs=2e-3)
    # The freedom of the smoother is the part of each estimate that is due to its own score.
    own = [scipy.stats.beta.pdf(s, s / b + 1, (1 - s) / b + 1) / (30 * chen(s)) for s in scores]
    logs = sum(math.log(chen(s) / whole) for s in scores)
    assert found["beta kernel"].aic == pytest.approx(2 * sum(own) - 2 * logs, abs=1e-3)


def test_beta_binomial_margin_is_one() -> None:
    scores = (
        scipy.stats.betabinom.rvs(10, 2, 5, size=200, random_state=np.random.default_rng(2)) / 10
    )
    found = next(each for each in margins._discrete(scores, TENTHS) if each.kind == "beta-binomial")
    exact = scipy.stats.betabinom(10, *found.parameters)
    np.testing.assert_allclose(found.probabilities, exact.pmf(np.arange(11)), rtol=1e-7, atol=1e-12)
    assert found.aic == pytest.approx(4 - 2 * exact.logpmf(np.rint(scores * 10)).sum(), abs=1e-6)
    assert found.parameters == pytest.approx((2, 5), rel=0.4)


def smooth(points: list[int], at: int, bandwidth: float) -> float:
    """Return Wang and van Ryzin's estimate, point by point."""
    total = 0.0
    for point in points:
        away = abs(at - point)
        total += 1 - bandwidth if away == 0 else 0.5 * (1 - bandwidth) * bandwidth**away
    return total / len(points)


def test_smoothed_probabilities_and_their_bandwidth() -> None:
    points = np.random.default_rng(5).integers(0, 11, 40).tolist()
    counts = np.bincount(points, minlength=11).astype(float)

    def loss(bandwidth: float) -> float:
        squares = sum(smooth(points, at, bandwidth) ** 2 for at in range(11))
        others = [smooth(points[:k] + points[k + 1 :], points[k], bandwidth) for k in range(40)]
        return squares - 2 * float(np.mean(others))

    best = margins._bandwidth(counts)
    assert all(loss(best) <= loss(other) + 1e-12 for other in np.linspace(0, 0.95, 20))
    estimates = np.array([smooth(points, at, 0.3) for at in range(11)])
    found = margins._smoothed(counts, 0.3, TENTHS)
    np.testing.assert_allclose(found.probabilities, estimates / estimates.sum(), rtol=1e-12)


def test_the_margin_with_the_smallest_aic_is_chosen() -> None:
    scores = beta_scores()
    grid = score_grid(scores)
    assert not grid.discrete
    chosen = fit_margin(scores, grid)
    assert chosen.aic == min(each.aic for each in margins._continuous(scores, 1e-4))
    assert fit_margin(np.full(20, 0.3), score_grid(beta_scores())).kind == "constant"


def test_grids_of_scores() -> None:
    random = np.random.default_rng(7)
    precision = random.integers(0, 11, (8, 50)) / 10
    assert score_grid(precision).discrete
    np.testing.assert_array_equal(score_grid(precision).support, TENTHS)
    reciprocal = 1 / random.integers(1, 8, (8, 50))
    np.testing.assert_array_equal(score_grid(reciprocal).support, np.unique(reciprocal))
    decimals = np.round(random.random((8, 50)), 3)
    assert len(score_grid(decimals).support) == 1001
    assert len(score_grid(random.random((8, 50)), 4).support) == 10_001


@given(st.integers(0, 10**6), st.floats(0.05, 0.95))
def test_moved_margins_have_the_wanted_mean(seed: int, mean: float) -> None:
    probabilities = np.random.default_rng(seed).dirichlet(np.ones(11))
    cumulative = np.append(np.cumsum(probabilities)[:-1].clip(0, 1), 1.0)
    margin = Margin("given", (), 0.0, TENTHS, cumulative)
    assert margin.mean == pytest.approx(probabilities @ TENTHS)
    assert margin.variance == pytest.approx(probabilities @ TENTHS**2 - margin.mean**2)
    a, b = margin.shapes_for(mean)
    assert min(a, b) == 1.0
    assert max(a, b) >= 1.0
    assert margin.moved(mean).mean == pytest.approx(mean, abs=1e-9)
    expected = scipy.stats.beta.cdf(cumulative, a, b)
    np.testing.assert_allclose(margin.moved(mean).cumulative, expected, atol=1e-12)


def test_means_out_of_reach_are_refused() -> None:
    constant = margins.constant_margin(0.3, TENTHS)
    with pytest.raises(ValueError, match=r"no distortion of a margin with mean 0\.3 has mean 0\.5"):
        constant.moved(0.5)


def test_calibrated_margins_have_mean_and_variance() -> None:
    scores = beta_scores()
    for kind, margin in candidates(scores).items():
        found = margin.calibrated(0.31, 0.04)
        assert found.mean == pytest.approx(0.31, abs=1e-9), kind
        assert math.log(found.variance / 0.04) == pytest.approx(0, abs=0.01), kind


def test_distorted_probabilities_are_at_most_1(monkeypatch: pytest.MonkeyPatch) -> None:
    def interpolated(function: Callable[[np.ndarray], np.ndarray], at: np.ndarray) -> np.ndarray:
        """As between points that are computed: with rounding errors."""
        return np.where(at > 0.9, np.nextafter(1.0, 2.0), function(at))

    monkeypatch.setattr(distortions, "at_ascending", interpolated)
    margin = Margin("made up", (), 0.0, TENTHS, np.append(np.linspace(0.5, 1, 10), 1.0))
    moved = margin.distorted(0.93, 0.95)
    assert moved.cumulative.max() == moved.cumulative[-1] == 1
    assert moved.moved(moved.mean / 2).mean == pytest.approx(moved.mean / 2, abs=1e-9)


def test_margins_of_many_topics_take_little_memory() -> None:
    scores = beta_scores(4000)
    grid = score_grid(scores)
    tracemalloc.start()
    try:
        margin = fit_margin(scores, grid)
        assert (
            tracemalloc.get_traced_memory()[1] < 150e6
        )  # kernels between all pairs: 384 MB and more
    finally:
        tracemalloc.stop()
    assert margin.mean == pytest.approx(scores.mean(), abs=0.01)


def test_portions_are_what_one_call_returns(monkeypatch: pytest.MonkeyPatch) -> None:
    scores, tenths = beta_scores(70), np.round(beta_scores(70), 1)
    whole = candidates(scores), fit_margin(tenths, score_grid(tenths))
    monkeypatch.setattr(margins, "AT_ONCE", 100)
    parts = candidates(scores), fit_margin(tenths, score_grid(tenths))
    for kind, margin in whole[0].items():
        assert parts[0][kind].aic == margin.aic
        np.testing.assert_array_equal(parts[0][kind].cumulative, margin.cumulative)
    np.testing.assert_allclose(parts[1].cumulative, whole[1].cumulative, rtol=1e-12)
