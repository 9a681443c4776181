"""Errors name arguments, as Python and as the command line spell them; other types than expected are one message each."""

from __future__ import annotations

import pickle
from typing import Any

import ir_measures
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.collection.metric_spellings import read_metric
from scorecube.errors import BadInput, ScorecubeError, option
from scorecube.testing import simulate_cube, simulate_rankings


def test_an_error_crosses_processes_whole() -> None:
    error = BadInput(f"two tags; use {option('run_name', 'file')}", "runs/a", 3, option="run_name")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is BadInput
    assert (str(copy), copy.path, copy.line, copy.option) == (str(error), "runs/a", 3, "run_name")
    assert copy.message() == "runs/a:3: two tags; use --run-name file"


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
    with pytest.raises(ScorecubeError, match=r"^metrics: expected a list"):
        sc.evaluate(rankings, ir_measures.AP)  # type: ignore[arg-type]
