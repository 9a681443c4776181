"""Cluster files: shipped ones are read, mistakes are reported, ports are protected, array jobs have every part once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from scorecube.errors import BadPlan
from scorecube.workflow.sweep_file import read_sweep
from tests.cluster.lab import LOCAL, open_client

FILES = Path(__file__).parents[2] / "cluster"


@pytest.mark.parametrize("text", ["clas: x.Y", "options: {}", "- class", "class: {"])
def test_other_files_are_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(BadPlan, match=str(path)), open_client(path):
        pass


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"class": "nowhere.LocalCluster"}, "nowhere"),
        ({"class": "distributed.NoLocalCluster"}, "NoLocalCluster"),
        ({**LOCAL, "options": {"n_wokers": 2}}, "n_wokers"),
        ({**LOCAL, "options": 3}, "does not start"),
    ],
)
def test_what_makes_no_cluster_is_refused(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(BadPlan, match=word), open_client(settings):
        pass


def test_the_scheduler_or_a_cluster() -> None:
    with (
        pytest.raises(BadPlan, match=r"scheduler.*cluster"),
        open_client(LOCAL, "tcp://127.0.0.1:1"),
    ):
        pass


JOBS = {"class": "dask_jobqueue.SLURMCluster"}


@pytest.mark.parametrize(
    "settings",
    [
        JOBS,
        {**JOBS, "options": {"interface": "ib0"}},
        {**LOCAL, "options": {"host": "0.0.0.0"}},
        "tcp://example.org:8786",
    ],
)
def test_no_open_port_without_certificates(settings: Any) -> None:
    of_scheduler = isinstance(settings, str)
    chosen = (None, settings) if of_scheduler else (settings,)
    with pytest.raises(BadPlan, match="require-encryption to False"), open_client(*chosen):
        pass


def run_with_stand_in(folder: Path, command: list[str], **environment: str) -> str:
    """Run a command where `scorecube` prints its arguments; return what it prints."""
    program = folder / "bin" / "scorecube"
    program.parent.mkdir(exist_ok=True)
    program.write_text('#!/bin/sh\necho "scorecube $*"\n')
    program.chmod(0o755)
    settings = {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", **environment}
    done = subprocess.run(command, env=settings, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


def test_array_jobs_sweep_every_part_once(tmp_path: Path) -> None:
    command = ["bash", str(FILES / "slurm/parts.sbatch"), "my sweep.toml"]
    task = {"SLURM_ARRAY_TASK_ID": "7", "SLURM_CPUS_PER_TASK": "4"}
    for parts in (
        {"SLURM_ARRAY_TASK_COUNT": "100"},
        {"SLURM_ARRAY_TASK_COUNT": "2", "PARTS": "100"},
    ):
        said = run_with_stand_in(tmp_path, command, **parts, **task)
        assert said == "scorecube sweep my sweep.toml --part 7/100 --workers 4\n"
    config, job = yaml.safe_load_all((FILES / "kubernetes/job.yaml").read_text())
    (container,) = job["spec"]["template"]["spec"]["containers"]
    for index, number in ((0, 1), (job["spec"]["completions"] - 1, 100)):
        said = run_with_stand_in(tmp_path, container["args"], JOB_COMPLETION_INDEX=str(index))
        assert said == f"scorecube sweep /etc/sweep/sweep.toml --part {number}/100 --workers 4\n"
    file = tmp_path / "sweep.toml"
    file.write_text(config["data"]["sweep.toml"])
    assert all(entry.seed is not None for entry in read_sweep(file).entries)
