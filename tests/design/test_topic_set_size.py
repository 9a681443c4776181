"""Sizes, powers, widths: against plain loops, statsmodels, printed numbers and laws; refusals; figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.lines import Line2D
from statsmodels.stats.power import FTestAnovaPower, TTestPower

import scorecube as sc
from scorecube.errors import BadPlan
from scorecube.methods.design import curves
from scorecube.methods.design.curves import CONDITIONS
from scorecube.methods.design.power import Anova, noncentrality_per_topic, tool_noncentrality
from scorecube.methods.design.sizes import topic_set_size, wcw
from scorecube.report.drawing import drawn
from tests.oracles import design as oracle


def power_of(
    variance: float,
    difference: Any,
    n: Any,
    *,
    systems: int = 10,
    alpha: float = 0.05,
    method: str = "anova",
    mode: str = "exact",
) -> Any:
    """Return the power with which numbers of topics detect differences, (difference, topics) without dims of single ones."""
    difference, n = (np.asarray(values, np.float64) for values in (difference, n))
    difference = difference.reshape(difference.shape + (1,) * n.ndim)
    paired = method == "t"
    design = Anova(
        2 if paired else systems, alpha, 0.5, paired, tool=mode == "sakai" and not paired
    )
    return design.power(n, n * noncentrality_per_topic(variance, difference))


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


def test_tool_widths_are_those_of_trying_one_after_the_other() -> None:
    n = [10, 33, 50, 100, 200]
    found = wcw([0.0182, 0.1145], n, route="anova-tool")["width"]
    np.testing.assert_allclose(
        found, [[oracle.tool_width(k, v) for k in n] for v in (0.0182, 0.1145)], rtol=1e-12
    )


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


INTERVALS = {
    0.0368: "116/115/117 53/52/53 31/30/30 15/14/14",
    0.0441: "138/138/139 63/62/63 36/35/36 18/16/17",
    0.0471: "147/148/149 67/66/67 39/38/38 19/18/18",
    0.0824: "256/258/259 115/115/116 66/65/66 31/30/30",
    0.0863: "268/270/271 120/120/121 69/68/69 32/31/31",
    0.1144: "354/358/359 159/159/160 90/90/91 42/41/41",
    0.0186: "60/59/60 28/27/27 17/16/16 9/8/8",
}
"""SPEC B.8: CI / rule A / exact, at a width or difference of .10, .15, .20, .30."""
WIDTHS = """
.0368 .1534 .152 .1531
.0441 .1679 .167 .1676
.0824 .2296 .228 .2291
.0863 .2349 .233 .2344
.0471 .1736 .172 .1732
.0465 .1725 .171 .1721
.0456 .1708 .170 .1704
.1145 .2706 .268 .2700
.0779 .2232 .222 .2227
.0340 .1475 .147 .1471
.0842 .2321 .230 .2316
.0504 .1795 .178 .1792
.1144 .2705 .268 .2699
.0943 .2456 .244 .2451
.0867 .2355 .234 .2350
.0193 .1111 .111 .1109
.0186 .1091 .109 .1088
.0182 .1079 .107 .1077
"""
"""SPEC B.9 at n = 50: variance of S2 Table 1, then the routes ci, anova-tool, anova-exact."""


def test_sizes_of_the_t_test() -> None:
    result = topic_set_size(0.5, 0.5, method="t")  # Delta = .5 / sqrt(2 x .5)
    assert (result["topics"].item(), round(result["power"].item(), 4)) == (34, 0.8078)
    for mode in ("exact", "sakai"):
        sizes = topic_set_size([0.0471, 0.0824, 0.1144], [0.10, 0.15], method="t", mode=mode)[
            "topics"
        ]
        assert sizes.sel(min_diff=0.10).values.tolist() == [76, 132, 182]
        assert sizes.sel(min_diff=0.15).values.tolist() == [35, 60, 82]


@pytest.mark.parametrize("variance", INTERVALS)
def test_sizes_of_intervals_beside_those_of_anova(variance: float) -> None:
    expected = [[int(number) for number in word.split("/")] for word in INTERVALS[variance].split()]
    asked = [0.10, 0.15, 0.20, 0.30]
    found = [
        topic_set_size(variance, width=asked, method="ci")["topics"].values,
        topic_set_size(variance, asked, mode="sakai")["topics"].values,
        topic_set_size(variance, asked)["topics"].values,
    ]
    assert np.transpose(found).tolist() == expected


@pytest.mark.parametrize("line", WIDTHS.split("\n")[1:-1])
def test_widths_at_50_topics(line: str) -> None:
    variance, *printed = line.split()
    found = sc.wcw(float(variance), 50, route=["ci", "anova-tool", "anova-exact"])["width"].values
    for value, text in zip(found, printed, strict=True):
        assert f"{value:.{len(text) - 1}f}".removeprefix("0") == text


VARIANCE = st.floats(1e-4, 0.25)


RISK = st.sampled_from([0.001, 0.01, 0.05, 0.1, 0.2])


def size(variance: Any, difference: Any, **how: Any) -> int:
    return int(topic_set_size(variance, difference, **how)["topics"])


@given(VARIANCE, st.integers(2, 5000), RISK, RISK, st.sampled_from(["exact", "sakai"]))
def test_a_difference_from_topics_asks_for_these_topics(
    variance: float, n: int, alpha: float, beta: float, mode: str
) -> None:
    route = {"exact": "anova-exact", "sakai": "anova-tool"}[mode]
    difference = float(wcw(variance, n, route=route, alpha=alpha, beta=beta)["width"])
    how = {"alpha": alpha, "beta": beta, "mode": mode}
    if mode == "exact":
        assert size(variance, difference, **how) == n
        power = power_of(variance, difference, n, alpha=alpha)
        assert power == pytest.approx(1 - beta, abs=1e-9)
    else:
        assert size(variance, difference, **how) <= n
        if difference > 0.001:
            assert size(variance, round(difference - 0.001, 3), **how) > n


@given(VARIANCE, st.integers(2, 100_000), RISK)
def test_a_width_from_topics_asks_for_these_topics(variance: float, n: int, alpha: float) -> None:
    width = float(wcw(variance, n, alpha=alpha)["width"])
    assert int(topic_set_size(variance, width=width, alpha=alpha, method="ci")["topics"]) == n


def test_arrays_are_single_numbers_side_by_side() -> None:
    variance = np.linspace(0.001, 0.2, 7)
    for how in ({}, {"mode": "sakai"}, {"method": "t"}):
        together = topic_set_size(variance, [0.05, 0.2], **how)  # type: ignore[arg-type]
        assert together["topics"].dims == ("variance", "min_diff")
        alone = [[size(float(v), d, **how) for d in (0.05, 0.2)] for v in variance]
        assert together["topics"].values.tolist() == alone
    single = topic_set_size(0.044, 0.1)
    assert single["topics"].dims == ()
    for name in (*single.data_vars, *single.coords):
        assert {"long_name", "units"} <= single[name].attrs.keys(), name


@pytest.mark.parametrize("mode", ["exact", "sakai"])
@pytest.mark.parametrize("how", [{}, {"method": "t"}, {"method": "ci", "width": 0.1}])
def test_no_variance_needs_two_topics_and_says_so(mode: str, how: dict[str, Any]) -> None:
    found = topic_set_size([0.0, 0.05], mode=mode, **how)
    assert found["topics"].values[0] == 2
    assert found["topics"].values[1] == topic_set_size(0.05, mode=mode, **how)["topics"]
    assert any("variance of 0" in note for note in found.attrs["notes"])
    for route in ("ci", "anova-tool", "anova-exact"):
        assert float(wcw(0.0, 50, route=route)["width"]) == 0.0


REFUSED: list[dict[str, Any]] = [
    {"variance": -0.1},
    {"variance": float("nan")},
    {"variance": "0.1"},
    {"variance": xr.DataArray([0.1, np.nan], {"metric": ["AP", "RR"]}, "metric")},
    {"min_diff": 0.0},
    {"systems": 2.5},
    {"alpha": 1.0},
    {"beta": 0.95},
    {"method": "z"},
    {"width": 0.1},
    {"min_diff": 1e-5},
]


@pytest.mark.parametrize("wrong", REFUSED)
def test_impossible_requests_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadPlan):
        topic_set_size(**({"variance": 0.05} | wrong))


@pytest.mark.parametrize(
    "wrong", [{"topics": 1}, {"route": "z"}, {"route": []}, {"route": ["ci", "ci"]}]
)
def test_impossible_widths_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadPlan):
        wcw(0.05, **({"topics": 50} | wrong))


def xs(line: Line2D) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(line.get_xdata(), np.float64)


def ys(line: Line2D) -> np.ndarray[Any, np.dtype[np.float64]]:
    return np.asarray(line.get_ydata(), np.float64)


def test_figure_1_of_s2() -> None:
    axes = drawn(curves.draw, curves.noncentrality()).axes[0]
    lines = axes.get_lines()
    m = np.arange(2.0, 31.0)
    np.testing.assert_allclose(ys(lines[6]), tool_noncentrality(m, np.array(0.05), np.array(0.2)))
    flat = {round(float(ys(line)[0]), 3) for line in lines if line.get_linestyle() == "--"}
    assert flat == {15.366, 26.540}
    points = {
        (float(xs(line)[0]), float(ys(line)[0])) for line in lines if line.get_marker() == "o"
    }
    assert {x for x, _ in points} == {float(systems) for _, _, systems in CONDITIONS.values()}
    # (a) to (d) lie near the lines.
    assert all(min(abs(y / flat - 1) for flat in (15.366, 26.540)) < 0.02 for _, y in points)


def test_figure_2_of_s2() -> None:
    figure = drawn(curves.draw, curves.of_tools([0.0182, 0.1145]))
    for axes, variance in zip(figure.axes, (0.0182, 0.1145), strict=True):
        intervals, anova = axes.get_lines()
        x = xs(anova)
        np.testing.assert_array_equal(
            ys(anova), topic_set_size(variance, x, mode="sakai")["topics"]
        )
        np.testing.assert_array_equal(
            ys(intervals), topic_set_size(variance, width=x, method="ci")["topics"]
        )
        # The curves are surrogates of each other (S2 section 3): at most two topics or 2 % apart.
        assert (np.abs(ys(anova) - ys(intervals)) <= np.maximum(2, 0.02 * ys(intervals))).all()
