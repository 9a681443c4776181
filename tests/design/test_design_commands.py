"""The commands design and wcw, from variances and from a study; their tables and figure files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import scorecube as sc
from scorecube.methods.design.sizes import topic_set_size

if TYPE_CHECKING:
    from tests.conftest import Cli

COLUMNS = [
    *("method", "mode", "variance", "variance_of", "min_diff", "width", "systems", "alpha", "beta"),
    *("topics", "topics_low", "topics_high", "power"),
]
VARIANCE = ["--variance", "0.0441"]


def records(scorecube: Cli, *words: object) -> list[dict[str, Any]]:
    listed = json.loads(scorecube(*words, "--format", "json").succeeded().stdout)
    assert isinstance(listed, list)
    return listed


def test_sizes_of_a_variance(scorecube: Cli) -> None:
    (row,) = records(scorecube, "design", *VARIANCE)
    assert list(row) == COLUMNS
    power = row.pop("power")
    assert row == {
        "method": "anova", "mode": "exact", "variance": 0.0441, "variance_of": "within", "min_diff": 0.1, "width": None, "systems": 10,
        "alpha": 0.05, "beta": 0.2, "topics": 139, "topics_low": None, "topics_high": None,
    }  # fmt: skip
    assert 0.8 <= power < 0.81


def test_sizes_of_a_study(scorecube: Cli, finished_study: Path) -> None:
    asked = ["--metrics", "Q,AP", "--min-diff", "0.2", "--mode", "sakai"]
    rows = records(scorecube, "design", finished_study, *asked)
    assert [list(row)[: len(COLUMNS)] for row in rows] == [COLUMNS] * 4
    variance = sc.variances(sc.open_study(finished_study)["small"].cube)["within_variance"]
    expected = topic_set_size(variance, 0.2, mode="sakai")["topics"]
    cells = [(row["metric"], row["gain"]) for row in rows]
    assert cells == [(m, g) for m in ("Q", "AP") for g in ("auto", "1:1:1")]
    for row in rows:
        assert row["topics"] == int(expected.sel(metric=row["metric"], gain=row["gain"]))
        assert row["topics_low"] is None  # of 8 topics
        assert row["collection"] == "small"
    fewer = ["--top-runs", "3", "--by", "Q", "--gains", "auto", "--collection", "small"]
    assert len(records(scorecube, "design", finished_study, *fewer)) == 3
    one = ["--top-runs", "1", "--metrics", "Q", "--gains", "auto", "--collections", "small"]
    assert len(records(scorecube, "design", finished_study, *one)) == 1


@pytest.mark.parametrize("words", ["design", "wcw", "design --curves tools"])
def test_figures_are_written(scorecube: Cli, tmp_path: Path, words: str) -> None:
    path = tmp_path / "picture.png"
    scorecube(*words.split(), *VARIANCE, "--out", path).succeeded()
    assert path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("design", "--variance"),
        ("design nowhere.zarr --variance 0.1", "--variance"),
        ("design nowhere.zarr", "nowhere.zarr"),
        ("design --variance AP=x", "AP=x: expected"),
        ("design --variance 0.1 --metrics AP", "--metrics"),
        ("design --variance 0.1 --systems 2.5", "--systems: expected a whole number"),
        ("wcw --variance 0.1 --topics 1", "--topics"),
        ("design --curves noncentrality --variance 0.1", "--curves noncentrality"),
        ("design --variance 0.1 --out a.jpg", "a.jpg"),
        ("wcw --variance 0.1 --route ci,ci --topics 1", "--topics"),
    ],
)
def test_wrong_requests_are_one_message(scorecube: Cli, words: str, found: str) -> None:
    done = scorecube(*words.split())
    assert done.status == 1
    assert done.stdout == ""
    assert found in done.stderr
    assert done.stderr.count("\n") == 1


def test_points_of_figures_are_tables_too(scorecube: Cli) -> None:
    rows = records(scorecube, "design", "--curves", "noncentrality")
    assert len(rows) == 4 * 29
    assert {row["alpha"] for row in rows} == {0.01, 0.05}
    of_ten = [row for row in rows if (row["systems"], row["alpha"], row["beta"]) == (10, 0.05, 0.2)]
    for number in ("noncentrality", "exact_noncentrality"):
        assert of_ten[0][number] == pytest.approx(15.366, rel=0.02)  # 4 z^2 (Sakai 2017, section 3)
    rows = records(scorecube, "design", "--curves", "tools", *VARIANCE)
    for row in rows[::30]:
        assert row["topics"] == topic_set_size(0.0441, row["min_diff"], mode="sakai")["topics"]
