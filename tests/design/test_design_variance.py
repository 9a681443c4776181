"""Variances of scores: the formula written out, analysis of variance by statsmodels, gaps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from statsmodels.formula.api import ols

import scorecube as sc
from scorecube.design import design_variances, residual_variance, variances, within_system_variance
from scorecube.errors import BadPlan
from scorecube.testing import simulate_cube
from tests.oracles import design as oracle

if TYPE_CHECKING:
    from tests.conftest import Cli


def scores_of(
    n_runs: int = 4, n_topics: int = 9, seed: int = 1, gaps: int = 0
) -> np.ndarray[Any, np.dtype[np.float64]]:
    random = np.random.default_rng(seed)
    scores = (
        random.random((n_runs, n_topics))
        + random.random(n_topics)
        + 0.3 * random.random((n_runs, 1))
    )
    scores.ravel()[random.choice(scores.size, gaps, replace=False)] = np.nan
    return scores


@pytest.mark.parametrize("gaps", [0, 1, 7])
def test_variance_is_that_of_the_loops(gaps: int) -> None:
    scores = scores_of(gaps=gaps)
    assert float(within_system_variance(scores)) == pytest.approx(
        oracle.within_variance(scores.tolist()), rel=1e-13
    )
    if not gaps:
        assert float(residual_variance(scores)) == pytest.approx(
            oracle.residual_variance(scores.tolist()), rel=1e-12
        )


def test_variance_is_the_formula_of_s3_written_in_numpy() -> None:
    cube = simulate_cube(n_runs=7, seed=3, gains=("3:2:1", "1:1:1"))
    x = cube["score"].values
    expected = ((x - x.mean(axis=-1, keepdims=True)) ** 2).sum(axis=(-2, -1)) / (7 * 49)
    found = sc.variances(cube)
    np.testing.assert_allclose(found["variance"], expected, rtol=1e-12)
    np.testing.assert_allclose(found["variance"], x.var(axis=-1, ddof=1).mean(axis=-1), rtol=1e-12)
    assert (found["residual_variance"] < found["variance"]).all()
    assert (found["n_runs"] == 7).all()
    assert (found["n_topics"] == 50).all()
    assert {"long_name", "units"} <= found["variance"].attrs.keys()


@pytest.mark.parametrize("gaps", [0, 8])
def test_variances_are_the_mean_squares_of_statsmodels(gaps: int) -> None:
    scores = scores_of(gaps=gaps, seed=5)
    runs, topics = np.indices(scores.shape)
    frame = pd.DataFrame(
        {"x": scores.ravel(), "run": runs.ravel(), "topic": topics.ravel()}
    ).dropna()
    for formula, ours in (
        ("x ~ C(run)", within_system_variance),
        ("x ~ C(run) + C(topic)", residual_variance),
    ):
        row = sm.stats.anova_lm(ols(formula, frame).fit()).loc["Residual"]
        assert float(ours(scores)) == pytest.approx(row["sum_sq"] / row["df"], rel=1e-10)


def test_edge_cases() -> None:
    one = scores_of(n_runs=1)
    assert float(within_system_variance(one)) == pytest.approx(one.var(ddof=1))
    assert np.isnan(residual_variance(one))
    assert np.isnan(within_system_variance(scores_of(n_topics=1)))
    assert np.isnan(within_system_variance(np.full((3, 4), np.nan)))
    assert np.isnan(residual_variance(np.full((3, 4), np.nan)))
    assert float(within_system_variance(np.full((3, 7), 0.1))) == 0.0
    # A run without scores, and one with a single score, say nothing about the variance.
    full = scores_of()
    gap = np.full(9, np.nan)
    single = gap.copy()
    single[4] = 0.7
    assert float(within_system_variance(np.vstack([full, gap, single]))) == pytest.approx(
        float(within_system_variance(full))
    )


def test_large_scores_lose_no_digits() -> None:
    scores = scores_of(seed=8)
    assert float(within_system_variance(scores + 1e6)) == pytest.approx(
        float(within_system_variance(scores)), rel=1e-9
    )


def test_runs_and_topics_without_scores_are_not_counted() -> None:
    scores = scores_of()
    scores[1] = np.nan
    scores[:, 3] = np.nan
    cube = sc.cube_from_scores(
        {"AP": pd.DataFrame(scores, index=list("abcd"), columns=list("123456789"))}
    )
    found = variances(cube)
    assert (found["n_runs"].item(), found["n_topics"].item()) == (3, 8)
    assert cube["score"].isnull().sum() == 9 + 3  # the cube is as it was


def test_table_of_a_study(scorecube: Cli, finished_study: Path) -> None:
    words = ["show", finished_study, "scores", "--table", "variance", "--format", "json"]
    rows = json.loads(scorecube(*words).succeeded().stdout)
    first = ["collection", "metric", "gain", "n_runs", "n_topics", "variance", "residual_variance"]
    assert [list(row) for row in rows] == [first] * 6
    cube = sc.open_study(finished_study)["small"].cube
    for row in rows:
        cells = cube["score"].sel(metric=row["metric"], gain=row["gain"]).values
        assert row["variance"] == pytest.approx(oracle.within_variance(cells.tolist()), rel=1e-12)
        assert row["residual_variance"] == pytest.approx(
            oracle.residual_variance(cells.tolist()), rel=1e-12
        )
        assert (row["collection"], row["n_runs"], row["n_topics"]) == ("small", 6, 8)


def test_designs_start_from_means_and_from_two_topics() -> None:
    with pytest.raises(
        BadPlan, match="topic set size design compares mean scores, and geo:AP is no mean"
    ):
        design_variances(simulate_cube(n_runs=3, metrics=("AP", "geo:AP")))
    with pytest.raises(BadPlan, match="no variance of RR: no run has scores on two topics"):
        design_variances(
            sc.cube_from_scores(
                {"RR": pd.DataFrame([[0.5], [1.0]], index=["a", "b"], columns=["1"])}
            )
        )
