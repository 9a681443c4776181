"""Errors name arguments, as Python and as the command line spell them; other types than expected are one message each."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.joined import part_of
from scorecube.collection.metrics_of_tools import read_metric
from scorecube.errors import BadInput, ScorecubeError, option
from scorecube.testing import simulate_cube, simulate_rankings
from tests.attributes import without_attrs
from tests.conftest import Cli


def test_an_error_crosses_processes_whole() -> None:
    error = BadInput(f"two tags; use {option('run_name', 'file')}", "runs/a", 3, option="run_name")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is BadInput
    assert (str(copy), copy.path, copy.line, copy.option) == (str(error), "runs/a", 3, "run_name")
    assert copy.message().endswith("--run-name file")


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=4, seed=3)


@pytest.fixture(scope="module")
def rankings() -> xr.Dataset:
    return simulate_rankings(n_runs=3, seed=1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"analysis": "swap"}, {"analysis": sc.Tukey}, {"cube": pd.DataFrame({"a": [1.0]})}, {"cube": "study.zarr"},
        {"seed": 1.5}, {"trials": True}, {"trials": "1.5"}, {"workers": 0}, {"workers": "two"},
    ],
)  # fmt: skip
def test_analyse_refuses_other_types(cube: xr.Dataset, arguments: dict[str, Any]) -> None:
    called: dict[str, Any] = {"cube": cube, "analysis": sc.Swap(), "trials": 5, "seed": 1}
    with pytest.raises(ScorecubeError, match=f"^(the )?{next(iter(arguments))}"):
        sc.analyse(**(called | arguments))


EQUAL = (
    *(ir_measures.AP, ir_measures.AP(rel=2), ir_measures.nDCG @ 10, ir_measures.P(rel=2) @ 5),
    *(ir_measures.RR, ir_measures.Rprec, ir_measures.nDCG(dcg="exp-log2") @ 5),
)


def test_measures_of_ir_measures_are_metrics(rankings: xr.Dataset) -> None:
    names = [str(read_metric(str(measure))) for measure in EQUAL]
    xr.testing.assert_identical(sc.evaluate(rankings, EQUAL), sc.evaluate(rankings, names))
    with pytest.raises(ScorecubeError, match=r"^metrics: "):
        sc.evaluate(rankings, ir_measures.AP)  # type: ignore[arg-type]


PLAIN = xr.DataArray(np.random.default_rng(1).random((2, 5, 12)), dims=("metric", "run", "topic"))
LABELS = {"metric": ["acc", "f1"], "run": [*"abcde"], "topic": [f"t{k:02}" for k in range(12)]}
FORMS: dict[str, Any] = {
    "no labels": PLAIN,
    "array": PLAIN.assign_coords(LABELS),
    "one metric": PLAIN[0],
    "dataset": PLAIN.assign_coords(LABELS).to_dataset(name="score"),
    "lazy": PLAIN.assign_coords(LABELS).to_dataset(name="score").chunk(),
}


@pytest.mark.parametrize("form", FORMS)
def test_plain_arrays_of_scores_are_cubes_everywhere(
    form: str, tmp_path: Path, scorecube: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    cube = FORMS[form]
    expected = sc.analyse(cube, sc.Paired())
    swept = sc.sweep([sc.Paired()], {"one": cube, "two": cube})
    assert isinstance(swept, xr.Dataset)
    assert without_attrs(part_of(swept, "two")).equals(without_attrs(expected))
    path = tmp_path / "study"
    study = sc.open_study(path, mode="a")
    for _ in range(2):  # the second time it is there already
        study.add("one", cube=cube)
    scores = cube["score"] if isinstance(cube, xr.Dataset) else cube
    assert sorted(study["one"].cube["score"].values.flat) == sorted(scores.values.flat)
    means = sc.table(cube, "means")
    assert "team" not in means
    assert len(means) == scores.size / 12
    info = scorecube("info", path).succeeded().stdout
    assert re.search(r"one: 5\b.* 12\b", info)
    for words in (["paired"], ["leaderboard", "--trials", 20], ["report"]):
        scorecube(words[0], path, *words[1:]).succeeded()
    for words in (["show", path, "scores"], ["show", path, "leaderboard"], ["verify", path]):
        scorecube(*words).succeeded()


@pytest.mark.process
@pytest.mark.parametrize("words", ["scorecube.published", "scorecube --help", "scorecube info st"])
def test_programs_end_quietly_where_nobody_reads(words: str, tmp_path: Path) -> None:
    sc.open_study(tmp_path / "st", mode="a").add("one", cube=PLAIN)
    command = [sys.executable, "-m", *words.split()]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, cwd=tmp_path) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()
        assert running.stderr.read() == b""
