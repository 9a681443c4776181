"""Signals and errors of the machine end a command with one message; locks and keys are removed, and the study can be resumed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest
import xarray as xr

import scorecube as sc
from scorecube.testing import simulate_cube
from scorecube.workflow.api import open_study
from tests.cluster.lab import wait_until, with_words
from tests.conftest import Cli

MAIN = """
import signal
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # ignored below nohup
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
from tests.blocks import blocks_of, main
with blocks_of(1000):
    main()
"""
TRIALS, BLOCK = 60_000, 1000
"""Some 3 s of one core: long enough for signals to fall into it."""
WORDS = ["--size", "20", "--trials", str(TRIALS), "--seed", "3"]
TLS = (
    "class: distributed.LocalCluster\n"
    "options: {n_workers: 1, threads_per_worker: 1, protocol: tls://, security: true}\n"
)
ENDS = [
    (signal.SIGINT, 130, ""),
    (signal.SIGTERM, 143, " by SIGTERM"),
    (signal.SIGHUP, 129, " by SIGHUP"),
]


def test_too_little_memory_is_one_line(
    scorecube: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("scorecube.storage.open_study", Mock(side_effect=MemoryError()))
    outcome = scorecube("info", tmp_path)
    (line,) = outcome.stderr.splitlines()
    assert (outcome.status, line.startswith("error: out of memory: ")) == (1, True)


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=100, seed=5)


@pytest.fixture(scope="module")
def expected(cube: xr.Dataset) -> xr.Dataset:
    """The result of an undisturbed run."""
    return sc.analyse(cube, sc.Swap(size=20), trials=TRIALS, seed=3).drop_attrs()


@pytest.fixture
def study(cube: xr.Dataset, tmp_path: Path) -> Path:
    path = tmp_path / "study.zarr"
    open_study(path, mode="a").add("demo", cube=cube)
    return path


def start(study: Path, *words: str) -> subprocess.Popen[str]:
    """Run the swap command in a session of its own, as a terminal does."""
    folder = study.parent / "tmp"
    folder.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "swap", str(study), *WORDS, *words],
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        env=os.environ | {"TMPDIR": str(folder), "PYTHONWARNINGS": "default"},
    )  # fmt: skip


def check_end(process: subprocess.Popen[str], study: Path, status: int, cause: str) -> None:
    """Check status, message and what is left behind."""
    _, said = process.communicate(timeout=120)
    assert process.returncode == status, said
    lines = said.splitlines()
    message = f"interrupted{cause}: recorded blocks and results are kept; rerun the same command to resume"
    assert lines[-1] == message
    assert all(line.startswith("demo: ") for line in lines[:-1]), said
    assert not [
        path
        for path in study.rglob("*")
        if re.search(r"lock|\.new|\.partial", path.name) and path.name != "blocks"
    ]
    assert not list((study.parent / "tmp").glob("scorecube-*")), "certificates outlive their run"


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize(("number", "status", "cause"), ENDS, ids=["INT", "TERM", "HUP"])
@pytest.mark.parametrize("profile", [None, TLS], ids=["threads", "processes"])
def test_a_signal_leaves_a_study_that_is_resumed(
    study: Path,
    expected: xr.Dataset,
    number: signal.Signals,
    status: int,
    cause: str,
    profile: str | None,
) -> None:
    words = ["--workers", "2"]
    if profile is not None:
        file = study.parent / "profile.yaml"
        file.write_text(profile)
        words = ["--cluster", str(file)]
    process = start(study, *words)
    wait_until("a recorded block", lambda: bool(list(study.glob("demo/blocks/**/*.npz"))), 120)
    for _ in range(3):  # an impatient user
        os.killpg(process.pid, number) if number == signal.SIGINT else process.send_signal(number)
        time.sleep(0.1)
    check_end(process, study, status, cause)
    recorded = len(list(study.glob("demo/blocks/**/*.npz")))
    assert 0 < recorded < TRIALS / BLOCK
    again = subprocess.run(
        [sys.executable, "-c", MAIN, "swap", str(study), *WORDS], capture_output=True, text=True, check=True, timeout=300
    )  # fmt: skip
    assert "trials are recorded already" in again.stderr
    (result,) = open_study(study)["demo"].results("swap")
    xr.testing.assert_identical(result.drop_attrs().load(), expected)


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.3, 1.0])
def test_an_interruption_while_processes_start_is_one_message(study: Path, seconds: float) -> None:
    file = study.parent / "profile.yaml"
    file.write_text(TLS.replace("n_workers: 1", "n_workers: 3"))
    process = start(study, "--cluster", str(file))
    driver = psutil.Process(process.pid)
    wait_until("a worker", lambda: bool(with_words("spawn_main", driver.children(recursive=True))))
    time.sleep(seconds)
    os.killpg(process.pid, signal.SIGINT)
    check_end(process, study, 130, "")


@pytest.mark.process
def test_nothing_is_said_after_the_message_of_an_interruption() -> None:
    """Dask fails to close clusters that were starting, after the command and again at its end."""
    script = (
        "import atexit, signal\n"
        "from scorecube.cli.program import exit_after\n"
        "atexit.register(lambda: 1 / 0)\n"
        "exit_after(signal.SIGINT)\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, len(ended.stderr.splitlines())) == (130, 1), ended.stderr
