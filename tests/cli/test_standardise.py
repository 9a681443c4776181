"""Command standardise."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scorecube as sc
from scorecube.testing import simulate_cube
from tests.conftest import Cli


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "scores.zarr"
    sc.open_study(path, mode="a").add("web", cube=simulate_cube(n_runs=5, seed=2))
    return path


@pytest.mark.parametrize("method", ["std-AB", "std-CDF", "z"])
def test_standardised_scores_are_a_collection(scorecube: Cli, scores: Path, method: str) -> None:
    outcome = scorecube("standardise", scores, "--name", "std", "--method", method).succeeded()
    assert f"std: 5 runs x 50 topics, {method}:AP, {method}:nDCG@10" in outcome.stderr
    study = sc.open_study(scores)
    found = study["std"].cube
    values = study["web"].cube["score"].sel(metric="AP", gain="3:2:1").values
    expected = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
    if method == "std-AB":
        expected = 0.15 * np.clip(expected, -3, 3) + 0.5
    elif method == "std-CDF":
        from statistics import NormalDist

        expected = np.vectorize(NormalDist().cdf)(expected)
    shown = found["score"].sel(metric=f"{method}:AP", gain="3:2:1").values
    assert np.allclose(shown, expected, rtol=0, atol=1e-12)


def test_reference_runs_are_chosen_and_results_follow(scorecube: Cli, scores: Path) -> None:
    runs = list(map(str, sc.open_study(scores)["web"].cube["run"].values[:3]))
    words = ["--collection", "web", "--name", "std", "--reference-runs", ",".join(runs)]
    outcome = scorecube("standardise", scores, *words).succeeded()
    assert "against 3 reference runs" in outcome.stderr
    assert sc.open_study(scores)["std"].cube.attrs["reference_runs"] == runs
    scorecube("tukey", scores, "--collection", "std", "--trials", 20, "--seed", 1).succeeded()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--name", "web"], "web: the standardised scores are another collection"),
        (["--name", "std", "--reference-runs", "nobody"], "nobody"),
        (["--name", "std", "--collection", "wbe"], "wbe"),
    ],
)
def test_mistakes_are_named(scorecube: Cli, scores: Path, words: list[str], message: str) -> None:
    outcome = scorecube("standardise", scores, *words)
    assert outcome.status == 1
    assert message in outcome.stderr
    assert list(sc.open_study(scores)) == ["web"]


def test_one_of_several_collections_must_be_chosen(scorecube: Cli, scores: Path) -> None:
    sc.open_study(scores, mode="a").add("news", cube=simulate_cube(n_runs=4, seed=3))
    outcome = scorecube("standardise", scores, "--name", "std")
    assert outcome.status == 1
    assert "holds 2 collections; choose one with --collection: " in outcome.stderr
