"""What is deleted while others write: all that was there at the beginning goes, all that is finished meanwhile stays."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from scorecube.errors import BadStudy, StoreFailed
from scorecube.storage import clean, open_study
from scorecube.storage.place import Place
from scorecube.storage.study import open_place
from tests.conftest import REPO, Cli
from tests.storage.states import SOAK, cube, new_result

WRITERS, ROUNDS, OLD = 6, 50 if SOAK else 4, 40
WRITER = """
import sys
from scorecube.storage.place import Place
place, number = Place(sys.argv[1]), sys.argv[2]
for k in range(int(sys.argv[3])):
    place.write(f"a/results/swap/{number}-{k}", b"new")
    place.write(f"a/results/swap/again-{number}", b"new")
"""


def writer(path: Path, number: int, count: int = 10**9) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", WRITER, str(path), str(number), str(count)]
    return subprocess.Popen(words, cwd=REPO, stderr=subprocess.PIPE, text=True)


def identities(folder: Path) -> set[tuple[str, int, int]]:
    found = set()
    for entry in os.scandir(folder):
        with suppress(FileNotFoundError):
            state = entry.stat()
            found.add((entry.name, state.st_ino, state.st_mtime_ns))
    return found


@pytest.mark.slow
def test_nothing_of_the_beginning_is_left_while_others_write(tmp_path: Path) -> None:
    place, folder = Place(str(tmp_path)), tmp_path / "a/results/swap"
    writers = [writer(tmp_path, number) for number in range(WRITERS)]
    try:
        while not all((folder / f"again-{number}").exists() for number in range(WRITERS)):
            time.sleep(0.01)
        for _ in range(ROUNDS):
            for k in range(OLD):
                place.write(f"a/results/swap/old-{k}", b"old")
            before = identities(folder)
            assert place.delete("a/results/swap") >= OLD
            assert not before & (identities(folder) if folder.is_dir() else set())
    finally:
        for process in writers:
            process.kill()
            process.communicate()
    assert any(folder.iterdir())  # what came afterwards


@pytest.mark.slow
def test_no_writer_fails_because_its_folder_is_deleted(tmp_path: Path) -> None:
    place, n_deletions = Place(str(tmp_path)), 0
    place.write("a/results/swap/old", b"")
    processes = [writer(tmp_path, number, 300) for number in range(3)]
    while any(process.poll() is None for process in processes):
        n_deletions += place.delete("a/results/swap") > 0
    assert [process.communicate()[1] for process in processes] == [""] * 3
    assert [process.returncode for process in processes] == [0] * 3
    assert n_deletions > 10


def test_a_write_whose_folder_is_deleted_is_done_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = open_study(tmp_path / "study", mode="a")
    study.add("a", cube=cube())
    result, replace, times = new_result(study["a"]), Path.replace, 0

    def late(self: Path, target: Path) -> Path:
        nonlocal times
        times += 1
        if times <= 3:
            study["a"].forget("swap")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", late)
    study["a"].write_result(result)
    assert times == 4
    assert len(study["a"].results("swap")) == 1


def test_two_deletions_at_once_both_end_with_nothing_left(place: str) -> None:
    opened = open_place(place)
    opened.is_new = True
    for k in range(60):
        opened.write(f"a/x/{k % 3}/{k}", b"")
    left = list[int]()
    threads = [
        threading.Thread(
            target=lambda: left.append(opened.delete("a/x") * 0 + len(opened.files("a/x")))
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert left == [0] * 4


def test_what_cannot_be_deleted_is_counted(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_place(place)
    opened.is_new = True
    for k in range(5):
        opened.write(f"a/x/{k}", b"")
    remove = type(opened)._remove
    monkeypatch.setattr("scorecube.storage.place.PAUSE", 0)
    monkeypatch.setattr("scorecube.storage.place.TRIES", 3)
    monkeypatch.setattr(type(opened), "_remove", lambda self, keys: remove(self, keys[2:]))
    with pytest.raises(StoreFailed, match="2 of 5"):
        opened.delete("a/x")


def test_a_file_of_the_same_name_that_came_later_stays(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_place(place)
    opened.is_new = True
    opened.write("a/x/1", b"old")
    remove = type(opened)._remove

    def then_written(self: Place, keys: list[str]) -> None:
        remove(self, keys)
        self.write("a/x/1", b"new, and longer")

    monkeypatch.setattr(type(opened), "_remove", then_written)
    assert opened.delete("a/x") == 1
    assert opened.read("a/x/1") == b"new, and longer"


def test_links_are_deleted_and_not_what_they_name(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/mine").write_text("mine")
    place = Place(str(tmp_path / "study"))
    place.is_new = True
    place.write("a/x/1", b"")
    (tmp_path / "study/a/x/link").symlink_to(tmp_path / "kept")
    (tmp_path / "study/a/x/file").symlink_to(tmp_path / "kept/mine")
    assert place.delete("a/x") == 3
    assert not (tmp_path / "study/a/x").exists()
    assert (tmp_path / "kept/mine").read_text() == "mine"


def test_forget_says_how_much_went(place: str, scorecube: Cli) -> None:
    study = open_study(place, mode="a")
    study.add("a", cube=cube())
    study["a"].write_result(new_result(study["a"]))
    assert ": 1 result" in scorecube("forget", place, "swap").succeeded().stderr
    assert scorecube("forget", place, "swap").status == 1
    study["a"].blocks("swap", "0" * 16).record(0, 7, {})
    said = scorecube("forget", place, "swap").succeeded().stderr
    assert re.findall(r"\b\d (?:result|file)", said) == ["0 result", "1 file"]


def test_two_that_clean_at_once_both_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    study = open_study(tmp_path / "study", mode="a")
    study.add("a", cube=cube())
    files, first = Place.files, True

    def meanwhile(self: Place, path: str) -> dict[str, float]:
        nonlocal first
        if first:
            first = False
            clean(study)
        return files(self, path)

    monkeypatch.setattr(Place, "files", meanwhile)
    assert clean(study) == 0
    with pytest.raises(BadStudy):
        open_study(tmp_path / "study", mode="a")["b"]
