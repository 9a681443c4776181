"""Cluster files: shipped ones are read, mistakes are reported, ports are protected, jobs ask for what their file says."""

from __future__ import annotations

import gc
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pytest
import yaml

from scorecube.errors import BadPlan
from scorecube.execute.clusters import (
    DASK_SETTINGS,
    ClusterSpec,
    _class_of,
    _job_options,
    _submit,
    choose_cluster,
    make_spec,
    read_spec,
)
from scorecube.workflow.sweep_file import read_sweep
from tests.cluster.lab import LOCAL, open_client

if TYPE_CHECKING:
    from tests.conftest import Cli

FILES = Path(__file__).parents[2] / "cluster"


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("clas: x.Y", "{path}: unknown setting 'clas'; nearest: class"),
        ("class: x.Y\noptions: 3", "{path}: options is 3; expected settings"),
        ("class: x.Y\ninsecure: perhaps", "{path}: insecure is 'perhaps'"),
        ("class: x.Y\naddress: tcp://here:1", "{path}: a cluster file names"),
        ("options: {}", "{path}: a cluster file names"),
        ("- class", "{path}: a cluster file is lines"),
        ("class: {", "{path}: the cluster file is not YAML"),
    ],
)
def test_mistakes_are_reported(text: str, start: str, tmp_path: Path) -> None:
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(BadPlan) as raised:
        read_spec(path)
    assert str(raised.value).startswith(start.replace("{path}", str(path)))


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"class": "nowhere.Cluster"}, "nowhere"),
        ({"class": "distributed.NoCluster"}, "NoCluster"),
        ({"class": "pathlib.Path"}, "pathlib.Path"),
        ({"class": "distributed.LocalCluster", "options": {"n_wokers": 2}}, "n_wokers"),
    ],
)
def test_a_class_that_makes_no_cluster_is_refused(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(BadPlan, match=word), open_client({**settings, "insecure": True}):
        pass


def test_the_scheduler_or_a_cluster() -> None:
    assert choose_cluster(None, None, 3) == ClusterSpec({}, 3)
    assert choose_cluster(LOCAL, None, 5) == ClusterSpec(LOCAL, 5)
    with pytest.raises(BadPlan) as raised:
        choose_cluster(LOCAL, "tcp://127.0.0.1:1", None)
    assert raised.value.option == "scheduler"


@pytest.mark.process
def test_settings_of_dask_hold_for_the_run_and_give_way_to_its_users(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import dask
    import distributed  # noqa: F401 - brings its settings

    tcp, ttl = "distributed.comm.timeouts.tcp", "distributed.scheduler.worker-ttl"
    before = dask.config.get(tcp), dask.config.get(ttl)
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP", "13s")
    dask.config.refresh()
    try:
        with open_client({**LOCAL, "scale": {"n": 1}}) as client:
            assert client is not None
            there = client.run(lambda: __import__("dask").config.config).popitem()[1]
            for config in (dask.config.config, there):
                assert dask.config.get(tcp, config=config) == "13s"
                assert dask.config.get(ttl, config=config) == DASK_SETTINGS[ttl]
    finally:
        monkeypatch.delenv("DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP")
        dask.config.refresh()
    assert (dask.config.get(tcp), dask.config.get(ttl)) == before


@pytest.fixture
def submitting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with the command that submits jobs, which is not called, and a folder of its own."""
    pytest.importorskip("dask_jobqueue", reason="the extra 'cluster' is not installed")
    program = tmp_path / "bin" / "sbatch"
    program.parent.mkdir(exist_ok=True)
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.process
def test_jobs_ask_for_what_their_file_says(submitting: Path) -> None:
    settings = yaml.safe_load((FILES / "slurm.yaml").read_text())
    settings["options"] |= {"queue": "long", "account": "us", "interface": "lo"}
    with _class_of(settings["class"])(**_job_options(settings["options"])) as cluster:
        script = cluster.job_script()
        folder = submitting / "scorecube-runs"
        assert folder.stat().st_mode & 0o777 == 0o700
        assert all(path.stat().st_mode & 0o777 == 0o600 for path in folder.iterdir())
    del cluster
    gc.collect()
    assert not list(folder.iterdir()), "certificates outlive their run"
    for words in (
        "#SBATCH --cpus-per-task=4", "#SBATCH --mem=8G", "#SBATCH -t 04:00:00", "#SBATCH -p long", "#SBATCH -A us",
        "-m distributed.cli.dask_worker", "--protocol tls://", "--no-dashboard --dashboard-address 127.0.0.1:0",
        f"--tls-key {folder}/",
    ):  # fmt: skip
        assert words in script


@pytest.mark.parametrize(
    ("scale", "adapt", "limits"),
    [
        ({"jobs": 2}, {}, {"minimum_jobs": 2, "maximum_jobs": 2}),
        ({}, {"minimum": 0, "maximum": 9}, {"minimum": 0, "maximum": 9}),
    ],
)
def test_lost_jobs_are_replaced_within_the_limits_of_the_file(
    scale: dict[str, int], adapt: dict[str, int], limits: dict[str, int]
) -> None:
    cluster = Mock(worker_spec={"0": {}, "1": {}})
    _submit(cluster, scale, adapt, [])
    cluster.scale.assert_called_once_with(**(scale or {"jobs": 1}))
    cluster.adapt.assert_called_once_with(interval="2s", **limits)


JOBS = {"class": "dask_jobqueue.SLURMCluster"}
PORTS: list[tuple[dict[str, Any], bool]] = [
    (JOBS, False),
    ({**JOBS, "insecure": True}, True),
    ({**JOBS, "options": {"protocol": "tls://", "security": True}}, True),
    ({**JOBS, "options": {"interface": "lo"}}, True),
    ({**JOBS, "options": {"interface": "ib0"}}, False),
    (LOCAL, True),
    ({"class": "distributed.LocalCluster", "options": {"host": "0.0.0.0"}}, False),
    ({"address": "tcp://127.0.0.1:8786"}, True),
    ({"address": "tcp://example.org:8786"}, False),
    ({"address": "tcp://example.org:8786", "insecure": True}, True),
    ({"address": "tls://example.org:8786"}, True),
]


@pytest.mark.parametrize(("settings", "allowed"), PORTS)
def test_no_open_port_without_certificates(settings: dict[str, Any], allowed: bool) -> None:
    spec = make_spec(settings)
    if allowed:
        spec.check_protected()
        return
    with pytest.raises(BadPlan, match="insecure: true"):
        spec.check_protected()


def test_a_refused_job_ends_the_command_with_the_message_of_the_queueing_system(
    submitting: Path, scorecube: Cli, finished_study: Path
) -> None:
    message = "sbatch: error: invalid partition specified: nowhere"
    program = submitting / "bin" / "sbatch"
    program.write_text(
        f"#!/bin/sh\necho \"$@\" >> {program}.called\nprintf '%s\\n' '{message}' >&2\nexit 1\n"
    )
    file = submitting / "cluster.yaml"
    file.write_text(
        "class: dask_jobqueue.SLURMCluster\nscale: {jobs: 3}\n"
        "options: {cores: 1, memory: 1GB, interface: lo, queue: nowhere}\n"
    )
    outcome = scorecube("swap", finished_study, "--trials", 7, "--seed", 9, "--cluster", file)
    assert outcome.status == 1
    (said,) = outcome.stderr.splitlines()
    assert message in said
    called = (submitting / "bin" / "sbatch.called").read_text().splitlines()
    assert len(called) == 3, "each job is submitted once, and none again"


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
