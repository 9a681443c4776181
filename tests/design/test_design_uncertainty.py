"""Intervals of variances and of numbers of topics, and numbers for comparisons on the same topics."""

from __future__ import annotations

import math
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy

from scorecube import names
from scorecube.design import (
    residual_variance,
    topic_set_size,
    topic_set_size_of_cube,
    variance_intervals,
    within_system_variance,
)
from scorecube.design.uncertainty import jackknife_interval
from scorecube.report.phrases import about
from scorecube.testing import simulate_cube
from scorecube.workflow.api import import_scores
from tests.validation.designs import Case, coverage

ESTIMATES = [within_system_variance, residual_variance]


def plain_interval(scores: Any, teams: list[str], estimate: Any) -> tuple[float, float]:
    """Leave out each topic and each team in turn; logarithms of variances."""

    def part(values: list[float]) -> tuple[float, int]:
        return (len(values) - 1) * statistics.pvariance(values), len(values)

    rows, columns = range(len(scores)), range(len(scores[0]))
    topics = [[[scores[i][j] for j in columns if j != out] for i in rows] for out in columns]
    without = [[scores[i] for i in rows if teams[i] != team] for team in sorted(set(teams))]
    parts = [part([math.log(estimate(np.array(each))) for each in group]) for group in (topics, without)]  # fmt: skip
    total = sum(variance for variance, _ in parts)
    freedom = total**2 / sum(variance**2 / (count - 1) for variance, count in parts)
    factor = math.exp(scipy.stats.t.ppf(0.975, freedom) * math.sqrt(total))
    value = float(estimate(np.array(scores)))
    return value / factor, value * factor


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_intervals_leave_out_each_topic_and_each_team(estimate: Any) -> None:
    scores = np.random.default_rng(1).random((7, 9))
    teams = ["a", "b", "b", "c", "c", "c", "d"]
    low, high = jackknife_interval(scores, teams, estimate, 0.95)
    assert (float(low), float(high)) == pytest.approx(plain_interval(scores.tolist(), teams, estimate))  # fmt: skip
    # Cells do not know of each other.
    both = jackknife_interval(np.array([scores, scores[::-1] ** 2]), teams, estimate, 0.95)
    assert float(both[0][0]) == pytest.approx(float(low), rel=1e-12)


def test_a_variance_that_is_0_without_some_run_has_no_interval() -> None:
    """Its logarithm has no jackknife: the limits were the estimate itself, as if it were exact."""
    cube = simulate_cube(n_runs=3, seed=3)
    scores = cube["score"].values.copy()
    scores[..., 2, :] = scores[..., 1, :]
    found = variance_intervals(cube.assign(score=(cube["score"].dims, scores)))
    sizes = topic_set_size_of_cube(found)
    assert (found["residual_variance"] > 0).all()
    for end in ("low", "high"):
        assert np.isnan(found[f"residual_variance_{end}"]).all()
    for name in ("paired_topics_low", "paired_topics_high"):
        assert np.isnan(sizes[name]).all()
    assert (sizes["paired_topics"] > 0).all()
    assert (sizes["topics_low"] < sizes["topics_high"]).all()


def test_a_single_team_is_not_left_out_and_few_topics_have_no_interval() -> None:
    scores = np.random.default_rng(2).random((4, 12))
    alone = jackknife_interval(scores, ["a"] * 4, within_system_variance, 0.95)
    assert float(alone[0]) < float(within_system_variance(scores)) < float(alone[1])
    low, high = jackknife_interval(scores[:, :2], ["a", "b", "c", "d"], within_system_variance, 0.9)
    assert np.isnan(low)
    assert np.isnan(high)
    zero = jackknife_interval(np.ones((4, 12)), ["a", "b", "c", "d"], within_system_variance, 0.9)
    assert [float(each) for each in zero] == [0.0, 0.0]


def test_missing_scores_are_left_out() -> None:
    scores = np.random.default_rng(3).random((6, 10))
    scores[1, 3] = scores[4, 7] = np.nan
    for estimate in ESTIMATES:
        low, high = jackknife_interval(scores, list("aabbcc"), estimate, 0.95)
        assert 0 < float(low) < float(estimate(scores)) < float(high)


