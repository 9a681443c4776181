"""Settings of the five papers in one word: in Python, on the command line, and as printed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import xarray as xr

import scorecube as sc
from scorecube.report.papers import TABLES
from scorecube.testing import simulate_rankings
from tests.conftest import Cli

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
        sc.Swap(sampling="replacement", bins=21, required="suffix", rule="s1"),
        trials=20,
    )
    xr.testing.assert_identical(found.drop_attrs(), plain.drop_attrs())
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


def test_tables_are_those_that_papers_print(cube: xr.Dataset) -> None:
    """Columns, order and digits of Sakai 2007, Tables 2 to 5, beside exact numbers."""
    swap = sc.analyse(cube, preset="sakai-2007 swap", trials=50)
    rows: Any = sc.table(swap).query("confidence == '95%'").to_dict("records")
    exact = sc.table(swap, "sensitivity").query("confidence == 0.95")
    assert [row["metric"] for row in rows] == exact["metric"].tolist()
    for row, (_, number) in zip(rows, exact.iterrows(), strict=True):
        printed = [row["(i) required"], row["(ii) maximum"], row["(iii) relative"]]
        if number["share"] == number["share"]:
            assert printed[0] == f"{number['required_difference']:.2f}"
            assert printed[2] == f"{number['relative_difference']:.0%}"
        else:
            assert (printed[0], printed[2], row["(iv) comparisons"]) == ("-", "-", "-")
        assert printed[1] == f"{number['max_performance']:.4f}"
    bootstrap = sc.analyse(cube, preset="sakai-2007 bootstrap", trials=50)
    columns = ["collection", "metric", "gain", "alpha", "ASL < alpha", "estimated diff."]
    assert [*sc.table(bootstrap)] == columns
    power = sc.table(bootstrap, "power")
    assert sc.table(bootstrap)["ASL < alpha"].tolist() == [
        f"{row['significant']}/15 = {row['share']:.0%}" for _, row in power.iterrows()
    ]
    taus = sc.table(sc.analyse(cube, preset="sakai-2007 correlate"))
    assert taus.columns.tolist() == ["collection", "gain", "metric", "Q", "P+", "O", "RR"]
    assert taus.loc[1, "Q"] == "-"
    assert {*TABLES} == {"swap", "bootstrap", "correlate", "teams"}
