"""No run leaves threads, open files, processes or temporary folders behind, whether it ends well, by an error or by Ctrl-C."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import xarray as xr

import scorecube as sc
from scorecube.errors import SweepFailed
from scorecube.execute.clusters import choose_cluster, open_executor
from scorecube.execute.executor import Executor
from scorecube.storage import Study
from scorecube.testing import simulate_cube
from scorecube.workflow.tasks import plan_in_study
from tests.cluster.lab import LOCAL

pytestmark = [pytest.mark.process, pytest.mark.slow]
TRIALS = 800
SETTLED_SECONDS = 10
"""Time that ended threads and processes have until they count as left behind."""
KEPT = (
    "zarr_io",
    "asyncio_",
    "Profile",
    "Dask-Callback",
    "IO loop",
    "TCP-Executor",
    "Dask-Offload",
)
"""Threads that zarr and dask start once for a process."""


@dataclass(frozen=True)
class Resources:
    """What a process holds."""

    threads: frozenset[str]
    files: tuple[str, ...]
    processes: frozenset[int]
    folders: frozenset[str]


def resources() -> Resources:
    gc.collect()
    files = []
    for name in os.listdir("/proc/self/fd"):
        try:
            files.append(str(Path(f"/proc/self/fd/{name}").readlink()))
        except OSError:
            continue  # that of the listing
    own = (each for each in files if not each.startswith(("anon_inode", "/dev", "/proc")))
    children = psutil.Process().children(recursive=True)
    return Resources(
        threads=frozenset(
            f"{each.name} {each.ident}"
            for each in threading.enumerate()
            if not each.name.startswith(KEPT)
        ),
        files=tuple(sorted("socket" if each.startswith("socket") else each for each in own)),
        processes=frozenset(each.pid for each in children if each.status() != "zombie"),
        folders=frozenset(os.listdir(tempfile.gettempdir())),
    )


def left_behind(before: Resources, seconds: float = SETTLED_SECONDS) -> dict[str, list[str]]:
    """Return what this process holds more than before, after some time to settle."""
    stop = time.monotonic() + seconds
    while True:
        now = resources()
        more = {
            "threads": sorted(now.threads - before.threads),
            "files": [
                each for each in set(now.files) if now.files.count(each) > before.files.count(each)
            ],
            "processes": sorted(map(str, now.processes - before.processes)),
            "folders": sorted(now.folders - before.folders),
        }
        if not any(more.values()) or time.monotonic() > stop:
            return {what: found for what, found in more.items() if found}
        time.sleep(0.05)


Run = Callable[[Study, Callable[..., None]], object]


LOCK, SENT = threading.Lock(), [0.0]


class BrokenError(RuntimeError):
    """Raised while blocks are computed."""


def in_memory(study: Study, progress: Callable[..., None]) -> object:
    cube = study["a"].cube
    return sc.analyse(
        cube, sc.Swap(), trials=TRIALS, seed=1, workers=2, block_units=50, progress=progress
    )


def in_study(
    study: Study, progress: Callable[..., None], executor: Executor | None = None
) -> object:
    (task,) = plan_in_study(study, sc.Swap(), collections=["a"], trials=TRIALS, seed=1)
    return task.run(executor or Executor(workers=2), block_units=50, progress=progress)


def on_processes(study: Study, progress: Callable[..., None]) -> object:
    with open_executor(choose_cluster(LOCAL, None, 2)) as executor:
        return in_study(study, progress, executor)


def on_local_cluster(study: Study, progress: Callable[..., None]) -> object:
    options = {"threads_per_worker": 2, "protocol": "tls://", "security": True}
    spec = choose_cluster({"class": "distributed.LocalCluster", "options": options}, None, 1)
    with open_executor(spec) as executor:
        return in_study(study, progress, executor)


def in_sweep(study: Study, progress: Callable[..., None]) -> object:
    plans = [sc.Entry(sc.Bootstrap(), trials=TRIALS, seed=seed) for seed in range(6)] + [
        sc.Entry(sc.Swap(), trials=TRIALS, seed=seed) for seed in range(6)
    ]
    return sc.sweep(plans, study, workers=2, progress=progress)


RUNS: dict[str, Run] = {
    "memory": in_memory,
    "study": in_study,
    "processes": on_processes,
    "local": on_local_cluster,
    "sweep": in_sweep,
}


def go_on(*_: int) -> None:
    """Report nothing."""


def fail(*_: int) -> None:
    raise BrokenError("a block failed")


def interrupt(*_: int) -> None:
    """Send what Ctrl-C sends; several threads report progress, and one of them sends it once a second."""
    with LOCK:
        if time.monotonic() - SENT[-1] > 1:
            SENT.append(time.monotonic())
            signal.raise_signal(signal.SIGINT)


ENDINGS: dict[str, tuple[Callable[..., None], type[BaseException] | None]] = {
    "well": (go_on, None),
    "by an error": (fail, BrokenError),
    "by Ctrl-C": (interrupt, KeyboardInterrupt),
}


@pytest.fixture(scope="module")
def cubes() -> dict[str, xr.Dataset]:
    return {name: simulate_cube(n_runs=40, seed=seed) for seed, name in enumerate("ab")}


@pytest.fixture(scope="module")
def temporary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of temporary folders; that of all workers is left there."""
    return tmp_path_factory.mktemp("temporary")


