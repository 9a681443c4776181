"""Tables of topics: plain oracles."""

from __future__ import annotations

import itertools
import math
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.workflow.api import cube_from_scores

if TYPE_CHECKING:
    from tests.conftest import Cli

Scores = list[list[float]]


def cube_of(scores: Any) -> xr.Dataset:
    labels = [f"r{k}" for k in range(len(scores))], [f"t{k}" for k in range(len(scores[0]))]
    return cube_from_scores({"AP": pd.DataFrame(scores, *labels)})


def small(n_runs: int = 6, n_topics: int = 7, seed: int = 1) -> Scores:
    """Scores on a grid of tenths, with zeros, ties, two runs of equal means, and a constant difference."""
    chance = np.random.default_rng(seed)
    scores = (chance.integers(0, 7, (n_runs, n_topics)) / 10).tolist()
    scores[1] = list(reversed(scores[0]))
    scores[3] = [round(value + 0.1, 1) for value in scores[2]]
    return [[float(value) for value in row] for row in scores]


def test_hardest_topics_stand_first() -> None:
    scores = small()
    scores[2][4] = math.nan
    for row, above in itertools.pairwise(sc.table(cube_of(scores), "topics").to_dict("records")):
        assert row["mean"] <= above["mean"]
    for row in sc.table(cube_of(scores), "topics").to_dict("records"):
        topic = int(row["topic"][1:])
        column = [run[topic] for run in scores if not math.isnan(run[topic])]
        assert row["mean"] == pytest.approx(statistics.fmean(column))
        assert row["sd"] == pytest.approx(statistics.stdev(column))
        assert row["zero_share"] == sum(value == 0 for value in column) / len(column)
        assert row["n_runs"] == len(column)
        assert row["best_score"] == max(column) == scores[int(row["best_run"][1:])][topic]


def test_topics_stand_in_natural_order() -> None:
    cube = sc.cube_from_scores(
        np.arange(6.0).reshape(2, 3), runs=["a", "b"], topics=["10", "2", "t1"]
    )
    cells = sc.table(cube, "cells")
    assert cells["topic"].tolist() == ["2", "10", "t1"] * 2
    assert cells["score"].tolist() == [1, 0, 2, 4, 3, 5]


def test_commands_show_and_draw(scorecube: Cli, study: Path, tmp_path: Path) -> None:
    done = scorecube("show", study, "scores", "--table", "topics", "--metrics", "AP").succeeded()
    assert "AP" in done.stdout
    assert "nDCG" not in done.stdout
    out = tmp_path / "means.svg"
    scorecube("figure", study, "scores", "--metrics", "AP", "--out", out).succeeded()
    assert "runs, the best first" in out.read_text()
    assert scorecube("figure", study, "scores", "--metrics", "XYZ", "--out", out).status == 1
