"""What cannot fit in the memory of the machine, container or batch job is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from scorecube.storage import bounds
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
    assert "out of memory: at least 0.0 of 0.0 GB are needed" in outcome.stderr
    assert tree(study) == before
    stored = ["--sampling", "disjoint", "--size", 3, "--trials", 5, "--seed", 1]
    assert "already there" in scorecube("swap", study, *stored).succeeded().stderr