@pytest.fixture
def make_study(
    cubes: dict[str, xr.Dataset], temporary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Study]]:
    """Return a function that makes a study; temporary folders go to a folder of these tests."""
    SENT.append(0.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def make(name: str) -> Study:
        study = sc.open_study(tmp_path / name, mode="a")
        for collection, cube in cubes.items():
            study.add(collection, cube=cube)
        return study

    yield make
    signal.signal(signal.SIGINT, before)


STARTED: set[str] = set()
"""Kinds of runs that this process has seen."""


def start_once(kind: str, make_study: Callable[[str], Study]) -> None:
    """Start what a kind of runs keeps for the whole process."""
    if kind not in STARTED:
        RUNS[kind](make_study("first"), go_on)
        STARTED.add(kind)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", RUNS)
def test_nothing_is_left_behind(
    kind: str, ending: str, make_study: Callable[[str], Study], tmp_path: Path
) -> None:
    progress, expected = ENDINGS[ending]
    start_once(kind, make_study)
    study = make_study("second")
    before = resources()
    if expected is None:
        RUNS[kind](study, progress)
    else:
        with pytest.raises(expected):
            RUNS[kind](study, progress)
    assert left_behind(before) == {}
    locks = [path for path in (tmp_path / "second").rglob("*lock*") if path.is_file()]
    assert locks == []


@pytest.mark.parametrize("kind", ["memory", "study", "sweep"])
def test_nothing_is_left_behind_by_a_block_that_fails(
    kind: str, make_study: Callable[[str], Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    start_once(kind, make_study)
    study = make_study("second")
    before = resources()
    monkeypatch.setattr(sc.Swap, "block", fail)
    with pytest.raises(SweepFailed if kind == "sweep" else BrokenError):
        RUNS[kind](study, go_on)
    assert left_behind(before) == {}


def test_what_is_left_behind_is_found(make_study: Callable[[str], Study]) -> None:
    make_study("study")
    before = resources()
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait, name="forgotten")
    thread.start()
    child = subprocess.Popen(["sleep", "100"])
    folder = Path(tempfile.mkdtemp())
    with (folder / "open").open("w"):
        found = left_behind(before, seconds=0.1)
    stop.set()
    child.kill()
    child.wait()
    thread.join()
    assert found == {
        "threads": [f"forgotten {thread.ident}"],
        "files": [str(folder / "open")],
        "processes": [str(child.pid)],
        "folders": [folder.name],
    }
