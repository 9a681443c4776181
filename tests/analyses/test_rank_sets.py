"""Rank sets: published references, parts, and real collections."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import scorecube as sc
from scorecube.errors import BadPlan
from scorecube.statistics.rank_sets import competition_ranks, groups_in_order, with_equals
from tests.oracles.step_down import groups


def sets_of(result: xr.Dataset) -> list[tuple[int, int]]:
    low, high = (result[name].values.ravel().tolist() for name in ("rank_low", "rank_high"))
    return list(zip(low, high, strict=True))


def test_ten_equidistant_estimates_have_the_published_sets() -> None:
    """INFERENCE D.2: estimates 1 to 3, independent, sd .2, 95 %."""
    sets = sc.rank_sets(np.linspace(1, 3, 10), np.full(10, 0.2))
    assert sets["rank_low"].values.tolist() == [7, 6, 5, 4, 3, 2, 1, 1, 1, 1]
    assert sets["rank_high"].values.tolist() == [10, 10, 10, 10, 9, 8, 7, 6, 5, 4]
    again = sc.rank_sets(np.linspace(1, 3, 10), np.diag(np.full(10, 0.04)), seed=7)
    xr.testing.assert_equal(sets, again)


def test_rounding_errors_of_a_covariance_are_no_asymmetry() -> None:
    covariance = np.diag([0.04, 0.04, 0.04])
    covariance[0, 1] = 1e-18  # the smallest entries are 0
    found = sc.rank_sets([0.5, 0.6, 0.9], covariance)
    xr.testing.assert_equal(found, sc.rank_sets([0.5, 0.6, 0.9], np.diag(np.diag(covariance))))


def test_estimates_of_a_series_keep_their_labels_and_correlation_counts() -> None:
    means = pd.Series({"b": 0.50, "a": 0.55})
    alone = sc.rank_sets(means, [0.03, 0.03])
    together = sc.rank_sets(means, 0.03**2 * np.array([[1, 0.95], [0.95, 1]]))
    assert alone["run"].values.tolist() == ["b", "a"]
    assert sets_of(alone) == [(1, 2), (1, 2)]
    assert sets_of(together) == [(2, 2), (1, 1)]
    equal = sc.rank_sets([0.5, 0.5, 0.4], np.zeros(3))
    assert equal["rank"].values.tolist() == [1, 1, 3]
    assert sets_of(equal) == [(1, 2), (1, 2), (3, 3)]


def test_an_error_that_all_estimates_share_changes_no_set() -> None:
    estimates, errors = np.linspace(1, 3, 10), np.diag(np.full(10, 0.04))
    xr.testing.assert_equal(sc.rank_sets(estimates, errors + 0.5), sc.rank_sets(estimates, errors))


@pytest.mark.parametrize(
    ("estimates", "covariance"),
    [
        ([1.0, np.nan], [0.1, 0.1]),
        ([1.0, 2.0], [0.1, 0.1, 0.1]),
        ([1.0], [0.1, 0.1]),
        ([1.0, 2.0], [-0.1, 0.1]),
        ([1.0, 2.0], [[1, 0], [0.5, 1]]),
        ([1.0, 2.0], [[1, 2], [2, 1]]),
        ([1.0, 2.0], [[1, np.nan], [np.nan, 1]]),
    ],
)
def test_impossible_estimates_are_refused(estimates: Any, covariance: Any) -> None:
    with pytest.raises((BadPlan, ValueError)):
        sc.rank_sets(estimates, covariance)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_ranks_count_larger_values(values: list[int]) -> None:
    expected = [1 + sum(other > value for other in values) for value in values]
    assert competition_ranks(np.array(values)).tolist() == expected


def test_values_within_a_distance_of_the_first_of_their_group_are_equal() -> None:
    values = np.array([0.3, 0.1 + 0.2, 0.5, 0.3 + 1e-9, 0.3 + 2e-9, 0.3 + 2.5e-9])
    found = with_equals(values, 1.5e-9)
    assert found.tolist() == [0.3, 0.3, 0.5, 0.3, 0.3 + 2e-9, 0.3 + 2e-9]
    assert competition_ranks(found).tolist() == [4, 4, 1, 4, 2, 2]
    assert with_equals(np.zeros(0), 1.0).tolist() == []


@given(st.integers(1, 7), st.data())
def test_groups_are_those_of_the_oracle(n: int, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(n)))
    pairs = list(combinations(range(n), 2))
    chosen = data.draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    first, second = (np.array([pair[k] for pair in chosen], int) for k in (0, 1))
    begin, end = groups_in_order(np.array(order), first, second)
    found = [
        {run for run in range(n) if begin[run] <= group <= end[run]}
        for group in range(1, int(end.max()) + 1)
    ]
    assert found == groups(list(order), {frozenset(pair) for pair in chosen})


@pytest.mark.data
def test_trec_8_has_a_wide_set_of_the_best(data: Path) -> None:
    """INFERENCE D.2 has about 11 and 68 of 129 runs for a normal approximation; moderated max-T 7 and about 78."""
    cube = sc.import_scores([data / "adhoc8" / "ap.csv"])
    result = sc.analyse(cube, sc.Leaderboard(), trials=10_000, seed=1)
    assert 5 <= int((result["rank_low"] == 1).sum()) <= 12
    assert 60 <= int((result["rank_low"] <= 10).sum()) <= 90
