"""Many processes write one study at once, and none loses what another committed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scorecube.storage import Collection, open_study
from tests.conftest import REPO
from tests.storage.states import SOAK, cube, is_whole

PROCESSES, COMMITS = 8, 200 if SOAK else 12
WRITER = """
import sys
from scorecube.storage import open_study
from tests.storage.states import cube, new_result, note
path, number, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
collection = open_study(path, mode="a")["a"]
made = new_result(collection)
for k in range(count):
    note(collection, **{f"{number}-{k}": k})
    digest = f"{number:08x}{k:08x}"
    collection.write_result(made.assign_attrs(digest=digest))
    print(digest, flush=True)
open_study(path, mode="a").add("a", cube=cube(number, f"n{number}"))
"""


def write(path: str, number: int, count: int = COMMITS) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", WRITER, path, str(number), str(count)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=REPO,
    )


def digests(collection: Collection) -> list[str]:
    return [attributes["digest"] for attributes in collection.result_attributes("swap")]


@pytest.mark.slow
def test_no_commit_of_many_processes_is_lost(place: str) -> None:
    open_study(place, mode="a").add("a", cube=cube())
    processes = [write(place, number) for number in range(PROCESSES)]
    said = [process.communicate(timeout=3600 if SOAK else 500)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0] * PROCESSES
    collection = open_study(place)["a"]
    assert len(collection.head.notes) == PROCESSES * COMMITS
    found = digests(collection)
    assert set(found) == {digest for lines in said for digest in lines}
    assert len(found) == PROCESSES * COMMITS
    metrics = {"m", *(f"n{number}" for number in range(PROCESSES))}
    assert set(collection.cube.metric.values) == metrics
    assert is_whole(place)


@pytest.mark.slow
def test_what_a_killed_process_said_is_there(tmp_path: Path) -> None:
    path = str(tmp_path / "study")
    open_study(path, mode="a").add("a", cube=cube())
    processes = [write(path, number, 10_000) for number in range(3)]
    said: set[str] = set()
    for process in processes:
        assert process.stdout is not None
        said.add(process.stdout.readline().strip())
    time.sleep(0.5)
    for process in processes:
        process.send_signal(signal.SIGKILL)
    for process in processes:
        said.update(process.communicate()[0].split())
    assert said - {""} <= set(digests(open_study(path)["a"]))
    assert is_whole(path)
