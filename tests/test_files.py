"""Files outside of studies: whole or not at all, and nothing that lies in the way is followed or overwritten."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scorecube as sc
from scorecube.errors import BadOutput
from scorecube.files import write_file
from scorecube.testing import simulate_cube

if TYPE_CHECKING:
    from tests.conftest import Cli

SECRET = "not to be overwritten"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("study") / "study.zarr"
    opened = sc.open_study(path, mode="a")
    opened.add("one", cube=simulate_cube(n_runs=4, metrics=("AP", "RR"), gains=("3:2:1",)))
    return path


Write = Callable[[Path], Path]
"""Writes one kind of output into a folder and returns its path."""


@pytest.fixture(params=["report", "figure", "design"])
def write(request: pytest.FixtureRequest, scorecube: Cli, study: Path) -> Write:
    """Every way in which the program writes a file outside of a study."""

    def command(name: str, *words: object) -> Write:
        def run(folder: Path) -> Path:
            done = scorecube(*[folder / name if word is ... else word for word in words])
            if done.status:
                raise BadOutput(done.stderr)
            return folder / name

        return run

    ways: dict[str, Write] = {
        "report": command("report.html", "report", study, "--out", ...),
        "figure": command("figure.svg", "figure", study, "wcw", "--out", ...),
        "design": command("design.pdf", "wcw", "--variance", "0.04", "--out", ...),
    }
    return ways[request.param]


def below(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "source" not in path.parts
    }


def test_a_link_in_the_way_is_not_followed(write: Write, tmp_path: Path) -> None:
    victim, before, folder = (tmp_path / name for name in ("victim", "before", "folder"))
    before.mkdir()
    target = folder / write(before).relative_to(before)
    target.parent.mkdir(parents=True)
    victim.write_text(SECRET)
    traps = [
        target.with_name(trap.format(name=target.name, process=os.getpid()))
        for trap in (".{name}.partial", "{name}.partial", ".{name}.old", ".{name}.{process}.new")
    ]
    for trap in traps:
        trap.symlink_to(victim)
    assert write(folder) == target
    assert victim.read_text() == SECRET
    assert all(trap.is_symlink() for trap in traps)


def test_a_link_at_the_target_is_replaced_and_not_followed(tmp_path: Path) -> None:
    victim, target = tmp_path / "victim", tmp_path / "report.html"
    victim.write_text(SECRET)
    target.symlink_to(victim)
    write_file(target, "new")
    assert (victim.read_text(), target.read_text()) == (SECRET, "new")
    assert not target.is_symlink()


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the disk be full when written data must reach it."""

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)


def test_a_failure_leaves_the_old_files_and_nothing_else(
    write: Write, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    write(tmp_path)
    for path in tmp_path.rglob("*"):  # a report is recognised by its beginning
        if path.is_file() and "source" not in path.parts:
            path.write_bytes(path.read_bytes()[:2500] + b"old")
    before = below(tmp_path)
    request.getfixturevalue("full_disk")
    with pytest.raises(BadOutput, match=r"No space left") as caught:
        write(tmp_path)
    assert ".partial" not in str(caught.value)
    assert below(tmp_path) == before
    assert not [path for path in tmp_path.rglob("*") if "partial" in path.name]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_devices_and_open_files_are_not_replaced(tmp_path: Path) -> None:
    for path in ("/dev/null", "/dev/stdout", tmp_path):
        with pytest.raises(BadOutput, match=re.escape(str(path))):
            write_file(path, "x")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(BadOutput, match=re.escape(str(pipe))):
        write_file(pipe, "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
