"""Metrics whose smaller values are better."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import scorecube as sc
from scorecube.errors import BadPlan

LAST_RELEVANT = "topic,a,b\n1,9,4\n2,0,7\n3,8,2\n"


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "last_rel.csv"
    path.write_text(LAST_RELEVANT)
    return path


def test_declared_metrics_are_negated_and_their_runs_ordered(matrix: Path) -> None:
    said: list[str] = []
    cube = sc.import_scores([matrix], lower_is_better=["last_rel"], notify=said.append)
    assert cube.metric.values.tolist() == ["neg:last_rel"]
    assert cube.score.values.ravel().tolist() == [-9, 0, -8, -4, -7, -2]
    assert not said
    means = sc.table(sc.analyse(cube, sc.Leaderboard(), trials=30, seed=1))
    assert means["run"].tolist() == ["b", "a"]


def test_known_metrics_are_named_where_they_are_not_declared(matrix: Path) -> None:
    said: list[str] = []
    cube = sc.import_scores([matrix], notify=said.append)
    assert cube.score.values.max() == 9
    (line,) = said
    assert "last_rel: smaller values are better" in line
    assert line.endswith("declare it as lower is better")


def test_a_metric_that_is_not_there_is_refused(matrix: Path) -> None:
    with pytest.raises(BadPlan, match="NoShow is not among the metrics last_rel"):
        sc.import_scores([matrix], lower_is_better=["NoShow"])


def test_scores_in_memory_are_negated_too() -> None:
    frame = pd.DataFrame({"1": [0.5], "2": [0.0]}, index=["a"])
    cube = sc.import_scores({"loss_er": frame}, lower_is_better=["loss_er"])
    assert cube.score.values.ravel().tolist() == [-0.5, 0]
