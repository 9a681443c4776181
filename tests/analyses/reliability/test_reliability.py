"""Reliability: published numbers, a plain oracle, unbiased components of all designs, limits of what is defined."""

from __future__ import annotations

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
from scorecube.collection import schema
from scorecube.errors import BadPlan
from scorecube.report.results import headline
from scorecube.report.views import view_of
from scorecube.statistics.variance_components import Jackknife, mean_squares
from scorecube.testing import simulate_cube
from scorecube.workflow.api import analyse, cube_from_scores
from tests.oracles import reliability as oracle
from tests.validation.reliability import Design, coverage

if TYPE_CHECKING:
    from tests.conftest import Cli

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


def best_of_adhoc3(data: Path) -> xr.Dataset:
    """Return AP of the 30 of 40 runs whose means are at least their lower quartile, as in the published analyses."""
    frame = pd.read_csv(data / "adhoc3" / "ap.csv").T
    frame.columns = pd.Index([str(column) for column in frame.columns])
    means = frame.mean(axis=1)
    return cube_from_scores({"AP": frame[means >= means.quantile(0.25)]})


@pytest.mark.data
def test_published_numbers_of_adhoc3(data: Path) -> None:
    """README and manual of gt4ireval: 30 of 40 runs, every digit."""
    result = analyse(best_of_adhoc3(data), sc.Reliability(), trials=1)
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
    cube = best_of_adhoc3(data)
    rows = sc.table(analyse(cube, sc.Reliability(topic_sizes=(100, 200), target=(0.97, 0.9)), trials=1))  # fmt: skip
    assert round(rows["erho2"][0], 5) == 0.96515
    assert (round(rows["phi_low"][1], 5), round(rows["phi_high"][1], 5)) == (0.88654, 0.96715)
    result = analyse(cube, sc.Reliability(target=(0.97, 0.9)), trials=1)
    topics = sc.table(result, "topics").set_index(["target", "coefficient"])["n_topics"]
    assert (topics[0.97, "erho2"], topics[0.9, "phi"]) == (117, 123)
    wide = sc.table(analyse(cube, sc.Reliability(confidence=0.99), trials=1))
    assert (round(wide["erho2_low"][0], 5), round(wide["erho2_high"][0], 5)) == (0.87737, 0.96967)
    narrow = sc.table(analyse(cube, sc.Reliability(confidence=0.9), trials=1), "topics")
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


# Teams of a cube


def test_teams_are_left_out_whole() -> None:
    scores = simulated(5, 12, 20, 0.5)
    alone = of(cube_of(scores, [f"t{k}" for k in range(12)]))
    grouped = of(cube_of(scores, [f"t{k // 3}" for k in range(12)]))
    plain = of(cube_of(scores))
    np.testing.assert_allclose(plain["value_jackknife_low"], alone["value_jackknife_low"])
    assert not np.isclose(grouped["value_jackknife_low"], plain["value_jackknife_low"]).any()
    xr.testing.assert_equal(grouped["value_low"], plain["value_low"])


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
    ("options", "message"), [({"target": (1.0,)}, "target"), ({"topic_sizes": (0,)}, "topic_sizes")]
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


def test_page_shows_the_intervals_that_hold_first() -> None:
    cube = cube_of(simulated(5, 12, 20, 0.5), [f"t{k // 3}" for k in range(12)])
    result = analyse(cube, sc.Reliability(), trials=1)
    view = view_of("reliability")
    frames = {name: table.make(result) for name, table in view.tables.items()}
    shown = dict(view.page_tables(frames))
    assert list(shown) == ["Coefficients", "Variance components", "Topics for a target"]  # fmt: skip
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
