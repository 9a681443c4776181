"""The five papers: every command runs, in the order of their page, and shows what the page says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import REPO
from tests.papers import ITEMS, found, holds, results


def others(part: str) -> Iterator[str]:
    """Yield a part of a line with another word or number in the place of each."""
    words = part.split()
    for place, word in enumerate(words):
        number, _, tolerance = word.partition("~")
        far = f"{float(number) + 3 * float(tolerance)}~{tolerance}" if tolerance else f"{word}1"
        yield " ".join([*words[:place], far, *words[place + 1 :]])


@pytest.mark.slow
def test_every_command_of_the_page_shows_what_it_says_and_nothing_else(tmp_path: Path) -> None:
    seen = []
    for at, item, text in results(tmp_path):
        seen.append(at)
        assert "MISSING" not in found(item, text), (at, found(item, text))
        assert "MISSING" in found(item._replace(rows=item.rows + 1), text), at
        changed = [other.split() for part in item.shows for other in others(part)]
        lines = [line.split() for line in text.splitlines()]
        kept = [part for part in changed if any(holds(line, part) for line in lines)]
        assert (len(changed) > 1, kept) == (True, []), at
    assert len(seen) == sum(map(len, ITEMS.values()))


@pytest.mark.process
@pytest.mark.slow
def test_the_page_runs_beside_a_wheel(tmp_path: Path) -> None:
    """With what the wheel holds, which is all of the package, and nothing else of the checkout but the tests."""
    wheel = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*wheel, "-w", tmp_path, REPO], check=True)
    zipfile.ZipFile(next(tmp_path.glob("*.whl"))).extractall(tmp_path / "wheel")
    inside, package = tmp_path / "wheel/scorecube", REPO / "src/scorecube"
    for file in package.rglob("*"):
        if file.is_file() and "__pycache__" not in file.parts:
            assert (inside / file.relative_to(package)).read_bytes() == file.read_bytes()
    shutil.copytree(REPO / "tests", tmp_path / "beside/tests")
    places = os.pathsep.join([str(tmp_path / "wheel"), str(tmp_path / "beside")])
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "tests.papers", "run", "1"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": places},
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, "MISSING" in ended.stdout) == (0, False), ended.stderr
