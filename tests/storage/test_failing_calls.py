"""One call of the file system fails: the study is as before or as afterwards, one message says so, and a repetition succeeds."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli, Files
from tests.storage.states import FAULTS, is_whole, state

STEP = int(os.environ.get("SCORECUBE_SOAK", "31"))
"""One call in so many fails; every one with ``SCORECUBE_SOAK=1``, which takes an hour."""


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
    name: str, finished_study: Path, files: Files, tmp_path: Path, scorecube: Cli
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
    with FAULTS.below(undisturbed.parent):
        run(undisturbed).succeeded()
        count = FAULTS.calls
    new = state(undisturbed)
    assert count > 50
    assert old != new
    failed = 0
    for number in range(1, count + 1, STEP):
        path = fresh(number)
        with FAULTS.below(path.parent, fail_at=number):
            outcome = run(path)
        found = state(path)
        assert found in (old, new), number
        if outcome.status:
            failed += 1
            assert outcome.status == 1, number
            errors = [line for line in outcome.stderr.splitlines() if line.startswith("error: ")]
            assert len(errors) == 1, (number, outcome.stderr)
            assert "Traceback" not in outcome.stderr, number
        run(path).succeeded()
        assert state(path) == new, number
        assert is_whole(path), number
        shutil.rmtree(path.parent)
    assert failed > count // STEP // 4
