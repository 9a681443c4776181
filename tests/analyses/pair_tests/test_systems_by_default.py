"""Systems are compared by default where any has several runs; plans hold what was chosen, so that earlier digests stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.errors import BadName
from scorecube.testing import simulate_cube

KINDS: list[Any] = [sc.MaxT, sc.Leaderboard, sc.Ranks, sc.Paired]


def cube_of(repeated: bool) -> Any:
    cube = simulate_cube(n_runs=6, seed=3)
    systems = ["a", "a", "b", "b", "c", "d"] if repeated else list("abcdef")
    return cube.assign_coords(system=("run", np.array(systems, object)))


def plan_of(cube: Any, analysis: Any) -> Any:
    return make_plan(cube, analysis, trials=50, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_the_scores_choose_and_the_digest_is_that_of_the_choice(kind: Any) -> None:
    several, single, none = cube_of(True), cube_of(False), simulate_cube(n_runs=6, seed=3)  # fmt: skip
    chosen = plan_of(several, kind())
    assert chosen.plan.analysis.by_system is True
    assert chosen.plan.digest == plan_of(several, kind(by_system=True)).plan.digest
    assert "2 of 4 systems have several runs: systems are compared" in chosen.warnings[0]
    for cube in (single, none):
        plan = plan_of(cube, kind())
        assert plan.plan.analysis.by_system is False
        assert plan.plan.digest == plan_of(cube, kind(by_system=False)).plan.digest
        assert not any("several runs" in line for line in plan.warnings)
    by_run = plan_of(several, kind(by_system=False))
    assert by_run.plan.digest == plan_of(none, kind()).plan.digest
    assert not any("several runs" in line for line in by_run.warnings)


def test_results_have_the_systems() -> None:
    result = sc.analyse(cube_of(True), sc.Leaderboard(), trials=50, seed=1)
    assert result["run"].values.tolist() == ["a", "b", "c", "d"]
    assert sc.analyse(cube_of(True), sc.Leaderboard(by_system=False), trials=50).sizes["run"] == 6


def test_what_systems_do_not_have_compares_runs_and_says_so() -> None:
    plan = plan_of(cube_of(True), sc.Paired(tests=("wilcoxon",)))
    assert plan.plan.analysis.by_system is False
    assert "runs are compared: by_system=True has the t test only" in plan.warnings[0]
    run = str(cube_of(True)["run"].values[0])
    assert plan_of(cube_of(True), sc.Leaderboard(baseline=run)).plan.analysis.by_system is False
    assert plan_of(cube_of(True), sc.Leaderboard(baseline="b")).plan.analysis.by_system is True
    with pytest.raises(BadName):
        plan_of(cube_of(True), sc.Leaderboard(baseline="nobody"))
