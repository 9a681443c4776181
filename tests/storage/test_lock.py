"""One process at a time writes a study; what a killed one left does not stand in the way."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from scorecube.errors import BadStudy
from scorecube.storage import lock
from scorecube.storage.location import open_location
from scorecube.storage.lock import EXPIRY_SECONDS, LockFile, hold_lock, is_stale, machine_name
from scorecube.testing import simulate_cube
from scorecube.workflow.api import open_study
from tests.conftest import Cli

S3 = pytest.param("s3", marks=pytest.mark.s3)


@pytest.fixture(params=["directory", S3])
def location(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a study, of each kind."""
    return (
        str(request.getfixturevalue("s3"))
        if request.param == "s3"
        else str(tmp_path / "study.zarr")
    )


@pytest.fixture
def lock_file(location: str) -> LockFile:
    return open_location(location).lock_file()


def content(process: int, where: str = "", since: str = "2026-11-21 12:00 UTC") -> str:
    return json.dumps(
        {"machine": where or machine_name(), "process": process, "since": since, "token": "x"}
    )


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def test_another_process_is_refused_and_named(
    location: str, lock_file: LockFile, scorecube: Cli
) -> None:
    other = os.getppid()
    assert lock_file.create(content(other))
    with pytest.raises(
        BadStudy,
        match=f"being written by process {other} on .* since 2026-11-21 12:00 UTC; wait for it to finish",
    ):
        open_study(location, mode="a").add("demo", cube=simulate_cube(n_runs=2))
    assert not open_location(location).holds_zarr()
    lock_file.remove(content(other))
    open_study(location, mode="a").add("demo", cube=simulate_cube(n_runs=2))
    assert lock_file.create(content(other))  # of adding collections: results are no business of it
    scorecube("swap", location, "--trials", 2, "--seed", 1).succeeded()
    of_demo = open_location(location).lock_file("demo")
    assert of_demo.create(content(other))
    told = scorecube("swap", location, "--trials", 3, "--seed", 1)
    assert told.status == 1
    place = f"{location}.demo.lock" if location.startswith("s3:") else f"{location}/.demo.lock"
    assert f"to continue at once, delete {place}" in told.stderr
    with pytest.raises(BadStudy, match="being written"):
        open_study(location, mode="a").add("demo", cube=simulate_cube(metrics=["RR"], n_runs=2))
    # Other collections are nobody's yet.
    lock_file.remove(content(other))
    open_study(location, mode="a").add("other", cube=simulate_cube(n_runs=2))
    scorecube("swap", location, "--collection", "other", "--trials", 3, "--seed", 1).succeeded()
    # Reading needs no leave.
    scorecube("info", location).succeeded()
    scorecube("verify", location).succeeded()
    found = of_demo.read()
    assert found is not None
    assert found[0] == content(other)


def test_what_a_killed_process_left_is_taken_over(location: str, lock_file: LockFile) -> None:
    assert lock_file.create(content(dead_process()))
    open_study(location, mode="a").add("demo", cube=simulate_cube(n_runs=2))
    assert lock_file.read() is None


def test_nothing_is_left_behind_by_success_or_failure(location: str, lock_file: LockFile) -> None:
    study = open_study(location, mode="a")
    with study.lock():
        found = lock_file.read()
        assert found is not None
        facts = json.loads(found[0])
        assert (facts["process"], facts["machine"]) == (os.getpid(), machine_name())
    assert lock_file.read() is None
    with pytest.raises(KeyboardInterrupt), study.lock():
        raise KeyboardInterrupt
    assert lock_file.read() is None


def test_threads_of_one_process_share_it(lock_file: LockFile) -> None:
    inside, leave, seen = threading.Barrier(4), threading.Event(), []

    def work() -> None:
        with hold_lock(lock_file):
            inside.wait(20)
            leave.wait(20)
            seen.append(lock_file.read() is not None)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    inside.wait(20)
    leave.set()
    for thread in threads:
        thread.join()
    assert seen == [True] * 3
    assert lock_file.read() is None


def test_of_several_that_take_over_one_succeeds(location: str, lock_file: LockFile) -> None:
    assert lock_file.create(content(dead_process()))
    lock_files = [open_location(location).lock_file() for _ in range(4)]
    assert all(each.read() is not None for each in lock_files)
    assert sum(each.take_over(content(k)) for k, each in enumerate(lock_files)) == 1


