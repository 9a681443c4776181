"""Systems of runs from tables of teams, long tables, data frames and mappings; stored, selected and shown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import pytest
import xarray as xr

from scorecube.errors import BadInput
from scorecube.ingest.labels import read_run_labels
from scorecube.testing import simulate_rankings
from scorecube.workflow.api import cube_from_scores, evaluate, import_scores, read_rankings, select

if TYPE_CHECKING:
    pass

LONG = "model,seed,item,score\na,1,q1,.1\na,1,q2,.2\na,2,q1,.3\na,2,q2,.4\nb,1,q1,.5\nb,1,q2,.6\n"


def systems(cube: xr.Dataset) -> dict[str, str]:
    assert cube["system"].dims == ("run",)
    return dict(zip(cube["run"].values.tolist(), cube["system"].values.tolist(), strict=True))


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_seeds_of_a_long_table_name_runs(tmp_path: Path) -> None:
    cube = import_scores([written(tmp_path / "m.csv", LONG)])
    assert systems(cube) == {"a#1": "a", "a#2": "a", "b#1": "b"}
    assert cube["score"].sel(run="a#2", topic="q1").item() == 0.3


def test_one_seed_of_each_run_names_none(tmp_path: Path) -> None:
    text = "run,seed,topic,score\na,7,q1,.1\nb,7,q1,.3\n"
    cube = import_scores([written(tmp_path / "m.csv", text)])
    assert cube["run"].values.tolist() == ["a", "b"]
    assert "system" not in cube.coords


def test_runs_beside_systems_keep_their_names(tmp_path: Path) -> None:
    text = "system,run,seed,topic,score\na,x,1,q1,.1\na,y,2,q1,.2\nb,z,1,q1,.3\n"
    cube = import_scores([written(tmp_path / "m.csv", text)])
    assert systems(cube) == {"x": "a", "y": "a", "z": "b"}
    odd = text + "b,x,1,q2,.3\n"
    with pytest.raises(BadInput, match="run 'x' has two systems: 'a' and 'b'"):
        import_scores([written(tmp_path / "odd.csv", odd)])
    again = LONG + "a,2,q1,.9\n"
    with pytest.raises(BadInput, match="second score of again for run 'a' on topic 'q1' with seed"):
        import_scores([written(tmp_path / "again.csv", again)])
    other = written(tmp_path / "other.csv", LONG)
    with pytest.raises(BadInput, match="one file has a column of systems and another none"):
        import_scores([tmp_path / "m.csv", other], metric="m")


def test_systems_are_a_column_of_the_table_of_teams(tmp_path: Path) -> None:
    path = written(tmp_path / "teams.csv", "run,system,team\nx,a,t\ny,a,t\nz,,u\n")
    assert read_run_labels(path) == ({"x": "t", "y": "t", "z": "u"}, {"x": "a", "y": "a"})
    scores = written(tmp_path / "m.csv", "run,topic,score\nx,q1,.1\ny,q1,.2\nz,q1,.3\n")
    said: list[str] = []
    cube = import_scores([scores], teams=path, notify=said.append)
    assert systems(cube) == {"x": "a", "y": "a", "z": "z"}
    assert cube["team"].values.tolist() == ["t", "t", "u"]
    assert said[1:] == [f"{path}: no system for 1 run, each a system of its own: z"]
    only = written(tmp_path / "systems.csv", "run,system\nx,a\ny,a\nz,b\n")
    cube = import_scores([scores], teams=only)
    assert cube["team"].values.tolist() == ["x", "y", "z"]
    assert systems(cube)["z"] == "b"
    twice = written(tmp_path / "twice.csv", "run,system\nx,a\nx,b\n")
    with pytest.raises(BadInput, match="run 'x' has two systems: 'b' here and 'a' before"):
        read_run_labels(twice)


def test_evaluated_runs_have_systems(tmp_path: Path) -> None:
    for seed in (1, 2):
        written(tmp_path / f"run{seed}", f"1 Q0 d1 1 0.9 e5-{seed}\n")
    qrels = written(tmp_path / "qrels", "1 0 d1 1\n")
    labels = written(tmp_path / "labels.csv", "run,system\ne5-1,e5\ne5-2,e5\n")
    rankings = read_rankings([tmp_path / "run1", tmp_path / "run2"], qrels, labels)
    assert systems(evaluate(rankings, ["AP"])) == {"e5-1": "e5", "e5-2": "e5"}
    assert "system" not in evaluate(simulate_rankings(n_runs=3), ["AP"]).coords


def test_data_frames_and_mappings_have_systems(tmp_path: Path) -> None:
    expected = import_scores([written(tmp_path / "score.csv", LONG)])
    long = pd.read_csv(tmp_path / "score.csv")
    wide = long.pivot_table("score", ["model", "seed"], "item")
    runs = wide.set_axis([f"{model}#{seed}" for model, seed in wide.index])
    by_run = dict(zip(runs.index, wide.index.get_level_values(0), strict=True))
    nested = {run: runs.loc[run].to_dict() for run in runs.index}
    for cube in (
        cube_from_scores(long),
        cube_from_scores({"score": runs}, systems=by_run),
        cube_from_scores({"AP": nested}, systems=by_run).assign_coords(metric=["score"]),
    ):
        xr.testing.assert_equal(cube["score"].drop_vars(["metric", "uses_gains"]), expected["score"].drop_vars(["metric", "uses_gains"]))  # fmt: skip
        assert systems(cube) == systems(expected)
    assert systems(select(expected, runs=["a#1", "b#1"])) == {"a#1": "a", "b#1": "b"}


def test_long_data_frames_without_seeds_and_bad_ones() -> None:
    frame = pd.DataFrame({"name": ["a", "b"], "qid": [1, 1], "measure": ["map", "map"]})
    with pytest.raises(BadInput, match="no column for the score"):
        cube_from_scores(frame)
    known = frame.rename(columns={"name": "run"}).assign(value=[0.1, 0.2])
    cube = cube_from_scores(known)
    assert cube_from_scores(frame.assign(value=[0.1, 0.2])).identical(cube)  # as of PyTerrier
    assert cube["metric"].values.tolist() == ["AP"]
    assert "system" not in cube.coords
    with pytest.raises(BadInput, match="row 3: a second score of AP for run 'a' on topic '1'"):
        cube_from_scores(pd.concat([known, known]))
    with pytest.raises(BadInput, match="row 2: the run is missing"):
        cube_from_scores(known.assign(run=pd.Series(["a", None], dtype=object)))
