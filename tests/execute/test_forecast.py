"""Forecasts: near to what plans and sweeps take, from runs with few trials, of which nothing stays."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.plan import Plan, make_plan
from scorecube.analyses.protocol import Analysis
from scorecube.execute.forecast import DOUBT, forecast
from scorecube.execute.run import run
from scorecube.testing import simulate_cube
from scorecube.workflow.sweep import tasks_of
from scorecube.workflow.sweep_forecast import forecast_sweep

if TYPE_CHECKING:
    from tests.conftest import Cli, Tree

ENTRIES = [sc.Entry(sc.Swap(size=10), trials=40), sc.Entry(sc.Reliability())]


def plan_of(analysis: Analysis, trials: int, n_runs: int = 12) -> Plan:
    return make_plan(simulate_cube(n_runs=n_runs, seed=1), analysis, trials=trials)


@pytest.mark.alone
@pytest.mark.parametrize(
    ("analysis", "trials"), [(sc.Swap(size=20), 500_000), (sc.Bootstrap(), 100_000)]
)
def test_a_plan_takes_about_what_was_predicted(analysis: Analysis, trials: int) -> None:
    predicted = forecast(plan_of(analysis, trials, 40))
    assert predicted.timed < trials
    plan = plan_of(analysis, trials, 40)
    begin = time.thread_time()
    run(plan)
    assert predicted.seconds / 2 < time.thread_time() - begin < 2 * predicted.seconds


def test_longer_plans_take_more_and_recorded_units_less() -> None:
    long = forecast(plan_of(sc.Swap(size=10), 10**9), workers=2)
    longer = forecast(plan_of(sc.Swap(size=10), 10**10), workers=2)
    assert 3 < longer.seconds / long.seconds < 30
    assert (long.n_files, longer.n_files) == (2, 2)  # a result, and its blocks as one
    assert 8 <= long.n_blocks <= 2 * 1000
    assert long.limits == (long.seconds / DOUBT, long.seconds * DOUBT)
    rest = forecast(plan_of(sc.Swap(size=10), 10**9), units_left=10**3)
    assert rest.seconds < long.seconds / 100
    assert (rest.n_blocks, rest.n_files) == (1, 1)


@pytest.mark.parametrize("analysis", [sc.Reliability(), sc.Paired(), sc.Correlation()])
def test_without_trials_all_is_timed(analysis: Analysis) -> None:
    predicted = forecast(plan_of(analysis, 1))
    assert predicted.timed == 0
    assert predicted.seconds > 0


def test_resamples_of_pairs_are_held_in_memory() -> None:
    """Of 12 runs and 50 topics in two cells: draws, and the sums of each run, 8 bytes each."""
    needed = [forecast(plan_of(sc.Bootstrap(), trials)).n_bytes for trials in (1000, 2000)]
    assert needed[1] - needed[0] >= 8 * 1000 * (50 + 2 * 12)


def test_a_dry_run_says_time_and_memory_or_that_it_is_refused(
    tmp_path: Path, scorecube: Cli, tree: Callable[[Path], Tree]
) -> None:
    study = tmp_path / "study"
    sc.open_study(study, mode="a").add("a", cube=simulate_cube(n_runs=6, seed=1))
    before = tree(study)
    said = scorecube("swap", study, "--trials", 10**9, "--dry-run").succeeded().stderr
    assert " of one core" in said
    refused = scorecube("bootstrap", study, "--trials", 10**11, "--dry-run").succeeded().stderr
    assert "refused" in refused
    assert tree(study) == before
    scorecube("swap", study, "--trials", 20).succeeded()
    assert " core" not in scorecube("swap", study, "--trials", 20, "--dry-run").succeeded().stderr


def test_a_sweep_is_predicted_from_some_collections(
    tmp_path: Path, tree: Callable[[Path], Tree]
) -> None:
    cubes = {f"c{n}": simulate_cube(n_runs=n, seed=n) for n in range(3, 12)}
    tasks = tasks_of(ENTRIES, cubes)
    predicted = forecast_sweep(None, tasks)
    assert predicted.timed == ["c3", "c7", "c11"]
    assert predicted.collections == len(cubes)
    sc.sweep(ENTRIES, {name: cubes[name] for name in ("c3", "c4")}, study=tmp_path / "study")
    study = sc.open_study(tmp_path / "study")
    before = tree(tmp_path / "study")
    rest = forecast_sweep(study, tasks)
    assert tree(tmp_path / "study") == before
    assert (rest.collections, rest.timed) == (len(cubes) - 2, ["c5", "c8", "c11"])
    assert rest.n_files + len(before) == predicted.n_files
    assert rest.seconds < predicted.seconds * 2
    begin = time.process_time()
    sc.sweep(ENTRIES, cubes, study=tmp_path / "whole", workers=1)
    used = time.process_time() - begin
    assert predicted.seconds / 4 < used < 4 * predicted.seconds  # of tasks so small, beside others
    files = [name for name in tree(tmp_path / "whole") if not name.startswith("packed")]
    assert len(files) == predicted.n_files
    assert forecast_sweep(sc.open_study(tmp_path / "whole"), tasks).collections == 0


def test_a_sweep_names_what_it_cannot_predict(tmp_path: Path) -> None:
    def broken() -> xr.Dataset:
        raise RuntimeError("no data")

    cube = simulate_cube(n_runs=4, seed=1)
    entries = [sc.Entry(sc.Board()), sc.Entry(sc.Swap(size=40)), sc.Entry(sc.Reliability())]
    predicted = forecast_sweep(None, tasks_of(entries, {"a": cube, "b": broken}))
    assert predicted.joined == ["board"]
    assert {(one.collection, one.subject) for one in predicted.problems} == {
        ("a", "swap"),
        ("b", "reading"),
    }
    assert predicted.timed == ["a"]
