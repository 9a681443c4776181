"""A study whose process is killed (SIGKILL) at random moments, and continued, ends as if nothing had happened."""

from __future__ import annotations

import random
import shutil
import signal
import time
from multiprocessing import get_context
from pathlib import Path

import pytest
import xarray as xr

from scorecube import Bootstrap, Leaderboard, Swap, Tukey
from scorecube.analyses.protocol import Analysis
from scorecube.execute.executor import Executor
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, open_study, plan_in_study
from scorecube.workflow.tasks import Task
from tests.conftest import Cli
from tests.storage.states import SOAK

pytestmark = [pytest.mark.alone, pytest.mark.slow]
"""Moments are shares of the time that an undisturbed run took."""
KILLS = 300 if SOAK else 20
TRIALS, SEED, BLOCK_UNITS = 200, 1, 3
ANALYSES: dict[str, tuple[Analysis, int]] = {
    "bootstrap": (Bootstrap(), KILLS),
    "leaderboard": (Leaderboard(baseline="team01"), 3),
    "swap": (Swap(size=20), 3),
    "tukey": (Tukey(), 3),
}
"""Analyses whose blocks combine in each way, and how often each is killed."""

PROCESSES = get_context("forkserver")
"""Imports once, and forks a process for each run."""
PROCESSES.set_forkserver_preload([__name__])


def run_study(path: str, workers: int, name: str) -> None:
    # A pause behind each block, so that most of the time passes while blocks are being recorded.
    plan(Path(path), name).run(
        Executor(workers=workers), block_units=BLOCK_UNITS, progress=lambda *_: time.sleep(0.02)
    )


def run(path: Path, name: str, workers: int = 1, kill_after: float | None = None) -> bool:
    """Run the study in a process; return whether it came to its end before it was killed."""
    process = PROCESSES.Process(target=run_study, args=(str(path), workers, name))
    process.start()
    if kill_after is not None:
        time.sleep(kill_after)
        process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), process.exitcode
    return process.exitcode == 0


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
    whole = Path(shutil.copytree(fresh, tmp_path / "undisturbed.zarr"))
    assert run(whole, name)  # Fills the compiler's cache.
    shutil.rmtree(whole)
    shutil.copytree(fresh, whole)
    started = time.monotonic()
    assert run(whole, name)
    seconds = time.monotonic() - started
    undisturbed = stored(whole, analysis)
    while kills < most:
        path, rounds, recorded, done = tmp_path / f"{rounds}.zarr", rounds + 1, 0, False
        shutil.copytree(fresh, path)
        while not done:
            # The last of the kills is followed by an undisturbed end.
            moment = chance.uniform(0, 0.6 * seconds) if kills < most else None
            done = run(path, name, chance.choice((1, 2)), moment)
            kills += not done
            now = plan(path, name).recorded()
            assert recorded <= now, "blocks that were recorded are gone"
            between += not done and 0 < now < plan(path, name).plan.n_units
            recorded = now
        result = stored(path, analysis)
        assert_same(result, undisturbed)
        assert_same(result, expected)
        scorecube("verify", path).succeeded()
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
