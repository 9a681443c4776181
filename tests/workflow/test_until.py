"""Doubling of trials until a Monte Carlo width is reached: deterministic, stored once, reused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import scorecube as sc
from scorecube.analyses.monte_carlo_error import monte_carlo_width
from scorecube.errors import BadPlan
from scorecube.testing import simulate_cube
from scorecube.workflow.sweep_file import Entry
from scorecube.workflow.sweep_run import sweep
from scorecube.workflow.tasks import Until
from tests.conftest import Cli

OPTIONS = ("--trials", 100, "--seed", 5, "--until-width")


def study_at(path: Path) -> Path:
    sc.open_study(path, mode="a").add("demo", cube=simulate_cube(n_runs=9, seed=4))
    return path


@pytest.mark.parametrize(
    ("command", "analysis"), [("swap", sc.Swap()), ("bootstrap", sc.Bootstrap())]
)
def test_trials_double_until_the_width_is_reached(
    scorecube: Cli, tmp_path: Path, command: str, analysis: sc.Swap
) -> None:
    path = study_at(tmp_path / "s.zarr")
    cube = sc.open_study(path)["demo"].cube
    widths = [
        monte_carlo_width(sc.analyse(cube, analysis, trials=100 * 2**k, seed=5)) for k in range(4)
    ]
    target = (
        (widths[2] + max(widths[3], min(widths[:2]))) / 2
        if widths[2] < min(widths[:2])
        else widths[2]
    )
    first = next(k for k, width in enumerate(widths) if width <= target)
    assert first > 0, "the first number of trials is enough: nothing is doubled"
    stderr = scorecube(command, path, *OPTIONS, target).succeeded().stderr
    assert (
        f"{100 * 2**first} trials: the widest Monte Carlo interval is {widths[first]:.4f}" in stderr
    )
    (stored,) = sc.open_study(path)["demo"].results(command)
    alone = sc.analyse(cube, analysis, trials=100 * 2**first, seed=5)
    for name in map(str, alone.data_vars):
        np.testing.assert_array_equal(stored[name].values, alone[name].values)
    assert "already there" in scorecube(command, path, *OPTIONS, target).succeeded().stderr
    assert len(sc.open_study(path)["demo"].results(command)) == 1


def test_the_most_trials_are_reported(scorecube: Cli, tmp_path: Path) -> None:
    path = study_at(tmp_path / "s.zarr")
    stderr = scorecube("swap", path, *OPTIONS, 0.0001, "--most-trials", 300).succeeded().stderr
    assert "300 trials" in stderr
    assert "NOT reached with --most-trials 300" in stderr


def test_in_a_sweep(tmp_path: Path) -> None:
    study = sc.open_study(study_at(tmp_path / "s.zarr"), mode="a")
    entry = Entry(sc.Swap(), trials=50, seed=1, until=Until(0.05, 100_000))
    (result,) = sweep(study, [entry], workers=2)["demo/swap"].children.values()
    assert monte_carlo_width(result.to_dataset()) <= 0.05
    assert int(result.attrs["trials"]) > 50
    again = sweep(study, [entry], workers=1)["demo/swap"]
    assert list(again.children) == [str(result.attrs["digest"])]


def test_an_analysis_without_width_is_refused(scorecube: Cli, tmp_path: Path) -> None:
    path = study_at(tmp_path / "s.zarr")
    outcome = scorecube("correlate", path, *OPTIONS, 0.01)
    assert outcome.status == 1
    assert "--until-width is not available for correlate" in outcome.stderr
    with pytest.raises(BadPlan, match="between 0 and 1"):
        Until(2.0, 100)
