"""A limit of memory decides the length of blocks, and what cannot fit is refused with both numbers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.errors import BadPlan
from scorecube.execute import memory
from scorecube.execute.memory import (
    default_memory,
    needs_of,
    parse_memory,
    program_bytes,
    resident_bytes,
)
from scorecube.execute.run import run
from scorecube.testing import simulate_cube
from tests.conftest import Cli, Tree

MB = 10**6


def test_sizes_are_read_and_others_refused() -> None:
    texts = ("4GB", "1.5 GiB", "512m", "2k", "100", "1tib")
    sizes = [4 * 10**9, 3 * 2**29, 512 * 10**6, 2000, 100, 2**40]
    assert [parse_memory(text) for text in texts] == sizes
    for text in ("-1GB", "4 apples", "0", "4GBB"):
        with pytest.raises(BadPlan, match="is not a size; expected"):
            parse_memory(text)


def test_the_program_and_loaded_data_count() -> None:
    before = resident_bytes()
    assert before > 50 * MB
    more = bytearray(b"x") * (200 * MB)
    assert program_bytes() >= before + 150 * MB
    assert len(more) == 200 * MB


def test_all_that_a_run_holds_counts() -> None:
    """Labels of pairs and blocks in flight count, not only p-values."""
    plan = make_plan(simulate_cube(n_runs=300, seed=1), sc.Bootstrap(), trials=100, seed=1)
    needs = needs_of(plan, 2, program=0)
    assert needs.result > run(plan).nbytes
    assert needs.computing > 300 * 299 // 2 * 2 * 4
    assert needs_of(plan, 4, program=0).computing > needs.computing


def test_blocks_without_groups_of_topics_count() -> None:
    cube = simulate_cube(n_runs=20, seed=1)
    swap, paired = (make_plan(cube, kind(), seed=1) for kind in (sc.Swap, sc.Stability))
    assert needs_of(swap, 0, program=0).computing > 5 * needs_of(paired, 0, program=0).computing


def test_more_than_is_allowed_is_refused_with_both_numbers() -> None:
    plan = make_plan(simulate_cube(n_runs=200, seed=1), sc.Bootstrap(), trials=100, seed=1)
    with pytest.raises(BadPlan, match=r"this needs about [\d,]+ MB \(.*\), and 350 MB are allowed"):
        needs_of(plan, 64, program=340 * MB).check(350 * MB)


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
        assert outcome.stderr.startswith("error: small: swap: this needs about ")
        assert f"and {limit.removesuffix('MB')} MB are allowed" in outcome.stderr
    assert tree(study) == before
    assert scorecube("bootstrap", study, "--trials", 20, "--memory", "9GB", "--seed", 1).succeeded()
    stored = ["--sampling", "disjoint", "--size", 3, "--trials", 5, "--seed", 1]
    outcome = scorecube("swap", study, *stored, "--memory", limit).succeeded()
    assert "already there" in outcome.stderr  # which needs no memory


def test_a_sweep_lists_what_needs_more_memory(scorecube: Cli, study: Path) -> None:
    file = study.parent / "sweep.toml"
    file.write_text(
        f'study = "{study}"\nmemory = "100MB"\n[[analysis]]\nname = "tukey"\nseed = 1\n'
    )
    outcome = scorecube("sweep", file)
    assert outcome.status == 1
    assert "  small: tukey: this needs about" in outcome.stderr
    assert "and 100 MB are allowed" in outcome.stderr
    assert not sc.open_study(study)["small"].results("tukey")


UNLIMITED = "9223372036854771712\n"
"""What version 1 shows without a limit."""
SLURM = "system.slice/slurmstepd.scope"
GROUPS: list[tuple[str | None, dict[str, str], int | None]] = [
    ("0::/\n", {"memory.max": "max\n"}, None),
    ("0::/\n", {"memory.max": "1000000\n"}, 800_000),  # a container
    ("0::/\n", {}, None),
    # Jobs of SLURM: a step without a limit in a job that has one.
    (
        f"0::/{SLURM}/job_7/step_0/user/task_0\n",
        {
            f"{SLURM}/job_7/memory.max": "5000000\n",
            f"{SLURM}/job_7/step_0/memory.max": "max\n",
            f"{SLURM}/memory.max": "max\n",
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
]


@pytest.mark.parametrize("place", range(len(GROUPS)))
def test_the_default_respects_control_groups(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: int
) -> None:
    own, limits, expected = GROUPS[place]
    monkeypatch.setattr(memory, "OWN_GROUPS", tmp_path / "self")
    monkeypatch.setattr(memory, "CONTROL_GROUPS", tmp_path / "cgroup")
    machine = default_memory()
    if own is not None:
        (tmp_path / "self").write_text(own)
    for path, text in limits.items():
        file = tmp_path / "cgroup" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    assert default_memory() == (machine if expected is None else expected)
