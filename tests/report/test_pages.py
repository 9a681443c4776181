"""What a page shows first, what it warns of, and that it is written whole or not at all."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import scorecube as sc
from scorecube.errors import BadName, BadStudy
from scorecube.report import page as made
from scorecube.report.page import write_page
from scorecube.report.readable import with_limits
from scorecube.storage import Study
from scorecube.testing import simulate_cube
from scorecube.workflow import api

if TYPE_CHECKING:
    from tests.conftest import Tree

METRICS = ("AP", "RR")


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study of ten collections, more than have bars, with tests and swaps."""
    path = tmp_path_factory.mktemp("several") / "study.zarr"
    study = sc.open_study(path, mode="a")
    for k in range(10):
        study.add(f"c{k}", cube=simulate_cube(n_runs=6, seed=k, metrics=METRICS, gains=("3:2:1",)))
    for analysis in (sc.Bootstrap(), sc.Swap()):
        for task in api.plan_in_study(study, analysis, trials=40, seed=1):
            task.run()
    return sc.open_study(path)


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let results have no pictures, which take most of the time."""
    monkeypatch.setattr(made, "picture", lambda *_: "")
    monkeypatch.setattr(made, "draw", lambda *_: None)


def written(study: Study, path: Path, **how: object) -> str:
    write_page(study, path / "page.html", **how)  # type: ignore[arg-type]
    return (path / "page.html").read_text()


@pytest.mark.usefixtures("plain")
def test_cards_and_measures_have_the_numbers_of_the_results(several: Study, tmp_path: Path) -> None:
    page = written(several, tmp_path, collections=["c0"], primary="RR")
    assert 'data-labels="["RR", "AP"]"' in html.unescape(page)
    at = several["c0"].result("swap").sel(confidence=0.95).isel(gain=0, size=0)
    measures = page[page.index('<table class="measures">') :].partition("</table>")[0]
    for metric in METRICS:
        cell = at.sel(metric=metric)
        share, low, high = (float(cell[f"share{end}"]) for end in ("", "_low", "_high"))
        if share > 0:
            assert with_limits(share, low, high, ".0%") in measures
    headings = re.findall(r'<th scope="col"[^>]*>([^<]*)', measures)
    assert headings[:4] == [
        "metric",
        "share of comparisons confirmed",
        "required difference",
        "pairs of runs separated",
    ]
    chapters = re.findall(r'<h2 id="chapter-[^"]*">([^<]*)', page)
    assert chapters == [
        "Which metrics discriminate best?",
        "How large must a difference be?",
        "How many topics are needed?",
    ]
    with pytest.raises(BadName, match="no metric 'Q' in the study; it has: AP, RR"):
        write_page(several, tmp_path / "page.html", primary="Q")


@pytest.mark.usefixtures("plain")
def test_one_file_compares_collections_and_needs_nothing_else(
    several: Study, tmp_path: Path
) -> None:
    page = written(several, tmp_path)
    order = [page.index(f'id="{name}"') for name in ("glance", "collections", "methods")]
    assert order == sorted(order)
    assert "median of 10 collections" in page
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert [text for text in addresses if not text.startswith(("#", "data:"))] == []
    assert len(re.findall(r"<script\b", page)) == 1
    assert "default-src 'none'" in page
    assert not re.search(r"@import|<script[^>]*\ssrc|<link|url\((?!#)|\bnan\b", page)


def test_a_remark_stands_once_with_the_collections_it_is_about(tmp_path: Path) -> None:
    study = sc.open_study(tmp_path / "study.zarr", mode="a")
    for name in ("a", "b"):
        cube = simulate_cube(n_runs=4, metrics=("AP",))
        study.add(name, cube=cube.assign(score=cube["score"].where(cube["run"] != cube["run"][0])))
    page = written(sc.open_study(tmp_path / "study.zarr"), tmp_path)
    assert page.count("50 scores are missing") == 1
    assert '<span class="soft">a, b</span>' in page


@pytest.mark.usefixtures("plain")
def test_a_report_that_fails_leaves_nothing_and_takes_nothing(
    several: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tree: Callable[[Path], Tree]
) -> None:
    written(several, tmp_path, collections=["c0"])
    before = tree(tmp_path)

    def fail(*_: object) -> str:
        raise BadStudy("no")

    monkeypatch.setattr(made, "render", fail)
    with pytest.raises(BadStudy):
        write_page(several, tmp_path / "page.html")
    assert tree(tmp_path) == before
