"""A writer that was stopped for so long that another took over its lock changes nothing more; readers see old or new."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from scorecube.errors import BadStudy, StoreFailed
from scorecube.storage import files, open_study
from scorecube.storage.location import Location, open_location
from scorecube.storage.lock import EXPIRY_SECONDS, LockLost, hold_lock, machine_name
from scorecube.storage.merge_cubes import merge_cubes
from scorecube.storage.verify import verify_study
from scorecube.workflow.api import cube_from_scores
from tests.cluster.lab import wait_until
from tests.conftest import Cli


def make_cube(shift: float = 0.0) -> xr.Dataset:
    values = np.random.default_rng(1).random((3, 4)) + shift
    return cube_from_scores({"m": pd.DataFrame(values, index=list("abc"), columns=list("1234"))})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    open_study(tmp_path / "study.zarr", mode="a").add("demo", cube=make_cube())
    return tmp_path / "study.zarr"


def expire(lock: Path) -> None:
    late = time.time() - EXPIRY_SECONDS - 10
    os.utime(lock, (late, late))


# Imports once, then forks a process for each line "study", which writes the collection again and again, with other scores
# each time, and says to the file beside the study which it has written; tells the id of each, and waits for its end.
WRITERS = """
import os, sys
from tests.storage.test_overtaken import make_cube
from scorecube.storage import open_study
print("ready", flush=True)
while line := sys.stdin.readline():
    path = line.rstrip()
    child = os.fork()
    if child == 0:
        for number, name in ((1, "written"), (2, "said")):
            os.dup2(os.open(f"{path}.{name}", os.O_WRONLY | os.O_CREAT), number)
        study = open_study(path, mode="a")
        for count in range(10_000):
            study.add("demo", cube=make_cube(100.0 + count), replace=True)
            print(count, flush=True)
        os._exit(0)
    print(child, flush=True)
    os.waitpid(child, 0)
    print("ended", flush=True)
