"""The commands design and wcw, from variances and from a study; their tables and figure files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import scorecube as sc
from scorecube.design import topic_set_size

if TYPE_CHECKING:
    from tests.conftest import Cli

COLUMNS = [
    *("method", "mode", "variance", "min_diff", "width", "systems", "alpha", "beta"),
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
        "method": "anova", "mode": "exact", "variance": 0.0441, "min_diff": 0.1, "width": None, "systems": 10,
        "alpha": 0.05, "beta": 0.2, "topics": 139, "topics_low": None, "topics_high": None,
    }  # fmt: skip
    assert 0.8 <= power < 0.81


@pytest.mark.parametrize(
    ("words", "topics"),
    [
        ("--min-diff 0.15 --systems 10 --alpha 0.05 --beta 0.2 --method anova --mode sakai", 62),
        ("--min-diff 0.15 --method anova --mode exact", 63),
        ("--width 0.15 --method ci", 63),
        ("--width 0.15 --method ci --mode sakai", 63),
        ("--variance 0.0471 --min-diff 0.15 --method t", 35),
    ],
)
def test_every_method_and_mode(scorecube: Cli, words: str, topics: int) -> None:
    (row,) = records(scorecube, "design", *VARIANCE, *words.split())
    assert row["topics"] == topics


def test_sizes_of_a_study(scorecube: Cli, finished_study: Path) -> None:
    asked = ["--metrics", "Q,AP", "--min-diff", "0.2", "--mode", "sakai"]
    rows = records(scorecube, "design", finished_study, *asked)
    assert [list(row)[: len(COLUMNS)] for row in rows] == [COLUMNS] * 4
    variance = sc.variances(sc.open_study(finished_study)["small"].cube)["residual_variance"]
    expected = topic_set_size(variance, 0.2, mode="sakai", paired=True)["topics"]
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


def test_widths_of_variances(scorecube: Cli) -> None:
    rows = records(scorecube, "wcw", "--variance", "0.0368,0.0824", "--topics", "10..200")
    assert list(rows[0]) == ["route", "variance", "systems", "alpha", "beta", "topics", "width"]
    assert [row["topics"] for row in rows] == [*range(10, 201)] * 2
    found = {(row["variance"], row["topics"]): round(row["width"], 4) for row in rows}
    assert (found[0.0368, 50], found[0.0824, 50]) == (0.1534, 0.2296)
    routes = ["--topics", "50", "--route", "ci,anova-tool,anova-exact"]
    rows = records(scorecube, "wcw", "--variance", "0.1144", *routes)
    assert [round(row["width"], 4) for row in rows] == [0.2705, 0.268, 0.2699]
    assert [row["systems"] for row in rows] == [None, 10, 10]


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
        ("design --variance x", "'x'"),
        ("design --variance 0.1 --metrics AP", "--metrics"),
        ("design --variance 0.1 --systems 2.5", "'2.5'"),
        ("wcw --variance 0.1 --topics 1", "--topics"),
        ("design --curves tools", "--out"),
        ("design --variance 0.1 --out a.jpg", "a.jpg"),
        ("wcw --variance 0.1 --route z", "--route"),
    ],
)
def test_wrong_requests_are_one_message(scorecube: Cli, words: str, found: str) -> None:
    done = scorecube(*words.split())
    assert done.status == 1
    assert done.stdout == ""
    assert found in done.stderr
    assert done.stderr.count("\n") == 1
