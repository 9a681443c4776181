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
from pathlib import Path
from typing import Any

import psutil
import pytest

import scorecube as sc
from scorecube.errors import SweepFailed
from scorecube.execute.clusters import open_executor
from scorecube.execute.executor import Executor
from scorecube.storage import Study
from scorecube.testing import simulate_cube
from scorecube.workflow.tasks import plan_in_study
from tests.cluster.lab import LOCAL

pytestmark = [pytest.mark.process, pytest.mark.slow]
TRIALS = 800
KEPT = (
    *("zarr_io", "asyncio_", "Profile", "Dask-Callback"),
    *("IO loop", "TCP-Executor", "Dask-Offload"),
)
"""Threads that zarr and dask start once for a process."""
TLS = {"threads_per_worker": 2, "protocol": "tls://", "security": True}
CLUSTERS = {
    "processes": (LOCAL, 2),
    "local": ({"class": "distributed.LocalCluster", "options": TLS}, 1),
}
Progress = Callable[..., None]
Held = dict[str, list[str]]


def held() -> Held:
    """Return what this process holds."""
    gc.collect()
    files = []
    for name in os.listdir("/proc/self/fd"):
        try:
            files.append(str(Path(f"/proc/self/fd/{name}").readlink()))
        except OSError:
            continue  # that of the listing
    plain = (file for file in files if not file.startswith(("anon_inode", "/dev", "/proc")))
    children = psutil.Process().children(recursive=True)
    threads = [thread for thread in threading.enumerate() if not thread.name.startswith(KEPT)]
    return {
        "threads": [f"{thread.name} {thread.ident}" for thread in threads],
        "files": ["socket" if file.startswith("socket") else file for file in plain],
        "processes": [str(child.pid) for child in children if child.status() != "zombie"],
        "folders": os.listdir(tempfile.gettempdir()),
    }


def left_behind(before: Held, seconds: float = 10) -> Held:
    """Return what this process holds more than before, after some time to settle."""
    stop = time.monotonic() + seconds
    while True:
        now, more = held(), Held()
        for what, things in now.items():
            if new := {one for one in things if things.count(one) > before[what].count(one)}:
                more[what] = sorted(new)
        if not more or time.monotonic() > stop:
            return more
        time.sleep(0.05)


class BrokenError(RuntimeError):
    """Raised while blocks are computed."""


def compute(kind: str, study: Study, progress: Progress) -> None:
    """Run an analysis in memory, in a study on threads or on a cluster, or a sweep."""
    how: dict[str, Any] = {"block_units": 50, "progress": progress}
    if kind == "memory":
        sc.analyse(study["a"].cube, sc.Swap(), trials=TRIALS, workers=2, **how)
    elif kind == "sweep":
        analyses = [sc.Bootstrap(), sc.Swap()] * 6
        plans = [sc.Entry(one, trials=TRIALS, seed=seed) for seed, one in enumerate(analyses)]
        sc.sweep(plans, study, workers=2, progress=progress)
    else:
        (task,) = plan_in_study(study, sc.Swap(), collections=["a"], trials=TRIALS)
        if kind == "study":
            task.run(Executor(workers=2), **how)
        else:
            cluster, workers = CLUSTERS[kind]
            with open_executor(cluster, None, workers) as executor:
                task.run(executor, **how)


LOCK, SENT = threading.Lock(), [0.0]


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


ENDINGS = {
    "well": (go_on, None),
    "by an error": (fail, BrokenError),
    "by Ctrl-C": (interrupt, KeyboardInterrupt),
}


@pytest.fixture
def make_study(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[str], Study]]:
    """Return a function that makes a study; temporary folders go to a folder of these tests."""
    SENT.append(0.0)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a background job
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("temporary")))

    def make(name: str) -> Study:
        study = sc.open_study(tmp_path / name, mode="a")
        for seed, collection in enumerate("ab"):
            study.add(collection, cube=simulate_cube(n_runs=40, seed=seed))
        return study

    yield make
    signal.signal(signal.SIGINT, before)


STARTED: set[str] = set()


def start_once(kind: str, make_study: Callable[[str], Study]) -> None:
    """Start what a kind of runs keeps for the whole process, such as the threads of dask."""
    for one in ("memory", kind):
        if one not in STARTED:
            compute(one, make_study(f"first-{one}"), go_on)
            STARTED.add(one)


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("kind", ["memory", "study", *CLUSTERS, "sweep"])
def test_nothing_is_left_behind(
    kind: str, ending: str, make_study: Callable[[str], Study], tmp_path: Path
) -> None:
    progress, expected = ENDINGS[ending]
    start_once(kind, make_study)
    study = make_study("second")
    before = held()
    if expected is None:
        compute(kind, study, progress)
    else:
        with pytest.raises(expected):
            compute(kind, study, progress)
    assert left_behind(before) == {}


@pytest.mark.parametrize("kind", ["memory", "study", "sweep"])
def test_nothing_is_left_behind_by_a_block_that_fails(
    kind: str, make_study: Callable[[str], Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    start_once(kind, make_study)
    study = make_study("second")
    before = held()
    monkeypatch.setattr(sc.Swap, "block", fail)
    with pytest.raises(SweepFailed if kind == "sweep" else BrokenError):
        compute(kind, study, go_on)
    assert left_behind(before) == {}


def test_what_is_left_behind_is_found(make_study: Callable[[str], Study]) -> None:
    make_study("study")
    before, stop = held(), threading.Event()
    thread = threading.Thread(target=stop.wait, name="forgotten")
    thread.start()
    child, folder = subprocess.Popen(["sleep", "100"]), Path(tempfile.mkdtemp())
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
