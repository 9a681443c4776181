"""What a page shows first, what it warns of, and that it is written whole or not at all."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

import scorecube as sc
from scorecube.collection.battles import cube_of_battles
from scorecube.report import sections as made
from scorecube.report.page import write_page
from scorecube.storage import Study
from scorecube.storage.cubes import facts_of_cube
from scorecube.testing import simulate_cube, simulate_rankings
from scorecube.workflow import api
from tests.conftest import Cli

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
def test_one_file_compares_collections_and_needs_nothing_else(
    several: Study, tmp_path: Path
) -> None:
    page = written(several, tmp_path)
    order = [page.index(f'id="{name}"') for name in ("glance", "collections", "methods")]
    assert order == sorted(order)
    assert re.search(r"median of 10\b", page)
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


def test_a_result_of_one_of_several_gain_settings_is_named_by_it(tmp_path: Path) -> None:
    rankings = simulate_rankings(n_runs=6, seed=4)
    study = sc.open_study(tmp_path / "study", mode="a")
    study.add("one", cube=sc.evaluate(rankings, ["AP", "nDCG@10"], ["3:2:1", "1:1:1"]))
    for chosen in ({"gains": ["3:2:1"]}, {"metrics": ["AP"]}):
        for task in api.plan_in_study(study, sc.Stability(), trials=40, seed=1, **chosen):  # type: ignore[arg-type]
            task.run()
    page = written(sc.open_study(study.path), tmp_path)
    labels = json.loads(unescape(re.search(r'data-labels="([^"]*)"', page)[1]))  # type: ignore[index]
    assert "nDCG@10" not in labels
    assert {"AP", "nDCG@10 (3:2:1)"} <= {*labels}
    # The figure of a metric without gains is the same at both settings; that of the design is not.
    assert page.count("Figure: gains") == 1


def test_systems_that_do_not_fight_themselves_lack_no_scores(tmp_path: Path) -> None:
    cube = cube_of_battles("abca", "bcab", "pqrs", [1, 0, 0.5, 0])
    assert facts_of_cube(cube)["missing_scores"] == 0
    without = cube.assign(score=cube["score"].where(cube["run"] != "a"))
    assert facts_of_cube(without)["missing_scores"] == 2


@pytest.mark.usefixtures("plain")
def test_what_limits_a_result_stands_where_it_is_shown(scorecube: Cli, tmp_path: Path) -> None:
    study = sc.open_study(tmp_path / "study", mode="a")
    for name, n_runs in (("a", 5), ("b", 4), ("c", 3)):
        study.add(name, cube=simulate_cube(n_runs=n_runs, metrics=("AP",)))
    for task in api.plan_in_study(study, sc.Board(), trials=40, seed=1):
        task.run()
    result = sc.open_study(study.path)["a"].result("board")
    (note,) = result.attrs["warnings"]
    assert note.startswith("left out, as b, c do not have all of them (run): ")
    assert note.count("team") == 2
    assert note[1:] in written(sc.open_study(study.path), tmp_path)
    for form in ("text", "csv", "latex"):
        shown = scorecube("show", study.path, "board", "--format", form).succeeded()
        assert shown.stderr == f"a and 2 more: note: {note}\n"
