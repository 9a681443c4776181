"""Rank sets: an oracle from the papers, published references, coverage."""

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
from scorecube.analyses.plan import make_plan
from scorecube.statistics.rank_sets import competition_ranks, groups_in_order, rank_limits
from scorecube.workflow.api import analyse
from tests.analyses.pair_tests.test_maxt import cube_of, drawn, odd_scores
from tests.oracles.step_down import groups, rank_sets
from tests.validation.rates import board_coverage
from tests.validation.truths import population, real_scores


def sets_of(result: xr.Dataset) -> list[tuple[int, int]]:
    low, high = (result[name].values.ravel().tolist() for name in ("rank_low", "rank_high"))
    return list(zip(low, high, strict=True))


def test_sets_are_those_of_the_oracle() -> None:
    scores = [[value + 0.04 * k for value in row] for k, row in enumerate(odd_scores())]
    result = analyse(cube_of(scores), sc.Ranks(alpha=0.1), trials=150, seed=1)
    expected = rank_sets(scores, drawn(26, 150), 0.1)
    assert sets_of(result) == expected
    assert len(set(expected)) > 2


@pytest.mark.data
@pytest.mark.parametrize(("collection", "runs"), [("adhoc5", 12), ("web2011", 12)])
def test_sets_of_real_runs(data: Path, collection: str, runs: int) -> None:
    scores = real_scores(f"{collection}/ap.csv")[:: 60 // runs][:runs]
    cube = cube_of(scores.tolist())
    samples = sc.MaxT().samples(cube, 5, 120)
    result = analyse(cube, sc.Ranks(), trials=120, seed=5)
    topics = [str(label) for label in cube["topic"].values]
    picked = [
        [topics.index(str(label)) for label in row] for row in samples["topic_sample"].values[:, 0]
    ]
    assert sets_of(result) == rank_sets(scores.tolist(), picked, 0.05)
    board = analyse(cube, sc.Leaderboard(), trials=120, seed=5)
    assert sets_of(board) == sets_of(result)


def test_negated_scores_turn_the_order_round() -> None:
    scores = np.array(odd_scores())
    up, down = (
        analyse(cube_of((sign * scores).tolist()), sc.Ranks(), trials=200, seed=1)
        for sign in (1, -1)
    )
    assert [(9 - high, 9 - low) for low, high in sets_of(down)] == sets_of(up)


def test_sets_of_the_best_are_counted_and_named() -> None:
    result = analyse(cube_of(odd_scores()), sc.Ranks(top=(1, 3, 50)), trials=300, seed=1)
    table = sc.table(result, "top")
    assert table["k"].tolist() == [1, 3]  # 50 of 8 runs are all runs
    low, runs = result["rank_low"].values.ravel(), result["run"].values.astype(str)
    for row in table.to_dict("records"):
        assert set(row["runs"].split(", ")) == set(runs[low <= row["k"]])
        assert row["n_systems"] == (low <= row["k"]).sum()


# From estimates


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


@pytest.mark.parametrize(
    ("estimates", "covariance", "message"),
    [
        ([1.0], [0.1], "2 or more estimates"),
        ([1.0, np.nan], [0.1, 0.1], "all of them finite"),
        (
            [1.0, 2.0],
            [0.1, 0.1, 0.1],
            r"2 x 2 finite numbers, or 2 standard errors; found shape \(3,\)",
        ),
        ([1.0, 2.0], [-0.1, 0.1], "must not be negative"),
        ([1.0, 2.0], [[1, 0], [0.5, 1]], "not symmetric"),
        ([1.0, 2.0], [[1, 2], [2, 1]], "not positive semidefinite: its smallest eigenvalue is -1"),
    ],
)
def test_impossible_estimates_are_refused(estimates: Any, covariance: Any, message: str) -> None:
    with pytest.raises(sc.ScorecubeError, match=message):
        sc.rank_sets(estimates, covariance)


@pytest.mark.data
def test_trec_8_has_a_wide_set_of_the_best(data: Path) -> None:
    """INFERENCE D.2 has about 11 and 68 of 129 runs for a normal approximation; moderated max-T 7 and about 78."""
    cube = cube_of(real_scores("adhoc8/ap.csv").tolist())
    table = sc.table(analyse(cube, sc.Ranks(), trials=10_000, seed=1), "top")
    one, _, ten = table["n_systems"].tolist()
    assert 5 <= one <= 12
    assert 60 <= ten <= 90


# Parts


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_ranks_count_larger_values(values: list[int]) -> None:
    expected = [1 + sum(other > value for other in values) for value in values]
    assert competition_ranks(np.array(values)).tolist() == expected


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


def test_limits_of_nothing_decided_are_all_ranks() -> None:
    low, high = rank_limits([], [], 3)
    assert (low.tolist(), high.tolist()) == ([1, 1, 1], [3, 3, 3])


def test_few_topics_are_named() -> None:
    few = cube_of(odd_scores()).isel(topic=slice(10))
    (warning,) = make_plan(few, sc.Ranks(), trials=10, seed=1).warnings
    assert warning.startswith("10 topics: with fewer than 25")


# Coverage


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.parametrize("runs", [10, 40, 129])
def test_sets_hold_the_true_ranks(data: Path, runs: int) -> None:
    """All sets together hold all ranks in the population of topics of adhoc8."""
    scores = real_scores("adhoc8/ap.csv")
    order = np.argsort(-scores.mean(axis=1), kind="stable")
    spread = order[np.unique(np.linspace(0, len(order) - 1, runs).astype(int))]
    found = board_coverage()(population(scores[spread], 50), 200, 11)
    assert found["all rank sets"].mean() >= 0.93
