"""Settings of the five papers in one word: in Python, on the command line, and as printed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import xarray as xr

import scorecube as sc
from scorecube.declare import OF_2007
from scorecube.errors import BadPlan
from scorecube.methods import index
from scorecube.methods.design.estimates import design_of_cube, widths_of_cube
from scorecube.report.text_tables import render
from scorecube.testing import simulate_rankings
from scorecube.workflow.presets import gains_of, preset_of
from tests.attributes import without_attrs
from tests.conftest import Cli, matrices

GAINS = ["3:2:1", "30:20:10", "0.3:0.2:0.1", "1:1:1", "10:5:1"]


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    rankings = simulate_rankings(n_runs=6, n_teams=3, seed=7)
    cube = sc.evaluate(rankings, ["AP", "Q", "P+", "O", "RR"], [*GAINS, "3:1:1"])
    return sc.with_rankings(cube, rankings)


def test_an_analysis_as_in_a_paper_is_the_one_with_its_options(cube: xr.Dataset) -> None:
    found = sc.analyse(cube, preset="sakai-2007 swap", trials=20)
    plain = sc.analyse(
        cube.sel(gain=["3:2:1"]),
        sc.Swap(sampling="replacement", bins=21, required="suffix", rule="s1", confidence=(0.95,)),
        trials=20,
    )
    xr.testing.assert_identical(without_attrs(found), without_attrs(plain))
    assert found.attrs["preset"] == "sakai-2007"
    assert found.attrs["digest"] == plain.attrs["digest"]
    assert sc.analyse(cube, preset="sakai-2007 correlate").sizes["gain"] == 5


def test_options_that_are_given_win_on_the_command_line(
    cube: xr.Dataset, tmp_path: Path, scorecube: Cli
) -> None:
    study = tmp_path / "study.zarr"
    sc.open_study(study, mode="a").add("c", cube=cube.drop_vars("topic_sample", errors="ignore"))
    words = f"swap {study} --as sakai-2005 --trials 10 --confidence 0.9 --sampling replacement"
    assert scorecube(*words.split()).status == 0
    result = sc.open_study(study)["c"].result("swap")
    assert result["size"].values.tolist() == [25]
    assert (result.attrs["preset"], result.attrs["trials"]) == ("sakai-2005", 10)
    assert result["confidence"].values.tolist() == [0.9]
    assert result.sizes["bin"] == 21
    refused = scorecube("swap", str(study), "--as", "sakai-2017")
    assert refused.status == 2
    assert "design, wcw" in refused.stderr


@pytest.mark.parametrize(
    ("has", "of_paper", "taken", "is_said"),
    [
        ([*GAINS, "3:1:1"], OF_2007, GAINS, False),
        (["10:5:1", "auto", "3:2:1"], OF_2007[:1], ["3:2:1"], False),
        (["10:5:1", "auto"], OF_2007[:1], ["auto"], True),
        (["3:1", "2:1", "1:1"], OF_2007[:1], ["2:1"], True),
        (["3:1", "2:1", "1:1"], OF_2007, ["2:1", "1:1", "3:1"], True),
        (["3:1", "2:1", "1:1"], ["3:1"], ["3:1"], False),
        (["3:2:1", "1:1:1"], ["3:1"], ["3:2:1"], True),
        (["1:1:1:1", "4:3:2:1"], OF_2007[:1], ["4:3:2:1"], True),
        (["8:1:1:1"], OF_2007[:1], ["8:1:1:1"], True),
        (["auto"], OF_2007[:1], ["auto"], False),
        (["auto"], ["3:1"], ["auto"], True),
    ],
)
def test_gain_settings_are_those_of_the_levels_at_hand(
    has: list[str], of_paper: list[str], taken: list[str], is_said: bool
) -> None:
    dims, labels = ("metric", "gain", "run", "topic"), {"metric": ["Q"], "gain": has}
    cube = xr.Dataset({"score": (dims, np.zeros((1, len(has), 1, 1)))}, labels)
    found, said = gains_of(cube, of_paper)
    assert (found, bool(said)) == (taken, is_said)
    assert all(label in said for label in taken) or not said


def test_the_best_runs_are_taken_and_steps_of_topics_fit() -> None:
    rankings = simulate_rankings(n_runs=33, n_teams=3, depth=30, seed=2).isel(topic=slice(20))
    cube = sc.evaluate(rankings, ["Q", "AP"], ["3:2:1", "1:1:1"])
    result = sc.analyse(cube, preset="sakai-2007 bootstrap", trials=20)
    best = cube["score"].sel(metric="AP", gain="3:2:1").mean("topic").to_series().nlargest(30)
    assert {*result["run_a"].values, *result["run_b"].values} == {*best.index}
    assert re.findall(r"\d+|AP", result.attrs["adapted"][0])[:3] == ["30", "33", "AP"]
    without = sc.analyse(cube.sel(metric=["Q"]), preset="sakai-2005 swap", trials=20)
    assert "by Q" in without.attrs["adapted"][0]
    teams = sc.analyse(sc.with_rankings(cube, rankings), preset="sakai-shang-2016 teams", trials=2)
    assert teams["topic_step"].values.tolist() == [20, 10]
    assert "all 20: 10;" in teams.attrs["adapted"][1]
    assert teams.attrs["lost"] == "all_runs_zero"


def presets(analyses: Any) -> Iterator[tuple[str, str]]:
    """Yield the papers with an analysis of several."""
    for name in analyses:
        yield from ((paper, name) for paper in cast("Any", index.find(name)).presets)


@pytest.mark.data
@pytest.mark.slow
def test_every_preset_fits_every_matrix(data: Path) -> None:
    """One that does not says what the paper needs: a list of documents, or a second metric."""
    tried = 0
    for _, cube in matrices(data):
        for paper, name in presets(("swap", "bootstrap", "correlate", "teams")):
            tried += 1
            if name in ("correlate", "teams"):
                with pytest.raises(BadPlan, match=r"two metrics|imported scores|documents"):
                    sc.analyse(cube, preset=f"{paper} {name}")
                continue
            part = cube.isel(run=slice(60))
            result = sc.analyse(part, preset=f"{paper} {name}", trials=5)
            assert result.attrs["n_runs"] == min(30, part.sizes["run"])
            assert list(result["gain"].values) == ["auto"]
        for paper, name in presets(("design", "wcw")):
            sizes = design_of_cube if name == "design" else widths_of_cube
            how = dict(preset_of(paper, name).values)
            assert sizes(cube, **how).attrs["variance_of"] == "within"
    assert tried == 22 * 6


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "levels", "steps", "default"),
    [
        ("trec-covid-r1", "2:1,1:1", [30, 25, 10], "2:1"),
        ("trec8-adhoc", "1", [50, 25, 10], "1"),
        ("clef-ehealth-2015", "3:2:1,10:5:1", [66, 50, 25, 10], "3:2:1"),
    ],
)
def test_every_preset_fits_lists_of_documents(
    data: Path, name: str, levels: str, steps: list[int], default: str
) -> None:
    folder = data / name
    qrels = {"trec8-adhoc": "qrels.txt.gz", "clef-ehealth-2015": "qread.txt"}.get(name, "qrels.txt")
    run_name = "file" if name == "clef-ehealth-2015" else "tag"
    rankings = sc.read_rankings(
        folder / "runs", folder / qrels, folder / "teams.csv", run_name=run_name
    )
    rankings = rankings.isel(run=slice(40))
    cube = sc.evaluate(rankings, ["nG@1", "AP", "Q"], levels.split(","))
    for paper, analysis in presets(("swap", "bootstrap", "correlate")):
        result = sc.analyse(cube, preset=f"{paper} {analysis}", trials=5)
        assert result.attrs["n_runs"] == (40 if paper == "sakai-shang-2016" else 30)
        if analysis != "correlate":
            assert list(result["gain"].values) == [default]
    whole = sc.with_rankings(cube, rankings)
    result = sc.analyse(whole, preset="sakai-shang-2016 teams", trials=1)
    assert result["topic_step"].values.tolist() == steps


@pytest.mark.parametrize(
    ("form", "mark", "left", "right"),
    [
        ("text", "bold", "**", "**"),
        ("markdown", "bold", "**", "**"),
        ("latex", "bold", r"\textbf{", "}"),
        ("text", "superscript", "", "*"),
        ("markdown", "superscript", "", r"\*"),
        ("latex", "superscript", "", r"\textsuperscript{*}"),
    ],
)
def test_boldface_of_the_papers_is_marked(form: str, mark: str, left: str, right: str) -> None:
    chance, runs = np.random.default_rng(1), np.linspace(0, 1, 12)[:, np.newaxis]
    scores = {name: 0.1 + runs * k + chance.random((12, 9)) for k, name in enumerate("ABCD")}
    cube = sc.cube_from_scores(scores, runs=range(12), topics=range(9))
    result = sc.analyse(cube, sc.Correlation())
    numbers = sc.table(result, "sakai-2004").iloc[:, -1].tolist()
    assert all(len(tau.partition(".")[2]) == 4 for tau in numbers)
    text = render(sc.table(result, "sakai-2007"), form, mark=mark)
    taus = sc.table(result, "metrics")["tau"]
    for tau in taus:
        printed = f"{tau:.4f}".replace("0.", ".", 1)
        cell = rf"(?<!\d){re.escape(left + printed + right)}"
        assert (re.search(cell, text) is not None) == (tau > 0.8), (printed, text)
    assert 0 < (taus > 0.8).sum() < len(taus)
    with pytest.raises(BadPlan, match="mark"):
        render(sc.table(result, "metrics"), form, mark=mark)
