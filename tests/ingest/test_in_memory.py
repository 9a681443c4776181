"""Scores as other tools hold them in memory: which shapes are told apart, which names they get, what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.collection.schema import LARGEST_SCORE, SMALLEST_MAXIMUM
from scorecube.errors import BadInput

QRELS = {"1": {"a": 1, "b": 0, "c": 2}, "2": {"a": 0, "b": 2}}
RUNS = {
    "good": {"1": {"c": 3.0, "a": 2.0, "b": 1.0}, "2": {"b": 2.0, "a": 1.0}},
    "bad": {"1": {"b": 3.0, "a": 2.0, "c": 1.0}, "2": {"a": 2.0, "b": 1.0}},
}
VALUES = {"good": {"1": 1.0, "2": 1.0}, "bad": {"1": 7 / 12, "2": 0.5}}


class Record(NamedTuple):
    query_id: str
    measure: str
    value: float


FRAME = pd.DataFrame(VALUES).T


def shapes(values: dict[str, dict[str, float]]) -> dict[str, Any]:
    """Return scores of AP in all forms."""
    frame = pd.DataFrame(values).T
    named = frame.rename_axis(index="run", columns="topic")
    array = xr.DataArray(
        frame.to_numpy(), {"run": [*values], "topic": ["1", "2"]}, ("run", "topic")
    )
    rows = named.melt(value_name="map", ignore_index=False).rename_axis("name").reset_index()
    return {
        "metric first": {"AP": values},
        "with a name of its own": {"AP": values, "own": VALUES},
        "metric second": {run: {"AP": row} for run, row in values.items()},
        "metric last": {
            run: {t: {"map": v} for t, v in row.items()} for run, row in values.items()
        },
        "records": {r: [Record(t, "AP", v) for t, v in row.items()] for r, row in values.items()},
        "triples": {r: [(int(t), "AP", v) for t, v in row.items()] for r, row in values.items()},
        "data frame": {"AP": frame},
        "named axes": {"AP": named},
        "exchanged": {"AP": named.T},
        "exchanged, runs named": {"AP": frame.rename_axis(index="System").T},
        "exchanged, topics named": {"AP": frame.rename_axis(columns="QID").T},
        "frames by run": {run: pd.DataFrame({"AP": row}) for run, row in values.items()},
        "rows as of PyTerrier": rows,
        "array": array.expand_dims(metric=["AP"]).transpose("topic", "metric", "run"),
        "dataset of metrics": array.to_dataset(name="AP"),
        "dataset": array.expand_dims(metric=["AP"]).to_dataset(name="score"),
        "array of other dims": array.rename(run="model", topic="item").rename("AP"),
    }


SHAPES = shapes(VALUES)


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_are_told_apart(shape: str) -> None:
    metric = {"metric": "score"} if shape == "array of other dims" else {"metric": "AP"}
    cube = sc.cube_from_scores(SHAPES[shape], teams={"good": "A"})
    assert cube["run"].values.tolist() == ["bad", "good"]
    assert cube["topic"].values.tolist() == ["1", "2"]
    assert cube["team"].values.tolist() == ["bad", "A"]
    assert cube["score"].sel(metric).values[0].tolist() == [[7 / 12, 0.5], [1.0, 1.0]]


def test_records_of_ir_measures() -> None:
    tool = pytest.importorskip("ir_measures")
    wanted = [tool.AP, tool.AP @ 10, tool.nDCG @ 10, tool.P(rel=2) @ 5, tool.R @ 100, tool.NumRel]
    cube = sc.cube_from_scores({run: tool.iter_calc(wanted, QRELS, RUNS[run]) for run in RUNS})
    names = {"AP", "map_cut_10", "nDCG@10", "P(rel=2)@5", "Recall@100"}
    assert {*cube["metric"].values.tolist()} == names
    expected: list[list[float]] = [[7 / 12, 0.5], [1, 1]]
    np.testing.assert_allclose(cube["score"].sel(metric="AP").values[0], expected)
    only = {run: list(tool.iter_calc([tool.NumRel], QRELS, RUNS[run])) for run in RUNS}
    assert sc.cube_from_scores(only)["metric"].values.tolist() == ["NumRel"]


def test_missing_scores_are_gaps() -> None:
    nan = math.nan
    nested = {"AP": {"a": {"1": 1.0, "2": None}, "b": {"3": np.float32(0.5)}}, "RR": {"b": {"1": 1}}}  # fmt: skip
    found = sc.cube_from_scores(nested)["score"].values[:, 0]
    np.testing.assert_array_equal(found[0], [[1, nan, nan], [nan, nan, 0.5]])
    np.testing.assert_array_equal(found[1], [[nan, nan, nan], [1, nan, nan]])
    ragged = {"AP": FRAME, "RR": FRAME.loc[["good"], ["1"]].rename(columns={"1": "3"})}
    scores = sc.cube_from_scores(ragged)["score"].values[:, 0]
    np.testing.assert_array_equal(scores[1], [[nan, nan, nan], [nan, nan, 1]])


@pytest.mark.parametrize(
    "scores",
    [
        {"AP": pd.DataFrame(index=["a"], columns=[])},
        {"AP": pd.DataFrame(index=[], columns=["1"])},
        {"AP": pd.DataFrame([[0.5]], pd.Index(["a\udce9"], dtype=object), ["1"])},
        {"AP": pd.DataFrame([[0.5]], ["a"], ["1\a"])},
        {"AP": pd.DataFrame([[0.5]], [""], ["1"])},
        {"AP": pd.DataFrame([[0.5], [1]], ["a", "a"], ["1"])},
        {"AP": pd.DataFrame([[1.01 * LARGEST_SCORE]], ["a"], ["1"])},
        {"AP": pd.DataFrame([[0.0, -0.99 * SMALLEST_MAXIMUM]], ["a"], ["1", "2"])},
        {},
        [0.5],
        {"a": {"AP": 0.5}},
        {"own": VALUES},
        {"a": [("1", "AP")]},
        pd.DataFrame({"name": ["a"], "qid": [1], "measure": ["map"]}),
        pd.DataFrame({"run": ["a", None], "qid": [1, 2], "map": [1, 2]}),
    ],
)
def test_what_is_no_cube_is_refused(scores: Any) -> None:
    with pytest.raises((BadInput, UnicodeEncodeError)):  # of pandas, where pyarrow is installed
        sc.cube_from_scores(scores)


@pytest.mark.parametrize("code", [-1, -9, -99, 999])
@pytest.mark.parametrize("shape", [*SHAPES, "columns.json", "bare.txt", "a.nc", "a.parquet"])
def test_codes_are_refused_in_every_form(tmp_path: Path, shape: str, code: int) -> None:
    """Files of tables and lines are those of `test_forms`."""
    forms = shapes({"good": {"1": 1.0, "2": 0.0}, "bad": {"1": 0.0, "2": code}})
    path = tmp_path / shape
    if shape == "a.parquet":
        pytest.importorskip("pyarrow")
        forms["rows as of PyTerrier"].to_parquet(path)
    elif shape == "a.nc":
        forms["dataset of metrics"].to_netcdf(path, engine="scipy")
    elif path.suffix:
        table = forms["rows as of PyTerrier"].to_json()
        path.write_text(table if shape == "columns.json" else f"0.5 0.25\n1 0\n0 {code}\n")
    with pytest.raises(BadInput, match=rf"of {code}, .*no_score='{code}'"):
        sc.import_scores(path if path.suffix else forms[shape])
    if path.suffix:
        cube = sc.import_scores(path, no_score=[str(code)], notify=lambda _: None)
        assert int(cube["score"].isnull().sum()) == 1
