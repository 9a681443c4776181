"""Wilson's interval, effective sizes, Student's quantile and Fieller's interval against other programs and formulas."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from scorecube.statistics.kendall_tau import fieller, normal_p, null_error
from scorecube.statistics.proportion_intervals import effective_size, student_quantile, wilson


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_wilson_intervals_are_those_of_statsmodels(n: int) -> None:
    successes = np.arange(0, n + 1, max(1, n // 10))
    low, high = wilson(successes, np.full(len(successes), n))
    for k, number in enumerate(successes.tolist()):
        expected = proportion_confint(number, n, method="wilson")
        np.testing.assert_allclose([low[k], high[k]], expected, rtol=1e-9, atol=1e-12)
    assert low[0] == 0.0
    assert high[-1] == 1.0 or successes[-1] < n


def test_wilson_intervals_take_other_quantiles_and_need_a_trial() -> None:
    low, high = wilson(np.array([3.0, 0.0]), np.array([10.0, 0.0]), z=np.array([2.5, 2.5]))
    expected = proportion_confint(3, 10, alpha=2 * stats.norm.sf(2.5), method="wilson")
    np.testing.assert_allclose([low[0], high[0]], expected, rtol=1e-9)
    assert math.isnan(low[1])
    assert math.isnan(high[1])


def plain_size(trials: list[tuple[int, int]], most: float | None) -> tuple[float, float]:
    """Return the effective size and its degrees of freedom of (comparisons, swaps) by trial."""
    n, count, swaps = len(trials), sum(c for c, _ in trials), sum(s for _, s in trials)
    rate, other = swaps / count, count - swaps
    squares = sum(c * c for c, _ in trials)
    spread = sum((s - rate * c) ** 2 for c, s in trials) / count
    effect = spread / (rate * (1 - rate)) * n / (n - 1) if 0 < rate < 1 else 0.0
    of_swaps, of_others = sum(s * s for _, s in trials), sum((c - s) ** 2 for c, s in trials)
    clumps = min(
        swaps**2 / of_swaps if of_swaps else 0.0, other**2 / of_others if of_others else 0.0
    )
    clumped = squares / count if most is None else min(squares / count, most)
    weight = clumps / (clumps + 1) if n > 1 else 0.0
    design = max(effect, 1.0) ** weight * max(clumped, 1.0) ** (1 - weight)
    return count / design, max(count**2 / squares - 1, 1.0)


@pytest.mark.parametrize("most", [None, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(8))
def test_effective_sizes_are_those_of_the_formula(seed: int, most: float | None) -> None:
    chance = np.random.default_rng(seed)
    trials = [
        (int(c), int(chance.integers(0, c + 1)))
        for c in chance.integers(1, 9, int(chance.integers(2, 12)))
    ]
    c, s = (np.array(each) for each in zip(*trials, strict=True))
    products = np.array([[int(c @ c)], [int(c @ s)], [int(s @ s)]], object)
    size, freedom = effective_size(
        np.array([s.sum()]), np.array([c.sum()]), products, len(trials), most=most
    )
    np.testing.assert_allclose([size[0], freedom[0]], plain_size(trials, most), rtol=1e-9)


def test_one_trial_is_worth_one_comparison() -> None:
    products = np.array([[16], [8], [4]], object)
    size, freedom = effective_size(np.array([2]), np.array([4]), products, 1)
    assert (float(size[0]), float(freedom[0])) == (1.0, 1.0)


@pytest.mark.parametrize("freedom", [1.0, 4.0, 30.0, 1e9])
def test_the_quantile_is_the_two_sided_one_of_95_percent(freedom: float) -> None:
    assert float(student_quantile(freedom)) == pytest.approx(
        float(stats.t.ppf(0.975, freedom)), rel=1e-9
    )


@pytest.mark.parametrize("n_runs", [3, 4, 5, 6, 44])
def test_intervals_and_errors_of_tau_are_those_of_the_formulas(n_runs: int) -> None:
    assert null_error(n_runs) == pytest.approx(
        math.sqrt((4 * n_runs + 10) / (9 * n_runs * (n_runs - 1)))
    )
    low, high = fieller(np.array([-0.4, 0.0, 0.9]), n_runs, 1.96)
    if n_runs < 5:
        assert np.isnan([low, high]).all()
        return
    for k, tau in enumerate((-0.4, 0.0, 0.9)):
        half = 1.96 * math.sqrt(0.437 / (n_runs - 4))
        assert float(low[k]) == pytest.approx(math.tanh(math.atanh(tau) - half), rel=1e-12)
        assert float(high[k]) == pytest.approx(math.tanh(math.atanh(tau) + half), rel=1e-12)


def test_errors_of_tau_need_three_runs_and_p_values_have_two_sides() -> None:
    assert math.isnan(null_error(2))
    z = np.array([[-2.0, 0.0], [1.0, np.nan]])
    np.testing.assert_allclose(normal_p(z), 2 * stats.norm.sf(np.abs(z)), rtol=1e-12)


def test_a_perfect_tau_has_no_interval_beyond_it() -> None:
    low, high = fieller(np.array([1.0]), 10, 1.96)
    assert (float(low[0]), float(high[0])) == (1.0, 1.0)


def test_limits_of_all_and_of_nothing_are_exact_for_any_effective_size() -> None:
    sizes = np.arange(1, 400) / 40
    assert (wilson(sizes, sizes)[1] == 1.0).all()
    assert (wilson(np.zeros_like(sizes), sizes)[0] == 0.0).all()
