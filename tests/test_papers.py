"""docs/reference/papers.md: every command runs, in the order of the page, and shows what the page says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.papers import ITEMS, Item, found, page, results

PAGE = REPO / "docs/reference/papers.md"


def test_the_page_is_what_is_printed() -> None:
    assert PAGE.read_text(encoding="utf-8") == "\n".join(page()).rstrip() + "\n"


@pytest.mark.slow
def test_every_command_of_the_page_shows_what_it_says(tmp_path: Path) -> None:
    shown = list(results(tmp_path))
    assert len(shown) == sum(map(len, ITEMS.values()))
    assert [(at, text) for at, _, text in shown if text.startswith("MISSING")] == []


@pytest.mark.process
@pytest.mark.slow
def test_the_page_runs_beside_a_wheel(tmp_path: Path) -> None:
    """With what the wheel holds, and nothing else of the checkout but the tests."""
    wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*wheel, "-w", tmp_path, REPO], check=True)
    zipfile.ZipFile(next(tmp_path.glob("*.whl"))).extractall(tmp_path / "wheel")
    shutil.copytree(REPO / "tests", tmp_path / "beside/tests")
    places = os.pathsep.join([str(tmp_path / "wheel"), str(tmp_path / "beside")])
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "tests.papers", "run"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, "MISSING" in ended.stdout) == (0, False), ended.stderr


@pytest.mark.parametrize(
    "item",
    [
        Item("other number", "x", "", ("97 replacement 76.5~0.68 30.0~0.68",)),
        Item("other row", "x", "", (), 2),
        Item("other metric", "scorecube show STUDY swap --metrics Q", ""),
    ],
)
def test_what_is_not_shown_is_missing(item: Item) -> None:
    assert found(item, "size\n----\n97 replacement 75.9 31.2").startswith("MISSING")
