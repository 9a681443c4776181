"""Leaving teams out: both ways to compute scores agree, blocks and workers change nothing, given samples repeat a result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import scorecube as sc
from scorecube.analyses.leave_out.rescored_runs import (
    check_levels,
    check_metrics,
    rescoring_inputs,
    scores_without,
)
from scorecube.analyses.leave_out.teams import Teams
from scorecube.collection.pools import build_pools, removed_when_left_out, team_bits
from scorecube.design.variance import within_system_variance
from scorecube.errors import BadPlan, BadStudy
from scorecube.kernels.pools.contributing_teams import remaining_levels
from scorecube.metrics import DEFINITIONS, gain_values, parse_metric
from scorecube.testing import simulate_cube, simulate_rankings

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
    return list(
        dict.fromkeys(
            str(parse_metric(name + setting + cutoff)) for setting in settings for cutoff in cutoffs
        )
    )


@pytest.mark.parametrize("name", DEFINITIONS)
@pytest.mark.parametrize("keep_unpooled", [True, False])
def test_masked_scores_are_those_of_masked_lists(
    rankings: xr.Dataset, name: str, keep_unpooled: bool
) -> None:
    labels = names_of(name)
    cube = sc.with_rankings(sc.evaluate(rankings, labels, GAINS), rankings)
    pools = build_pools(rankings, 10)
    inputs = rescoring_inputs(cube, pools, check_metrics(cube), keep_unpooled)
    assert DEFINITIONS[name].entry_form is None or inputs["sparse"].any()
    left_out = np.array([True, False, True, False, False])
    runs = np.flatnonzero(~left_out[pools.team_of])
    found = scores_without(inputs, team_bits(left_out), keep_all_runs=False)
    gone, judged = pools.without(left_out, keep_unpooled)
    assert gone.any()
    assert (judged.sum(axis=1) == ((pools.levels >= 0) & ~gone).sum(axis=1)).all()
    levels = remaining_levels(
        rankings["level_at_rank"].values, rankings["document_at_rank"].values, gone, runs
    )
    for label, gains, scores in zip(inputs["metrics"], inputs["gains"], found, strict=True):
        expected = parse_metric(str(label)).score(levels, judged, gains)
        np.testing.assert_array_equal(scores.T, expected, err_msg=str(label))
    assert set(map(tuple, inputs["gains"].tolist())) <= {
        tuple(gain_values(gain, 3).tolist()) for gain in GAINS
    }


def test_blocks_and_workers_change_nothing(cube: xr.Dataset) -> None:
    analysis = Teams(topic_sizes=(25, 10))
    whole = sc.analyse(cube, analysis, trials=7, seed=5, workers=1)
    for workers, units in ((1, 3), (2, 1)):
        found = sc.analyse(cube, analysis, trials=7, seed=5, workers=workers, block_units=units)
        xr.testing.assert_equal(found, whole)
    fewer = sc.analyse(cube, analysis, trials=4, seed=5, workers=1)
    np.testing.assert_array_equal(fewer["variance"], whole["variance"].isel(trial=slice(4)))
    other = sc.analyse(cube, analysis, trials=7, seed=6, workers=1)
    assert not other["team_left_out"].equals(whole["team_left_out"])


def test_samples_are_those_of_the_result(cube: xr.Dataset) -> None:
    analysis = Teams(leave=(1, 3), topic_sizes=(25, 10))
    result = sc.analyse(cube, analysis, trials=6, seed=5, workers=1)
    drawn = analysis.samples(cube, 5, 6)
    np.testing.assert_array_equal(drawn["team_left_out"], result["team_left_out"])
    np.testing.assert_array_equal(drawn["topic_place"], result["topic_place"])
    alone = replace(analysis, topic_sizes=None).samples(cube, 5, 6)
    assert list(alone.data_vars) == ["team_left_out"]
    np.testing.assert_array_equal(alone["team_left_out"], drawn["team_left_out"][1:])


def test_each_trial_draws_its_own_topics(cube: xr.Dataset) -> None:
    analysis = Teams(topic_sizes=(10,))
    result = sc.analyse(cube, analysis, trials=10, seed=3, workers=1)
    first = result["topic_place"].isel(leave=1) < 10
    assert (first.sum("topic") == 10).all()
    assert len({tuple(row) for row in first.values}) == 10


def test_sets_are_of_their_size(cube: xr.Dataset) -> None:
    result = sc.analyse(cube, Teams(topic_sizes=(10, 25)), trials=5, seed=1, workers=1)
    assert result["leave"].values.tolist() == [0, 1, 2, 3, 4]
    assert (result["team_left_out"].sum("team") == result["leave"]).all()
    assert result["topic_step"].values.tolist() == [50, 25, 10]
    teams = result["team_of_run"].values
    for k, trial in ((1, 0), (3, 4)):
        gone = result["team"].values[result["team_left_out"].values[k, trial]]
        assert int(result["n_runs"][k, trial]) == sum(team not in gone for team in teams)


def test_the_whole_and_its_variance_come_first(cube: xr.Dataset) -> None:
    result = sc.analyse(cube, Teams(topic_sizes=(10,)), trials=3, seed=1, workers=1)
    np.testing.assert_allclose(
        result["variance_mean"].values[..., 0, 0],
        within_system_variance(cube["score"].values),
        rtol=1e-12,
    )
    kept = result["topic_place"].isel(leave=0, trial=0).values < 10
    np.testing.assert_allclose(
        result["variance_mean"].sel(metric="Q").values[..., 0, 1],
        within_system_variance(cube["score"].sel(metric="Q").values[..., kept]),
        rtol=1e-12,
    )
    np.testing.assert_allclose(result["own_mean"], cube["score"].mean("topic"), rtol=1e-12)
    assert np.isnan(result["variance_low"].values[:, :, 0]).all()


def test_a_cube_without_rankings_is_refused(cube: xr.Dataset) -> None:
    with pytest.raises(BadPlan, match="evaluate the runs again with replace=True"):
        sc.analyse(simulate_cube(n_runs=4), Teams(), trials=2)
    changed = cube.assign(score=cube["score"] * 0.5)
    with pytest.raises(BadPlan, match="scores of AP differ from scores of the rankings"):
        sc.analyse(changed, Teams(), trials=2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"leave": (5,)}, "of 5 teams 1 to 4 can be left out"),
        ({"leave": ()}, "expected a list that is not empty"),
        ({"topic_sizes": (51,)}, "51 of the 50 topics"),
        ({"pool_depth": 0}, "expected a whole number of at least 1"),
        ({"confidence": 1.0}, "above 0 and below 1"),
    ],
)
def test_impossible_options_are_refused(
    cube: xr.Dataset, options: dict[str, object], message: str
) -> None:
    with pytest.raises(BadPlan, match=message):
        sc.analyse(cube, Teams(**options), trials=2)  # type: ignore[arg-type]


def test_classes_of_answers_are_refused(cube: xr.Dataset) -> None:
    lowered = cube.assign(
        level_at_rank=cube["level_at_rank"].where(cube["level_at_rank"] < 2, 0).astype(np.int8)
    )
    with pytest.raises(BadPlan, match="classes of answers"):
        check_levels(lowered)


@pytest.mark.parametrize("n_teams", [63, 64, 65, 130])
def test_any_number_of_teams(n_teams: int) -> None:
    rankings = simulate_rankings([[3, 2]] * 4, n_runs=n_teams, n_teams=n_teams, depth=15, seed=2)
    pools = build_pools(rankings, 3)
    contributed = [
        {(topic, int(document)) for topic in range(4) for document in own[topic, :3]}
        for own in rankings["document_at_rank"].values
    ]
    for team in (0, n_teams // 2, n_teams - 1):
        others = set().union(*(found for k, found in enumerate(contributed) if k != team))
        gone = pools.without(np.arange(n_teams) == team)[0]
        assert (
            set(zip(*(part.tolist() for part in np.nonzero(gone)), strict=True))
            == contributed[team] - others
        )
        assert pools.n_unique()[team] == len(contributed[team] - others)
    assert removed_when_left_out(rankings, 3)["team"].value_counts().sum() == pools.n_unique().sum()


def test_one_remaining_run_has_a_variance_but_no_ranking(cube: xr.Dataset) -> None:
    one = cube.sel(run=[run for run in cube["run"].values if run.endswith("run1")])
    result = sc.analyse(one, Teams(leave=(4,)), trials=3, seed=1, workers=1).sel(
        metric="AP", gain="auto", leave=4
    )
    assert (result["n_runs"] == 1).all()
    assert result["variance"].values.min() > 0
    assert np.isnan(result["tau"].values).all()


def test_the_command_stores_and_extends(scorecube: Cli, study: Path) -> None:
    how = ["--leave", "1,2", "--topics", "8,5,3", "--pool-depth", 10, "--seed", 3]
    said = scorecube("teams", study, *how, "--trials", 4, block_units=2).succeeded().stderr
    assert "are in no team's pool of depth 10" in said

    more = scorecube("teams", study, *how, "--trials", 6).succeeded().stderr
    assert "4 trials are recorded already" in more
    chosen = scorecube(
        "teams", study, "--only-topics", "001,002,003,004", "--metrics", "AP", "--trials", 2
    ).succeeded()
    assert "nothing to do" not in chosen.stderr
    table = pd.DataFrame(sc.table(sc.open_study(study)["small"].result("teams")))
    assert set(table["n_topics_wanted"]) == {4}


def test_imported_scores_are_refused(scorecube: Cli, tmp_path: Path) -> None:
    (tmp_path / "ap.csv").write_text("a,b\n0.5,1\n0.25,0\n")
    scorecube("import", tmp_path / "s", "--name", "x", tmp_path / "ap.csv").succeeded()
    refused = scorecube("teams", tmp_path / "s")
    assert refused.status == 1
    assert "imported as scores and has no rankings" in refused.stderr
    with pytest.raises(BadStudy):
        _ = sc.open_study(tmp_path / "s")["x"].rankings
