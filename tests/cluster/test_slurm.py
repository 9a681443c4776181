"""A real SLURM of one controller and two nodes: the same bits as one core, though jobs are cancelled under way."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import xarray as xr

from tests.cluster.lab import REPO, Study, end_of, is_loopback, run_quietly, wait_until

pytestmark = pytest.mark.slurm
STARTER = Path(__file__).with_name("slurm.sh")

KEYS = ".dask-jobqueue.worker.*"
"""Files in which dask-jobqueue hands certificates of a run to its jobs."""


class Slurm:
    """Client commands of a SLURM that was started for the tests."""

    def __init__(self, conf: Path) -> None:
        self.conf = conf

    def run(self, *words: str, **environment: object) -> str:
        done = run_quietly(
            "timeout", "15", *words, environment={"SLURM_CONF": self.conf, **environment}
        )
        assert done.returncode == 0, f"{' '.join(words)}: {done.stderr}"
        return done.stdout

    def jobs(self, state: str = "all") -> list[str]:
        """Return the ids of jobs that wait or run."""
        return self.run(
            "squeue", "-h", "-o", "%i", f"--states={state}" if state != "all" else "--all"
        ).split()


@pytest.fixture(scope="module")
def slurm(slurm_tools: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Slurm]:
    folder = tmp_path_factory.mktemp("slurm")
    base = tmp_path_factory.getbasetemp()  # deeper in one of several test processes
    made = base.parent.parent if "PYTEST_XDIST_WORKER" in os.environ else base.parent
    for above in (folder, *(each for each in folder.parents if each.is_relative_to(made))):
        above.chmod(0o755)  # munge runs as another user
    started = run_quietly(str(STARTER), "start", str(folder), timeout=60)
    assert started.returncode == 0, started.stderr
    try:
        opened = Slurm(folder / "slurm.conf")
        yield opened
        for job in opened.jobs():
            opened.run("scancel", job)
    finally:
        run_quietly(str(STARTER), "stop", str(folder))


def ours(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]


def test_a_cancelled_job_is_replaced_and_changes_nothing(
    slurm: Slurm, study: Study, expected: xr.Dataset, tmp_path: Path
) -> None:
    shipped = (REPO / "cluster" / "slurm.yaml").read_text()
    runs = tmp_path / "runs"
    runs.mkdir()
    changed = (
        ("jobs: 8", "jobs: 2"), ("cores: 4", "cores: 1"), ("memory: 8GB", "memory: 900MB"), ("# interface: ib0", "interface: lo"), ("log_directory: scorecube-runs", f"log_directory: {runs}"),
        ("shared_temp_directory: .", f"shared_temp_directory: {runs}"), ("# queue: main", "queue: main"),
        ("# job_extra_directives: [--constraint=avx2]", "job_extra_directives: [--oversubscribe]"),
    )  # fmt: skip
    for old, new in changed:
        assert old in shipped
        shipped = shipped.replace(old, new)
    profile = tmp_path / "slurm.yaml"
    profile.write_text(shipped)
    lost = {"DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT": "1s"}
    with study.driver(where=("--cluster", profile), SLURM_CONF=slurm.conf, **lost) as driver:
        before = study.wait_for_share(0.1)
        keys = list(runs.glob(KEYS))
        assert len(keys) == 3
        assert {stat.S_IMODE(key.stat().st_mode) for key in keys} == {0o600}
        sockets = [
            each
            for process in ours(psutil.Process(driver.pid))
            for each in process.net_connections("inet")
        ]
        listening = [each.laddr.ip for each in sockets if each.status == psutil.CONN_LISTEN]
        assert listening
        assert all(map(is_loopback, listening))
        first = slurm.jobs("running")
        assert len(first) == 2
        slurm.run("scancel", first[0])
        wait_until(
            "another job in the place of the cancelled one",
            lambda: bool(set(slurm.jobs()) - set(first)),
        )
        assert before < study.share() < 1, "the run was over before the job was replaced"
        status, said = end_of(driver)
    assert status == 0, said
    study.assert_result(expected)
    wait_until("an empty queue", lambda: not slurm.jobs())
    assert not list(runs.glob(KEYS)), "certificates outlive their run"


def test_a_refused_job_ends_the_command_with_the_message_of_sbatch(
    slurm: Slurm, study: Study, tmp_path: Path
) -> None:
    profile = tmp_path / "slurm.yaml"
    (tmp_path / "runs").mkdir()
    profile.write_text(
        "class: dask_jobqueue.SLURMCluster\noptions:\n  {cores: 1, memory: 900MB, interface: lo, queue: nowhere, "
        f"shared_temp_directory: {tmp_path}/runs}}\n"
    )
    with study.driver(where=("--cluster", profile), SLURM_CONF=slurm.conf) as driver:
        status, said = end_of(driver, 60)
    assert status == 1
    assert "Traceback" not in said
    last = said.splitlines()[-1]
    assert last.startswith("error: ")
    assert "nowhere" in last
    assert not slurm.jobs()
    assert not list((tmp_path / "runs").glob(KEYS))
