"""The range of scores in which analyses of topic samples see what is there."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

from scorecube.analyses import Splits, Stability, Swap
from scorecube.analyses.base import Analysis
from scorecube.collection.selection import cells
from scorecube.errors import BadPlan
from scorecube.workflow.api import analyse, cube_from_scores

Floats = np.ndarray[Any, np.dtype[np.float64]]
ANALYSES: tuple[type[Any], ...] = (Swap, Stability, Splits)


def run_scores(scale: float, n: int = 60) -> Floats:
    return np.asarray(np.random.default_rng(1).random((6, n)) * scale)


def result_of(analysis: Analysis, scores: Floats, trials: int = 40) -> Any:
    cube = cube_from_scores({"M": pd.DataFrame(scores, index=list("abcdef"))})
    return analyse(cube, analysis, trials=trials, seed=1, workers=1)


@pytest.mark.parametrize("analysis", [Stability, Splits])
@pytest.mark.parametrize("n", [10, 300, 30_000])
@pytest.mark.parametrize("power", [-28, -10, 10, 28])
def test_powers_of_two_change_no_order(analysis: type[Any], n: int, power: int) -> None:
    usual, scaled = (result_of(analysis(), run_scores(2.0**k, n), 8) for k in (0, power))
    for name in usual.data_vars:
        np.testing.assert_array_equal(usual[name], scaled[name])


@pytest.mark.parametrize("power", [-28, -10, 10, 20])
def test_swaps_of_any_scale_are_those_of_exact_means(power: int) -> None:
    """Over all bins, swaps are the pairs whose order changes, of exact sums of the same samples."""
    scores, swap = run_scores(2.0**power), Swap(size=20)
    cube = cube_from_scores({"M": pd.DataFrame(scores, index=list("abcdef"))})
    samples = swap.samples(cube, 1, 40)["topic_sample"]
    place = {label: k for k, label in enumerate(cube["topic"].values)}
    whole = cells(cube)[0][0]
    exact = [[int(each * 2.0**100) for each in row] for row in whole.tolist()]
    swaps = 0
    for first, second in samples.values:
        a, b = ([sum(row[place[t]] for t in half) for row in exact] for half in (first, second))
        swaps += sum(
            (a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in itertools.combinations(range(6), 2)
        )
    found = analyse(cube, swap, trials=40, seed=1, workers=1)
    assert int(found["swaps"].sum()) == swaps
    assert int(found["both_zero"].sum()) == 0


@pytest.mark.parametrize("analysis", ANALYSES)
def test_what_the_grid_cannot_hold_is_refused(analysis: type[Any]) -> None:
    scores = run_scores(0.01)
    scores[0, 0] = 1e9
    with pytest.raises(BadPlan, match=r"scores of up to 1e\+09 differ by about 0\.00"):
        result_of(analysis(), scores)


def test_the_order_of_means_does_not_depend_on_what_all_runs_have() -> None:
    scores = np.rint(run_scores(1.0) * 2**10) / 2**10
    shared = scores + 2.0**36 * (np.arange(60) == 7)
    for name, found in result_of(Splits(), shared).data_vars.items():
        np.testing.assert_array_equal(found, result_of(Splits(), scores)[name], err_msg=str(name))
    for refused in (Swap(), Stability()):
        with pytest.raises(BadPlan, match="hold differences down to"):
            result_of(refused, shared)


@pytest.mark.parametrize("analysis", ANALYSES)
def test_differences_of_rounding_alone_are_ties_and_not_refused(analysis: type[Any]) -> None:
    scores = np.repeat(run_scores(1.0)[:1], 6, axis=0)
    scores[::2] = np.nextafter(scores[::2], 1.0)
    assert result_of(analysis(), scores).attrs["trials"] == 40


@pytest.mark.parametrize("power", [-39, -29, 29, 39])
def test_largest_means_keep_their_digits(power: int) -> None:
    """In results they are rounded to decimals: 12 of them left none of scores of 1e-12."""
    usual, scaled = (
        result_of(Swap(size=20, bin_width=0.01 * 2.0**k), run_scores(2.0**k)) for k in (0, power)
    )
    for name in ("max_performance", "max_difference", "relative_difference"):
        factor = 1.0 if name == "relative_difference" else 2.0**power
        np.testing.assert_allclose(scaled[name], usual[name] * factor, rtol=1e-6, err_msg=name)


def test_a_bin_that_holds_all_differences_is_named(caplog: pytest.LogCaptureFixture) -> None:
    result_of(Swap(size=20), run_scores(1e-6))
    assert any(
        "in one bin, as scores differ by at most 8.91e-07" in line and "bin_width" in line
        for line in caplog.messages
    )
    with pytest.raises(BadPlan, match="choose narrower bins"):
        result_of(Swap(size=20), run_scores(1.1e-12))
