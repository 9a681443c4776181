"""Tests of pairs with few topics: the warning of the bootstrap, and scores 0 and 1, which are refused or noted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.plan import make_plan
from scorecube.analyses.protocol import Analysis
from scorecube.errors import BadPlan


def cube_of(scores: np.ndarray) -> xr.Dataset:
    labels = [f"r{k}" for k in range(len(scores))], [f"t{k}" for k in range(scores.shape[1])]
    return sc.cube_from_scores({"Success@5": pd.DataFrame(scores, *labels)})


def test_few_topics_are_warned_of() -> None:
    scores = np.random.default_rng(1).random((4, 25))
    for test in (sc.Bootstrap(), sc.MaxT(), sc.Leaderboard()):
        few, many = (make_plan(cube_of(scores[:, :n]), test).warnings for n in (24, 25))
        assert many == ()
        assert len(few) == 1
        assert few[0].startswith("24 topics")


@pytest.mark.parametrize("analysis", [sc.MaxT(), sc.Leaderboard(), sc.Bootstrap(), sc.Paired()])
def test_binary_scores_of_few_topics_are_refused_or_noted(analysis: Analysis) -> None:
    """Families of pairs of runs with equal means erred in .22 to .88 with 3 to 5 topics."""
    binary = np.random.default_rng(2).integers(0, 2, (6, 11)).astype(float)
    for n_topics in (3, 5):
        with pytest.raises(BadPlan, match="scores 0 and 1"):
            make_plan(cube_of(binary[:, :n_topics]), analysis)
    noted, silent = (make_plan(cube_of(binary[:, :n]), analysis).warnings for n in (8, 11))
    assert any("scores 0 and 1 of 8 topics" in note for note in noted)
    assert not any("scores 0 and 1" in note for note in silent)
