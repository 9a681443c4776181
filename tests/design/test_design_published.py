"""Numbers that the papers and SPEC B.8 and B.9 print."""

from __future__ import annotations

import numpy as np
import pytest

import scorecube as sc
from scorecube.analyses.design_curves import CONDITIONS, four_z_squared
from scorecube.design import topic_set_size, wcw
from scorecube.design.power import exact_noncentrality, tool_noncentrality
from tests.design.powers import power_of

TABLE_3 = """
nG@1    .114 .114 .118 .121 .113  159 159 164 168 157  160 160 165 170 159
P+      .094 .094 .095 .097 .095  131 131 132 135 132  132 132 134 136 134
nERR@10 .087 .086 .089 .090 .091  121 120 124 125 127  122 121 125 127 128
nDCG@10 .034 .032 .034 .035 .043   48  45  48  49  60   49  46  49  50  61
Q@10    .029 .028 .030 .029 .041   41  40  42  41  58   42  40  43  42  58
"""
"""S3 Table 3: variances for n' = 100, 75, 50, 25, 10, the sizes it prints, and those of exact power (SPEC B.8)."""
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


@pytest.mark.parametrize("line", TABLE_3.split("\n")[1:-1])
def test_all_sizes_of_s3_table_3(line: str) -> None:
    numbers = [float(word) for word in line.split()[1:]]
    for mode, sizes in (("sakai", numbers[5:10]), ("exact", numbers[10:])):
        found = sc.topic_set_size(numbers[:5], 0.15, mode=mode)["topics"]
        assert found.values.tolist() == sizes


def test_sizes_of_the_pilot_variances() -> None:
    found = topic_set_size([0.152, 0.064, 0.1144, 0.0943, 0.0867], 0.15, mode="sakai")["topics"]
    assert found.values.tolist() == [211, 89, 159, 131, 121]


def test_approximate_and_exact_power_differ_by_what_the_specification_says() -> None:
    power = [power_of(0.114, 0.15, 159, mode=mode) for mode in ("sakai", "exact")]
    assert abs(power[0] - power[1]) == pytest.approx(0.0024, abs=1e-4)


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


@pytest.mark.parametrize(
    ("name", "tool", "exact", "line"),
    [("a", 15.612, 15.650, 15.366), ("b", 15.473, 15.405, 15.366), ("c", 26.500, 26.574, 26.540), ("d", 26.078, 26.123, 26.540)],
)  # fmt: skip
def test_noncentrality_is_about_four_z_squared(
    name: str, tool: float, exact: float, line: float
) -> None:
    alpha, beta, systems = (np.array(float(number)) for number in CONDITIONS[name])
    assert round(float(tool_noncentrality(systems, alpha, beta)), 3) == tool
    assert round(float(exact_noncentrality(systems, alpha, beta)), 3) == exact
    assert round(float(four_z_squared(float(alpha))), 3) == line


@pytest.mark.parametrize(("alpha", "beta", "worst"), [(0.01, 0.1, 5.2), (0.01, 0.2, 5.2), (0.05, 0.1, 6.5), (0.05, 0.2, 7.6)])  # fmt: skip
def test_nagata_is_as_far_off_as_the_specification_says(
    alpha: float, beta: float, worst: float
) -> None:
    systems = np.array([*range(2, 31), 50, 100], float)
    exact = exact_noncentrality(systems, np.array(alpha), np.array(beta))
    off = np.abs(tool_noncentrality(systems, np.array(alpha), np.array(beta)) / exact - 1).max()
    assert round(100 * off, 1) == worst


def test_no_overflow_up_to_a_million_topics() -> None:
    n = [2, 343, 344, 10_000, 1_000_000]
    widths = wcw(0.1, n, route=["ci", "anova-tool", "anova-exact"])["width"]
    assert np.isfinite(widths).all()
    limit = 2 * 1.959964 * np.sqrt(0.2 / 1e6)
    assert widths.sel(route="ci")[-1].item() == pytest.approx(limit, rel=1e-5)
    for method, mode in (("anova", "exact"), ("anova", "sakai"), ("t", "exact")):
        power = power_of(0.1, [1e-6, 0.1, 1e6], n, method=method, mode=mode)
        assert np.isfinite(power).all()
    for size in (10**5, 10**6):
        difference = wcw(0.1, size, route="anova-exact")["width"].item()
        assert topic_set_size(0.1, difference)["topics"].item() == size
