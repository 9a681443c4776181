"""Workers with other versions than the program are refused before anything that they computed is recorded."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import ClusterFailed
from scorecube.execute.executor import Executor, checked, own_versions
from scorecube.testing import simulate_cube
from scorecube.workflow.api import open_study, plan_in_study
from tests.cluster.lab import bare_scheduler, open_client, started, wait_until

SOURCE = Path(__file__).parents[2] / "src"
KERNEL = Path("scorecube", "kernels", "swap.py")
SWAP = sc.Swap(size=20)
TRIALS, BLOCK = 4000, 50


@pytest.mark.parametrize("name", ["python", "scorecube", "numpy", "numba", "source"])
def test_another_version_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    here, worker = own_versions(), SimpleNamespace(address="tcp://10.0.0.7:1")
    monkeypatch.setattr("distributed.get_worker", lambda: worker)
    assert checked(7, str, dict(here)) == "7"
    with pytest.raises(ClusterFailed) as caught:
        checked(7, str, {**here, name: "0.0.7"})
    message = str(caught.value)
    assert message.startswith("the worker at tcp://10.0.0.7:1 has other versions than this")
    assert {here[name], "0.0.7"} <= {*re.findall(r"[^\s()]+", message)}


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the package with another kernel: it counts no swap of the first pair of runs."""
    folder = tmp_path / "changed"
    shutil.copytree(SOURCE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / KERNEL
    path.write_text(
        path.read_text().replace("range(n_runs - 1)", "range(1, n_runs - 1)", 1) + "\n# changed\n"
    )
    return folder


@pytest.fixture
def scheduler() -> Iterator[str]:
    with bare_scheduler() as (_, address):
        yield address


def worker_words(address: str) -> list[str]:
    return ["worker", address, "--host", "127.0.0.1", "--no-nanny", "--nthreads", "1"]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    path = tmp_path / "study.zarr"
    open_study(path, mode="a").add("demo", cube=simulate_cube(n_runs=30, seed=5))
    return path


def compute(study: Path, address: str) -> xr.Dataset:
    (task,) = plan_in_study(open_study(study, mode="a"), SWAP, trials=TRIALS, seed=3)
    with open_client(None, address) as client:
        return task.run(Executor(client, 2), block_units=BLOCK)


def tasks_of(dask_scheduler: Any = None) -> int:
    return len(dask_scheduler.tasks)


REFUSED = r"the worker at tcp://127\.0\.0\.1:\d+ has other versions .*: source \w{12} \(here"


@pytest.mark.process
@pytest.mark.slow
def test_a_worker_of_another_version_is_refused_at_once(
    scheduler: str, study: Path, changed: Path
) -> None:
    with started(*worker_words(scheduler), source=changed), open_client(None, scheduler) as client:
        assert client is not None
        client.wait_for_workers(1, timeout=60)
        with pytest.raises(ClusterFailed, match=REFUSED):
            compute(study, scheduler)
    assert not list(study.glob("demo/blocks/*/*/*.npz"))
    assert not list(study.glob("demo/results/*"))


@pytest.mark.process
@pytest.mark.slow
def test_nothing_is_recorded_of_a_worker_of_another_version_that_joins_late(
    scheduler: str, study: Path, changed: Path
) -> None:
    with open_client(None, scheduler) as client, ThreadPoolExecutor(1) as thread:
        assert client is not None
        running = thread.submit(compute, study, scheduler)
        # All workers that are there, none, have stated their versions before there are tasks.
        wait_until("tasks", lambda: client.run_on_scheduler(tasks_of) > 0)
        with started(*worker_words(scheduler), source=changed):
            error = running.exception(timeout=120)
        assert isinstance(error, ClusterFailed)
        assert re.match(REFUSED, str(error))
        assert not list(study.glob("demo/blocks/*/*/*.npz"))
        assert not list(study.glob("demo/results/*"))
        with started(*worker_words(scheduler)):
            resumed = compute(study, scheduler)
    fresh = sc.analyse(open_study(study)["demo"].cube, SWAP, trials=TRIALS, seed=3, workers=1)
    xr.testing.assert_identical(resumed.drop_attrs(), fresh.drop_attrs())
