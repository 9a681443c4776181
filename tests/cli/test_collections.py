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


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--name", "web"], "web: "),
        (["--name", "std", "--reference-runs", "nobody"], "nobody"),
        (["--name", "std", "--collection", "wbe"], "wbe"),
    ],
)
def test_mistakes_are_named(scorecube: Cli, scores: Path, words: list[str], named: str) -> None:
    outcome = scorecube("standardise", scores, *words)
    assert outcome.status == 1
    assert named in outcome.stderr
    assert list(sc.open_study(scores)) == ["web"]


def test_one_of_several_collections_must_be_chosen(scorecube: Cli, scores: Path) -> None:
    sc.open_study(scores, mode="a").add("news", cube=simulate_cube(n_runs=4, seed=3))
    outcome = scorecube("standardise", scores, "--name", "std")
    assert outcome.status == 1
    assert "choose one with --collection" in outcome.stderr


def test_several_runs_follow_one_flag(scorecube: Cli, files: Files, tmp_path: Path) -> None:
    runs = sorted(files.runs.glob("*"))[:3]
    words = ["--name", "small", "--runs", *runs, "--qrels", files.qrels]
    scorecube("evaluate", tmp_path / "s.zarr", *words).succeeded()
    assert sc.open_study(tmp_path / "s.zarr")["small"].cube.sizes["run"] == 3
