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

from scorecube import Bootstrap, Leaderboard, Swap, Tukey
from scorecube.analyses.protocol import Analysis
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, open_study, plan_in_study
from scorecube.workflow.tasks import Task
from tests.conftest import Cli

pytestmark = [pytest.mark.alone, pytest.mark.slow]
"""Moments are shares of the time that an undisturbed run took."""
KILLS = 300 if os.environ.get("SCORECUBE_SOAK") else 20
TRIALS, SEED, BLOCK_UNITS = 200, 1, 3
ANALYSES: dict[str, tuple[Analysis, int]] = {
    "bootstrap": (Bootstrap(), KILLS),
    "leaderboard": (Leaderboard(baseline="team01"), 3),
    "swap": (Swap(size=20), 3),
    "tukey": (Tukey(), 3),
}
"""Analyses whose blocks combine in each way, and how often each is killed."""

# Imports once, then forks a process for each line "path workers analysis"; says its id, and how it ended.
FORKING = f"""
import os, sys, time
from scorecube.execute.executor import Executor
from scorecube.workflow.api import open_study, plan_in_study
from tests.storage.test_killed import ANALYSES
print("ready", flush=True)
while line := sys.stdin.readline():
    path, workers, name = line.rstrip().split(maxsplit=2)
    child = os.fork()
    if child == 0:
        (task,) = plan_in_study(open_study(path, mode="a"), ANALYSES[name][0], trials={TRIALS}, seed={SEED})
        # A pause behind each block, so that most of the time passes while blocks are being recorded.
        task.run(Executor(workers=int(workers)), block_units={BLOCK_UNITS}, progress=lambda *_: time.sleep(0.02))
        os._exit(0)
    print(child, flush=True)
    sys.stdin.readline()
    print(os.waitpid(child, 0)[1], flush=True)
"""


class Runner:
    """Runs the study in processes that can be killed."""

    def __init__(self, process: subprocess.Popen[str], name: str) -> None:
        self.process, self.name = process, name

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def run(self, path: Path, workers: int, kill_after: float | None) -> bool:
        """Run the study; return whether it came to its end before it was killed."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{path} {workers} {self.name}\n")
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
def runner(name: str) -> Iterator[Runner]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment, cwd=Path(__file__).parents[2]
    ) as process:  # fmt: skip
        opened = Runner(process, name)
        try:
            assert opened.answer() == "ready"
            yield opened
        finally:
            assert process.stdin is not None
            process.stdin.close()


def plan(path: Path, name: str) -> Task:
    study = open_study(path, mode="a")
    (task,) = plan_in_study(study, ANALYSES[name][0], trials=TRIALS, seed=SEED)
    return task


@pytest.mark.parametrize("name", ANALYSES)
def test_a_run_killed_at_random_moments_ends_as_an_undisturbed_one(
    tmp_path: Path, scorecube: Cli, name: str
) -> None:
    analysis, most = ANALYSES[name]
    cube = simulate_cube(metrics=("AP", "RR"), n_runs=20, seed=5)
    cube = cube.assign_coords(system=("run", cube["team"].values))
    expected = analyse(cube, analysis, trials=TRIALS, seed=SEED, workers=1)
    fresh, chance = tmp_path / "fresh.zarr", random.Random(7)
    open_study(fresh, mode="a").add("demo", cube=cube)
    kills, between, rounds = 0, 0, 0
    with runner(name) as running:
        whole = Path(shutil.copytree(fresh, tmp_path / "undisturbed.zarr"))
        assert running.run(whole, 1, None)  # Fills the compiler's cache.
        shutil.rmtree(whole)
        shutil.copytree(fresh, whole)
        started = time.monotonic()
        assert running.run(whole, 1, None)
        seconds = time.monotonic() - started
        undisturbed = stored(whole, analysis)
        while kills < most:
            path, rounds, recorded, done = tmp_path / f"{rounds}.zarr", rounds + 1, 0, False
            shutil.copytree(fresh, path)
            while not done:
                # The last of the kills is followed by an undisturbed end.
                moment = chance.uniform(0, 0.6 * seconds) if kills < most else None
                done = running.run(path, chance.choice((1, 2)), moment)
                kills += not done
                now = plan(path, name).recorded()
                assert recorded <= now, "blocks that were recorded are gone"
                between += not done and 0 < now < plan(path, name).prepared.n_units
                recorded = now
            result = stored(path, analysis)
            assert_same(result, undisturbed)
            assert_same(result, expected)
            assert "all match their checksums" in scorecube("verify", path).succeeded().stderr
    assert kills == most
    # All pairs of the bootstrap are one short block here, so that its kills come before or after it.
    assert name == "bootstrap" or between >= most // 4, (
        "hardly any of the kills came while blocks were being written"
    )


def stored(path: Path, analysis: Analysis) -> xr.Dataset:
    """Return the one stored result."""
    (result,) = open_study(path)["demo"].results(analysis.name)
    return result


def assert_same(result: xr.Dataset, expected: xr.Dataset) -> None:
    """Compare everything but the provenance, bit for bit."""
    xr.testing.assert_identical(result.drop_attrs(), expected.drop_attrs())
    for name, array in expected.data_vars.items():
        if array.dtype != object:  # whose bytes are addresses of texts
            assert result[name].values.tobytes() == array.values.tobytes(), name
