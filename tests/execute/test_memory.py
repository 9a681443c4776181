"""A limit of memory decides the length of blocks, and what cannot fit is refused with both numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.errors import BadPlan
from scorecube.execute import memory
from scorecube.execute.estimate import estimate
from scorecube.execute.memory import default_memory, parse_memory, program_bytes, resident_bytes
from scorecube.testing import simulate_cube
from tests.conftest import Cli, Tree

MB = 10**6


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4GB", 4 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("512m", 512 * 10**6),
        ("2k", 2000),
        ("100", 100),
        ("1tib", 2**40),
    ],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert parse_memory(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "4 apples", "0", "1e9", "4GBB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(BadPlan, match="is not a size; expected"):
        parse_memory(text)


def test_blocks_shrink_until_they_fit() -> None:
    cube = simulate_cube(n_runs=200, seed=1)
    plan = make_plan(cube, sc.Bootstrap(), trials=100_000, seed=1)
    roomy = estimate(plan, 2, memory=64 * 10**9, program=300 * MB)
    # Between the needs of blocks of 50 and of 51 pairs.
    limit = int((roomy.memory.peak(50) + roomy.memory.peak(51)) / 2)
    tight = estimate(plan, 2, memory=limit, program=300 * MB)
    assert tight.block_units == 50 < roomy.block_units
    assert tight.memory.peak(tight.block_units) <= limit


def test_the_program_and_loaded_data_count() -> None:
    plan = make_plan(simulate_cube(n_runs=20, seed=1), sc.Swap(), trials=10, seed=1)
    before = resident_bytes()
    assert before > 50 * MB
    assert estimate(plan, 1, memory=64 * 10**9).memory.program >= 0.9 * before
    more = bytearray(b"x") * (200 * MB)
    assert program_bytes(sc.Swap) >= before + 150 * MB
    assert len(more) == 200 * MB


def test_all_that_a_run_holds_counts() -> None:
    """The estimate of 4,000 runs counts labels of pairs, positions and blocks in flight, not only p-values."""
    cube = simulate_cube(n_runs=300, seed=1)
    plan = make_plan(cube, sc.Bootstrap(), trials=100, seed=1)
    memory = estimate(plan, 2, memory=64 * 10**9, program=0).memory
    n_pairs = 300 * 299 // 2
    result = plan.plan.analysis.finalize(
        plan.prepared,
        {"reached": _zeros((2, n_pairs), "int32"), "needed": _zeros((2, 2), "int64")},
        100,
    )
    assert memory.result > result.nbytes
    assert memory.accumulated == n_pairs * 2 * 4 + 2 * 2 * 8
    assert memory.computing(10) > memory.accumulated + 16 * n_pairs


def _zeros(shape: tuple[int, ...], dtype: str) -> np.ndarray[Any, Any]:
    return np.zeros(shape, dtype)


def test_an_explicit_length_of_blocks_is_checked() -> None:
    plan = make_plan(simulate_cube(n_runs=200, seed=1), sc.Bootstrap(), trials=100, seed=1)
    with pytest.raises(BadPlan, match=r"this needs about [\d,]+ MB \(.*\), and 350 MB are allowed"):
        estimate(plan, 64, block_units=19_900, memory=350 * MB, program=300 * MB)


@pytest.mark.parametrize("limit", ["150MB", "1MB"])
def test_less_than_the_program_is_refused_before_any_work(
    scorecube: Cli, study: Path, tree: Callable[[Path], Tree], tmp_path: Path, limit: str
) -> None:
    before = tree(study)
    for extra in ([], ["--dry-run"]):
        outcome = scorecube(
            "swap", study, "--size", 3, "--seed", 8, "--memory", limit, "--workers", 2, *extra
        )
        assert (outcome.status, outcome.stdout) == (1, "")
        assert len(outcome.stderr.splitlines()) == 1
        assert outcome.stderr.startswith(
            "error: small: swap: the program and the loaded scores need about "
        )
        assert f"and {limit.removesuffix('MB')} MB are allowed; raise --memory" in outcome.stderr
    assert tree(study) == before
    assert scorecube("bootstrap", study, "--trials", 20, "--memory", "9GB", "--seed", 1).succeeded()


def test_a_sweep_lists_what_needs_more_memory(scorecube: Cli, study: Path) -> None:
    file = study.parent / "sweep.toml"
    file.write_text(
        f'study = "{study}"\nmemory = "100MB"\n[[analysis]]\nname = "tukey"\nseed = 1\n'
    )
    outcome = scorecube("sweep", file)
    assert outcome.status == 1
    assert "  small: tukey: the program and the loaded scores need about" in outcome.stderr
    assert "and 100 MB are allowed; raise memory" in outcome.stderr
    assert not sc.open_study(study)["small"].results("tukey")


def test_stored_results_need_no_memory(scorecube: Cli, study: Path) -> None:
    stored = ["--sampling", "disjoint", "--size", 3, "--trials", 5, "--seed", 1]
    outcome = scorecube("swap", study, *stored, "--memory", "1MB").succeeded()
    assert "already there" in outcome.stderr


UNLIMITED = "9223372036854771712\n"
"""What version 1 shows without a limit."""


@pytest.mark.parametrize(
    ("own", "limits", "expected"),
    [
        ("0::/\n", {"memory.max": "max\n"}, None),
        ("0::/\n", {"memory.max": "1000000\n"}, 800_000),  # a container
        ("0::/\n", {}, None),
        # Jobs of SLURM: a step without a limit in a job that has one.
        (
            "0::/system.slice/slurmstepd.scope/job_7/step_0/user/task_0\n",
            {
                "system.slice/slurmstepd.scope/job_7/memory.max": "5000000\n",
                "system.slice/slurmstepd.scope/job_7/step_0/memory.max": "max\n",
                "system.slice/slurmstepd.scope/memory.max": "max\n",
            },
            4_000_000,
        ),
        # The folder of another view of the tree: the container's own root counts.
        ("0::/docker/0123\n", {"memory.max": "3000000\n"}, 2_400_000),
        # Version 1, beside an empty hierarchy of version 2.
        (
            "12:cpuset:/slurm/job_7\n9:memory:/slurm/uid_1/job_7/step_0\n0::/\n",
            {
                "memory/memory.limit_in_bytes": UNLIMITED,
                "memory/slurm/uid_1/job_7/memory.limit_in_bytes": "2000000\n",
                "memory/slurm/uid_1/job_7/step_0/memory.limit_in_bytes": UNLIMITED,
                "cpuset/slurm/job_7/memory.limit_in_bytes": "1\n",
            },
            1_600_000,
        ),
        ("9:cpu,memory:/\n", {"memory/memory.limit_in_bytes": UNLIMITED}, None),
        (None, {"memory.max": "1\n"}, None),  # not Linux
    ],
)
def test_the_default_respects_control_groups(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    own: str | None,
    limits: dict[str, str],
    expected: int | None,
) -> None:
    groups = tmp_path / "self"
    monkeypatch.setattr(memory, "OWN_GROUPS", groups)
    monkeypatch.setattr(memory, "CONTROL_GROUPS", tmp_path / "cgroup")
    machine = default_memory()
    if own is not None:
        groups.write_text(own)
    for path, text in limits.items():
        file = tmp_path / "cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert default_memory() == (machine if expected is None else expected)
