"""Arguments of the Python functions that have another type than expected: one message each."""

from __future__ import annotations

from typing import Any

import ir_measures
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.collection.metric_spellings import read_metric
from scorecube.collection.selection import select
from scorecube.errors import ScorecubeError
from scorecube.testing import simulate_cube, simulate_rankings


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=4, seed=3)


@pytest.fixture(scope="module")
def rankings() -> xr.Dataset:
    return simulate_rankings(n_runs=3, seed=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"analysis": "swap"}, "analysis: expected an analysis with its options, such as Swap(); found 'swap'"),
        ({"analysis": "tukey"}, "analysis: expected an analysis with its options, such as Tukey(); found 'tukey'"),
        ({"analysis": sc.Tukey}, "analysis: expected an analysis with its options, such as Tukey(); found the class Tukey"),
        ({"analysis": {"name": "swap"}}, "analysis: expected an analysis with its options, such as Swap(); found a dict"),
        ({"cube": pd.DataFrame({"a": [1.0]})}, "the cube: expected an xarray Dataset, as from evaluate or cube_from_scores; found a DataFrame"),
        ({"cube": "study.zarr"}, "the cube: expected an xarray Dataset, as from evaluate or cube_from_scores; found a str"),
        ({"seed": 1.5}, "seed: expected a whole number from 0 to 2**64 - 1; found 1.5"),
        ({"trials": True}, "trials: expected a whole number of at least 1; found True"),
        ({"trials": "1.5"}, "trials: expected a whole number of at least 1; found '1.5'"),
        ({"workers": 0}, "workers: expected a whole number of at least 1; found 0"),
        ({"workers": "two"}, "workers: expected a whole number of at least 1; found 'two'"),
    ],
)  # fmt: skip
def test_analyse_refuses_other_types(
    cube: xr.Dataset, arguments: dict[str, Any], message: str
) -> None:
    called: dict[str, Any] = {"cube": cube, "analysis": sc.Swap(), "trials": 5, "seed": 1}
    with pytest.raises(ScorecubeError) as caught:
        sc.analyse(**(called | arguments))
    assert str(caught.value) == message


@pytest.mark.parametrize("argument", ["metrics", "gains"])
def test_evaluate_refuses_a_text_in_the_place_of_a_list(
    rankings: xr.Dataset, argument: str
) -> None:
    called: dict[str, Any] = {"metrics": ["AP"], "gains": ["3:2:1"]}
    for value, found in (
        ("AP", "such as ['AP']; found 'AP'"),
        ("AP,P@5", "such as ['AP', 'P@5']; found 'AP,P@5'"),
        (5, "found an int"),
        (None, "found a NoneType"),
        ({"AP": 1}, "found a dict"),
        ([5], "expected texts; found an int, 5"),
    ):
        with pytest.raises(ScorecubeError) as caught:
            sc.evaluate(rankings, **(called | {argument: value}))
        assert str(caught.value).startswith(f"{argument}: expected ")
        assert str(caught.value).endswith(found)


@pytest.mark.parametrize("argument", ["metrics", "gains", "runs", "topics"])
def test_select_refuses_a_text_in_the_place_of_a_list(cube: xr.Dataset, argument: str) -> None:
    with pytest.raises(
        ScorecubeError, match=rf"^{argument}: expected a list, such as \['AP'\]; found 'AP'$"
    ):
        select(cube, **{argument: "AP"})  # type: ignore[arg-type]
    with pytest.raises(ScorecubeError, match=f"^{argument}: expected texts; found an int, 1$"):
        select(cube, **{argument: [1]})  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [1.5, True, "3", 0, -1])
def test_select_refuses_other_numbers_of_runs(cube: xr.Dataset, value: Any) -> None:
    with pytest.raises(ScorecubeError, match=r"^top_runs: expected a whole number of at least 1"):
        select(cube, top_runs=value)


def test_arrays_and_tuples_of_labels_are_lists(cube: xr.Dataset) -> None:
    expected = select(cube, runs=cube["run"].values.tolist()[:2])
    xr.testing.assert_identical(select(cube, runs=cube["run"].values[:2]), expected)  # type: ignore[arg-type]
    xr.testing.assert_identical(
        select(cube, runs=tuple(np.array(cube["run"].values[:2], str))), expected
    )


def test_words_that_are_no_choice_are_refused(rankings: xr.Dataset) -> None:
    with pytest.raises(ScorecubeError, match=r"^rankings: expected an xarray Dataset"):
        sc.evaluate(pd.DataFrame(), ["AP"])


MEASURES = ir_measures
EQUAL = (
    MEASURES.AP,
    MEASURES.AP(rel=2),
    MEASURES.nDCG @ 10,
    MEASURES.P(rel=2) @ 5,
    MEASURES.RR,
    MEASURES.Rprec,
    MEASURES.nDCG(dcg="exp-log2") @ 5,
)
OTHER = (MEASURES.AP @ 10, MEASURES.ERR @ 20, MEASURES.RBP(p=0.8))


@pytest.mark.parametrize("measure", EQUAL, ids=str)
def test_measures_of_ir_measures_are_metrics(rankings: xr.Dataset, measure: Any) -> None:
    name = str(read_metric(str(measure)))
    xr.testing.assert_identical(sc.evaluate(rankings, [measure]), sc.evaluate(rankings, [name]))


@pytest.mark.parametrize("measure", OTHER, ids=str)
def test_measures_of_ir_measures_that_differ_are_refused(
    rankings: xr.Dataset, measure: Any
) -> None:
    with pytest.raises(
        ScorecubeError, match=r"^(metrics: .*of ir_measures differs|metric ['\"]|unknown metric ')"
    ):
        sc.evaluate(rankings, [measure])


def test_a_measure_of_ir_measures_is_no_list(rankings: xr.Dataset) -> None:
    with pytest.raises(
        ScorecubeError, match=r"^metrics: expected a list, such as \[AP\]; found AP$"
    ):
        sc.evaluate(rankings, ir_measures.AP)  # type: ignore[arg-type]
