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


def test_differences_are_those_that_power_is_enough_for() -> None:
    found = wcw(VARIANCES, [5, 50], route="anova-exact")["width"]
    again = power_of(VARIANCES[2], found.values[2, 1], 50)
    assert again == pytest.approx(0.8, abs=1e-9)
