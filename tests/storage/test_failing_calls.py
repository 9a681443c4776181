"""One call of the file system fails: the study is as before or as afterwards, one message says so, and a repetition succeeds."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scorecube.storage import files as storage_files
from scorecube.storage import open_study
from scorecube.storage.verify import verify_study
from tests.conftest import Cli, Files
from tests.storage.states import FAULTS, Faults, state

STEP = int(os.environ.get("SCORECUBE_SOAK", "97"))
"""One call in so many fails; every one in ``make soak``, which takes an hour."""


@pytest.fixture
def faults(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Faults also in syncing, and in writing, where a half of the bytes is written."""
    sync, write = storage_files.sync, storage_files.write_file

    def failing_sync(path: Path) -> None:
        FAULTS.on_call(str(path))
        sync(path)

    def failing_write(path: Path, content: bytes) -> None:
        try:
            FAULTS.on_call(str(path))
        except OSError:
            path.write_bytes(content[: len(content) // 2])
            raise
        write(path, content)

    monkeypatch.setattr(storage_files, "sync", failing_sync)
    monkeypatch.setattr(storage_files, "sync_file_system", failing_sync)
    monkeypatch.setattr(storage_files, "write_file", failing_write)
    return FAULTS


def commands(files: Files) -> dict[str, list[object]]:
    evaluate = ["--name", "small", *files.options(), "--gains", "auto"]
    run = ["--trials", 40, "--seed", 3, "--workers", 1]
    return {
        "first": ["evaluate", *evaluate, "--metrics", "AP,RR"],
        "evaluate": ["evaluate", *evaluate, "--metrics", "P@5"],
        "replace": ["evaluate", *evaluate, "--metrics", "RR", "--replace"],
        "swap": ["swap", "--size", 3, *run],
        "bootstrap": ["bootstrap", *run],
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", ["first", "evaluate", "replace", "swap", "bootstrap"])
def test_a_failing_call_leaves_old_or_new(
    name: str, faults: Faults, finished_study: Path, files: Files, tmp_path: Path, scorecube: Cli
) -> None:
    command = commands(files)[name]

    def fresh(number: int) -> Path:
        path = tmp_path / str(number) / "study.zarr"
        path.parent.mkdir()
        if name != "first":
            shutil.copytree(finished_study, path)
        return path

    def run(path: Path) -> Any:
        analyses = command[0] in ("swap", "bootstrap")
        return scorecube(command[0], path, *command[1:], block_units=20 if analyses else None)

    undisturbed = fresh(0)
    old = state(undisturbed)
    with faults.below(undisturbed.parent):
        run(undisturbed).succeeded()
        count = faults.calls
    new = state(undisturbed)
    assert count > 50
    assert old != new
    failed = 0
    for number in range(1, count + 1, STEP):
        path = fresh(number)
        with faults.below(path.parent, fail_at=number):
            outcome = run(path)
        found = state(path)
        assert found in (old, new), number
        if outcome.status:
            failed += 1
            assert outcome.status == 1, number
            errors = [line for line in outcome.stderr.splitlines() if line.startswith("error: ")]
            assert len(errors) == 1, (number, outcome.stderr)
            assert "Traceback" not in outcome.stderr, number
        assert not list(path.glob(".*lock*")), number
        run(path).succeeded()
        assert state(path) == new, number
        assert verify_study(open_study(path))[1] == [], number
        shutil.rmtree(path.parent)
    assert failed > count // STEP // 4


def test_the_faults_are_noticed(faults: Faults, tmp_path: Path) -> None:
    calls: list[Callable[[], object]] = [
        lambda: (tmp_path / "x").read_bytes(),
        lambda: (tmp_path / "x").rename(tmp_path / "y"),
        lambda: storage_files.write_file(tmp_path / "z", b"xy"),
        lambda: storage_files.sync(tmp_path),
    ]
    (tmp_path / "x").write_bytes(b"")
    for call in calls:
        with faults.below(tmp_path, fail_at=1), pytest.raises(OSError, match=str(tmp_path)):
            call()
    assert (tmp_path / "z").read_bytes() == b"x"
