"""Commands simulate and errors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from scorecube.testing import simulate_cube
from scorecube.workflow.api import open_study

if TYPE_CHECKING:
    from tests.conftest import Cli


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    path = tmp_path / "study.zarr"
    open_study(path, mode="a").add(
        "small", cube=simulate_cube(metrics=("P@10", "AP"), n_runs=14, seed=3)
    )
    return path


def test_a_simulated_collection_is_stored(scorecube: Cli, scores: Path) -> None:
    words = ("simulate", scores, "--from", "small", "--topics", 80, "--seed", 4)
    outcome = scorecube(*words, "--name", "sim", "--null").succeeded()
    assert "sim: 14 runs x 80 topics, P@10, AP" in outcome.stderr
    assert "simulated: gaussian copula, equal means, seed 4; margins:" in outcome.stderr
    scorecube(*words, "--name", "again", "--null", "--metrics", "AP").succeeded()
    stored = open_study(scores)
    cube = stored["sim"].cube
    assert np.ptp(cube["true_mean"].sel(metric="AP").values) < 1e-9
    assert cube["score"].shape == (2, 1, 14, 80)
    assert stored["again"].cube.sizes["metric"] == 1
    told = scorecube("info", scores).succeeded().stdout
    assert "simulated from small" in told
    scorecube("verify", scores).succeeded()
    scorecube("bootstrap", scores, "--collection", "sim", "--trials", 20, "--seed", 1).succeeded()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--name", "small"], "small: the simulated scores are another collection"),
        (["--name", "x", "--delta", 2], "is not between 0 and 1"),
        (["--name", "x", "--null", "--delta", 0.1], "exclude each other"),
        (["--name", "x", "--from", "none"], "no collection 'none'"),
    ],
)
def test_users_errors(scorecube: Cli, scores: Path, words: list[object], message: str) -> None:
    outcome = scorecube("simulate", scores, *words)
    assert outcome.status == 1
    assert message in outcome.stderr


def test_errors_is_stored_extended_and_shown(scorecube: Cli, scores: Path) -> None:
    words = (
        "errors",
        scores,
        "--verbose",
        "--metrics",
        "AP",
        "--n",
        20,
        "--resamples",
        100,
        "--alpha",
        "0.05,0.1",
        "--seed",
        1,
    )
    first = scorecube(*words, "--trials", 300).succeeded()
    assert "AP, 20 topics: type I at 0.05: t test 0." in first.stderr
    more = scorecube(*words, "--trials", 600, "--block-size", 200).succeeded()
    assert "power for a difference of 0.05" in more.stderr
    shown = scorecube("show", scores, "errors", "--format", "csv").succeeded().stdout.splitlines()
    assert shown[0].startswith(
        "collection,metric,test,sided,n_topics,delta,alpha,kind,rate,rate_low,rate_high,trials,gain"
    )
    assert ",600," in shown[1]
    until = scorecube(*words[:-1], 2, "--trials", 300, "--until-width", 0.08).succeeded()
    assert "--until-width 0.08 is reached" in until.stderr
