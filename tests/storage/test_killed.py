"""A study whose process is killed (SIGKILL) at random moments, and continued, ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import xarray as xr

from scorecube.analyses import Bootstrap
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, open_study, plan_in_study
from scorecube.workflow.tasks import Task
from tests.conftest import Cli

pytestmark = [pytest.mark.process, pytest.mark.slow]
KILLS, TRIALS, SEED, BLOCK_UNITS = 20, 200, 1, 3

# Imports once, then forks a process for each line "path workers"; says its id, and how it ended.
FORKING = f"""
import os, sys, time
from scorecube.analyses import Bootstrap
from scorecube.execute.executor import Executor
from scorecube.workflow.api import open_study, plan_in_study
print("ready", flush=True)
while line := sys.stdin.readline():
    path, workers = line.split()
    child = os.fork()
    if child == 0:
        (task,) = plan_in_study(open_study(path, mode="a"), Bootstrap(), trials={TRIALS}, seed={SEED})
        # A pause behind each block, so that most of the time passes while blocks are being recorded.
        task.run(Executor(workers=int(workers)), block_units={BLOCK_UNITS}, progress=lambda *_: time.sleep(0.02))
        os._exit(0)
    print(child, flush=True)
    sys.stdin.readline()
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Runner:
    """Runs the study in processes that can be killed."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def run(self, path: Path, workers: int, kill_after: float | None) -> bool:
        """Run the study; return whether it came to its end before it was killed."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{path} {workers}\n")
        self.process.stdin.flush()
        child = int(self.answer())
        if kill_after is not None:
            time.sleep(kill_after)
            # An ended child keeps its id until its parent is told to wait for it.
            os.kill(child, signal.SIGKILL)
        self.process.stdin.write("wait\n")
        self.process.stdin.flush()
        status = int(self.answer())
        assert status in (0, signal.SIGKILL), status
        return status == 0


@contextmanager
def runner() -> Iterator[Runner]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:  # fmt: skip
        opened = Runner(process)
        try:
            assert opened.answer() == "ready"
            yield opened
        finally:
            assert process.stdin is not None
            process.stdin.close()


def plan(path: Path) -> Task:
    (task,) = plan_in_study(open_study(path, mode="a"), Bootstrap(), trials=TRIALS, seed=SEED)
    return task


def test_a_run_killed_at_random_moments_ends_as_an_undisturbed_one(
    tmp_path: Path, scorecube: Cli
) -> None:
    cube = simulate_cube(metrics=("AP", "RR"), n_runs=20, seed=5)
    expected = analyse(cube, Bootstrap(), trials=TRIALS, seed=SEED, workers=1)
    fresh, chance = tmp_path / "fresh.zarr", random.Random(7)
    open_study(fresh, mode="a").add("demo", cube=cube)
    kills, between, rounds = 0, 0, 0
    with runner() as running:
        whole = Path(shutil.copytree(fresh, tmp_path / "undisturbed.zarr"))
        assert running.run(whole, 1, None)  # Fills the compiler's cache.
        shutil.rmtree(whole)
        shutil.copytree(fresh, whole)
        started = time.monotonic()
        assert running.run(whole, 1, None)
        seconds = time.monotonic() - started
        undisturbed = stored(whole)
        while kills < KILLS:
            path, rounds, recorded, done = tmp_path / f"{rounds}.zarr", rounds + 1, 0, False
            shutil.copytree(fresh, path)
            while not done:
                # The last of the kills is followed by an undisturbed end.
                moment = chance.uniform(0, 0.6 * seconds) if kills < KILLS else None
                done = running.run(path, chance.choice((1, 2)), moment)
                kills += not done
                now = plan(path).recorded()
                assert recorded <= now, "blocks that were recorded are gone"
                between += not done and 0 < now < plan(path).prepared.n_units
                recorded = now
            result = stored(path)
            assert_same(result, undisturbed)
            assert_same(result, expected)
            assert "all match their checksums" in scorecube("verify", path).succeeded().stderr
    assert kills == KILLS
    assert between >= KILLS // 4, "hardly any of the kills came while blocks were being written"


def stored(path: Path) -> xr.Dataset:
    """Return the one stored result."""
    (result,) = open_study(path)["demo"].results("bootstrap")
    return result


def assert_same(result: xr.Dataset, expected: xr.Dataset) -> None:
    """Compare everything but the provenance, bit for bit."""
    xr.testing.assert_identical(result.drop_attrs(), expected.drop_attrs())
    for name, array in expected.data_vars.items():
        assert result[name].values.tobytes() == array.values.tobytes(), name
