"""What the tests on real clusters share: a study in another process, waiting, sockets."""

from __future__ import annotations

import math
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import xarray as xr

from scorecube import Swap
from scorecube.execute.clusters import open_executor
from scorecube.workflow.api import open_study, plan_in_study
from scorecube.workflow.tasks import Task

REPO = Path(__file__).parents[2]
SWAP = Swap(sampling="disjoint", size=25)
TRIALS, BLOCK, SEED = 240_000, 1_000, 1
"""Some 20 s of one core: long enough for faults to fall into it."""
COMMAND = f"swap {{study}} --sampling disjoint --size 25 --trials {TRIALS} --seed {SEED}"
ENVIRONMENT = {
    **os.environ,
    "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin",
    "PYTHONWARNINGS": "ignore",
}
LOCAL = {"class": "distributed.LocalCluster", "options": {"threads_per_worker": 1}}
"""A cluster file with one process per core."""
QUIET = ["--no-dashboard", "--dashboard-address", "127.0.0.1:0"]


@contextmanager
def open_client(
    cluster: Any, scheduler: str | None = None, workers: int | None = None
) -> Iterator[Any]:
    """Yield a client for what options of a command select."""
    with open_executor(cluster, scheduler, workers) as executor:
        yield executor.client


@contextmanager
def started(*words: str, source: Path = REPO / "src") -> Iterator[subprocess.Popen[bytes]]:
    """Run a command of dask with the package in a folder; kill it at the end."""
    with subprocess.Popen(
        [sys.executable, "-m", "dask", *words, *QUIET],
        env=ENVIRONMENT | {"PYTHONPATH": str(source)},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def bare_scheduler(*words: str, protocol: str = "tcp") -> Iterator[tuple[Any, str]]:
    """A scheduler on loopback without a worker."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    address = f"{protocol}://127.0.0.1:{port}"
    host = (
        ["--host", "127.0.0.1", "--port", str(port)] if protocol == "tcp" else ["--host", address]
    )
    with started("scheduler", *host, *words) as process:
        yield process, address


def run_quietly(
    *words: str, timeout: float = 20, environment: Mapping[str, object] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end, with a limit of time: cluster clients may wait for ever."""
    settings = ENVIRONMENT | {key: str(value) for key, value in (environment or {}).items()}
    return subprocess.run(
        words, capture_output=True, text=True, timeout=timeout, check=False, env=settings
    )


def wait_until(what: str, true: Callable[[], bool], seconds: float = 60) -> None:
    """Wait for something; fail with its name if it does not come."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"waited {seconds:.0f} s for: {what}"
        time.sleep(0.1)


@dataclass(frozen=True)
class Study:
    """A study that other processes compute."""

    path: Path

    def task(self) -> Task:
        (task,) = plan_in_study(open_study(self.path), SWAP, trials=TRIALS, seed=SEED)
        return task

    def share(self) -> float:
        """Return the share of the blocks that is recorded: by files, as reading them takes cores from the run."""
        return len(list(self.path.glob("demo/blocks/swap/*/*.npz"))) / math.ceil(TRIALS / BLOCK)

    def wait_for_share(self, share: float, seconds: float = 90) -> float:
        """Wait until so much is recorded; return how much it is, which is not all."""
        wait_until(f"{share:.0%} of the trials", lambda: self.share() >= share, seconds)
        now = self.share()
        assert now < 0.9, "the run was over before the fault could fall into it"
        return now

    def result(self) -> xr.Dataset:
        result = self.task().stored()
        assert result is not None, "no result was stored"
        return result

    def assert_result(self, expected: xr.Dataset) -> None:
        """The same bits as on one core, provenance aside."""
        xr.testing.assert_identical(self.result().drop_attrs(), expected.drop_attrs())

    def words(self) -> list[str]:
        return COMMAND.format(study=self.path).split()

    @contextmanager
    def driver(
        self, *prefix: str, where: tuple[object, ...], **environment: object
    ) -> Iterator[subprocess.Popen[str]]:
        """Run the analysis in another process, perhaps in a namespace; kill it if the test fails."""
        command = [*prefix, sys.executable, "-m", "tests.blocks", str(BLOCK), *self.words()]
        command += map(str, where)
        settings = {**ENVIRONMENT, **{key: str(value) for key, value in environment.items()}}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=settings
        ) as process:
            try:
                yield process
            finally:
                process.kill()


def end_of(process: subprocess.Popen[str], seconds: float = 120) -> tuple[int, str]:
    """Wait for a process; return its status and what it said."""
    out, err = process.communicate(timeout=seconds)
    return process.returncode, out + err


def with_words(words: str, processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Return the processes with these words in their command; those that end meanwhile have none."""
    found = []
    for process in processes:
        with suppress(psutil.Error):
            if words in " ".join(process.cmdline()):
                found.append(process)
    return found


def is_loopback(host: str) -> bool:
    return host.startswith("127.") or host == "::1"