def test_limits_are_sizes_of_the_limits_of_variances() -> None:
    found = variance_intervals(simulate_cube(n_runs=8, seed=2))
    sizes = topic_set_size_of_cube(found, min_diff=0.15, systems=5)
    for end in ("low", "high"):
        expected = topic_set_size(found[f"variance_{end}"], 0.15, systems=5)["topics"]
        np.testing.assert_array_equal(sizes[f"topics_{end}"], expected)
        paired = topic_set_size(found[f"residual_variance_{end}"], 0.15, systems=5, paired=True)
        np.testing.assert_array_equal(sizes[f"paired_topics_{end}"], paired["topics"])
    assert (sizes["topics_low"] <= sizes["topics"]).all()
    assert (sizes["topics"] <= sizes["topics_high"]).all()
    assert (sizes["paired_topics"] < sizes["topics"]).all()


def test_teams_make_intervals_wider() -> None:
    cube = simulate_cube(n_runs=12, seed=2)
    scores = cube[names.SCORE].copy()
    shared = scores.values[..., ::3, :].repeat(3, axis=-2)
    copies = cube.assign(score=(scores.dims, 0.9 * shared + 0.1 * scores.values))
    teams = [f"t{k // 3}" for k in range(12)]
    alone, together = (
        variance_intervals(each) for each in (copies, copies.assign_coords(team=(names.RUN, teams)))
    )
    ratio = [np.log(each["variance_high"] / each["variance_low"]) for each in (alone, together)]
    assert (ratio[1] > ratio[0]).all()


def test_paired_sizes_have_the_power_of_the_two_way_test() -> None:
    # The F test of two-way analysis of variance without replication, on simulated scores with a large variance of topics.
    variance, systems, difference = 0.04, 5, 0.15
    n = int(topic_set_size(variance, difference, systems=systems, paired=True)["topics"])
    random, rejected, repeats = np.random.default_rng(4), 0, 4000
    effects = np.array([difference / 2, 0, 0, 0, -difference / 2])[:, np.newaxis]
    for _ in range(repeats):
        noise = math.sqrt(variance) * random.standard_normal((systems, n))
        scores = effects + 0.3 * random.standard_normal(n) + noise
        between = n * float(((scores.mean(axis=1) - scores.mean()) ** 2).sum()) / (systems - 1)
        f = between / float(residual_variance(scores))
        rejected += scipy.stats.f.sf(f, systems - 1, (systems - 1) * (n - 1)) < 0.05
    assert abs(rejected / repeats - 0.8) < 4 * math.sqrt(0.16 / repeats) + 0.01


def test_paired_two_systems_are_a_paired_t_test() -> None:
    t = topic_set_size(0.05, 0.1, method="t")["topics"]
    assert int(topic_set_size(0.05, 0.1, systems=2, paired=True)["topics"]) == int(t)


def test_numbers_of_topics_have_no_false_digits() -> None:
    assert about(490, 449, 1534) == "490 (450 to 1,500)"
    assert about(7, math.nan, math.nan) == "7"


@pytest.mark.data
def test_web2012_needs_about_55_topics(data: Path) -> None:
    cube = import_scores(sorted((data / "web2012").glob("*.csv")))
    row = topic_set_size_of_cube(variance_intervals(cube)).sel(metric="AP").isel(gain=0)
    assert int(row["topics"]) == 55
    # A bootstrap of topics and teams with percentile limits gives 31 to 81.
    assert 25 <= int(row["topics_low"]) <= 37
    assert 75 <= int(row["topics_high"]) <= 105
    assert 1.5 < int(row["topics"]) / int(row["paired_topics"]) < 2.5


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [Case(10, 3, 50, True), Case(40, 1, 25, True), Case(20, 3, 50, False)]
)
def test_intervals_hold_the_variances_of_other_collections(case: Case) -> None:
    for name, values in coverage(case, 150, 1).items():
        # Nominal .95, in docs/believe/intervals.md .92 to .97; two standard errors of 150 repetitions are .036.
        if "width" in name:
            assert np.median(values) < 4
        else:
            assert values.mean() >= 0.885, name
