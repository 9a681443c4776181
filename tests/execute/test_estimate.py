"""What estimates say of comparisons with a baseline."""

from __future__ import annotations

import pytest

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.execute.estimate import estimate
from scorecube.testing import simulate_cube


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [(sc.Paired, 11), (sc.Bootstrap, 11), (sc.MaxT, 11), (sc.Leaderboard, 66 + 11)],
)
def test_comparisons_are_those_with_the_baseline(kind: type[sc.Analysis], pairs: int) -> None:
    cube = simulate_cube(metrics=("AP",), n_runs=12, seed=3)
    analysis = kind(baseline=str(cube["run"].values[0]))
    assert estimate(make_plan(cube, analysis, trials=9, seed=1), 1).comparisons == pairs
    assert estimate(make_plan(cube, kind(), trials=9, seed=1), 1).comparisons == 66
