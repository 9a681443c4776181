"""Commands that add collections: evaluate, import, standardise."""

from __future__ import annotations

from pathlib import Path

import pytest

import scorecube as sc
from scorecube.testing import simulate_cube
from tests.conftest import Cli, Files


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.zarr"
    sc.open_study(path, mode="a").add("web", cube=simulate_cube(n_runs=5, seed=2))
    return path


def test_reference_runs_are_chosen_and_results_follow(scorecube: Cli, scores: Path) -> None:
    runs = list(map(str, sc.open_study(scores)["web"].cube["run"].values[:3]))
    words = ["--collection", "web", "--name", "std", "--reference-runs", ",".join(runs)]
    scorecube("standardise", scores, *words).succeeded()
    assert sc.open_study(scores)["std"].cube.attrs["reference_runs"] == runs
    scorecube("tukey", scores, "--collection", "std", "--trials", 20, "--seed", 1).succeeded()


def test_several_runs_follow_one_flag(scorecube: Cli, files: Files, tmp_path: Path) -> None:
    runs = sorted(files.runs.glob("*"))[:3]
    words = ["--name", "small", "--runs", *runs, "--qrels", files.qrels]
    scorecube("evaluate", tmp_path / "s.zarr", *words).succeeded()
    assert sc.open_study(tmp_path / "s.zarr")["small"].cube.sizes["run"] == 3
