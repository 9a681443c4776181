"""What results say as data: sentences are those of the terminal, estimates have their uncertainty."""

from __future__ import annotations

import math

import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.designs import design_of
from scorecube.analyses.leave_out.teams import Teams
from scorecube.errors import BadPlan
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


def test_findings_of_several_results_answer_questions(results: list[xr.Dataset]) -> None:
    found = sc.findings(results)
    questions = [question.text for question in view_of("bootstrap").answers]
    assert [each.question for each in found] == questions + [""] * (len(found) - len(questions))
    assert all(each.sentence.startswith(("a: ", "b: ")) for each in found[len(questions) :])
    with pytest.raises(BadPlan, match="found bootstrap, scores"):
        sc.findings([results[0], simulate_cube(n_runs=3)])


def test_numbers_of_findings_are_those_of_tables() -> None:
    rankings = simulate_rankings(n_runs=8, n_teams=4, depth=20, seed=3)
    cube = sc.with_rankings(sc.evaluate(rankings, ["AP"], ["3:2:1"]), rankings)
    board = sc.analyse(cube, sc.Leaderboard(alpha=0.1), trials=50, seed=1)
    (leader,) = sc.findings(board)
    first = sc.table(board).query("rank == 1").iloc[0]
    assert (leader.low, leader.high) == (first["rank_low"], first["rank_high"])
    assert (leader.confidence, leader.jointly) == (0.9, "rank sets of all runs")
    teams = sc.analyse(cube, Teams(), trials=3, seed=1)
    absent, variance, tau, *_ = sc.findings(teams)
    loss = sc.table(teams, "absent").iloc[0]
    assert (absent.estimate, absent.low) == (loss["change_mean"], loss["change_low"])
    for found, (_, row) in zip(
        (variance, tau), sc.table(teams, "equivalence").iterrows(), strict=True
    ):
        assert (found.estimate, found.low, found.high) == tuple(
            row[["within", "within_low", "within_high"]]
        )


def test_designs_have_their_limits_or_say_that_none_are_known() -> None:
    cube = simulate_cube(n_runs=8, seed=3)
    result = design_of(cube, "c")
    assert result is not None
    needed, on_the_same = sc.findings(result)
    row = sc.table(result).sort_values("topics", kind="stable").iloc[0]
    assert (needed.estimate, needed.low, needed.high, needed.confidence) == (
        *row[["topics", "topics_low", "topics_high"]],
        0.95,
    )
    assert on_the_same.estimate == sc.table(result)["paired_topics"].min()
    both = sc.findings([result, result.assign_attrs(collection="d")])
    assert [each.estimate for each in both] == [needed.estimate, on_the_same.estimate]
    few = design_of(cube.isel(topic=slice(2)), "few")
    assert few is not None
    (bare, *_) = sc.findings(few)
    assert bare.low is None
    assert "so few topics" in bare.cautions[0]
    (plain,) = sc.findings(sc.topic_set_size(0.1))
    assert plain.sentence == "design: topics[], power[]"


def test_an_analysis_from_outside_may_be_named_like_a_module_of_the_report() -> None:
    assert view_of("columns").heading == "columns"


def test_equal_means_are_remarked_on_without_tables() -> None:
    """The remark is made when a result is stored, where tables would take longer than the analysis."""
    cube = simulate_cube(n_runs=4)
    cube["score"][...] = 0.5
    result = sc.analyse(cube, sc.Correlation(), seed=1)
    ((text, detail),) = view_of("correlate").cautions(result, {})
    assert "equal means" in text
    assert detail == "up to 6 of 6 pairs"
