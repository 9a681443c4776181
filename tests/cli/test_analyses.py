"""Commands of analyses: effects of options, dry runs, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import xarray as xr

from scorecube.analyses import registry
from scorecube.workflow.api import open_study
from tests.conftest import trials_of

if TYPE_CHECKING:
    from tests.conftest import Cli, Tree

RESAMPLING = ["bootstrap", "randomisation", "tukey", "maxt"]
PAIR_TESTS = [*RESAMPLING, "paired"]
OPTIONS = ("--trials", 60, "--seed", 4)


def drawn(name: str) -> tuple[object, ...]:
    return OPTIONS if name in RESAMPLING else OPTIONS[2:]


def newest(study: Path, name: str) -> xr.Dataset:
    return max(
        open_study(study)["small"].results(name), key=lambda result: str(result.attrs["finished"])
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", registry.names())
def test_a_dry_run_changes_no_file(
    scorecube: Cli, analysed_study: Path, tree: Callable[[Path], Tree], name: str
) -> None:
    before = tree(analysed_study)
    chosen = ["--truth" if name == "judges" else "--collection", "small"]
    words = [*trials_of(name, 7), "--seed", 2, "--dry-run"]
    outcome = scorecube(name, analysed_study, *chosen, *words).succeeded()
    assert outcome.stderr
    assert outcome.stdout == ""
    assert tree(analysed_study) == before


@pytest.mark.parametrize("name", PAIR_TESTS)
def test_levels_are_those_of_the_option(scorecube: Cli, study: Path, name: str) -> None:
    scorecube(name, study, *drawn(name), "--alpha", "0.3,0.02,0.3").succeeded()
    assert newest(study, name)["alpha"].values.tolist() == [0.3, 0.02]


@pytest.mark.parametrize("name", RESAMPLING)
def test_p_values_are_never_zero_but_on_request(scorecube: Cli, study: Path, name: str) -> None:
    scorecube(name, study, *OPTIONS).succeeded()
    result = newest(study, name)
    np.testing.assert_allclose(result["p_value"], (result["reached"] + 1) / 61)
    scorecube(name, study, *OPTIONS, "--no-plus-one").succeeded()
    again = newest(study, name)
    np.testing.assert_allclose(again["p_value"], result["reached"] / 60)


@pytest.mark.parametrize("command", PAIR_TESTS)
@pytest.mark.parametrize(
    ("options", "named"),
    [
        ("--alpha 0.05,1.5", "--alpha: expected a number above 0 and below 1"),
        ("--alpha small", "--alpha: expected a number above 0 and below 1"),
        ("--runs run1", "1 run and 8 topics"),
    ],
)
def test_impossible_pair_tests_are_refused(
    scorecube: Cli, study: Path, command: str, options: str, named: str
) -> None:
    outcome = scorecube(command, study, *options.split(), *drawn(command))
    assert (outcome.status, outcome.stdout) == (1, "")
    (line,) = outcome.stderr.splitlines()
    assert named in line
