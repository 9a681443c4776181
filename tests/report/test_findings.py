"""What results say as data: sentences are those of the terminal, estimates have their uncertainty."""

from __future__ import annotations

import math

import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.teams import Teams
from scorecube.report.findings import Finding
from scorecube.report.results import headline
from scorecube.report.views import view_of
from scorecube.testing import simulate_cube, simulate_rankings


def test_an_estimate_has_limits_or_a_caution() -> None:
    with pytest.raises(ValueError, match="an estimate has limits, or says that none are known"):
        Finding("tau is 0.5", estimate=0.5)
    assert Finding("no tau", estimate=math.nan).estimate is None
    limited = Finding("tau", estimate=0.5, low=0.4, high=0.6, confidence=0.95)
    assert (limited.low, limited.high) == (0.4, 0.6)


@pytest.fixture(scope="module")
def results() -> list[xr.Dataset]:
    found = []
    for seed, name in enumerate("ab"):
        cube = simulate_cube(n_runs=5, seed=seed)
        result = sc.analyse(cube, sc.Bootstrap(), trials=50, seed=1)
        found.append(result.assign_attrs(collection=name))
    return found


def test_findings_of_one_result_are_its_headline(results: list[xr.Dataset]) -> None:
    assert [each.sentence for each in sc.findings(results[0])] == headline(results[0])


def test_numbers_of_findings_are_those_of_tables() -> None:
    rankings = simulate_rankings(n_runs=8, n_teams=4, depth=20, seed=3)
    cube = sc.with_rankings(sc.evaluate(rankings, ["AP"], ["3:2:1"]), rankings)
    board = sc.analyse(cube, sc.Leaderboard(alpha=0.1), trials=50, seed=1)
    (leader,) = sc.findings(board)
    first = sc.table(board).query("rank == 1").iloc[0]
    assert (leader.low, leader.high) == (first["rank_low"], first["rank_high"])
    assert (leader.confidence, leader.jointly) == (0.9, "rank sets of all runs")
    teams = sc.analyse(cube, Teams(), trials=3, seed=1)
    absent, *_ = sc.findings(teams)
    loss = sc.table(teams, "absent").iloc[0]
    assert (absent.estimate, absent.low) == (loss["change_mean"], loss["change_low"])


def test_an_analysis_from_outside_may_be_named_like_a_module_of_the_report() -> None:
    assert view_of("columns").heading == "columns"
