"""Unpaired bootstrap test: runs without spread, Welch's t, and what must not change its result; its numbers are tested in test_unpaired_exact.py."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from scorecube.analyses.unpaired import Unpaired
from scorecube.collection.topic_means import area_weights
from scorecube.workflow.api import analyse, cube_from_scores

SUMMARIES = ("mean", "geo", "area")


def cube_of(tables: dict[str, np.ndarray]) -> xr.Dataset:
    return cube_from_scores(
        {
            metric: pd.DataFrame(
                table,
                [f"r{k:03d}" for k in range(len(table))],
                [f"t{k:03d}" for k in range(table.shape[1])],
            )
            for metric, table in tables.items()
        }
    )


@pytest.mark.parametrize("summary", SUMMARIES)
def test_runs_with_the_same_scores_in_any_order_do_not_differ(summary: Any) -> None:
    row = np.random.default_rng(1).choice([0.1, 0.2, 0.7], 9)
    cube = cube_of({"AP": np.stack([row, row, row[::-1], np.roll(row, 4)])})
    result = analyse(cube, Unpaired(summary=summary), trials=50, seed=1)
    assert result["p_value"].values.ravel().tolist() == [1.0] * 6
    assert result["degenerate_pairs"].item() == 1
    assert result["significant"].values.ravel().tolist() == [0, 0]


@pytest.mark.parametrize("summary", SUMMARIES)
@pytest.mark.parametrize("n_topics", [2, 3, 50])
def test_constant_runs_differ_surely_or_not_at_all(summary: Any, n_topics: int) -> None:
    cube = cube_of({"AP": np.repeat([[0.1], [0.3], [0.1]], n_topics, axis=1)})
    test = Unpaired(plus_one=False, summary=summary)
    result = analyse(cube, test, trials=50, seed=1)
    assert result["p_value"].values.ravel().tolist() == [0.0, 1.0, 0.0]
    assert result["constant_pairs"].item() == 2
    assert result["degenerate_pairs"].item() == 1
    t = result["t"].values.ravel().tolist()
    assert str(t) == ("[-inf, nan, inf]" if summary == "mean" else "[nan, nan, nan]")


def test_a_constant_difference_is_no_constant_pair_here() -> None:
    row = np.array([0.1, 0.5, 0.2, 0.3])
    result = analyse(cube_of({"AP": np.stack([row, row + 0.25])}), Unpaired(), trials=100, seed=1)
    assert result["constant_pairs"].item() == 0
    assert 0 < result["p_value"].item() < 1


def test_t_is_welchs() -> None:
    from scipy.stats import ttest_ind

    table = np.random.default_rng(2).normal(size=(4, 11))
    result = analyse(cube_of({"my score": table}), Unpaired(), trials=5, seed=1)
    expected = [
        ttest_ind(table[i], table[j], equal_var=False).statistic
        for i, j in combinations(range(4), 2)
    ]
    np.testing.assert_allclose(result["t"].values[0, 0], expected, rtol=1e-9)
    geo = analyse(cube_of({"my score": table}), Unpaired(summary="geo"), trials=5, seed=1)
    assert geo["t"].isnull().all()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 50, 249])
def test_area_weights_are_the_mean_over_x_of_the_mean_of_the_x_worst(n: int) -> None:
    quarter = max(1, n // 4)
    direct = [
        sum(1 / x for x in range(place, quarter + 1)) / quarter for place in range(1, quarter + 1)
    ]
    np.testing.assert_allclose(area_weights(n), direct, rtol=1e-12)
    assert area_weights(n).sum() == pytest.approx(1)


@pytest.fixture(scope="module")
def many() -> xr.Dataset:
    """More pairs than are tested together."""
    return cube_of({"AP": np.random.default_rng(1).choice([0.0, 0.1, 0.4, 1.0], (70, 9))})


def assert_same(one: xr.Dataset, other: xr.Dataset) -> None:
    xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())


@pytest.mark.parametrize("summary", SUMMARIES)
@pytest.mark.parametrize(("block_units", "workers"), [(97, 1), (2414, 2)])
def test_blocks_and_workers_are_free_choices(
    many: xr.Dataset, block_units: int, workers: int, summary: Any
) -> None:
    test = Unpaired(summary=summary)
    expected = analyse(many, test, trials=40, seed=9, workers=1, block_units=10_000)
    found = analyse(many, test, trials=40, seed=9, workers=workers, block_units=block_units)
    assert_same(found, expected)


def test_halves_are_drawn_apart(many: xr.Dataset) -> None:
    drawn = Unpaired().samples(many, 3, 200)["topic_sample"].values
    assert (drawn[:, 0] == drawn[:, 1]).mean() < 0.2
