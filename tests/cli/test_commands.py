"""Commands of pair tests: effects of every option, and messages on mistakes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import xarray as xr

from scorecube.analyses import registry
from scorecube.workflow.api import open_study

if TYPE_CHECKING:
    from tests.conftest import Cli

RESAMPLING = ["bootstrap", "randomisation", "unpaired", "tukey", "maxt"]
PAIR_TESTS = [*RESAMPLING, "paired"]
OPTIONS = ("--trials", 60, "--seed", 4)


def drawn(name: str) -> tuple[object, ...]:
    return OPTIONS if name in RESAMPLING else OPTIONS[2:]


def newest(study: Path, name: str) -> xr.Dataset:
    return max(
        open_study(study)["small"].results(name), key=lambda result: str(result.attrs["finished"])
    )


def options_of(result: xr.Dataset) -> dict[str, Any]:
    options: dict[str, Any] = json.loads(result.attrs["plan"])["options"]
    return options


def assert_same_values(one: xr.Dataset, other: xr.Dataset) -> None:
    xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())


@pytest.mark.parametrize("name", PAIR_TESTS)
def test_help_shows_an_example_that_runs(scorecube: Cli, study: Path, name: str) -> None:
    shown = " ".join(scorecube(name, "--help").succeeded().stdout.split())
    (example,) = re.findall(rf"Example: scorecube ({name} study.zarr .*?) Arguments:", shown) or [
        ""
    ]
    assert example.startswith(f"{name} study.zarr ")
    words = re.sub(r"--trials \d+", "--trials 20", example).replace("geo:AP", "AP").split()
    scorecube(name, study, *words[2:]).succeeded()


@pytest.mark.parametrize("name", PAIR_TESTS)
def test_every_analysis_is_listed_with_one_line(scorecube: Cli, name: str) -> None:
    lines = scorecube("list", "analyses").succeeded().stdout.splitlines()
    (line,) = [line for line in lines if line.startswith(f"{name} ")]
    assert line.split(maxsplit=1)[1] == (registry.load(name).__doc__ or "").splitlines()[0]


@pytest.mark.parametrize("name", PAIR_TESTS)
def test_a_dry_run_stores_nothing(scorecube: Cli, study: Path, name: str) -> None:
    stderr = scorecube(name, study, *drawn(name), "--dry-run").succeeded().stderr
    assert "small: " in stderr
    assert "15 comparisons" in stderr or "45 comparisons" in stderr or "75 comparisons" in stderr
    assert list(open_study(study)["small"].results(name)) == []


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


def test_classical_tests_are_chosen(scorecube: Cli, study: Path) -> None:
    scorecube("paired", study, "--tests", "sign,t,sign").succeeded()
    assert newest(study, "paired")["test"].values.tolist() == ["sign", "t"]


@pytest.mark.parametrize("summary", ["geo", "area"])
def test_runs_are_summed_up_as_the_option_says(
    scorecube: Cli, tmp_path: Path, summary: str
) -> None:
    table = np.random.default_rng(1).uniform(0.05, 1, (12, 5)).round(3)
    rows = [
        ",".join(["topic", *"abcde"]),
        *(f"{k}," + ",".join(map(str, row)) for k, row in enumerate(table)),
    ]
    (tmp_path / "ap.csv").write_text("\n".join(rows) + "\n")
    scorecube("import", tmp_path / "s", "--name", "small", tmp_path / "ap.csv").succeeded()
    scorecube("unpaired", tmp_path / "s", *OPTIONS, "--summary", summary).succeeded()
    means = newest(tmp_path / "s", "unpaired")["mean"].values[0, 0]
    worst = np.array([1 + 1 / 2 + 1 / 3, 1 / 2 + 1 / 3, 1 / 3]) / 3
    geometric = np.exp(np.log(table).mean(axis=0))
    direct = geometric if summary == "geo" else np.sort(table, axis=0)[:3].T @ worst
    np.testing.assert_allclose(means, direct, rtol=1e-12)


@pytest.fixture
def refused(scorecube: Cli) -> Callable[..., str]:
    """Run a command that must be refused without a result; return its message."""

    def run(study: Path, command: str, *words: object) -> str:
        outcome = scorecube(command, study, *words)
        assert (outcome.status, outcome.stdout) == (1, "")
        (line,) = outcome.stderr.splitlines()
        return line.removeprefix("error: ")

    return run


@pytest.mark.parametrize("command", PAIR_TESTS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--alpha 0", "--alpha 0.0: expected a list, each a number above 0 and below 1"),
        (
            "--alpha 0.05,1.5",
            "--alpha 0.05,1.5: expected a list, each a number above 0 and below 1",
        ),
        (
            "--alpha ,",
            "--alpha '': expected a list that is not empty, each a number above 0 and below 1",
        ),
        ("--alpha small", "--alpha 'small' is not numbers separated by commas"),
        ("--runs run1", "found 1 run and 8 topics"),
    ],
)
def test_impossible_pair_tests_are_refused(
    refused: Callable[..., str], study: Path, command: str, options: str, message: str
) -> None:
    assert message in refused(study, command, *options.split(), *drawn(command))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("paired --tests anova", "'anova' is not one of t, wilcoxon, sign"),
        ("paired --tests t,anova", "'anova' is not one of t, wilcoxon, sign"),
    ],
)
def test_an_option_with_a_wrong_value(
    scorecube: Cli, study: Path, words: str, message: str
) -> None:
    command, *options = words.split()
    outcome = scorecube(command, study, *options)
    assert outcome.status == 2
    assert message in outcome.stderr


def test_no_classical_test(refused: Callable[..., str], study: Path) -> None:
    assert "--tests '': expected a list that is not empty, each text" in refused(
        study, "paired", "--tests", ","
    )


@pytest.mark.parametrize("command", PAIR_TESTS)
def test_missing_scores_name_what_to_do(
    refused: Callable[..., str], scorecube: Cli, tmp_path: Path, command: str
) -> None:
    matrix, study = tmp_path / "ap.csv", tmp_path / "s"
    matrix.write_text("topic,a,b\n1,0.5,1\n2,,0.5\n3,1,0\n4,0.5,0.5\n5,0.25,0.5\n")
    scorecube("import", study, "--name", "x", matrix).succeeded()
    assert "leave their topics out with --missing drop" in refused(study, command, *drawn(command))
    scorecube(command, study, *drawn(command), "--missing", "drop").succeeded()


@pytest.mark.parametrize("command", PAIR_TESTS)
def test_tests_of_means_point_to_the_test_of_other_summaries(
    refused: Callable[..., str], scorecube: Cli, tmp_path: Path, command: str
) -> None:
    matrix, study = tmp_path / "ap.csv", tmp_path / "s"
    matrix.write_text("topic,a,b\n1,0.5,1\n2,0.1,0.5\n3,1,0\n")
    scorecube("import", study, "--name", "x", "--metric", "geo:AP", matrix).succeeded()
    stderr = refused(study, command, *drawn(command))
    assert "geo:AP is no mean" in stderr
    assert stderr.endswith("scorecube unpaired has the option summary")
