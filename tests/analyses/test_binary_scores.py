"""Scores 0 and 1 of few topics are refused, or warned of."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.protocol import Analysis
from scorecube.errors import BadPlan


def binary(n_topics: int) -> xr.Dataset:
    scores = np.random.default_rng(2).integers(0, 2, (6, n_topics)).astype(float)
    labels = [f"r{k}" for k in range(6)], [f"t{k}" for k in range(n_topics)]
    return sc.cube_from_scores({"Success@5": pd.DataFrame(scores, *labels)})


@pytest.mark.parametrize("analysis", [sc.MaxT(), sc.Leaderboard(), sc.Bootstrap(), sc.Paired()])
def test_binary_scores_of_few_topics_are_refused_or_warned_of(analysis: Analysis) -> None:
    """Families of pairs of runs with equal means erred in .22 to .88 with 3 to 5 topics."""
    for n_topics in (3, 5):
        with pytest.raises(BadPlan, match="scores 0 and 1"):
            sc.analyse(binary(n_topics), analysis, trials=50)
    warnings = sc.analyse(binary(8), analysis, trials=50).attrs["warnings"]
    assert any("scores 0 and 1 of 8 topics" in each for each in warnings), warnings
    warnings = sc.analyse(binary(11), analysis, trials=50).attrs["warnings"]
    assert not any("scores 0 and 1" in each for each in warnings)