def test_it_is_renewed_while_it_is_held(
    lock_file: LockFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "RENEWAL_SECONDS", 0.05)
    renewed = threading.Event()
    renew = type(lock_file).renew

    def noted(self: Any, text: str) -> None:
        renew(self, text)
        renewed.set()

    monkeypatch.setattr(type(lock_file), "renew", noted)
    with hold_lock(lock_file):
        before = lock_file.read()
        assert renewed.wait(20)
        after = lock_file.read()
        assert before is not None
        assert after is not None
        assert before[0] == after[0]
    time.sleep(0.1)
    assert lock_file.read() is None


def test_one_that_was_taken_over_is_not_removed(lock_file: LockFile) -> None:
    with hold_lock(lock_file):
        found = lock_file.read()
        assert found is not None
        lock_file.remove(found[0])
        assert lock_file.create(content(os.getppid()))
    found = lock_file.read()
    assert found is not None
    assert found[0] == content(os.getppid())


@pytest.mark.parametrize(
    ("text", "age", "expected"),
    [
        (content(1, "another machine"), 0, False),
        (content(1, "another machine"), EXPIRY_SECONDS - 1, False),
        (content(1, "another machine"), EXPIRY_SECONDS + 1, True),
        (content(os.getppid()), 0, False),
        (
            content(os.getpid()),
            0,
            True,
        ),  # of an earlier process with this number: this one knows what it holds
        ("", 0, False),  # just being written
        ("", EXPIRY_SECONDS + 1, True),
        ("[1]", 0, False),
    ],
    ids=[
        "elsewhere",
        "elsewhere-late",
        "elsewhere-expired",
        "alive",
        "own-number",
        "empty",
        "empty-expired",
        "not-a-record",
    ],
)
def test_who_is_gone_is_known(text: str, age: float, expected: bool) -> None:
    assert is_stale(text, age) is expected


def test_writing_without_a_lock_is_refused_unless_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(self: Any, text: str) -> bool:
        raise PermissionError

    monkeypatch.setattr(lock.LocalLockFile, "create", refused)
    study, cube = open_study(tmp_path / "study.zarr", mode="a"), simulate_cube(n_runs=2)
    with pytest.raises(BadStudy, match=r"no lock can be held, because .*/\.lock cannot be made"):
        study.add("demo", cube=cube)
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv("SCORECUBE_LOCK", "0")
    study.add("demo", cube=cube)
    assert list(open_study(tmp_path / "study.zarr")) == ["demo"]


def test_a_study_that_was_not_begun_leaves_no_directory(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), open_study(tmp_path / "s.zarr", mode="a").lock():
        raise KeyboardInterrupt
    assert not list(tmp_path.iterdir())


@pytest.mark.process
def test_a_study_at_two_paths_has_one_lock(tmp_path: Path) -> None:
    """Mounted twice, or reached by a link to one of the directories above it."""
    study = open_study(tmp_path / "one/s.zarr", mode="a")
    study.add("demo", cube=simulate_cube(n_runs=2))
    (tmp_path / "two").mkdir()
    code = "import sys, time, scorecube as sc\nwith sc.open_study(sys.argv[1], mode='a').lock('demo'):\n print(flush=True)\n time.sleep(60)"
    mount = ["mount", "--bind", str(tmp_path / "one"), str(tmp_path / "two")]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting needs root")
    try:
        with subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path / "two/s.zarr")], stdout=subprocess.PIPE
        ) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            try:
                with pytest.raises(BadStudy, match="collection 'demo' is being written by process"):
                    study.add("demo", cube=simulate_cube(metrics=["RR"], n_runs=2))
            finally:
                writer.kill()
    finally:
        subprocess.run(["umount", str(tmp_path / "two")], check=True)


def test_temporary_files_of_killed_processes_are_removed(tmp_path: Path) -> None:
    """One that was killed while it made or removed a lock file leaves a file beside it."""

    def owner(process: int) -> str:
        facts = {"machine": machine_name(), "process": process, "started": lock.started(process)}
        return json.dumps({**facts, "since": "now", "token": "0"})

    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        gone = ended.pid
    kept, removed = owner(os.getppid()), owner(gone)
    contents = {".lock.0123abcd": removed, ".a.lock.00000000": kept, ".b.lock.12345678": "x"}
    (tmp_path / "s").mkdir()
    for name, content in contents.items():
        (tmp_path / "s" / name).write_text(content)
    os.utime(tmp_path / "s/.b.lock.12345678", (0, 0))
    open_study(tmp_path / "s", mode="a").add("x", cube=simulate_cube(n_runs=3))
    left = {path.name for path in (tmp_path / "s").glob(".*lock*")}
    assert left == {".a.lock.00000000", ".b.lock.12345678"}
