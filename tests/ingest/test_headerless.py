"""Matrices without a header, as NTCIREVAL's Topicsys-matrix writes them: the scores are those of the same matrix with names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scorecube as sc
from scorecube.errors import BadInput
from scorecube.ingest.formats import detect
from tests.conftest import Cli

SCORES = np.random.default_rng(40).uniform(0, 1, (12, 11)).round(4)
SCORES[3, 2], SCORES[5, 0] = 0.0, 1.0


def written(path: Path, between: str, ids: list[str] | None, scores: np.ndarray = SCORES) -> Path:
    """Write a matrix of topics down and runs across without names of runs."""
    rows = [[f"{value:.4f}" for value in row] for row in scores]
    if ids is not None:
        rows = [[label, *row] for label, row in zip(ids, rows, strict=True)]
    path.write_text("".join(between.join(row) + "\n" for row in rows))
    return path


@pytest.mark.parametrize("between", [" ", "  ", "\t", ",", ";"])
@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (None, [f"{k:02d}" for k in range(1, 13)]),
        ([f"{k:04d}" for k in range(1, 13)], [f"{k:04d}" for k in range(1, 13)]),
        ([str(k) for k in range(301, 313)], [str(k) for k in range(301, 313)]),
        ([f"T{k}" for k in range(12)], [f"T{k}" for k in range(12)]),
    ],
)
def test_content_shows_that_there_is_no_header(
    tmp_path: Path, between: str, ids: list[str] | None, expected: list[str]
) -> None:
    path = written(tmp_path / "nERR.txt", between, ids)
    assert detect(path) == "numbers"
    said: list[str] = []
    cube = sc.import_scores([path], metric="nERR@10", notify=said.append)
    assert "no header: runs are numbered" in said
    assert cube["run"].values.tolist() == [f"run{k:02d}" for k in range(1, 12)]
    assert sorted(cube["topic"].values.tolist()) == sorted(expected)
    np.testing.assert_array_equal(cube["score"].sel(topic=expected)[0, 0].values.T, SCORES)


def test_whole_numbers_are_scores_where_it_is_said_so(tmp_path: Path, scorecube: Cli) -> None:
    path = tmp_path / "Hit@1.csv"
    path.write_text("1 0 1\n0 0 1\n")
    refused = scorecube("import", tmp_path / "s.zarr", "--name", "hits", path)
    assert "--layout" in refused.stderr
    scorecube("import", tmp_path / "s.zarr", "--name", "hits", "--no-header", path).succeeded()
    cube = sc.open_study(tmp_path / "s.zarr")["hits"].cube
    assert cube["score"][0, 0].values.tolist() == [[1, 0], [0, 0], [1, 1]]
    wrong = scorecube("import", tmp_path / "t.zarr", "--name", "x", "--no-header", "--layout", "long", path)  # fmt: skip
    assert "--no-header is the layout numbers, not long" in wrong.stderr


def test_runs_go_down_where_it_is_said_so(tmp_path: Path) -> None:
    path = written(tmp_path / "AP.txt", " ", None, SCORES[:3, :4])
    cube = sc.import_scores([path], layout="numbers", transpose=True)
    assert cube["run"].values.tolist() == ["run1", "run2", "run3"]
    np.testing.assert_array_equal(cube["score"][0, 0].values, SCORES[:3, :4])


@pytest.mark.parametrize("text", ["topic,0.9,1.2\n1,0.5,0.25\n", "k1=0.9,k1=1.2\n0.5,0.25\n"])
def test_names_with_numbers_stay_names(tmp_path: Path, text: str) -> None:
    path = tmp_path / "AP.csv"
    path.write_text(text)
    assert detect(path) == "matrix"


def test_a_line_of_another_length_is_named(tmp_path: Path) -> None:
    path = tmp_path / "AP.txt"
    path.write_text("0.1 0.2\n" * 60 + "0.1\n")
    with pytest.raises(BadInput, match=":61"):
        sc.import_scores([path])