"""


class Writers:
    """Starts processes that write to a study, one after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def answer(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    @contextmanager
    def writer(self, path: Path) -> Iterator[int]:
        """Start a writer, wait until it has written thrice, and yield its id; kill it at the end."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        child = int(self.answer())
        try:
            written = Path(f"{path}.written")
            wait_until(
                "three writes",
                lambda: written.exists() and len(written.read_text().splitlines()) >= 3,
            )
            yield child
        finally:
            with suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            assert self.answer() == "ended"


@pytest.fixture(scope="module")
def writers() -> Iterator[Writers]:
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", WRITERS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:  # fmt: skip
        opened = Writers(process)
        assert opened.answer() == "ready"
        yield opened
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.parametrize("attempt", range(20))
def test_a_stopped_writer_loses_to_the_one_that_took_over(
    writers: Writers, path: Path, attempt: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "GUARD_SECONDS", 3.0)  # or it waits for 20 s for one that is stopped
    locks = [path / ".lock", path / ".demo.lock"]
    with writers.writer(path) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            time.sleep(0.003 + 0.004 * attempt)
            os.kill(process, signal.SIGSTOP)
            if all(lock.exists() for lock in locks):
                break
            os.kill(process, signal.SIGCONT)
        for lock in locks:
            expire(lock)
        try:
            open_study(path, mode="a").add("demo", cube=make_cube(7.0), replace=True)
        except StoreFailed:  # stopped in the very moment of its commit
            os.kill(process, signal.SIGKILL)
            open_study(path, mode="a").add("demo", cube=make_cube(7.0), replace=True)
        assert verify_study(open_study(path))[1] == []
        # The other one goes on where it was stopped, perhaps in the middle of its commit.
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)
        time.sleep(0.5)
    said = Path(f"{path}.said").read_text()
    assert verify_study(open_study(path))[1] == []
    assert "Traceback" not in said or "LockLost" in said, said
    if "LockLost" in said:
        xr.testing.assert_identical(open_study(path)["demo"].cube, make_cube(7.0))


def test_a_commit_without_its_lock_is_refused(path: Path) -> None:
    study = open_study(path, mode="a")
    lock_file = open_location(path).lock_file("demo")
    with hold_lock(lock_file):
        found = lock_file.read()
        assert found is not None
        lock_file.remove(found[0])
        other = {"machine": "elsewhere 0", "process": 1, "since": "2026-11-21 12:00 UTC"}
        lock_file.create(json.dumps(other))
        with (
            pytest.raises(LockLost, match="its lock is now that of process 1 on elsewhere since"),
            study.lock("demo") as writer,
        ):
            writer.note({"x": 1})
        with pytest.raises(LockLost, match="nothing was stored since"):
            study.add("demo", cube=make_cube(1.0), replace=True)
    assert study["demo"].facts == {}
    xr.testing.assert_identical(study["demo"].cube, make_cube())
    assert sorted(each.name for each in (path / "demo").iterdir()) == ["cube", "zarr.json"]


def test_scores_that_were_changed_while_a_metric_was_added_are_kept(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where no lock can be held."""

    def cube(metric: str) -> xr.Dataset:
        return make_cube().assign_coords(metric=[metric])

    def overtaken(*args: Any) -> xr.Dataset:
        monkeypatch.undo()
        open_study(path, mode="a").add("demo", cube=cube("RR"))
        return merge_cubes(*args)

    monkeypatch.setattr("scorecube.storage.writer.merge_cubes", overtaken)
    study = open_study(path, mode="a")
    with pytest.raises(BadStudy, match="another process changed its scores meanwhile"):
        study.add("demo", cube=cube("AP"))
    assert study["demo"].cube.metric.values.tolist() == ["m", "RR"]
    study.add("demo", cube=cube("AP"))
    assert study["demo"].cube.metric.values.tolist() == ["m", "RR", "AP"]
    assert verify_study(study)[1] == []


@pytest.mark.parametrize("shift", [0.0, 10 * EXPIRY_SECONDS])
def test_a_lock_from_the_future_or_of_another_start_is_taken_over(path: Path, shift: float) -> None:
    owner = {"machine": machine_name() if not shift else "elsewhere", "process": os.getppid()}
    text = json.dumps({**owner, "started": "1", "since": ""})
    lock = path / ".demo.lock"
    lock.write_text(text)
    os.utime(lock, (time.time() + shift,) * 2)
    open_study(path, mode="a").add("demo", cube=make_cube(1.0), replace=True)
    assert not lock.exists()


def test_a_link_in_place_of_a_lock_is_one_message(path: Path, scorecube: Cli) -> None:
    (path / ".demo.lock").symlink_to(path.parent / "nowhere")
    told = scorecube("swap", path, "--trials", 5, "--seed", 1)
    assert told.status == 1
    assert "is a symbolic link where a lock file belongs; remove it" in told.stderr


@pytest.mark.process
def test_readers_beside_a_writer_see_old_or_new(path: Path) -> None:
    study, stop, seen = open_study(path, mode="a"), threading.Event(), set[float]()

    def write() -> None:
        shift = 0.0
        while not stop.is_set():
            shift = 1.0 - shift
            study.add("demo", cube=make_cube(shift), replace=True)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        expected = {shift: make_cube(shift) for shift in (0.0, 1.0)}
        for _ in range(200):
            reader = open_study(path)
            assert list(reader) == ["demo"]
            found = reader["demo"].cube
            (shift,) = (key for key, cube in expected.items() if cube.identical(found))
            seen.add(shift)
    finally:
        stop.set()
        writer.join()
    assert seen == {0.0, 1.0}


def test_a_session_keeps_no_manifest_that_another_thread_replaced_meanwhile(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two studies of one process: one reads the manifest while the other commits."""
    study, other = open_study(path, mode="a"), open_study(path, mode="a")
    reading, read = threading.Event(), type(study.location).read

    def slowly(location: Location, key: str) -> bytes | None:
        content = read(location, key)
        if location is study.location:
            reading.set()
            time.sleep(0.2)  # of which the other makes use if it can
        return content

    def note() -> None:
        assert reading.wait(20)
        with other.lock("demo") as writer:
            writer.note({"x": 1})

    with study.lock("demo") as writer:
        monkeypatch.setattr(type(study.location), "read", slowly)
        thread = threading.Thread(target=note)
        thread.start()
        assert writer.manifest.facts == {}
        thread.join()
        assert writer.manifest.facts == study["demo"].facts == {"x": 1}
    assert study["demo"].facts == {"x": 1}


def test_a_file_of_the_index_is_written_where_its_empty_directory_was_removed(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location, write = open_location(str(path)), files.write_file
    monkeypatch.setattr(
        files,
        "write_file",
        lambda target, content: (
            monkeypatch.setattr(files, "write_file", write),
            target.parent.rmdir(),
            write(target, content),
        ),
    )
    location.write_cached("segment/zarr.json", b"{}")
    assert location.read("segment/zarr.json") == b"{}"
    assert [each.name for each in (path / "segment").iterdir()] == ["zarr.json"]
