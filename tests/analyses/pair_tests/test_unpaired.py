"""Unpaired bootstrap test: runs without spread, Welch's t, and what must not change its result; its numbers are tested in test_unpaired_exact.py."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from scorecube.analyses.unpaired import Unpaired
from scorecube.errors import BadPlan
from scorecube.workflow.api import analyse, cube_from_scores

SUMMARIES = ("mean", "geo", "area")


def cube_of(table: np.ndarray, metric: str = "AP") -> xr.Dataset:
    labels = [f"r{k:03d}" for k in range(len(table))], [f"t{k:03d}" for k in range(table.shape[1])]
    return cube_from_scores({metric: pd.DataFrame(table, *labels)})


@pytest.mark.parametrize("summary", SUMMARIES)
def test_runs_with_the_same_scores_in_any_order_do_not_differ(summary: Any) -> None:
    row = np.random.default_rng(1).choice([0.1, 0.2, 0.7], 9)
    cube = cube_of(np.stack([row, row, row[::-1], np.roll(row, 4)]))
    result = analyse(cube, Unpaired(summary=summary), trials=50, seed=1)
    assert result["p_value"].values.ravel().tolist() == [1.0] * 6
    assert result["degenerate_pairs"].item() == 1
    assert result["significant"].values.ravel().tolist() == [0, 0]


@pytest.mark.parametrize("summary", SUMMARIES)
@pytest.mark.parametrize("n_topics", [2, 3, 50])
def test_constant_runs_differ_surely_or_not_at_all(summary: Any, n_topics: int) -> None:
    cube = cube_of(np.repeat([[0.1], [0.3], [0.1]], n_topics, axis=1))
    test = Unpaired(plus_one=False, summary=summary)
    result = analyse(cube, test, trials=50, seed=1)
    assert result["p_value"].values.ravel().tolist() == [0.0, 1.0, 0.0]
    assert result["constant_pairs"].item() == 2
    assert result["degenerate_pairs"].item() == 1
    t = result["t"].values.ravel().tolist()
    assert str(t) == ("[-inf, nan, inf]" if summary == "mean" else "[nan, nan, nan]")


def test_t_is_welchs() -> None:
    from scipy.stats import ttest_ind

    table = np.random.default_rng(2).normal(size=(4, 11))
    result = analyse(cube_of(table, "my score"), Unpaired(), trials=5, seed=1)
    expected = [
        ttest_ind(table[i], table[j], equal_var=False).statistic
        for i, j in combinations(range(4), 2)
    ]
    np.testing.assert_allclose(result["t"].values[0, 0], expected, rtol=1e-9)
    geo = analyse(cube_of(table, "my score"), Unpaired(summary="geo"), trials=5, seed=1)
    assert geo["t"].isnull().all()


def test_halves_are_drawn_apart() -> None:
    cube = cube_of(np.random.default_rng(1).random((2, 9)))
    drawn = Unpaired().samples(cube, 3, 200)["topic_sample"].values
    assert (drawn[:, 0] == drawn[:, 1]).mean() < 0.2


@pytest.mark.parametrize("summary", ["geo", "area"])
def test_topics_in_groups_have_means_alone(summary: Any) -> None:
    cube = cube_of(np.random.default_rng(1).random((3, 12)))
    grouped = cube.assign_coords(topic_group=("topic", [f"g{k // 3}" for k in range(12)]))
    with pytest.raises(BadPlan, match="groups or bags"):
        analyse(grouped, Unpaired(summary=summary), trials=5)
