"""Commands that add collections: evaluate, import, standardise, sweep --init."""

from __future__ import annotations

import tarfile
from pathlib import Path
from statistics import NormalDist

import numpy as np
import pytest

import scorecube as sc
from scorecube.testing import simulate_cube
from scorecube.workflow.sweep_file import read_sweep
from tests.conftest import Cli, Files


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.zarr"
    sc.open_study(path, mode="a").add("web", cube=simulate_cube(n_runs=5, seed=2))
    return path


@pytest.mark.parametrize("method", ["std-AB", "std-CDF", "z"])
def test_standardised_scores_are_a_collection(scorecube: Cli, scores: Path, method: str) -> None:
    scorecube("standardise", scores, "--name", "std", "--method", method).succeeded()
    study = sc.open_study(scores)
    values = study["web"].cube["score"].sel(metric="AP", gain="3:2:1").values
    expected = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    if method == "std-AB":
        expected = 0.15 * np.clip(expected, -3, 3) + 0.5
    elif method == "std-CDF":
        expected = np.vectorize(NormalDist().cdf)(expected)
    shown = study["std"].cube["score"].sel(metric=f"{method}:AP", gain="3:2:1").values
    assert np.allclose(shown, expected, rtol=0, atol=1e-12)


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


def test_an_archive_says_how_to_unpack_it(tmp_path: Path, files: Files, scorecube: Cli) -> None:
    (tmp_path / "a.run").write_text("1 Q0 d 1 1 a\n")
    with tarfile.open(tmp_path / "runs.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "a.run", "a.run")
    words = ["evaluate", tmp_path / "s.zarr", "--name", "a", "--runs", tmp_path / "runs.tar.gz"]
    done = scorecube(*words, "--qrels", files.qrels)
    assert done.status == 1
    assert "unpack" in done.stderr


def test_means_without_topics_say_what_to_export(tmp_path: Path, scorecube: Cli) -> None:
    path = tmp_path / "experiment.csv"
    path.write_text(",name,map,ndcg\n0,BM25,0.3,0.4\n1,PL2,0.2,0.3\n")
    done = scorecube("import", tmp_path / "s.zarr", path, "--name", "a")
    assert done.status == 1
    assert "perquery=True" in done.stderr


def test_an_example_of_a_sweep_comes_with_the_package(tmp_path: Path, scorecube: Cli) -> None:
    file = tmp_path / "sweep.toml"
    scorecube("sweep", "--init", file).succeeded()
    assert {source.name for source in read_sweep(file).sources} == {"mytask"}
    assert scorecube("sweep", "--init", file).status == 1
