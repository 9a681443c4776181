"""Leaving teams out: filtered lists score as plain evaluation, blocks change nothing, samples are those of the result, depths of pools."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import xarray as xr
from scipy import stats

import scorecube as sc
from scorecube.analyses.topic_units import groups_left_out
from scorecube.collection.pools import WITHOUT_POOL, build_pools, estimate_pool_depth
from scorecube.errors import BadPlan
from scorecube.methods.teams.judged_runs import judged_runs
from scorecube.methods.teams.record import Teams
from scorecube.metrics import DEFINITIONS, gain_values, parse_metric
from scorecube.testing import simulate_cube, simulate_rankings
from tests.metrics.test_against_oracles import PLAIN

if TYPE_CHECKING:
    from tests.conftest import Cli

GAINS = ("auto", "1:1:1", "10:0:0")
METRICS = ["AP", "Q", "nDCG@10", "bpref", "AP(rel=3)"]


@pytest.fixture(scope="module")
def rankings() -> xr.Dataset:
    return simulate_rankings(n_runs=12, n_teams=5, depth=120, seed=3)


@pytest.fixture(scope="module")
def cube(rankings: xr.Dataset) -> xr.Dataset:
    return sc.with_rankings(sc.evaluate(rankings, METRICS, ["auto", "1:1:1"]), rankings)


def names_of(name: str) -> list[str]:
    """Return a metric with all kinds of settings."""
    definition = DEFINITIONS[name]
    cutoffs = {
        "none": [""],
        "optional": ["", "@1", "@10", "@500"],
        "required": ["@1", "@10", "@500"],
    }[definition.cutoff]
    settings = ["", "(rel=2)", "(rel=3)", "(judged_only=True)"]
    settings += [
        f"({key}={word})" for key, each in definition.parameters.items() for word in each.words
    ]
    settings += ["(b=2)", "(b=0)"] if "b" in definition.parameters else []
    # The highest gain of the setting is 10, above gdeval's highest level.
    if "max" in definition.parameters:
        settings = [setting.replace("form=exp2", "form=exp2,max=10") for setting in settings]
    return list(
        dict.fromkeys(
            str(parse_metric(name + setting + cutoff)) for setting in settings for cutoff in cutoffs
        )
    )


@pytest.mark.parametrize("name", PLAIN)
@pytest.mark.parametrize("keep_unpooled", [True, False])
def test_filtered_lists_score_as_lists_of_which_documents_are_unjudged(
    rankings: xr.Dataset, name: str, keep_unpooled: bool
) -> None:
    cube = sc.with_rankings(sc.evaluate(rankings, names_of(name), GAINS), rankings)
    pools = build_pools(rankings, 10)
    table = judged_runs(cube, 10, keep_unpooled)
    left_out = np.array([True, False, True, False, False])
    runs = np.flatnonzero(~left_out[pools.team_of])
    found = table.scores_without(left_out, runs)
    gone, judged = pools.without(left_out, keep_unpooled)
    assert gone.any()
    assert (judged.sum(axis=1) == ((pools.levels >= 0) & ~gone).sum(axis=1)).all()
    documents = rankings["document_at_rank"].values[runs]
    stays = (documents >= 0) & ~gone[np.arange(len(gone))[:, np.newaxis], documents]
    levels = np.where(stays, rankings["level_at_rank"].values[runs], np.int8(-1))
    for (metric, gains), scores in zip(table.measures, found, strict=True):
        expected = metric.score(levels, judged, gains)
        np.testing.assert_array_equal(scores, expected, err_msg=str(metric))
    known = {tuple(gain_values(gain, 3).tolist()) for gain in GAINS}
    assert {tuple(gains.tolist()) for _, gains in table.measures} <= known


def test_each_trial_draws_its_own_topics(cube: xr.Dataset) -> None:
    drawn = sc.samples(cube, Teams(topic_sizes=(10,)), trials=10, seed=3)
    assert (drawn["team_left_out"].sum("team") == drawn["leave"]).all()
    first = drawn["topic_place"].isel(leave=1) < 10
    assert (first.sum("topic") == 10).all()
    assert len({tuple(row) for row in first.transpose("trial", ...).values}) == 10
    other = sc.samples(cube, Teams(topic_sizes=(10,)), trials=10, seed=4)
    assert not other["team_left_out"].equals(drawn["team_left_out"])


def test_first_misses_are_of_the_estimate_of_all_topics() -> None:
    result = made(10, 1, topic_sizes=(25, 10))
    whole = result["variance_mean"].sel(leave=0).isel(topic_step=0, drop=True)
    outside = (result["variance_low"] > whole) | (result["variance_high"] < whole)
    first = result["leave"].where(outside).min("leave")
    xr.testing.assert_equal(result["first_miss"].drop_attrs(), first.drop_attrs())
    assert np.isfinite(first.isel(topic_step=slice(1, None))).any()


@pytest.mark.parametrize("options", [{"leave": (5,)}, {"topic_sizes": (51,)}])
def test_more_than_there_are_cannot_be_left_out(cube: xr.Dataset, options: Any) -> None:
    with pytest.raises(BadPlan):
        sc.analyse(cube, Teams(**options), trials=1)


def test_a_cube_without_its_rankings_is_refused(cube: xr.Dataset) -> None:
    with pytest.raises(BadPlan, match=r"use sc\.with_rankings\(cube, rankings\)"):
        sc.analyse(simulate_cube(n_runs=4), Teams(), trials=2)
    with pytest.raises(BadPlan, match="AP differ"):
        sc.analyse(cube.assign(score=cube["score"] * 0.5), Teams(), trials=2)
    groups = ("topic", [f"g{k // 2}" for k in range(cube.sizes["topic"])])
    with pytest.raises(BadPlan, match="groups"):
        sc.analyse(cube.assign_coords(topic_group=groups), Teams(), trials=2)
    lowered = cube["level_at_rank"].where(cube["level_at_rank"] < 2, 0).astype(np.int8)
    with pytest.raises(BadPlan, match="classes of answers"):
        sc.analyse(cube.assign(level_at_rank=lowered), Teams(), trials=2)


def made(trials: int, seed: int, **options: Any) -> xr.Dataset:
    rankings = simulate_rankings(n_runs=16, n_teams=8, depth=30, seed=3)
    cube = sc.with_rankings(sc.evaluate(rankings, ["AP", "nDCG@10"], ["3:2:1"]), rankings)
    return sc.analyse(cube, Teams(**options), trials=trials, seed=seed)


def pooled(depths: dict[str, int], n_topics: int = 10, length: int = 30) -> xr.Dataset:
    """Return rankings of one run a team, each judged to its depth and no further."""
    rankings = simulate_rankings(n_runs=len(depths), n_teams=len(depths), depth=length, seed=1)
    rankings = rankings.isel(topic=slice(n_topics))
    documents = rankings["document_at_rank"].transpose("run", "topic", "rank").copy()
    for run, depth in enumerate(depths.values()):
        documents.values[run, :, :depth] = 0
        documents.values[run, :, depth:] = -1
    retrieved = rankings["n_retrieved"].copy(data=np.full(rankings["n_retrieved"].shape, length))
    return rankings.assign(document_at_rank=documents, n_retrieved=retrieved)


def test_the_depth_is_what_half_of_the_teams_reach() -> None:
    found = estimate_pool_depth(pooled({"a": 7, "b": 7, "c": 0, "d": 20}))
    assert found == (7, 3)
    assert estimate_pool_depth(pooled({"a": 7, "b": 20, "c": 0, "d": 20})).depth == 20
    assert estimate_pool_depth(pooled({"a": 0, "b": 20, "c": 0})) == (WITHOUT_POOL, 0)


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "qrels", "depth"),
    [("trec8-adhoc", "qrels.txt.gz", 100), ("trec-covid-r1", "qrels.txt", 7)],
)
def test_depths_of_public_collections_are_found(
    data: Path, name: str, qrels: str, depth: int
) -> None:
    folder = data / name
    rankings = sc.read_rankings(folder / "runs", folder / qrels, folder / "teams.csv")
    assert estimate_pool_depth(rankings).depth == depth


def test_more_trials_extend(scorecube: Cli, study: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(study, tmp_path / "copy.zarr")
    how = ["--topics", "6,4", "--seed", 3]
    scorecube("teams", study, *how, "--trials", 4, block_units=2).succeeded()
    first = sc.open_study(study)["small"].result("teams")
    scorecube("teams", study, *how, "--trials", 9).succeeded()
    extended = sc.open_study(study)["small"].result("teams")
    before = extended["variance"].isel(trial=slice(4))
    xr.testing.assert_equal(before.drop_attrs(), first["variance"].drop_attrs())
    scorecube("teams", copy, *how, "--trials", 9).succeeded()
    repeated = sc.open_study(copy)["small"].result("teams")
    xr.testing.assert_equal(repeated.drop_attrs(), extended.drop_attrs())


def test_limits_over_topics_are_those_of_collections_without_a_group_of_topics() -> None:
    """The jackknife of what is computed anew from fewer topics, of the change of scores and of ranks."""
    rankings = simulate_rankings(n_runs=12, n_teams=4, depth=30, seed=2)
    cube = sc.with_rankings(sc.evaluate(rankings, ["nDCG@10", "AP"], ["3:2:1"]), rankings)
    teams = sc.Teams(leave=(1,), pool_depth=15, drop_unpooled=True)
    whole = sc.analyse(cube, teams, trials=1)
    group = groups_left_out([50])
    parts = [cube.isel(topic=np.flatnonzero(group != k)) for k in range(10)]
    fewer = [sc.analyse(part, teams, trials=1) for part in parts]
    for name in ("change", "rank_change"):
        replicates = np.array([of[f"{name}_mean"].values for of in fewer])
        mean = whole[f"{name}_mean"].values
        variance = 0.9 * ((replicates - replicates.mean(axis=0)) ** 2).sum(axis=0)
        half = stats.t.ppf(0.975, 9) * np.sqrt(variance)
        np.testing.assert_allclose(whole[f"{name}_topics_low"], mean - half, atol=1e-12)
        np.testing.assert_allclose(whole[f"{name}_topics_high"], mean + half, atol=1e-12)
        assert (half > 0).any()
