"""What cannot fit in the memory of the machine, container or batch job is refused."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from distributed import Client

import scorecube as sc
from scorecube.analyses.plan import Plan, make_plan
from scorecube.analyses.table import bytes_of
from scorecube.collection.arguments import as_cube
from scorecube.execute import run
from scorecube.execute.executor import Executor
from scorecube.methods import index
from scorecube.storage import bounds
from scorecube.testing import simulate_rankings
from tests.conftest import Cli, Tree

SLURM = "system.slice/slurmstepd.scope"
GROUPS: list[tuple[str, dict[str, str]]] = [
    ("0::/\n", {"memory.max": "1000\n"}),  # a container
    (  # a job of SLURM: a step without a limit in a job that has one
        f"0::/{SLURM}/job_7/step_0\n",
        {f"{SLURM}/job_7/memory.max": "1000\n", f"{SLURM}/job_7/step_0/memory.max": "max\n"},
    ),
    (  # version 1
        "9:memory:/slurm/job_7\n0::/\n",
        {"memory/slurm/job_7/memory.limit_in_bytes": "1000\n"},
    ),
]


@pytest.mark.parametrize(("own", "limits"), GROUPS)
def test_what_cannot_fit_is_refused(
    scorecube: Cli, study: Path, tree: Callable[[Path], Tree], own: str, limits: dict[str, str],
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
) -> None:  # fmt: skip
    before = tree(study)
    monkeypatch.setattr(bounds, "OWN_GROUPS", tmp_path / "self")
    monkeypatch.setattr(bounds, "CONTROL_GROUPS", tmp_path / "cgroup")
    (tmp_path / "self").write_text(own)
    for path, text in limits.items():
        file = tmp_path / "cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    outcome = scorecube("swap", study, "--size", 3, "--seed", 8)
    assert (outcome.status, outcome.stdout) == (1, "")
    needed, there = map(float, re.findall(r"([\d.e-]+) GB", outcome.stderr))
    assert needed > there == 1e-6
    assert "fewer runs" in outcome.stderr
    assert tree(study) == before
    stored = ["--sampling", "disjoint", "--size", 3, "--trials", 5, "--seed", 1]
    assert "already there" in scorecube("swap", study, *stored).succeeded().stderr


def scored(n_runs: int, n_topics: int, n_metrics: int) -> Any:
    """Return scores of `n_runs` runs as a cube."""
    scores = np.random.default_rng(1).random((n_metrics, n_runs, n_topics))
    runs = [f"r{run:03}" for run in range(n_runs)]
    topics = [f"t{topic:04}" for topic in range(n_topics)]
    metrics = [f"m{metric}" for metric in range(n_metrics)]
    labels = {"metric": metrics, "run": runs, "topic": topics}
    return as_cube(xr.DataArray(scores, labels))


def judged(n_runs: int, n_topics: int, depth: int) -> Any:
    """Return scores of runs with their rankings."""
    levels = ((15, 10, 4),) * n_topics
    rankings = simulate_rankings(levels, n_runs=n_runs, n_teams=n_runs // 4, depth=depth)
    return sc.with_rankings(sc.evaluate(rankings, ["AP", "nDCG@10"], ["3:2:1"]), rankings)


def peak_of(plan: Plan) -> int:
    """Return the most bytes that a plan had at a time, with its cube and table."""
    tracemalloc.start()
    try:
        run.run(plan)
        return plan.cube.nbytes + bytes_of(plan.table) + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


SIZES = [
    ("swap", scored, (40, 300, 2)),
    ("swap", scored, (60, 400, 4)),
    ("swap", scored, (90, 700, 4)),  # tables without some units are not kept
    ("leaderboard", scored, (120, 400, 2)),
    ("leaderboard", scored, (200, 100, 3)),
    ("teams", judged, (24, 40, 200)),
    ("tukey", scored, (200, 100, 3)),
    ("maxt", scored, (200, 100, 3)),
    ("reliability", scored, (60, 400, 4)),
]


@pytest.mark.parametrize(("name", "make", "sizes"), SIZES)
def test_memory_is_predicted(name: str, make: Any, sizes: tuple[int, int, int]) -> None:
    analysis = index.load(name)()
    trials = 3 if name == "teams" else 600
    run.run(make_plan(make(8, 20, 20 if make is judged else 1), analysis, trials=trials))
    plan = make_plan(make(*sizes), analysis, trials=trials)
    peak = peak_of(plan)
    parts = bytes_of([part.array for part in plan.declared.values()])
    assert 0.8 * peak < run.bytes_needed(plan, 1, parts) < 2 * peak


def test_what_does_not_fit_is_refused_before_other_tables_are_made() -> None:
    plan = make_plan(scored(20, 100, 2), sc.Swap(), trials=10)
    needed = run.bytes_needed(plan, 4)
    with pytest.raises(MemoryError, match=r"swap .* 4 threads"):
        run.run(plan, Executor(workers=4, memory=needed - 1))
    assert "tables_left_out" not in vars(plan.table)


def test_a_worker_with_less_memory_is_named() -> None:
    cluster = {"n_workers": 1, "threads_per_worker": 3, "memory_limit": 60_000, "processes": False}
    few = r"the worker at .* 3 threads, where 6e-05 GB"
    with (
        Client(dashboard_address="127.0.0.1:0", **cluster) as client,
        pytest.raises(MemoryError, match=few),
    ):
        sc.analyse(scored(20, 100, 2), sc.Swap(), trials=10, client=client)
