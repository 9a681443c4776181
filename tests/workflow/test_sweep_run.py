"""Sweeps: bit-identical with single analyses, resumed, limited in memory, on clusters, interrupted."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.collection.selection import select
from scorecube.errors import BadPlan
from scorecube.execute.clients import open_client
from scorecube.execute.concurrent_runs import Job, ReserveMemory, TimedThreadPool, run_concurrently
from scorecube.execute.executor import Executor
from scorecube.storage import Study
from scorecube.testing import simulate_cube
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_plan import plan_sweep
from scorecube.workflow.sweep_run import run_sweep
from tests.conftest import REPO, Cli

PLANS = (
    Entry(sc.Swap(size=10), trials=60, seed=1),
    Entry(sc.Bootstrap(), trials=80, seed=2),
    Entry(sc.Tukey(), trials=50, seed=3, collections=("b*",), selection={"metrics": ["AP"]}),
)


def study_of(folder: Path, name: str = "study.zarr") -> Study:
    study = sc.open_study(folder / name, mode="a")
    for place, (label, runs) in enumerate({"a": 6, "b1": 9, "b2": 12}.items()):
        study.add(label, cube=simulate_cube(n_runs=runs, seed=place))
    return study


@pytest.mark.parametrize("workers", [1, 2])
def test_results_equal_those_of_single_analyses(tmp_path: Path, workers: int) -> None:
    study = study_of(tmp_path)
    tree = sc.sweep(study, PLANS, workers=workers)
    assert {name: sorted(node.children) for name, node in tree.children.items()} == {
        "a": ["bootstrap", "swap"],
        "b1": ["bootstrap", "swap", "tukey"],
        "b2": ["bootstrap", "swap", "tukey"],
    }
    for entry in PLANS:
        name = entry.analysis.name
        for collection in ("b1", "b2"):
            cube = select(study[collection].cube, **entry.selection)
            alone = sc.analyse(cube, entry.analysis, trials=entry.trials, seed=entry.seed)
            (stored,) = tree[f"{collection}/{name}"].children.values()
            for variable in map(str, alone.data_vars):
                np.testing.assert_array_equal(stored[variable].values, alone[variable].values)


def test_stored_results_are_kept_and_new_ones_added(scorecube: Cli, tmp_path: Path) -> None:
    study_of(tmp_path, "given.zarr")
    file = tmp_path / "sweep.toml"
    head = 'study = "all.zarr"\ntrials = 50\nseed = 1\n[[collection]]\nstudy = "given.zarr"\n'
    file.write_text(head + '[[analysis]]\nname = "swap"\n')
    stderr = scorecube("sweep", file).succeeded().stderr
    assert "3 plans, 0 done already, 0 left out" in stderr
    assert "3 results" in stderr
    before = sc.open_study(tmp_path / "all.zarr")["a"].result("swap")
    file.write_text(head + '[[analysis]]\nname = "swap"\n[[analysis]]\nname = "tukey"\n')
    stderr = scorecube("sweep", file).succeeded().stderr
    assert "6 plans, 3 done already, 0 left out" in stderr
    assert "3 results" in stderr
    after = sc.open_study(tmp_path / "all.zarr")["a"].result("swap")
    xr.testing.assert_identical(before, after)
    assert "6 done already" in scorecube("sweep", file).succeeded().stderr


def test_changed_files_are_read_again_and_refused_if_they_contradict(
    scorecube: Cli, tmp_path: Path
) -> None:
    (tmp_path / "ap.csv").write_text("topic,x,y\n1,0.1,0.2\n2,0.3,0.1\n3,0.4,0.4\n")
    file = tmp_path / "sweep.toml"
    file.write_text(
        '[[collection]]\nname = "c"\nscores = "ap.csv"\nmetric = "AP"\n[[analysis]]\nname = "bootstrap"\ntrials = 20\n'
    )
    assert "c: read 2 runs x 3 topics, 1 metric" in scorecube("sweep", file).succeeded().stderr
    assert "topics, 1 metric" not in scorecube("sweep", file).succeeded().stderr
    (tmp_path / "ap.csv").write_text("topic,x,y\n1,0.1,0.2\n2,0.3,0.1\n3,0.4,0.5\n")
    outcome = scorecube("sweep", file)
    assert outcome.status == 1
    assert "holds other scores" in outcome.stderr


def test_impossible_plans_are_reported_or_stop(scorecube: Cli, tmp_path: Path) -> None:
    study = study_of(tmp_path, "given.zarr")
    entry = Entry(sc.Swap(size=26), trials=20, seed=1)
    with pytest.raises(BadPlan, match="26"):
        plan_sweep(study, [entry], impossible="stop")
    plan = plan_sweep(
        study,
        [entry, Entry(sc.Swap(), trials=20, seed=1, selection={"metrics": ["nDCG@10", "none"]})],
    )
    assert len(plan.tasks) == 3
    assert [(name, kind) for name, kind, _ in plan.skipped] == [
        ("a", "swap"),
        ("b1", "swap"),
        ("b2", "swap"),
    ]
    file = tmp_path / "sweep.toml"
    file.write_text('study = "given.zarr"\ntrials = 20\n[[analysis]]\nname = "swap"\nsize = 26\n')
    assert (
        "left out: swap of 3 collections (a, b1, b2)" in scorecube("sweep", file).succeeded().stderr
    )


def test_a_dry_run_computes_nothing(scorecube: Cli, tmp_path: Path) -> None:
    study_of(tmp_path, "given.zarr")
    file = tmp_path / "sweep.toml"
    file.write_text('study = "given.zarr"\n[[analysis]]\nname = "swap"\n')
    stderr = scorecube("sweep", file, "--dry-run").succeeded().stderr
    assert "3 plans, 0 done already" in stderr
    assert "MiB" in stderr
    assert not sc.open_study(tmp_path / "given.zarr")["a"].results("swap")


def test_a_failure_stops_the_stream_and_keeps_what_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(tmp_path)
    tasks = plan_sweep(study, PLANS).tasks

    def broken(*_: object) -> None:
        raise ZeroDivisionError("broken on purpose")

    monkeypatch.setattr(sc.Tukey, "block", broken)
    with pytest.raises(ZeroDivisionError, match="on purpose"):
        run_sweep(tasks, Executor(workers=2))
    monkeypatch.undo()
    run_sweep(tasks, Executor(workers=2))
    assert all(task.is_stored() for task in tasks)


def test_jobs_are_open_only_within_the_memory() -> None:
    lock, is_open, most = threading.Lock(), {"bytes": 0, "jobs": 0}, {"bytes": 0, "jobs": 0}

    def job(number: int, size: int) -> Job:
        def run(_: ReserveMemory) -> None:
            with lock:
                is_open["bytes"] += size
                is_open["jobs"] += 1
                for key in most:
                    most[key] = max(most[key], is_open[key])
            time.sleep(0.02)
            with lock:
                is_open["bytes"] -= size
                is_open["jobs"] -= 1

        return Job(str(number), size, run)

    sizes = [60, 60, 30, 30, 30, 10, 10, 10]
    run_concurrently([job(*numbered) for numbered in enumerate(sizes)], 100, max_open=3)
    assert most == {"bytes": 100, "jobs": 3}
    run_concurrently([job(0, 1000)], 100)  # too large for the memory, hence alone
    assert most["bytes"] == 1000


def test_a_job_that_needs_more_memory_waits_for_others() -> None:
    held, most, order = {"bytes": 0}, [0], list[str]()
    lock, small_ones_ran = threading.Lock(), threading.Event()

    def hold(size: int) -> None:
        with lock:
            held["bytes"] += size
            most[0] = max(most[0], held["bytes"])

    def large(grow: ReserveMemory) -> None:
        hold(60)
        assert small_ones_ran.wait(10), "nothing ran beside it"
        grow()
        hold(30)
        order.append("large")
        hold(-90)

    def small(grow: ReserveMemory) -> None:
        hold(30)
        time.sleep(0.02)
        grow()
        order.append("small")
        hold(-30)
        small_ones_ran.set()

    jobs = [
        Job("large", 90, large, 60),
        Job("another", 90, large, 60),
        *(Job(str(k), 30, small, 20) for k in range(4)),
    ]
    run_concurrently(jobs, 100)
    assert most[0] <= 100
    assert sorted(order) == ["large"] * 2 + ["small"] * 4
    assert order.index("large") > 0


def test_a_pool_measures_its_busy_share() -> None:
    with TimedThreadPool(2) as pool:
        for future in [pool.submit(time.sleep, 0.05) for _ in range(4)]:
            future.result()
        assert 0.8 < pool.busy_share() <= 1.0


@pytest.mark.process
def test_a_cluster_gives_the_same_bits(tmp_path: Path) -> None:
    here, there = study_of(tmp_path, "here.zarr"), study_of(tmp_path, "there.zarr")
    local = sc.sweep(here, PLANS, workers=2)
    with open_client(REPO / "cluster" / "processes.yaml", None, 2) as client:
        assert client is not None
        remote = sc.sweep(there, PLANS, client=client)
    for node in local.leaves:
        xr.testing.assert_identical(
            node.to_dataset().drop_attrs(), remote[node.path].to_dataset().drop_attrs()
        )


@pytest.mark.process
@pytest.mark.slow
def test_an_interrupted_sweep_keeps_its_blocks(scorecube: Cli, tmp_path: Path) -> None:
    study_of(tmp_path, "given.zarr")
    file = tmp_path / "sweep.toml"
    file.write_text(
        'study = "given.zarr"\nseed = 1\n[[analysis]]\nname = "swap"\ntrials = 4000000\n'
    )
    # A job in the background ignores Ctrl-C, and so do the programs that it starts.
    program = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from scorecube.cli.program import main; main()"
    )
    command = [sys.executable, "-c", program, "sweep", str(file)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        recorded = tmp_path / "given.zarr" / "a" / "blocks"
        waited = time.monotonic()
        while not list(recorded.glob("swap/*/record/c/*")):
            assert process.poll() is None, "it ended before it could be interrupted"
            assert time.monotonic() - waited < 120, "no block was recorded"
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted: recorded blocks and results are kept" in stderr
    assert "Traceback" not in stderr
    task = plan_sweep(
        sc.open_study(tmp_path / "given.zarr"),
        [Entry(sc.Swap(), trials=4_000_000, seed=1, collections=("a",))],
    ).tasks[0]
    assert 0 < task.recorded() < 4_000_000
