"""Unpaired bootstrap test against its description in plain Python, on given samples; and what must not change its result."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from scorecube.analyses.pair_tests.unpaired import Unpaired
from scorecube.collection.topic_means import area_weights
from scorecube.workflow.api import analyse, cube_from_scores, import_scores, select
from tests.oracles.paired_tests import run_positions
from tests.units import centred_units

Row = Sequence[float]
TIE = 1e-11
METRICS = ("AP", "geo:AP", "area:AP")


def mean(row: Row) -> float:
    return math.fsum(row) / len(row)


def geometric(row: Row) -> float:
    return math.exp(mean([math.log(score) for score in row]))


def area(row: Row) -> float:
    """Mean over X = 1 .. n / 4 of the mean of the X worst scores."""
    worst = sorted(row)[: max(1, len(row) // 4)]
    return mean([mean(worst[:x]) for x in range(1, len(worst) + 1)])


def welch(x: Row, y: Row) -> float:
    """Return |t|; 0 without difference and spread, infinite without spread."""
    difference = abs(mean(x) - mean(y))
    # Scores of the tests have few decimals: less than this is rounding.
    difference = 0.0 if difference < 1e-13 else difference
    squares = math.fsum((a - mean(x)) ** 2 for a in x) + math.fsum((b - mean(y)) ** 2 for b in y)
    if squares < 1e-24:
        return math.inf if difference else math.nan
    return difference / math.sqrt(squares / (len(x) - 1) / len(x))


def shifted(row: Row, kind: str, other: Row) -> list[float]:
    """Return the sample moved to the pooled summary: by addition, of geometric means by multiplication."""
    if kind == "geo":
        factor = math.exp(mean([math.log(score) for score in [*row, *other]])) / geometric(row)
        return [score * factor for score in row]
    summary = mean if kind == "mean" else area
    pooled = (summary(row) + summary(other)) / 2
    return [score - summary(row) + pooled for score in row]


def oracle(x: Row, y: Row, kind: str, samples: Sequence[Sequence[Sequence[int]]], ranks: Sequence[int]) -> tuple[int, list[float]]:  # fmt: skip
    """Return how many trials are at least as extreme as the scores, and the differences of the K-th largest trials."""
    if kind == "geo":
        x, y = ([max(score, 1e-5) for score in row] for row in (x, y))
    summary: Callable[[Row], float] = {"mean": mean, "geo": geometric, "area": area}[kind]

    def statistic(first: Row, second: Row) -> float:
        return welch(first, second) if kind == "mean" else abs(summary(first) - summary(second))

    moved = shifted(x, kind, y), shifted(y, kind, x)
    observed, statistics, differences = statistic(x, y), [], []
    for halves in samples:
        first, second = (
            [row[topic] for topic in half] for row, half in zip(moved, halves, strict=True)
        )
        each = statistic(first, second)
        differences.append(abs(summary(first) - summary(second)))
        statistics.append(-1.0 if math.isnan(each) else each)  # 0 / 0 comes last
    # Nothing is less extreme than no difference: all trials count.
    least = math.isnan(observed) or observed < 1e-12
    count = sum(least or each >= observed * (1 - TIE) - 1e-13 for each in statistics)
    kth = []
    for rank in ranks:
        wanted = sorted(statistics, reverse=True)[rank - 1]
        ties = (each == wanted or abs(each - wanted) < TIE * abs(wanted) for each in statistics)
        kth.append(differences[list(ties).index(True)])
    return count, kth


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


def alike(table: np.ndarray) -> xr.Dataset:
    return cube_of(dict.fromkeys(METRICS, table))


def assert_agrees(cube: xr.Dataset, test: Unpaired, trials: int, seed: int) -> xr.Dataset:
    samples = test.samples(cube, seed, trials)
    result = analyse(cube, test, trials=trials, seed=seed, workers=1)
    place = {topic: k for k, topic in enumerate(cube["topic"].values)}
    drawn = [
        [[place[topic] for topic in half] for half in halves]
        for halves in samples["topic_sample"].values
    ]
    assert np.shape(drawn) == (trials, 2, cube.sizes["topic"])
    ranks = [max(1, math.ceil(round(alpha * trials, 9))) for alpha in test.alphas]
    pairs = list(combinations(range(cube.sizes["run"]), 2))
    assert list(zip(*run_positions(result), strict=True)) == pairs
    for metric in cube["metric"].values:
        rows = cube["score"].sel(metric=metric).isel(gain=0).values.tolist()
        kind = metric.split(":")[0] if ":" in metric else "mean"
        expected = [oracle(rows[i], rows[j], kind, drawn, ranks) for i, j in pairs]
        found = result.sel(metric=metric).isel(gain=0)
        assert found["reached"].values.tolist() == [count for count, _ in expected], metric
        np.testing.assert_allclose(
            found["kth_difference"].values,
            np.transpose([kth for _, kth in expected]),
            rtol=1e-9,
            atol=1e-12,
        )
        np.testing.assert_array_equal(
            found["p_value"],
            [(count + test.plus_one) / (trials + test.plus_one) for count, _ in expected],
        )
    return result


@pytest.mark.parametrize("n_topics", [2, 3, 5, 12])
@pytest.mark.parametrize(
    "values", [[0, 1], [0, 0.1, 0.3], [0.1, 0.2, 0.4, 0.7], [1, 1 / 2, 1 / 3, 0.25]], ids=str
)
def test_small_samples_with_ties_agree_with_the_description(
    values: list[float], n_topics: int
) -> None:
    table = np.random.default_rng(n_topics).choice(values, (7, n_topics))
    table[1], table[2], table[3] = table[0], table[0][::-1], values[0]
    assert_agrees(alike(table), Unpaired(alphas=(0.05, 0.3), plus_one=False), 60, seed=4)


@pytest.mark.parametrize("kind", ["uniform", "sizes"])
def test_scores_without_ties_agree_with_the_description(kind: str) -> None:
    chance = np.random.default_rng(3)
    table = chance.uniform(0.01, 1, (6, 20))
    if kind == "sizes":
        table *= 10.0 ** chance.integers(-2, 3, table.shape)
    assert_agrees(alike(table), Unpaired(plus_one=False), 100, seed=5)


@pytest.mark.data
def test_real_runs_agree_with_the_description(data: Path) -> None:
    real = import_scores([data / "web2011" / "ap.csv"])
    table = real["score"].values[0, 0][:: real.sizes["run"] // 12]
    assert_agrees(alike(table), Unpaired(plus_one=False), 100, seed=6)


@pytest.mark.parametrize("metric", METRICS)
def test_runs_with_the_same_scores_in_any_order_do_not_differ(metric: str) -> None:
    row = np.random.default_rng(1).choice([0.1, 0.2, 0.7], 9)
    cube = cube_of({metric: np.stack([row, row, row[::-1], np.roll(row, 4)])})
    result = analyse(cube, Unpaired(), trials=50, seed=1)
    assert result["p_value"].values.ravel().tolist() == [1.0] * 6
    assert result["degenerate_pairs"].item() == 1
    assert result["significant"].values.ravel().tolist() == [0, 0]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_topics", [2, 3, 50])
def test_constant_runs_differ_surely_or_not_at_all(metric: str, n_topics: int) -> None:
    cube = cube_of({metric: np.repeat([[0.1], [0.3], [0.1]], n_topics, axis=1)})
    result = analyse(cube, Unpaired(plus_one=False), trials=50, seed=1)
    assert result["p_value"].values.ravel().tolist() == [0.0, 1.0, 0.0]
    assert result["constant_pairs"].item() == 2
    assert result["degenerate_pairs"].item() == 1
    t = result["t"].values.ravel().tolist()
    assert str(t) == ("[-inf, nan, inf]" if metric == "AP" else "[nan, nan, nan]")
    assert result["undefined_replicates"].item() == (150 if metric == "AP" else 0)


def test_a_constant_difference_is_no_constant_pair_here() -> None:
    row = np.array([0.1, 0.5, 0.2, 0.3])
    result = analyse(cube_of({"AP": np.stack([row, row + 0.25])}), Unpaired(), trials=100, seed=1)
    assert result["constant_pairs"].item() == 0
    assert 0 < result["p_value"].item() < 1


def test_replicates_without_spread_are_counted() -> None:
    cube = cube_of({"AP": np.array([[0.0, 1.0], [0.25, 0.5]])})
    test = Unpaired()
    samples = test.samples(cube, 2, 400)
    constant = (
        samples["topic_sample"].values[..., 0] == samples["topic_sample"].values[..., 1]
    ).all(axis=1)
    result = analyse(cube, test, trials=400, seed=2)
    assert result["infinite_replicates"].item() == constant.sum() > 50
    assert result["undefined_replicates"].item() == 0


def test_differences_within_rounding_are_no_difference() -> None:
    """All trials reach a t that rounding may have made of 0, also those without t, which count as t* = 0."""
    x = np.full(10, 1 / 3) + np.array([0.1, -0.1, 0, 0, 0, 0, 0, 0, 0, 0])
    unit = 1.0 / centred_units(np.stack([x, x])).per_score
    x = np.rint(x / unit) * unit
    units = centred_units(np.stack([x, x + 4 * unit]))
    assert units.rounded
    assert units.snap < abs(float(units.sums[0] - units.sums[1])) < 4 * units.snap
    cube = cube_from_scores(
        {"m": pd.DataFrame([x, x + 4 * unit], ["x", "y"], [f"{k}" for k in range(10)])}
    )
    result = analyse(cube, Unpaired(), trials=2000, seed=1)
    assert 0 < int(result["undefined_replicates"].item()) < 2000
    assert int(result["reached"].item()) == 2000


def test_t_is_welchs() -> None:
    from scipy.stats import ttest_ind

    table = np.random.default_rng(2).normal(size=(4, 11))
    result = analyse(alike(table), Unpaired(), trials=5, seed=1)
    expected = [
        ttest_ind(table[i], table[j], equal_var=False).statistic
        for i, j in combinations(range(4), 2)
    ]
    np.testing.assert_allclose(result["t"].sel(metric="AP").values[0], expected, rtol=1e-9)
    assert result["t"].sel(metric=["geo:AP", "area:AP"]).isnull().all()


def test_means_are_the_summaries_of_the_metrics() -> None:
    table = np.random.default_rng(2).uniform(0.1, 1, size=(4, 11))
    result = analyse(alike(table), Unpaired(), trials=5, seed=1)
    for metric, summary in zip(METRICS, (mean, geometric, area), strict=True):
        np.testing.assert_allclose(
            result["mean"].sel(metric=metric).values[0],
            [summary(row) for row in table.tolist()],
            rtol=1e-12,
        )


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
    """More runs than stand in one square of pairs."""
    return alike(np.random.default_rng(1).choice([0.0, 0.1, 0.4, 1.0], (70, 9)))


def assert_same(one: xr.Dataset, other: xr.Dataset) -> None:
    xr.testing.assert_identical(one.drop_attrs(), other.drop_attrs())


@pytest.mark.parametrize(("block_units", "workers"), [(97, 1), (1000, 2), (2414, 2), (None, 2)])
def test_blocks_and_workers_are_free_choices(
    many: xr.Dataset, block_units: int | None, workers: int
) -> None:
    expected = analyse(many, Unpaired(), trials=40, seed=9, workers=1, block_units=10_000)
    assert_same(
        analyse(many, Unpaired(), trials=40, seed=9, workers=workers, block_units=block_units),
        expected,
    )


@pytest.mark.parametrize("metrics", [["geo:AP"], ["area:AP", "AP"]])
def test_other_metrics_change_nothing(many: xr.Dataset, metrics: list[str]) -> None:
    every = analyse(many, Unpaired(), trials=40, seed=9, workers=1)
    assert_same(
        analyse(select(many, metrics=metrics), Unpaired(), trials=40, seed=9, workers=1),
        every.sel(metric=metrics),
    )


def test_halves_are_drawn_apart(many: xr.Dataset) -> None:
    drawn = Unpaired().samples(many, 3, 200)["topic_sample"].values
    assert (drawn[:, 0] == drawn[:, 1]).mean() < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("metric", METRICS)
def test_p_values_are_uniform_if_nothing_differs(metric: str) -> None:
    from scipy.stats import kstest

    chance = np.random.default_rng(8)
    # Area measures look at a quarter of the topics only, and need more of them.
    n_topics = 400 if metric == "area:AP" else 50
    found = []
    for k in range(40):
        table = np.round(chance.beta(2, 3, (20, n_topics)), 6)
        result = analyse(cube_of({metric: table}), Unpaired(), trials=400, seed=k)
        # Disjoint pairs only, which are independent.
        first, second = run_positions(result)
        own = (first % 2 == 0) & (second == first + 1)
        found += result["p_value"].values[0, 0, own].tolist()
    assert len(found) == 400
    assert kstest(found, "uniform").pvalue > 0.01
    assert np.mean(np.array(found) < 0.05) == pytest.approx(0.05, abs=0.035)
