"""Score matrices as CSV: what is read, how metrics are named after files, what is refused with file and line."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from scorecube.errors import BadInput, BadPlan
from scorecube.ingest.measure_names import metric_of_file
from scorecube.workflow.api import import_scores
from tests.ingest.reading import read_matrix

MATRIX = b"topic,r1,r2\n401,0.5,0.25\n402,0.125,1\n403,0,0.75\n"
VALUES = [[0.5, 0.125, 0.0], [0.25, 1.0, 0.75]]


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def content_of(frame: pd.DataFrame) -> tuple[list[str], list[str], list[list[float]]]:
    return list(frame.index), list(frame.columns), frame.to_numpy().tolist()


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(MATRIX, id="plain"),
        pytest.param(b'"topic","r1","r2"\n"401","0.5",0.25\n402,0.125,1\n403,0,0.75', id="quoted"),
        pytest.param(MATRIX.replace(b"topic", b""), id="nameless topic column"),
        pytest.param(MATRIX.replace(b"topic", b" Topic_ID "), id="other word for topic"),
        pytest.param(
            MATRIX.replace(b"0.5", b"5e-01").replace(b"0.125", b"1.25E-1"), id="exponents"
        ),
        pytest.param(MATRIX.replace(b",", b" , "), id="blanks around cells"),
    ],
)
def test_matrices_are_read(tmp_path: Path, content: bytes) -> None:
    frame = read_matrix(write(tmp_path / "ap.csv", content))
    assert content_of(frame) == (["r1", "r2"], ["401", "402", "403"], VALUES)


def test_topics_without_a_column_are_numbered_from_one(tmp_path: Path) -> None:
    frame = read_matrix(write(tmp_path / "ap.csv", b'"sys1","sys2"\n' + b"0.5,7e-04\n" * 10))
    assert list(frame.index) == ["sys1", "sys2"]
    assert list(frame.columns) == [f"{number:02d}" for number in range(1, 11)]
    assert frame.loc["sys2", "10"] == 0.0007


@pytest.mark.parametrize(
    "cell", ["", "NA", "NaN", "nan", "null", "None", " ", "-", "N/A", "n/a", '""', '"NA"']
)
def test_missing_cells_are_missing_numbers(tmp_path: Path, cell: str) -> None:
    frame = read_matrix(write(tmp_path / "ap.csv", MATRIX.replace(b"0.125", cell.encode())))
    assert math.isnan(frame.to_numpy()[0, 1])
    assert int(frame.isna().to_numpy().sum()) == 1


def test_topic_ids_are_text_as_written(tmp_path: Path) -> None:
    frame = read_matrix(
        write(tmp_path / "ap.csv", MATRIX.replace(b"401", b"0401").replace(b"402", b"1e3"))
    )
    assert list(frame.columns) == ["0401", "1e3", "403"]


@pytest.mark.parametrize(
    ("file", "metric"),
    [
        ("ap.csv", "AP"),
        ("map.csv.gz", "AP"),
        ("some/folder/p10.csv", "P@10"),
        ("P_20.txt", "P@20"),
        ("ndcg20.csv", "nDCG@20"),
        ("ndcg_cut_10.csv", "nDCG@10"),
        ("err20.csv", "ERR@20"),
        ("rr.csv", "RR"),
        ("recip_rank.csv", "RR"),
        ("rprec.csv", "Rprec"),
        ("last_rel.csv", "last_rel"),
        ("NCG_10.csv", "NCG_10"),
        ("wss_95.csv", "wss_95"),
    ],
)
def test_files_name_their_metric(file: str, metric: str) -> None:
    assert metric_of_file(file) == metric


def test_matrices_become_one_cube(tmp_path: Path) -> None:
    ap = write(tmp_path / "ap.csv", MATRIX)
    other = write(tmp_path / "wss_95.csv", b"topic,r2,r1\n403,3,2\n401,5,\n402,1,0\n")
    teams = write(tmp_path / "teams.csv", b"run,team\nr1,A\nr2,B\n")
    cube = import_scores([ap, other], gain="3:2:1", teams=teams)
    assert cube["metric"].values.tolist() == ["AP", "wss_95"]
    assert cube["gain"].values.tolist() == ["3:2:1"]
    assert cube["team"].values.tolist() == ["A", "B"]
    assert cube["score"].sel(metric="AP").values.tolist() == [VALUES]
    np.testing.assert_array_equal(
        cube["score"].sel(metric="wss_95").values, [[[np.nan, 0, 2], [5, 1, 3]]]
    )


def test_a_metric_may_be_given_for_one_file(tmp_path: Path) -> None:
    first, second = write(tmp_path / "scores.csv", MATRIX), write(tmp_path / "other.csv", MATRIX)
    assert import_scores([first], metric="RR")["metric"].values.tolist() == ["RR"]
    with pytest.raises(BadPlan, match=r"^two files of metric RR"):
        import_scores([first, second], metric="RR")


@pytest.mark.parametrize(("dim", "old", "new"), [("run", b"r2", b"r3"), ("topic", b"403", b"404")])
def test_matrices_of_other_runs_or_topics_are_refused(
    tmp_path: Path, dim: str, old: bytes, new: bytes
) -> None:
    first = write(tmp_path / "ap.csv", MATRIX)
    second = write(tmp_path / "rr.csv", MATRIX.replace(old, new))
    only = f"{dim} {old.decode()} only in AP, {dim} {new.decode()} only in RR;"
    with pytest.raises(
        BadInput, match=f"^the matrices of RR and AP have different runs or topics: {only}"
    ):
        import_scores([first, second])


@pytest.mark.data
def test_real_missing_cells_are_those_of_four_runs(data: Path) -> None:
    absent = read_matrix(data / "clef-tar-2017" / "ap.csv").isna().sum(axis=1)
    assert sorted(absent[absent > 0].index) == [f"iiit.run{number}" for number in range(1, 5)]
    assert int(absent.sum()) == 12
