"""JSON: names with dots reach every form; rows lie in lists, or in objects by id; means are means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import scorecube as sc
from scorecube.errors import BadInput
from scorecube.ingest.json_rows import at, parse_json
from tests.ingest.test_logs import put, read

ROW = {"provider": {"id": "m"}, "item": "1", "scores": [{"name": "f1", "value": 0.5}], "a.b": {"c.d": 0.25}, "cost": 3}  # fmt: skip
NAMES = {"run_column": "provider.id", "topic_column": "item", "score_column": "scores.0.value"}
FORMS: dict[str, tuple[Any, dict[str, str]]] = {
    "one object": (ROW, {}),
    "a list in an object": ({"version": 1, "rows": [ROW]}, {}),
    "a list two levels down": ({"results": {"rows": [ROW], "n": 1}}, {}),
    "with its place": ({"rows": [ROW], "more": [{"x": 1}]}, {"topic_column": "rows.item"}),
    "found by its names": ({"rows": [ROW], "more": [{"x": 1}]}, {}),
    "lists by id": (
        {"n": 2, "rows": {"1": [ROW], "2": [{**ROW, "item": "2"}]}},
        {"topic_column": "key"},
    ),
    "lists by run": ({"x": [ROW], "y": [ROW]}, {"run_column": "key"}),
    "objects by id": ({"rows": {"1": ROW, "2": {**ROW, "item": "2"}}}, {"topic_column": "key"}),
    "the run outside": ({"model": "m", "rows": [ROW]}, {"run_column": "model"}),
    "dots in keys": ([ROW], {"score_column": "a.b.c.d"}),
}


@pytest.mark.parametrize("form", FORMS)
def test_names_with_dots_reach_every_form(tmp_path: Path, form: str) -> None:
    content, names = FORMS[form]
    found, said = read(put(tmp_path / "a.json", content), **{**NAMES, **names})
    expected = {"score m 1": 0.5}
    if form == "dots in keys":
        expected = {"d m 1": 0.25}
    elif form in ("objects by id", "lists by id"):
        expected = {"score m 1": 0.5, "score m 2": 0.5}
    elif form == "lists by run":
        expected = {"score x 1": 0.5, "score y 1": 0.5}
    assert found == expected
    assert any("provider.id" in line or "model" in line or "column key" in line for line in said)


def test_numbers_outside_of_the_rows_are_no_scores_of_them(tmp_path: Path) -> None:
    rows = [{"task_id": "a", "is_resolved": True}, {"task_id": "b", "is_resolved": False}]
    means = {"n_resolved": 1, "mean": {"accuracy": 0.5, "f1": "0.5"}, "seed": 7, "model": "m"}
    found, said = read(put(tmp_path / "r.json", {**means, "results": rows}))
    assert found == {"is_resolved m a": 1.0, "is_resolved m b": 0.0}
    assert any("n_resolved, mean.accuracy, mean.f1" in line for line in said)


def test_rows_of_several_lists_are_numbered(tmp_path: Path) -> None:
    segments = {"a.txt": [{"COMET": 0.5}, {"COMET": 0.25}], "b.txt": [{"COMET": 1}, {"COMET": 0}]}
    found, _ = read(put(tmp_path / "c.json", segments), run_column="key")
    assert found == {"COMET a.txt 1": 0.5, "COMET a.txt 2": 0.25, "COMET b.txt 1": 1.0, "COMET b.txt 2": 0.0}  # fmt: skip


def test_measures_below_metrics_are_no_runs(tmp_path: Path) -> None:
    cases = [
        {"metrics": {"1": {"Dice": 0.5, "HD95": 3.5}}, "prediction_file": f"{k}.nii"}
        for k in (1, 2)
    ]
    path = put(tmp_path / "fold_0.json", {"mean": {"1": {"Dice": 0.5}}, "metric_per_case": cases})
    with pytest.raises(BadInput, match="topic_column='prediction_file'"):
        read(path)
    found, said = read(path, run_column="file", topic_column="prediction_file")
    assert found["metrics.1.Dice fold_0 1.nii"] == 0.5
    assert found["metrics.1.HD95 fold_0 2.nii"] == 3.5
    assert any("mean.1.Dice" in line for line in said)


REFUSED = [
    ([{"a": {"b": 1}}, {"a": {"b": 2}}], {}, r"a\.json: the table can be read in 2 ways"),
    ({"config_general": {"model_name": "m"}, "results": {"arc": {"acc": 0.5}}}, {}, "results of lighteval, means of tasks"),
    ({"0": {"precision": 0.5, "support": 9}, "accuracy": 0.5, "macro avg": {"precision": 0.5}, "weighted avg": {"precision": 0.5}}, {}, "means of classes"),
    ({"m": {"q1": {"AP": 0.5}, "q2": {"AP": "good"}}}, {}, r"a\.json: score 'good' of AP for run 'm' on topic 'q2' is not"),
    ({"one": [ROW], "two": [{**ROW, "x": 1}]}, NAMES, r"one \(1\), two \(1\); begin .* topic_column='one\.NAME'"),
    ([ROW], {**NAMES, "score_column": "scores.1.value"}, "no column may be the score: score_column='scores.1.value'"),
    ([ROW], {**NAMES, "run_column": "provider.name"}, "provider.id"),
    ([ROW], {**NAMES, "score_column": "scores"}, r"a\.json: row 1: score .* is not a finite number"),
    ([ROW, 3], NAMES, r"a\.json: row 2: an object is expected; found an int"),
    ({"bm25": {"AP": 0.5, "P@10": 0.1}, "dense": {"AP": 0.2, "P@10": 0.3}}, {}, "systems with means"),
    ({"run1": {"AP": 0.5}, "run2": {"AP": 0.2}}, {}, "run_column='file'"),
    ({"AP": {"bm25": 0.5}, "P@10": {"bm25": 0.2}}, {}, "run_column='file'|means"),
    ({"AP": 0.5, "nDCG@10": 0.2}, {}, "means have no topics"),
    ({"metrics": ["map"], "model_names": ["a"], "a": {"scores": {"map": 0.5}}}, {}, "means have no topics"),
    ({"q1": {"d1": 0.5, "d2": 0.2}}, {}, "evaluate"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "names", "words"), REFUSED)
def test_what_is_unclear_is_refused(
    tmp_path: Path, content: Any, names: dict[str, str], words: str
) -> None:
    with pytest.raises(BadInput, match=words):
        read(put(tmp_path / "a.json", content), **names)


def test_topics_of_one_run_are_told_by_their_ids(tmp_path: Path) -> None:
    scores = {f"q{k}": {"map": 0.5, "P_10": 0.1} for k in (1, 2, 10)}
    expected = {f"{metric} me {q}": v for q in scores for metric, v in (("AP", 0.5), ("P@10", 0.1))}
    assert read(put(tmp_path / "me.json", scores))[0] == expected
    words = {"first": {"map": 0.5}, "second": {"map": 0.25}}
    path = put(tmp_path / "me.json", words)
    assert read(path, run_column="file")[0] == {"AP me first": 0.5, "AP me second": 0.25}


@pytest.mark.parametrize(
    "text",
    ['{"a": 1\n{"a": 2}', '{"a": 1}\n{"a": 2', '{"a": 1},{"a": 2}\n', '{"a":[1\n2]},{"b":1}', '{"a": 1}\n[2]\n{"a": nul}', '{"a": 1, "b": {"c": 1, "c": 2}}', '{"a": 1}\n{"a": 1, "a": 1}'],
)  # fmt: skip
def test_lines_that_are_no_json_are_refused_by_line(text: str) -> None:
    with pytest.raises(BadInput, match=r"x:\d+: not JSON"):
        parse_json(text, "x")


def test_lines_keep_their_numbers() -> None:
    assert parse_json('{"a": 1}\n\n{"a": [1, {}]}\n', None) == [(1, {"a": 1}), (3, {"a": [1, {}]})]
    text = "".join(f'{{"k": {k}}}\n' for k in range(25_000))
    assert [(line, row["k"]) for line, row in parse_json(text, None)] == [(k + 1, k) for k in range(25_000)]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "expected"), [("a.b", 1), ("a.c", None), ("l.0.x", 2), ("l.1.x", None), ("l.x", None), ("d.e.f", 3), ("", None)]
)  # fmt: skip
def test_at(name: str, expected: object) -> None:
    assert at({"a": {"b": 1}, "l": [{"x": 2}], "d.e": {"f": 3}}, name) == expected


FRAME = [{"query_id": "q1", "measure": "AP", "value": 0.5}, {"query_id": "q2", "measure": "nDCG@10", "value": 0.25}]  # fmt: skip
ORIENTATIONS = ("records", "columns", "split", "table")


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_frames_that_pandas_wrote_as_json(tmp_path: Path, orientation: Any) -> None:
    path = tmp_path / "me.json"
    frame = pd.DataFrame(FRAME).assign(name="a")
    frame.to_json(path, orient=orientation)
    expected = {"AP a q1": 0.5, "nDCG@10 a q2": 0.25}
    assert read(path)[0] == expected
    if orientation == "split":  # mlflow writes no index
        split = frame.to_dict("split")
        assert read(put(path, {"columns": split["columns"], "data": split["data"]}))[0] == expected


def test_frames_of_measures_by_run() -> None:
    # Columns of ir_measures; or measures on an axis, which are neither runs nor topics.
    long = pd.DataFrame(FRAME)
    wide = long.pivot(index="query_id", columns="measure", values="value")
    expected = sc.cube_from_scores({"a": {"q1": {"AP": 0.5}, "q2": {"nDCG@10": 0.25}}})["score"]
    for frame in (long, wide, wide.T, wide.rename(columns={"AP": "map", "nDCG@10": "ndcg_cut_10"})):
        found = sc.cube_from_scores({"a": frame})["score"]
        assert found.equals(expected)


def test_scores_of_one_run_by_metric(tmp_path: Path) -> None:
    path = put(tmp_path / "me.json", {"map": {"q1": 0.5, "q2": 1}, "P_5": {"q1": 0.2}})
    assert read(path)[0] == {"AP me q1": 0.5, "AP me q2": 1.0, "P@5 me q1": 0.2}


def test_netcdf_and_zarr(tmp_path: Path) -> None:
    cube = sc.cube_from_scores({"AP": {"a": {"q1": 0.5, "q2": 0.25}, "b": {"q1": 1.0, "q2": 0.0}}})
    expected = {"AP a q1": 0.5, "AP a q2": 0.25, "AP b q1": 1.0, "AP b q2": 0.0}
    plain = cube[["score"]].reset_coords(drop=True).drop_attrs()
    turned = plain.transpose("topic", "gain", "run", "metric").isel(run=[1, 0])
    plain.to_netcdf(tmp_path / "a.nc", engine="scipy")
    turned["score"].squeeze("gain", drop=True).to_netcdf(tmp_path / "b.nc", engine="scipy")
    plain.to_zarr(tmp_path / "c.zarr", consolidated=False)
    for name in ("a.nc", "b.nc", "c.zarr"):
        assert read(tmp_path / name)[0] == expected
    study = sc.open_study(tmp_path / "s.zarr", mode="a")
    study.add("x", cube=cube)
    with pytest.raises(BadInput, match=r"s\.zarr: a study"):
        read(tmp_path / "s.zarr")
    assert read(str(tmp_path / "s.zarr" / "x" / "cube-*.zarr"))[0] == expected
    (tmp_path / "d.nc").write_bytes((tmp_path / "a.nc").read_bytes()[:90])
    with pytest.raises(BadInput, match=r"d\.nc: .*netcdf"):
        read(tmp_path / "d.nc")
    (tmp_path / "c.zarr" / "zarr.json").write_text("{")
    with pytest.raises(BadInput, match=r"c\.zarr: .*zarr"):
        read(tmp_path / "c.zarr")
