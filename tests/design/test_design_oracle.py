"""Sizes, powers and widths against plain loops, against statsmodels, and against simulated experiments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.power import FTestAnovaPower, TTestPower

from scorecube.design import topic_set_size, wcw
from scorecube.design.power import unit_width
from tests.design.powers import power_of
from tests.oracles import design as oracle

VARIANCES = [0.0005, 0.0182, 0.0441, 0.25]
DIFFERENCES = [0.07, 0.15, 0.6]
FEW = [2, 3, 10, 40]


@pytest.mark.parametrize(("alpha", "beta"), [(0.05, 0.2), (0.01, 0.1), (0.1, 0.35), (0.001, 0.05)])
@pytest.mark.parametrize("systems", FEW)
def test_anova_sizes_are_those_of_counting(systems: int, alpha: float, beta: float) -> None:
    for mode, size in (("exact", oracle.anova_size), ("sakai", oracle.rule_a)):
        found = topic_set_size(
            VARIANCES, DIFFERENCES, systems=systems, alpha=alpha, beta=beta, mode=mode
        )
        expected = [[size(v, d, systems, alpha, beta) for d in DIFFERENCES] for v in VARIANCES]
        assert found["topics"].values.tolist() == expected


@pytest.mark.parametrize(("alpha", "beta"), [(0.05, 0.2), (0.01, 0.1), (0.2, 0.4)])
def test_t_sizes_are_those_of_counting(alpha: float, beta: float) -> None:
    found = topic_set_size(VARIANCES, DIFFERENCES, alpha=alpha, beta=beta, method="t")
    expected = [[oracle.t_size(v, d, alpha, beta) for d in DIFFERENCES] for v in VARIANCES]
    assert found["topics"].values.tolist() == expected
    powers = [
        [oracle.t_power(n, v, d, alpha) for n, d in zip(sizes, DIFFERENCES, strict=True)]
        for sizes, v in zip(expected, VARIANCES, strict=True)
    ]
    np.testing.assert_allclose(found["power"], powers, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.32])
def test_interval_sizes_are_those_of_counting(alpha: float) -> None:
    found = topic_set_size(VARIANCES, width=DIFFERENCES, alpha=alpha, method="ci")["topics"]
    assert found.values.tolist() == [
        [oracle.interval_size(v, w, alpha) for w in DIFFERENCES] for v in VARIANCES
    ]


def test_powers_and_widths_are_those_of_the_formulas() -> None:
    n = [2, 7, 159]
    for systems in FEW:
        for mode, power in (("exact", oracle.anova_power), ("sakai", oracle.anova_tool_power)):
            found = power_of(0.0441, DIFFERENCES, n, systems=systems, mode=mode)
            expected = [[power(k, 0.0441, d, systems, 0.05) for k in n] for d in DIFFERENCES]
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    widths = wcw(VARIANCES, n, alpha=0.1)["width"]
    np.testing.assert_allclose(
        widths, [[oracle.expected_width(k, v, 0.1) for k in n] for v in VARIANCES], rtol=1e-12
    )


def test_tool_widths_are_those_of_trying_one_after_the_other() -> None:
    n = [10, 33, 50, 100, 200]
    found = wcw([0.0182, 0.1145], n, route="anova-tool")["width"]
    np.testing.assert_allclose(
        found, [[oracle.tool_width(k, v) for k in n] for v in (0.0182, 0.1145)], rtol=1e-12
    )


@pytest.mark.parametrize("n", [2, 5, 50, 199, 201, 202, 343, 1000])
def test_widths_have_the_mean_of_the_chi_distribution(n: int) -> None:
    expected = 2 * stats.t.isf(0.025, n - 1) * stats.chi.mean(n - 1) / np.sqrt((n - 1) * n)
    assert float(unit_width(n, 0.05)) == pytest.approx(expected, rel=1e-11)


def test_powers_are_those_of_statsmodels() -> None:
    for systems, n, difference in ((2, 12, 0.3), (10, 50, 0.15), (30, 80, 0.1)):
        ours = power_of(0.04, difference, n, systems=systems)
        effect = difference / np.sqrt(
            2 * systems * 0.04
        )  # Cohen's f of two systems at the ends, all others in the middle
        theirs = FTestAnovaPower().power(effect, n * systems, 0.05, k_groups=systems)
        assert ours == pytest.approx(theirs, abs=1e-9)
    theirs = TTestPower().power(0.1 / np.sqrt(0.08), 30, 0.05, alternative="two-sided")
    assert power_of(0.04, 0.1, 30, method="t") == pytest.approx(theirs, abs=1e-9)


@pytest.mark.parametrize(("systems", "variance"), [(2, 0.04), (5, 0.09), (10, 0.02)])
def test_simulated_anova_has_the_power_that_is_promised(systems: int, variance: float) -> None:
    difference, trials = 0.2, 20_000
    design = topic_set_size(variance, difference, systems=systems)
    means = np.zeros(systems)
    means[[0, -1]] = -difference / 2, difference / 2
    random = np.random.default_rng(42)
    n = design["topics"].item()
    found = 0
    for _ in range(20):
        scores = random.normal(means[:, np.newaxis], np.sqrt(variance), (trials // 20, systems, n))
        p = stats.f_oneway(*scores.transpose(1, 2, 0)).pvalue
        found += int((p < 0.05).sum())
    power = design["power"].item()
    assert found / trials == pytest.approx(power, abs=4 * np.sqrt(power * (1 - power) / trials))
    assert power >= 0.8


def test_other_configurations_with_the_same_range_have_no_less_power() -> None:
    variance, difference, n, trials = 0.05, 0.25, 20, 20_000
    random = np.random.default_rng(7)
    means = np.array([-0.5, -0.5, 0.5, 0.5]) * difference
    scores = random.normal(means[:, np.newaxis], np.sqrt(variance), (trials, 4, n))
    found = (stats.f_oneway(*scores.transpose(1, 2, 0)).pvalue < 0.05).mean()
    assert found > power_of(variance, difference, n, systems=4) + 0.05


def test_simulated_t_tests_have_the_power_that_is_promised() -> None:
    trials, variance, difference = 40_000, 0.05, 0.2
    design = topic_set_size(variance, difference, method="t")
    random = np.random.default_rng(3)
    gaps = random.normal(difference, np.sqrt(2 * variance), (trials, design["topics"].item()))
    p = stats.ttest_1samp(gaps, 0.0, axis=1).pvalue
    power = design["power"].item()
    assert (p < 0.05).mean() == pytest.approx(power, abs=4 * np.sqrt(power * (1 - power) / trials))


def test_simulated_intervals_are_as_wide_as_promised() -> None:
    design = topic_set_size(0.05, width=0.3, method="ci")
    n = design["topics"].item()
    gaps = np.random.default_rng(9).normal(0.1, np.sqrt(0.1), (40_000, n))
    widths = 2 * stats.t.isf(0.025, n - 1) * gaps.std(axis=1, ddof=1) / np.sqrt(n)
    error = widths.std() / np.sqrt(len(widths))
    assert widths.mean() == pytest.approx(design["expected_width"].item(), abs=4 * error)
    assert design["expected_width"].item() <= 0.3


def test_differences_are_those_that_power_is_enough_for() -> None:
    found = wcw(VARIANCES, [5, 50], route="anova-exact")["width"]
    again = power_of(VARIANCES[2], found.values[2, 1], 50)
    assert again == pytest.approx(0.8, abs=1e-9)
