"""Command demo: its table, its report, repeated runs, and agreement with the simulated quality."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scorecube as sc
from scorecube.report.views import QUESTIONS

if TYPE_CHECKING:
    from tests.conftest import Cli, Outcome, Tree

pytestmark = pytest.mark.slow
NAME = "demo"
JUDGED = (50, 7.00, 30.70, 23.34)
"""Topics, and relevant documents per topic at S, A and B, of NTCIR-5 Chinese (Sakai 2007, Table 1)."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "new" / "folder"


@pytest.fixture(scope="module")
def first(scorecube: Cli, folder: Path) -> Outcome:
    """The outcome of the first run."""
    return scorecube("demo", "--out", folder).succeeded()


def test_demo_prints_the_best_systems_and_the_place_of_the_page(
    first: Outcome, folder: Path
) -> None:
    lines = first.stdout.splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith("rank "))
    limits = re.compile(r" *(\d+)  \S+ +\S+ +([\d.]+) \(([\d.]+) to ([\d.]+)\) +\d+ to \d+ *[-|]*")
    rows = [limits.fullmatch(line) for line in lines[start + 1 : start + 11]]
    numbers = [[float(number) for number in row.groups()] for row in rows if row]
    assert [row[0] for row in numbers] == list(range(1, 11))
    assert all(low < mean < high for _, mean, low, high in numbers)
    assert str(folder / "report.html") in lines[-1]


@pytest.mark.usefixtures("first")
def test_the_page_answers_what_it_asks(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert page.count('<div class="card">') == len(QUESTIONS) - 1  # there are no judges
    assert "Also possible" not in page
    assert "<h1>Demo: 24 simulated systems</h1>" in page


def without_times(page: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.+]+", "TIME", page)


def test_demo_is_repeatable(
    scorecube: Cli, first: Outcome, folder: Path, tree: Callable[[Path], Tree]
) -> None:
    before, page = tree(folder / "study.zarr"), (folder / "report.html").read_text()
    again = scorecube("demo", "--out", folder).succeeded()
    assert again.stdout == first.stdout
    assert tree(folder / "study.zarr") == before
    assert without_times((folder / "report.html").read_text()) == without_times(page)


@pytest.mark.usefixtures("first")
def test_the_collection_has_the_published_sizes(folder: Path) -> None:
    study = sc.open_study(folder / "study.zarr")
    assert list(study) == [NAME]
    n_topics, *per_level = JUDGED
    (facts,) = sc.table(study[NAME].rankings, "statistics").to_dict("records")
    assert (facts["n_runs"], facts["n_teams"], facts["n_topics"]) == (24, 8, n_topics)
    assert [round(facts[f"n_level_{level}"], 2) for level in (3, 2, 1)] == per_level
