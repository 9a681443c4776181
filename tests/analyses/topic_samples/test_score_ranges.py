"""The range of scores in which analyses of topic samples see what is there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from scorecube import Stability, Swap
from scorecube.analyses.protocol import Analysis
from scorecube.errors import ScorecubeError
from scorecube.workflow.api import analyse, cube_from_scores

Floats = np.ndarray[Any, np.dtype[np.float64]]
ANALYSES: tuple[type[Any], ...] = (Swap, Stability)


def run_scores(scale: float, n: int = 60) -> Floats:
    return np.asarray(np.random.default_rng(1).random((6, n)) * scale)


def result_of(analysis: Analysis, scores: Floats, trials: int = 40) -> Any:
    cube = cube_from_scores({"M": pd.DataFrame(scores, index=list("abcdef"))})
    return analyse(cube, analysis, trials=trials, seed=1, workers=1)


@pytest.mark.parametrize("power", [-9, 9])
def test_means_keep_their_digits(power: int) -> None:
    usual, scaled = (
        result_of(Swap(size=20, bin_width=float(f"1e{k - 2}")), run_scores(10.0**k))
        for k in (0, power)
    )
    for name in ("count", "swaps"):
        np.testing.assert_array_equal(scaled[name], usual[name])
    for name in ("max_performance", "max_difference", "relative_difference"):
        factor = 1.0 if name == "relative_difference" else 10.0**power
        np.testing.assert_allclose(scaled[name], usual[name] * factor, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("analysis", ANALYSES)
def test_what_the_grid_cannot_hold_is_refused(analysis: type[Any]) -> None:
    scores = run_scores(0.01)
    scores[:, 0] += 1e9
    with pytest.raises(ScorecubeError, match="too little of the range"):
        result_of(analysis(), scores)


@pytest.mark.parametrize("analysis", ANALYSES)
def test_differences_of_rounding_alone_are_ties_and_not_refused(analysis: type[Any]) -> None:
    scores = np.repeat(run_scores(1.0)[:1], 6, axis=0)
    scores[::2] = np.nextafter(scores[::2], 1.0)
    assert result_of(analysis(), scores).attrs["trials"] == 40


def test_a_bin_that_holds_all_differences_is_named(caplog: pytest.LogCaptureFixture) -> None:
    result_of(Swap(size=20), run_scores(1e-3))
    assert any("may be in one bin" in line for line in caplog.messages)
    result = result_of(Swap(size=20), run_scores(1e5))
    assert any("are in one open bin" in line for line in caplog.messages)
    # Ties are differences of 0, also where bins are narrower than what is a tie.
    assert int(result["count"].sum()) == 15 * 40
    assert int(result["count"].isel(bin=-1).sum()) > 590
