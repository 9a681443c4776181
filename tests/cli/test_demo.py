"""Command demo: its report, and repeated runs."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from scorecube.declare import QUESTIONS

if TYPE_CHECKING:
    from tests.conftest import Cli, Outcome, Tree

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "new" / "folder"


@pytest.fixture(scope="module")
def first(scorecube: Cli, folder: Path) -> Outcome:
    """The outcome of the first run."""
    return scorecube("demo", "--out", folder).succeeded()


def test_the_page_answers_what_it_asks(first: Outcome, folder: Path) -> None:
    assert str(folder / "report.html") in first.stdout.splitlines()[-1]
    page = (folder / "report.html").read_text()
    assert (
        len(re.findall('<div class="card[" ]', page)) == len(QUESTIONS) - 1
    )  # there are no judges


def test_demo_is_repeatable(
    scorecube: Cli, first: Outcome, folder: Path, tree: Callable[[Path], Tree]
) -> None:
    before, page = tree(folder / "study.zarr"), (folder / "report.html").read_text()
    again = scorecube("demo", "--out", folder).succeeded()
    assert again.stdout == first.stdout
    assert tree(folder / "study.zarr") == before
    assert (folder / "report.html").read_text() == page
