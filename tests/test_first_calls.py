"""Ten calls that people who did not know the program tried first: each works, or says what to do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, get_args, get_type_hints

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from matplotlib.figure import Figure

import scorecube as sc
from scorecube.testing import simulate_cube

if TYPE_CHECKING:
    from tests.conftest import Cli

SCORES = "model,item,accuracy,score,benchmark\na,1,1,0.3,x\na,2,0,0.4,x\nb,1,1,0.5,x\nb,2,1,0.6,x\n"


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=5, seed=1)


@pytest.fixture(scope="module")
def result(cube: xr.Dataset) -> xr.Dataset:
    return sc.analyse(cube, sc.Leaderboard(), trials=100, seed=1)


def test_a_metric_of_a_table_is_the_column_of_its_name(scorecube: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text(SCORES)
    study = tmp_path / "s.zarr"
    scorecube("import", study, tmp_path / "s.csv", "--metric", "accuracy").succeeded()
    (name,) = list(sc.open_study(str(study)))
    cells = sc.table(sc.open_study(str(study))[name].cube, "cells")
    assert cells["metric"].unique().tolist() == ["accuracy"]
    assert cells["score"].tolist() == [1, 0, 1, 1]


def test_topics_are_found_from_the_variances_of_a_cube(cube: xr.Dataset) -> None:
    sizes = sc.topic_set_size(sc.variances(cube), min_diff=0.1)
    assert sizes["topics"].dims == ("metric", "gain")
    assert (sizes["topics"] > 1).all()


def test_what_people_look_for_is_listed() -> None:
    assert {"report", "latex", "markdown", "figure", "table"} <= set(dir(sc))


def test_a_cube_of_one_metric_works_where_a_cube_does(cube: xr.Dataset) -> None:
    one = cube.sel(metric="AP")
    assert sc.table(one)["metric"].unique().tolist() == ["AP"]
    assert sc.analyse(one, sc.Leaderboard(), trials=50, seed=1)["metric"].values.tolist() == ["AP"]


def test_arrays_have_labels() -> None:
    scores = np.arange(6.0).reshape(2, 3) / 6
    made = sc.cube_from_scores(scores, runs=["a", "b"], topics=["1", "2", "3"])
    assert isinstance(made, xr.Dataset)
    assert (made["run"].values.tolist(), made.sizes["topic"]) == (["a", "b"], 3)


def test_a_figure_is_drawn_into_axes(cube: xr.Dataset) -> None:
    axes = Figure().add_subplot()
    swap = sc.analyse(cube, sc.Swap(size=20), trials=20, seed=1)
    drawn = sc.figure(swap, ax=axes, metrics=["AP"])
    assert drawn is axes
    assert axes.has_data()


def test_a_table_for_a_paper_has_few_columns_and_rows(result: xr.Dataset) -> None:
    text = sc.latex(result, columns=["run", "mean", "rank_set"], top=2, metrics=["AP"])
    head, rows = text.split(r"\midrule")
    assert r"run & mean & rank set \\" in head
    assert rows.count(r"\\") == 2


def test_results_in_memory_have_a_page(
    cube: xr.Dataset, result: xr.Dataset, tmp_path: Path
) -> None:
    text = Path(sc.report([cube, result], str(tmp_path / "page.html"))).read_text()
    assert text.count('class="board"') == result.sizes["metric"]


def test_editors_know_the_choices_of_options() -> None:
    assert set(get_args(get_type_hints(sc.Swap)["sampling"])) >= {"disjoint", "replacement"}


def test_frames_with_the_names_of_tools_are_read() -> None:
    frame = pd.DataFrame({"system": ["a", "b"] * 2, "query": [1, 1, 2, 2], "score": [0, 1, 1, 1]})
    made = sc.cube_from_scores(frame)
    assert isinstance(made, xr.Dataset)
    assert made["run"].values.tolist() == ["a", "b"]
