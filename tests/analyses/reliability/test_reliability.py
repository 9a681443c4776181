"""Reliability: published numbers, a plain oracle, unbiased components of all designs, limits of what is defined."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from scipy.stats import t as student

import scorecube as sc
from scorecube.analyses.reliability.reliability import kept_runs
from scorecube.collection import schema
from scorecube.errors import BadPlan
from scorecube.report.results import headline
from scorecube.report.views import view_of
from scorecube.statistics.variance_components import (
    Jackknife,
    facet_coefficients,
    facet_components,
    mean_squares,
    ratios,
    team_components,
)
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, cube_from_scores
from tests.oracles import reliability as oracle
from tests.validation.reliability import Design, coverage

if TYPE_CHECKING:
    from tests.conftest import Cli, Files

Scores = np.ndarray[Any, np.dtype[np.float64]]


def cube_of(scores: Scores, teams: list[str] | None = None) -> xr.Dataset:
    """Return a cube of one metric."""
    runs = [f"r{k:02d}" for k in range(len(scores))]
    topics = [f"t{k:02d}" for k in range(scores.shape[1])]
    cube = cube_from_scores({"AP": pd.DataFrame(scores, runs, topics)})
    return cube if teams is None else cube.assign_coords(team=("run", schema.label_array(teams)))


def of(cube: xr.Dataset, **options: Any) -> xr.Dataset:
    """Return the result of one metric."""
    return analyse(cube, sc.Reliability(**options), trials=1, workers=1).isel(metric=0, gain=0)


def simulated(seed: int, p: int = 9, n: int = 12, systems: float = 0.3) -> Scores:
    random = np.random.default_rng(seed)
    scores = systems * random.normal(size=(p, 1)) + random.normal(size=(1, n)) + random.normal(size=(p, n))  # fmt: skip
    return np.asarray(scores)


# Published numbers


@pytest.mark.data
def test_published_numbers_of_adhoc3(data: Path) -> None:
    """README and manual of gt4ireval: 30 of 40 runs, every digit."""
    frame = pd.read_csv(data / "adhoc3" / "ap.csv").T
    frame.columns = pd.Index([str(column) for column in frame.columns])
    result = analyse(cube_from_scores({"AP": frame}), sc.Reliability(drop=0.25), trials=1)
    (row,) = sc.table(result).to_dict("records")
    shown = ("erho2", "erho2_low", "erho2_high", "phi", "phi_low", "phi_high")
    assert [round(row[name], 5) for name in shown] == [0.93265, 0.89311, 0.96287, 0.78613, 0.66141, 0.88039]  # fmt: skip
    (parts,) = sc.table(result, "components").to_dict("records")
    assert [f"{parts[name]:.5g}" for name in ("systems", "topics", "interaction")] == ["0.0028117", "0.028093", "0.010152"]  # fmt: skip
    assert parts["n_runs"] == 30
    topics = sc.table(result, "topics")[["n_topics", "n_topics_low", "n_topics_high"]]
    assert topics.values.tolist() == [[69, 37, 114], [259, 130, 487]]


@pytest.mark.data
def test_further_published_numbers_of_adhoc3(data: Path) -> None:
    """Vignette of gt4ireval: other numbers of topics, targets and levels of confidence."""
    frame = pd.read_csv(data / "adhoc3" / "ap.csv").T
    frame.columns = pd.Index([str(column) for column in frame.columns])
    cube = cube_from_scores({"AP": frame})
    rows = sc.table(analyse(cube, sc.Reliability(drop=0.25, topic_sizes=(100, 200), target=(0.97, 0.9)), trials=1))  # fmt: skip
    assert round(rows["erho2"][0], 5) == 0.96515
    assert (round(rows["phi_low"][1], 5), round(rows["phi_high"][1], 5)) == (0.88654, 0.96715)
    result = analyse(cube, sc.Reliability(drop=0.25, target=(0.97, 0.9)), trials=1)
    topics = sc.table(result, "topics").set_index(["target", "coefficient"])["n_topics"]
    assert (topics[0.97, "erho2"], topics[0.9, "phi"]) == (117, 123)
    wide = sc.table(analyse(cube, sc.Reliability(drop=0.25, confidence=0.99), trials=1))
    assert (round(wide["erho2_low"][0], 5), round(wide["erho2_high"][0], 5)) == (0.87737, 0.96967)
    narrow = sc.table(analyse(cube, sc.Reliability(drop=0.25, confidence=0.9), trials=1), "topics")
    assert narrow[["n_topics_low", "n_topics_high"]].values.tolist()[1] == [145, 439]


# The oracle


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("systems", [0.0, 0.2, 1.0])
def test_results_are_those_of_the_oracle(seed: int, systems: float) -> None:
    scores = simulated(seed, systems=systems)
    rows = scores.tolist()
    teams = [f"t{k // 2}" for k in range(len(scores))]
    result = of(cube_of(scores, teams), topic_sizes=(5, 12), target=(0.5, 0.8), confidence=0.9)
    np.testing.assert_allclose(result["component"], oracle.components(rows), rtol=1e-10, atol=1e-13)
    for k, size in enumerate((5, 12)):
        at = result.isel(n_topics=k)
        np.testing.assert_allclose(at["value"], oracle.coefficients(rows, size), rtol=1e-9, atol=1e-13)  # fmt: skip
        for which, limits in enumerate((oracle.relative_limits, oracle.absolute_limits)):
            found = [at[f"value_{end}"].values[which] for end in ("low", "high")]
            np.testing.assert_allclose(found, limits(rows, size, 0.9), rtol=1e-9, atol=1e-13)
    if oracle.components(rows)[0] > 0:
        for k, target in enumerate((0.5, 0.8)):
            assert result["topics"].values[:, k].tolist() == list(oracle.topics_for(rows, target))
    both = np.stack([result[f"value_jackknife_{end}"].values for end in ("low", "high")], axis=-1)
    if np.isfinite(both).all():
        limits_of = [oracle.jackknife_limits(rows, teams, size, 0.9) for size in (5, 12)]
        np.testing.assert_allclose(both.swapaxes(0, 1), np.array(limits_of), rtol=1e-8)
    else:  # a topic or a team without which systems do not vary
        assert systems < 1


def test_numbers_of_topics_reach_the_target_and_no_fewer_do() -> None:
    result = of(cube_of(simulated(3, systems=0.6)), target=(0.8, 0.95))
    for k, target in enumerate((0.8, 0.95)):
        for end, which in (("", ""), ("_low", "_high"), ("_high", "_low")):
            ratio = result[f"ratio{which}"].values
            needed = result[f"topics{end}"].values[:, k]
            assert (needed * ratio / (1 + needed * ratio) >= target - 1e-12).all()
            fewer = needed - 1
            assert (fewer * ratio / (1 + fewer * ratio) < target).all()


# Components are unbiased in every design


def expected(
    estimate: Callable[[Scores], Scores], factor: Scores, shape: tuple[int, ...]
) -> Scores:
    """Return the exact expectation of a quadratic form of normal scores with covariance factor @ factor.T: a sum over columns."""
    return np.asarray(np.sum([estimate(column.reshape(shape)) for column in factor.T], axis=0))


def indicator(labels: Any) -> Scores:
    """Return which observation has which level: the factor of an effect with variance 1."""
    _, codes = np.unique(np.asarray(labels), return_inverse=True)
    return np.asarray(np.equal.outer(codes, np.arange(codes.max() + 1)), np.float64)


def test_two_way_components_are_unbiased() -> None:
    p, n = 4, 6
    system, topic = (grid.ravel() for grid in np.indices((p, n)))
    parts = [indicator(system), indicator(topic), np.eye(p * n)]
    for truth in ([1.0, 0.0, 0.0], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0]):
        factor = np.hstack([np.sqrt(v) * part for v, part in zip(truth, parts, strict=True)])
        found = expected(lambda y: np.array(mean_squares(y).components()), factor, (p, n))
        np.testing.assert_allclose(found, truth, atol=1e-12)


@pytest.mark.parametrize("sizes", [(3, 3), (1, 4, 2), (5, 1, 1, 2)])
def test_components_with_teams_of_unequal_sizes_are_unbiased(sizes: tuple[int, ...]) -> None:
    team_of = np.repeat(np.arange(len(sizes)), sizes)
    p, n = len(team_of), 5
    run, topic = (grid.ravel() for grid in np.indices((p, n)))
    team = team_of[run]
    parts = [indicator(team), indicator(run), indicator(topic), indicator(100 * team + topic), np.eye(p * n)]  # fmt: skip
    for truth in (*np.eye(5), np.array([0.1, 0.3, 0.2, 0.15, 0.25])):
        factor = np.hstack([np.sqrt(v) * part for v, part in zip(truth, parts, strict=True)])
        found = expected(lambda y: team_components(y, team_of), factor, (p, n))
        np.testing.assert_allclose(found, truth, atol=1e-12)


def test_components_with_a_third_facet_are_unbiased() -> None:
    p, n, g = 3, 4, 3
    s, t, f = (grid.ravel() for grid in np.indices((p, n, g)))
    parts = [indicator(s), indicator(t), indicator(f), indicator(10 * s + t), indicator(10 * s + f), indicator(10 * t + f), np.eye(p * n * g)]  # fmt: skip
    for truth in (*np.eye(7), np.arange(1.0, 8.0)):
        factor = np.hstack([np.sqrt(v) * part for v, part in zip(truth, parts, strict=True)])
        found = expected(facet_components, factor, (p, n, g))
        np.testing.assert_allclose(found, truth, atol=1e-11)


@pytest.mark.parametrize("larger", [0.0, 1e6, 1e9])
@pytest.mark.parametrize("topics", [1, 40])
def test_mean_squares_of_large_scores_are_those_of_exact_fractions(
    larger: float, topics: int
) -> None:
    """Scores less their means are added: what is lost are the digits that such scores do not have."""
    scores = np.random.default_rng(1).normal(0.5, 0.1, (6, 40))
    scores[:, :topics] += larger
    exact = [[Fraction(score) for score in row] for row in scores.tolist()]
    grand = sum(map(sum, exact)) / 240
    by_run = [sum(row) / 40 - grand for row in exact]
    by_topic = [sum(column) / 6 - grand for column in zip(*exact, strict=True)]
    rest = [
        (score - grand - by_run[i] - by_topic[k]) ** 2
        for i, row in enumerate(exact)
        for k, score in enumerate(row)
    ]
    expected = [40 * sum(x * x for x in by_run) / 5, 6 * sum(x * x for x in by_topic) / 39, sum(rest) / 195]  # fmt: skip
    found = mean_squares(scores)[:3]
    error = 1e-12 + larger * 2e-14  # where runs differ by about 0.01
    assert [float(each) for each in found] == pytest.approx(list(map(float, expected)), rel=error)


def test_mean_squares_of_several_tables_are_those_of_each() -> None:
    tables = np.random.default_rng(3).random((2, 3, 4, 5))
    found = mean_squares(tables)
    for place in np.ndindex(2, 3):
        each = mean_squares(tables[place])
        for several, one in zip(found[:3], each[:3], strict=True):
            assert several[place] == pytest.approx(one, rel=1e-12)


def test_coefficients_with_a_third_facet_are_ratios_of_variances() -> None:
    """Variances 1, 2, ... 7 of s, t, f, st, sf, tf and the rest; 4 levels and 5 topics."""
    of_one, of_all = 4 / 5 + 5 + 7 / 5, 4 / 5 + 5 / 4 + 7 / 20
    expected = [
        1 / (1 + of_one),
        1 / (1 + of_one + 2 / 5 + 3 + 6 / 5),
        1 / (1 + of_all),
        (1 + 5 / 4) / (1 + of_all),
    ]
    np.testing.assert_allclose(facet_coefficients(np.arange(1.0, 8.0), 4, 5), expected, rtol=1e-12)
    without = facet_coefficients(np.array([1.0, -2, -3, 4, -5, -6, 7]), 4, 5)
    np.testing.assert_allclose(without, [1 / 3.2, 1 / 3.2, 1 / 2.15, 1 / 2.15], rtol=1e-12)


def test_fixed_levels_are_the_two_way_analysis_of_their_means() -> None:
    random = np.random.default_rng(4)
    by_level = 0.5 * random.normal(size=(6, 1, 4)) + 0.3 * random.normal(size=(6, 8, 4))
    scores = simulated(2, 6, 8, 1.0)[..., np.newaxis] + by_level
    found = facet_components(scores)
    assert (found[[0, 3, 4]] > 0).all()
    ratio = ratios(mean_squares(scores.mean(axis=-1)))[0]
    fixed = facet_coefficients(found, 4, 20)[-1]
    assert fixed == pytest.approx(20 * ratio / (1 + 20 * ratio), rel=1e-12)


# Facets and teams of a cube


def test_gain_settings_are_a_third_facet() -> None:
    cube = simulate_cube(n_runs=10, gains=("3:2:1", "1:1:1", "10:5:1"), seed=2)
    table = sc.table(analyse(cube, sc.Reliability(topic_sizes=(25, 50)), trials=1), "facets")
    assert table["metric"].tolist() == ["nDCG@10", "nDCG@10"]  # AP uses no gains
    assert set(table["facet"]) == {"gains"}
    assert set(table["n_levels"]) == {3}
    assert (table["erho2_one"] < table["erho2_all"]).all()
    assert (table["erho2_all"] <= table["erho2_fixed"]).all()
    scores = np.moveaxis(cube["score"].sel(metric="nDCG@10").values, 0, -1)
    parts = facet_components(scores)
    np.testing.assert_allclose(table.loc[0, ["systems", "interaction"]].astype(float), parts[[0, 6]])  # fmt: skip


def test_sets_of_judgements_are_a_third_facet() -> None:
    cube = simulate_cube(n_runs=8, gains=("3:2:1", "1:1:1"), seed=2)
    other = cube.assign(score=cube["score"] * 0.5 + 0.1 * cube["score"].isel(topic=slice(None, None, -1)).values)  # fmt: skip
    both = sc.judgement_sets(cube, other, ("official", "crowd"))
    table = sc.table(analyse(both, sc.Reliability(), trials=1), "facets")
    assert table["facet"].tolist() == ["judgements 3:2:1", "judgements 1:1:1"] * 2
    scores = np.stack([both["score"].sel(metric="AP", gain=f"{name} 1:1:1").values for name in ("official", "crowd")], axis=-1)  # fmt: skip
    np.testing.assert_allclose(table["systems"].to_numpy()[1], max(facet_components(scores)[0], 0))


def test_teams_are_left_out_whole_and_nest_runs() -> None:
    scores = simulated(5, 12, 20, 0.5)
    alone = of(cube_of(scores, [f"t{k}" for k in range(12)]))
    grouped = of(cube_of(scores, [f"t{k // 3}" for k in range(12)]))
    plain = of(cube_of(scores))
    assert "team_component" not in plain
    assert "team_component" not in alone
    np.testing.assert_allclose(plain["value_jackknife_low"], alone["value_jackknife_low"])
    assert not np.isclose(grouped["value_jackknife_low"], plain["value_jackknife_low"]).any()
    xr.testing.assert_equal(grouped["value_low"], plain["value_low"])
    teams = [k // 3 for k in range(12)]
    parts = np.maximum(team_components(scores, teams), 0.0)
    np.testing.assert_allclose(grouped["team_component"], parts)
    assert float(grouped["same_team"][0]) == pytest.approx(parts[1] / (parts[1] + parts[4] / 20))
    both = parts[0] + parts[1]
    assert float(grouped["different_teams"][0]) == pytest.approx(both / (both + (parts[3] + parts[4]) / 20))  # fmt: skip


def test_limits_with_nested_runs_leave_out_each_topic_and_team() -> None:
    scores = simulated(5, 12, 20, 1.0)
    teams = np.array([k // 3 for k in range(12)])
    result = of(cube_of(scores, [f"t{k}" for k in teams]), topic_sizes=(50,), confidence=0.9)

    def logs(table: Scores, of_team: Any) -> Scores:
        team, run, _, team_topic, run_topic = np.maximum(team_components(table, of_team), 0.0)
        return np.log([(team + run) / (team_topic + run_topic), run / run_topic])

    groups = [
        [logs(np.delete(scores, topic, axis=1), teams) for topic in range(20)],
        [logs(scores[teams != team], teams[teams != team]) for team in range(4)],
    ]
    parts = np.array([np.var(each, axis=0) * (len(each) - 1) for each in groups])
    freedom = parts.sum(axis=0) ** 2 / (parts[0] ** 2 / 19 + parts[1] ** 2 / 3)
    reach = student.ppf(0.95, freedom) * np.sqrt(parts.sum(axis=0))
    for k, name in enumerate(("different_teams", "same_team")):
        for end, sign in (("_low", -1), ("_high", 1)):
            ratio = 50 * np.exp(logs(scores, teams)[k] + sign * reach[k])
            assert float(result[name + end][0]) == pytest.approx(ratio / (1 + ratio), rel=1e-9)


# What is left out


@pytest.mark.parametrize("drop", [0.0, 0.1, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("p", [5, 8, 21])
def test_kept_runs_are_those_at_or_above_the_quantile(drop: float, p: int) -> None:
    scores = np.random.default_rng(p).integers(0, 5, (p, 6)) / 10  # with ties
    means = np.rint(scores.sum(axis=1) * 10)
    assert kept_runs(scores, drop).tolist() == (means >= np.quantile(means, drop) - 1e-9).tolist()


def test_dropped_runs_are_those_of_a_smaller_cube() -> None:
    cube = simulate_cube(n_runs=12, seed=3).sel(metric=["AP"])
    best = sc.select(cube, top_runs=9)
    dropped, smaller = (analyse(each, sc.Reliability(drop=drop), trials=1) for each, drop in ((cube, 0.25), (best, 0.0)))  # fmt: skip
    assert int(dropped["n_runs"][0, 0]) == 9
    for name in ("component", "value", "value_low", "value_jackknife_high", "topics"):
        np.testing.assert_array_equal(dropped[name].values, smaller[name].values)


# Limits of what is defined


def test_negative_components_are_zero_and_said() -> None:
    grid = np.array([[0.1, 0.9, 0.5], [0.9, 0.1, 0.5], [0.5, 0.5, 0.5]])
    result = analyse(cube_of(grid), sc.Reliability(), trials=1)
    (row,) = sc.table(result, "components").to_dict("records")
    assert row["negative"] == "systems, topics"
    assert (row["systems"], row["topics"]) == (0.0, 0.0)
    (value,) = sc.table(result).to_dict("records")
    assert (value["erho2"], value["phi"], value["erho2_low"]) == (0.0, 0.0, 0.0)
    topics = sc.table(result, "topics")
    assert topics["n_topics"].isna().all()
    said = " ".join(headline(result))
    assert "negative estimates of variance, which count as 0: systems, topics by AP" in said
    assert "no number of topics gives an E rho^2 of 0.95" in said


def test_equal_scores_define_no_coefficient() -> None:
    result = analyse(cube_of(np.full((4, 5), 0.5)), sc.Reliability(), trials=1)
    (row,) = sc.table(result).to_dict("records")
    assert np.isnan(row["erho2"])
    assert np.isnan(row["phi"])
    assert headline(result) == ["all scores are equal: no coefficient is defined"]


def test_systems_without_error_are_reliable_with_one_topic() -> None:
    scores = np.array([[0.25], [0.5], [0.75]]) + np.array([[0.0, 0.125, 0.0625, 0.0]])
    result = of(cube_of(scores))
    assert float(result["value"].sel(coefficient="erho2")[0]) == 1.0
    assert float(result["topics"].sel(coefficient="erho2")[0]) == 1.0
    assert 0 < float(result["value"].sel(coefficient="phi")[0]) < 1


def test_few_topics_or_teams_have_no_jackknife_interval() -> None:
    two_topics = of(cube_of(simulated(1, 6, 2, 1.0)))
    two_teams = of(cube_of(simulated(1, 6, 8, 1.0), ["a", "a", "a", "b", "b", "b"]))
    for result in (two_topics, two_teams):
        assert np.isnan(result["value_jackknife_low"]).all()
        assert np.isfinite(result["value_low"]).all()
    assert " by F)" in " ".join(headline(analyse(cube_of(simulated(1, 6, 2, 1.0)), sc.Reliability(), trials=1)))  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": 0.9}, "leaves fewer than 2 of 6 runs"),
        ({"drop": 1.0}, "drop"),
        ({"target": (1.0,)}, "target"),
        ({"topic_sizes": (0,)}, "topic_sizes"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadPlan, match=message):
        analyse(simulate_cube(n_runs=6), sc.Reliability(**options), trials=1)


def test_missing_scores_and_geometric_means_are_refused() -> None:
    cube = simulate_cube(n_runs=6)
    cube["score"][0, 0, 0, 0] = np.nan
    with pytest.raises(BadPlan, match="1 scores are missing"):
        analyse(cube, sc.Reliability(), trials=1)


# Blocks and commands


def test_any_cut_into_blocks_gives_the_same_result() -> None:
    cube = simulate_cube(n_runs=8, gains=("3:2:1", "1:1:1"), seed=5)
    whole, cut = (analyse(cube, sc.Reliability(), trials=1, block_units=units) for units in (None, 1))  # fmt: skip
    xr.testing.assert_identical(whole.drop_attrs(deep=False), cut.drop_attrs(deep=False))


def test_command_has_its_own_topics_and_no_seed(scorecube: Cli, study: Path) -> None:
    run = scorecube("reliability", study, "--topics", "4,8", "--target", "0.5,0.9").succeeded()
    assert "E rho^2" in run.stdout
    assert "already" in scorecube("reliability", study, "--topics", "4,8", "--target", "0.5,0.9").succeeded().stderr  # fmt: skip
    shown = scorecube("show", study, "reliability", "--format", "csv").succeeded().stdout
    assert {line.split(",")[3] for line in shown.splitlines()[1:]} == {"4", "8"}
    helped = scorecube("reliability", "--help").succeeded().stdout
    assert "--seed" not in helped
    assert "--trials" not in helped


def test_two_collections_are_sets_of_judgements(
    scorecube: Cli, study: Path, files: Files, tmp_path: Path
) -> None:
    """Of the same runs: a third facet, and a coefficient for each set."""
    lines = files.qrels.read_text().splitlines()
    half = tmp_path / "half.txt"
    half.write_text("\n".join(lines[::2]) + "\n")
    given = [half if word == str(files.qrels) else word for word in files.options()]
    scorecube("evaluate", study, "--name", "half", *given, "--metrics", "AP").succeeded()
    sets = ["--judgement-sets", "--collections", "small,half"]
    scorecube("reliability", study, *sets, "--metrics", "AP", "--gains", "auto").succeeded()
    words = ["show", study, "reliability", "--format", "csv"]
    facets = scorecube(*words, "--table", "facets").succeeded().stdout
    (row,) = csv.DictReader(io.StringIO(facets))
    assert (row["facet"], row["n_levels"]) == ("judgements", "2")
    shown = scorecube(*words).succeeded().stdout
    assert [row["gain"] for row in csv.DictReader(io.StringIO(shown))] == ["small", "half"]
    refused = scorecube("reliability", study, "--judgement-sets", "--collection", "small")
    assert refused.status == 1
    assert (
        "reliability compares two sets of judgements, each a collection; found 1" in refused.stderr
    )


def test_page_shows_the_intervals_that_hold_first() -> None:
    cube = cube_of(simulated(5, 12, 20, 0.5), [f"t{k // 3}" for k in range(12)])
    result = analyse(cube, sc.Reliability(), trials=1)
    view = view_of("reliability")
    frames = {name: table.make(result) for name, table in view.tables.items()}
    shown = dict(view.page_tables(frames))
    assert list(shown) == ["Coefficients", "Variance components", "Topics for a target", "Runs nested in teams"]  # fmt: skip
    columns = list(shown["Coefficients"].columns)
    assert columns.index("phi_jackknife_high") < columns.index("erho2_low")
    assert next(text for text, _ in view.cautions(result, frames)).startswith("Runs of a team")


def test_average_over_collections_keeps_numbers_of_topics_apart() -> None:
    from scorecube.report.tables import averages

    parts = []
    for seed, name in ((1, "a"), (2, "b")):
        cube = simulate_cube(n_runs=8, seed=seed).sel(metric=["AP"])
        result = analyse(cube, sc.Reliability(topic_sizes=(10, 50)), trials=1)
        parts.append(sc.table(result.assign_attrs(collection=name)))
    found = averages(pd.concat(parts, ignore_index=True))
    assert found["n_topics"].tolist() == [10, 50]
    np.testing.assert_allclose(found["erho2"], (parts[0]["erho2"] + parts[1]["erho2"]) / 2)


# Coverage


@pytest.mark.slow
def test_intervals_cover_what_the_page_says() -> None:
    """F intervals hold for independent normal effects only; the jackknife's also for skewed ones and teams."""
    for design, least in ((Design("normal", 40, 25), 0.93), (Design("skewed", 40, 50, 4), 0.0)):
        found = {name: held.mean() for name, held in coverage(design, 500, 1).items()}
        for which in ("E rho^2", "Phi"):
            assert found[f"{which}, F"] >= least
            assert found[f"{which}, jackknife"] >= 0.92
    assert found["E rho^2, F"] < 0.8


def test_ratios_without_a_logarithm_or_a_variance_have_no_limits() -> None:
    logs, variances = np.array([0.0, np.inf, -np.inf, 0.0]), np.array([0.04, 0.04, 0.04, np.inf])
    low, high = Jackknife(logs, variances, np.full(4, 9.0)).limits(0.95)
    reach = 0.2 * float(student.ppf(0.975, 9))
    assert (low[0], high[0]) == pytest.approx((np.exp(-reach), np.exp(reach)))
    assert np.isnan([low[1:], high[1:]]).all()
