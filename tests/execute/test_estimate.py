"""What estimates say: units that cannot be divided, and results that take long to make."""

from __future__ import annotations

import re

import pytest

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.execute.estimate import Estimate, estimate
from scorecube.testing import simulate_cube
from tests.execute.test_peak_memory import simulated


def planned(
    analysis: sc.Analysis, workers: int, n_metrics: int, block_units: int | None = None
) -> Estimate:
    plan = make_plan(simulated(20, 500, n_metrics), analysis, trials=1000, seed=1)
    return estimate(plan, workers, block_units, memory=64 * 10**9, program=0)


def announced(found: Estimate, workers: int) -> float:
    shown = re.search(r"about (\S+) s on", found.text(workers))
    assert shown is not None
    return float(shown[1])


def test_the_result_is_made_by_one_worker() -> None:
    found = planned(sc.Correlation(), 8, 40, block_units=100)
    assert found.result_seconds > found.seconds
    assert announced(found, 8) >= 0.95 * found.result_seconds
    assert announced(found, 8) < announced(found, 1) < 9 * found.seconds + found.result_seconds
    assert planned(sc.Swap(size=5), 8, 40).result_units == 0


@pytest.mark.parametrize(
    ("kind", "pairs"),
    [(sc.Paired, 11), (sc.Bootstrap, 11), (sc.MaxT, 11), (sc.Leaderboard, 66 + 11)],
)
def test_comparisons_are_those_with_the_baseline(kind: type[sc.Analysis], pairs: int) -> None:
    cube = simulate_cube(metrics=("AP",), n_runs=12, seed=3)
    analysis = kind(baseline=str(cube["run"].values[0]))
    assert estimate(make_plan(cube, analysis, trials=9, seed=1), 1).comparisons == pairs
    assert estimate(make_plan(cube, kind(), trials=9, seed=1), 1).comparisons == 66
