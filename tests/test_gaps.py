"""Missing scores: what is said of topics that are left out, and means by the model of runs and topics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.optimize import minimize_scalar

import scorecube as sc
from scorecube import names
from scorecube.errors import BadPlan
from scorecube.report.cautions import cautions_of
from scorecube.report.results import headline
from scorecube.testing import simulate_cube
from tests.oracles.gaps import restricted_loss, weighted_means


def cube_of(scores: Any) -> xr.Dataset:
    labels = [f"r{k}" for k in range(len(scores))], [f"t{k:02d}" for k in range(scores.shape[1])]
    return sc.cube_from_scores({"AP": pd.DataFrame(scores, *labels)})


def with_gaps(seed: int = 3, n_runs: int = 6, n_topics: int = 40) -> Any:
    """Scores of runs of which one lacks its 15 hardest topics, and the means of all."""
    chance = np.random.default_rng(seed)
    topic = 0.15 * chance.standard_normal(n_topics)
    means = 0.3 + 0.02 * np.arange(n_runs)
    scores = means[:, np.newaxis] + topic + 0.06 * chance.standard_normal((n_runs, n_topics))
    scores[0, np.argsort(topic)[:15]] = np.nan
    return scores, means


def test_topics_that_are_left_out_are_said_everywhere() -> None:
    scores, _ = with_gaps()
    cube = sc.select(cube_of(scores), drop_missing=True)
    said = cube.attrs[names.LEFT_OUT]
    begin = "25 of 40 topics are used: scores are missing on the others, most of r0 (15). Runs that lack scores"
    assert said.startswith(begin)
    assert "unlike the others: the mean of the other runs (AP) is " in said
    result = sc.analyse(cube, sc.Leaderboard(), trials=100, seed=1)
    assert said in result.attrs["warnings"]
    assert said in headline(result)
    tables = {"systems": sc.table(result)}
    assert said in [each.text for each in cautions_of("leaderboard", result, tables)]
    assert sc.variances(cube).attrs[names.LEFT_OUT] == said
    gaps = sc.variances(cube_of(scores)).attrs[names.LEFT_OUT]
    assert gaps.startswith("15 of 240 scores are missing, most of r0 (15)")
    whole = sc.select(simulate_cube(n_runs=4, seed=1), drop_missing=True)
    assert names.LEFT_OUT not in whole.attrs


def test_few_topics_like_the_others_draw_no_warning() -> None:
    scores, _ = with_gaps()
    scores = np.where(np.isnan(scores), 0.3, scores)
    scores[2, 7] = np.nan
    said = sc.select(cube_of(scores), drop_missing=True).attrs[names.LEFT_OUT]
    assert said == "39 of 40 topics are used: scores are missing on the others, most of r2 (1)."


def test_pairs_on_their_common_topics_say_so() -> None:
    scores, _ = with_gaps()
    result = sc.analyse(cube_of(scores), sc.Bootstrap(missing="pairwise"), trials=200, seed=1)
    assert any("on the common topics of each pair, of 40 topics" in line for line in headline(result))  # fmt: skip


def test_two_way_means_are_those_of_the_plain_reference() -> None:
    scores, _ = with_gaps()
    scores[3, 4:9] = np.nan
    found = sc.two_way_means(cube_of(scores)).isel(metric=0, gain=0)
    best = minimize_scalar(lambda log: restricted_loss(scores, float(np.exp(log))), bounds=(-12, 12), method="bounded")  # fmt: skip
    means, errors = weighted_means(scores, float(np.exp(best.x)))
    assert found["mean"].values == pytest.approx(means, abs=1e-6)
    assert found["standard_error"].values == pytest.approx(errors, abs=1e-6)


def test_a_leaderboard_by_the_model_has_means_over_all_topics() -> None:
    """Tests are those on the topics that all runs have; the means of all topics, the assumption and the choice are said."""
    scores, _ = with_gaps()
    cube = cube_of(scores)
    result = sc.analyse(cube, sc.Leaderboard(missing="model"), trials=200, seed=1)
    dropped = sc.analyse(sc.select(cube, drop_missing=True), sc.Leaderboard(), trials=200, seed=1)
    for name in ("mean", "mean_low", "rank_low", "rank_high", "best"):
        np.testing.assert_array_equal(result[name], dropped[name])
    expected = sc.two_way_means(cube)
    for name in ("mean", "mean_low", "mean_high"):
        np.testing.assert_array_equal(result[f"model_{name}"], expected[name])
    assert "model_mean" in sc.table(result)
    assert any("25 of 40 topics are used" in each for each in result.attrs["warnings"])
    said = " ".join(headline(result))
    assert "25 of 40 topics are used" in said
    assert "it assumes that no score is missing because" in said
    assert "has the largest mean over all topics" in " ".join(each.sentence for each in sc.findings(result))  # fmt: skip
    whole = simulate_cube(n_runs=4, seed=1)
    complete = sc.analyse(whole, sc.Leaderboard(missing="model"), trials=50, seed=1)
    np.testing.assert_allclose(complete["model_mean"], complete["mean"], atol=1e-9)
    with pytest.raises(BadPlan, match="takes runs, not systems"):
        sc.analyse(whole, sc.Leaderboard(missing="model", by_system=True), trials=50)
    samples = sc.Leaderboard(missing="model").samples(cube, 1, 200)
    again = sc.analyse(cube, sc.Leaderboard(missing="model"), trials=200, samples=samples)
    np.testing.assert_array_equal(again["rank_low"], result["rank_low"])


def test_two_way_means_of_topic_groups_count_groups() -> None:
    cube = simulate_cube(n_runs=4, seed=1)
    groups = [f"g{k // 5:02d}" for k in range(cube.sizes["topic"])]
    found = sc.two_way_means(cube.assign_coords(topic_group=("topic", groups)))
    assert (found["standard_error"] != sc.two_way_means(cube)["standard_error"]).all()
    with pytest.raises(BadPlan, match="scores are missing"):
        sc.two_way_means(cube.where(cube.topic != cube.topic[0]).assign_coords(topic_group=("topic", groups)))  # fmt: skip


def test_two_way_means_of_complete_scores_are_plain() -> None:
    cube = simulate_cube(n_runs=5, seed=2)
    found = sc.two_way_means(cube)
    plain = cube["score"].mean("topic").transpose(*found["mean"].dims)
    assert found["mean"].values == pytest.approx(plain.values, abs=1e-9)
    assert (found["mean_low"] < found["mean"]).all()


def test_a_run_without_scores_has_no_mean() -> None:
    scores, _ = with_gaps()
    scores[1] = np.nan
    found = sc.two_way_means(cube_of(scores)).isel(metric=0, gain=0)
    assert np.isnan(found["mean"].values).tolist() == [False, True, False, False, False, False]


def test_limits_hold_where_hard_topics_are_skipped() -> None:
    """Of a run that lacks its 15 hardest topics the plain mean is far above the truth; limits of the model hold it."""
    held, plain = [], []
    for seed in range(200):
        scores, means = with_gaps(seed)
        one = sc.two_way_means(cube_of(scores)).isel(metric=0, gain=0, run=0)
        held.append(float(one["mean_low"]) <= means[0] <= float(one["mean_high"]))
        plain.append(np.nanmean(scores[0]) - means[0])
    assert np.mean(plain) > 0.05
    assert 0.91 <= np.mean(held) <= 0.99  # standard error .015
