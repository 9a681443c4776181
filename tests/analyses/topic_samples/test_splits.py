"""Rank correlation between topic samples: against exact fractions, theory, and itself in other blocks."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

import scorecube as sc
from scorecube.analyses import Splits, Swap
from scorecube.analyses.topic_samples.splits import settled_sizes
from scorecube.errors import BadPlan
from scorecube.testing import simulate_cube
from tests.oracles.agreement import FAMILIES, Table, as_cube
from tests.oracles.splits import compare, order_statistics, sums, tau_a, tau_ap_agreement, tau_b

if TYPE_CHECKING:
    from tests.conftest import Cli


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(metrics=("AP", "nDCG@10"), gains=("3:2:1", "1:1:1"), n_runs=9, seed=5)


def numbers(result: xr.Dataset) -> xr.Dataset:
    return result.drop_attrs()


def drawn_positions(samples: xr.Dataset, cube: xr.Dataset) -> list[tuple[list[int], list[int]]]:
    place = {str(topic): k for k, topic in enumerate(cube["topic"].values)}
    return [
        ([place[str(each)] for each in first], [place[str(each)] for each in second])
        for first, second in samples["topic_sample"].values
    ]


def assert_exact(
    result: xr.Dataset, table: Table, drawn: list[tuple[list[int], list[int]]], size: int
) -> None:
    """Compare one metric, gain setting and size with the oracle."""
    n_runs, tau = len(table), []
    for trial, (first, second) in enumerate(drawn):
        a, b = sums(table, first[:size]), sums(table, second[:size])
        at, expected = result.isel(trial=trial), compare(a, b)
        tau.append(tau_a(a, b))
        assert float(at["tau"]) == float(tau[-1])
        assert float(at["tau_b"]) == pytest.approx(tau_b(a, b), rel=1e-12, abs=1e-12, nan_ok=True)
        assert float(at["tau_ap"]) == pytest.approx(
            tau_ap_agreement(a, b), rel=1e-12, abs=1e-12, nan_ok=True
        )
        assert int(at["rank_change"]) == expected.rank_change
        assert bool(at["same_best"]) == expected.same_best
    assert float(result["tau_mean"]) == pytest.approx(
        float(sum(tau) / len(tau)), rel=1e-15, abs=1e-15
    )
    low, high = order_statistics(tau, Fraction(1, 20))
    assert (float(result["tau_low"]), float(result["tau_high"])) == (float(low), float(high))
    assert float(result["tau_median"]) == pytest.approx(
        float(np.median([float(each) for each in tau])), abs=1e-15
    )
    assert int(result["same_best_trials"]) == int(result["same_best"].sum())
    assert n_runs == result.attrs["n_runs"]


@st.composite
def tables(draw: st.DrawFn) -> Table:
    family = FAMILIES[draw(st.sampled_from(sorted(FAMILIES)))]
    n_runs, n_topics = draw(st.integers(2, 6)), draw(st.integers(2, 7))
    row = st.lists(st.sampled_from(family), min_size=n_topics, max_size=n_topics)
    return draw(st.lists(row, min_size=n_runs, max_size=n_runs))


@settings(max_examples=120)
@given(
    tables(),
    st.sampled_from(["disjoint", "replacement", "independent"]),
    st.integers(0, 2**64 - 1),
    st.data(),
)
def test_every_trial_is_exact(table: Table, sampling: str, seed: int, data: st.DataObject) -> None:
    made = as_cube({"m": table})
    largest = len(table[0]) // 2 if sampling == "disjoint" else len(table[0])
    sizes = tuple(data.draw(st.sets(st.integers(1, largest), min_size=1, max_size=3)))
    splits = Splits(sampling=sampling, size=sizes)  # type: ignore[arg-type]
    drawn = drawn_positions(splits.samples(made, seed, 9), made)
    result = sc.analyse(made, splits, trials=9, seed=seed, workers=1).isel(metric=0, gain=0)
    for size in sizes:
        assert_exact(result.sel(size=size), table, drawn, size)


def test_samples_are_those_of_the_swap_method(cube: xr.Dataset) -> None:
    assert Splits(size=12).samples(cube, 7, 5).equals(Swap(size=12).samples(cube, 7, 5))


@pytest.mark.parametrize(("workers", "block_units"), [(1, 1), (2, 7), (3, 64), (1, 200)])
def test_blocks_and_workers_change_no_bit(cube: xr.Dataset, workers: int, block_units: int) -> None:
    splits = Splits(sampling="replacement", size=(5, 20, 50))
    expected = sc.analyse(cube, splits, trials=130, seed=3, workers=1, block_units=130)
    result = sc.analyse(cube, splits, trials=130, seed=3, workers=workers, block_units=block_units)
    xr.testing.assert_identical(numbers(result), numbers(expected))


def test_every_size_is_that_of_its_own_run(cube: xr.Dataset) -> None:
    several = sc.analyse(cube, Splits(size=(3, 10, 25)), trials=40, seed=8, workers=1)
    for size in (3, 10, 25):
        alone = sc.analyse(cube, Splits(size=size), trials=40, seed=8, workers=1)
        one, other = (
            numbers(each).drop_vars("settled") for each in (several.sel(size=[size]), alone)
        )
        xr.testing.assert_identical(one, other)


def test_metrics_do_not_know_of_each_other(cube: xr.Dataset) -> None:
    both = sc.analyse(cube, Splits(size=20), trials=30, seed=3, workers=1)
    alone = sc.analyse(cube.sel(metric=["nDCG@10"]), Splits(size=20), trials=30, seed=3, workers=1)
    xr.testing.assert_identical(numbers(both.sel(metric=["nDCG@10"])), numbers(alone))


def constant(means: list[float], n_topics: int = 12) -> xr.Dataset:
    frame = pd.DataFrame(
        {f"t{k:02d}": means for k in range(n_topics)},
        index=[f"r{k:02d}" for k in range(len(means))],
    )
    return sc.cube_from_scores({"m": frame})


def test_runs_that_differ_alike_on_all_topics_settle_at_once() -> None:
    result = sc.analyse(
        constant([0.1, 0.3, 0.2, 0.7]), Splits(size=(1, 3, 6)), trials=20, seed=1
    ).isel(metric=0, gain=0)
    assert result["tau"].values.min() == 1.0
    assert result["tau_ap"].values.min() == 1.0
    assert result["rank_change"].values.max() == 0
    assert result["same_best_trials"].values.tolist() == [20, 20, 20]
    assert result["settled"].values.tolist() == [1.0, 1.0]


def test_equal_runs_have_no_order() -> None:
    result = sc.analyse(constant([0.1] * 5), Splits(size=6), trials=20, seed=1).squeeze()
    assert result["tau"].values.tolist() == [0.0] * 20
    assert np.isnan(result["tau_b"].values).all()
    assert np.isnan(float(result["tau_b_mean"]))
    assert float(result["tied_pairs"]) == 10
    assert int(result["same_best_trials"]) == 20
    assert np.isnan(result["settled"].values).all()


def test_a_threshold_is_reached_by_equality_and_by_all_larger_sizes() -> None:
    pairs = 10
    # 5 % quantiles of concordant minus discordant pairs, of 10 pairs: 8 / 10 is exactly 0.8.
    low = np.array([[[10.0, 6.0, 8.0, 9.0], [6.0, 6.0, 6.0, 6.0]]])
    found = settled_sizes((2, 4, 6, 8), low, pairs, (0.9, 0.8, 0.6, 0.61))
    expected = [[8.0, 6.0, 2.0, 6.0], [math.nan, math.nan, 2.0, math.nan]]
    np.testing.assert_array_equal(found[0], expected)


def test_halves_of_exchangeable_topics_have_the_expected_tau() -> None:
    """Two halves are independent draws, so a pair of runs has the same order with the probability that theory gives."""
    random, size, quality = np.random.default_rng(11), 25, np.linspace(0.4, 0.6, 8)
    spread = 0.25
    found: list[float] = []
    for _ in range(250):
        scores = quality[:, np.newaxis] + spread * random.standard_normal((8, 2 * size))
        frame = pd.DataFrame(
            scores, index=list("abcdefgh"), columns=[f"t{k:02d}" for k in range(2 * size)]
        )
        result = sc.analyse(
            sc.cube_from_scores({"m": frame}),
            Splits(size=size),
            trials=10,
            seed=len(found),
            workers=1,
        )
        found.append(result["tau_mean"].item())
    ahead = [
        norm.cdf((y - x) / (spread * math.sqrt(2 / size))) for x, y in combinations(quality, 2)
    ]
    expected = float(np.mean([(2 * p - 1) ** 2 for p in ahead]))
    error = float(np.std(found)) / math.sqrt(len(found))
    assert abs(float(np.mean(found)) - expected) < 4 * error
    assert error < 0.01


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 26}, "two disjoint samples of 26 topics need 52"),
        ({"size": 51, "sampling": "independent"}, "needs 51 topics"),
        ({"sampling": "bogus"}, "sampling 'bogus' is not one of"),
    ],
)
def test_what_cannot_be_is_refused(cube: xr.Dataset, options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadPlan, match=message):
        sc.analyse(cube, Splits(**options), trials=5, seed=1)


def test_the_command_makes_tables_that_agree_with_each_other(scorecube: Cli, study: Path) -> None:
    said = (
        scorecube("splits", study, "--size", "1..4:1", "--trials", 50, "--seed", 1)
        .succeeded()
        .stdout
    )
    assert "on two samples of 4 of these 8 topics: tau" in " ".join(said.split())

    def rows(table: str) -> pd.DataFrame:
        shown = (
            scorecube("show", study, "splits", "--table", table, "--format", "json")
            .succeeded()
            .stdout
        )
        return pd.DataFrame(json.loads(shown))

    quantiles, trials, settled = rows("quantiles"), rows("trials"), rows("settled")
    columns = "collection metric gain size tau_mean tau_median tau_5 tau_95 share_same_best trials sampling"
    assert list(quantiles)[:11] == columns.split()
    keys = ["metric", "gain", "size"]
    grouped = trials.groupby(keys)
    index = quantiles.set_index(keys)
    np.testing.assert_allclose(index["tau_mean"], grouped["tau"].mean()[index.index], atol=1e-12)
    np.testing.assert_allclose(
        index["tau_median"], grouped["tau"].median()[index.index], atol=1e-12
    )
    np.testing.assert_allclose(
        index["share_same_best"], grouped["same_best"].mean()[index.index], atol=1e-12
    )
    assert len(trials) == 50 * len(quantiles)
    assert set(settled["tau"]) == {0.9, 0.8}
    assert (
        scorecube("splits", study, "--size", "1..4:1", "--trials", 50)
        .succeeded()
        .stderr.count("already there")
        == 1
    )


def test_more_trials_extend_a_result(scorecube: Cli, study: Path) -> None:
    for trials in (20, 60):
        scorecube("splits", study, "--trials", trials, "--seed", 4, block_units=8).succeeded()
    stored = sc.open_study(study)["small"]
    fresh = sc.analyse(stored.cube, Splits(), trials=60, seed=4)
    xr.testing.assert_equal(stored.result("splits").drop_attrs(), fresh.drop_attrs())


@pytest.mark.parametrize("size", [4, (1, 2, 4)])
def test_figures_show_the_means_and_all_trials(
    cube: xr.Dataset, size: int | tuple[int, ...]
) -> None:
    result = sc.analyse(cube, Splits(size=size), trials=30, seed=1)
    axes = sc.figure(result).axes
    steps = axes[-1].get_lines()
    for k, line in enumerate(steps):
        expected = np.sort(result["tau"].isel(metric=k, gain=0, size=-1).values)
        np.testing.assert_array_equal(line.get_xdata(), expected)
    if len(axes) == 2:
        means = [line for line in axes[0].get_lines() if line.get_label() in ("AP", "nDCG@10")]
        for k, line in enumerate(means):
            np.testing.assert_array_equal(
                line.get_ydata(), result["tau_mean"].isel(metric=k, gain=0).values
            )


@pytest.mark.data
def test_rankings_of_a_real_collection_settle_as_topics_are_added(data: Path) -> None:
    made = sc.evaluate(
        sc.read_rankings(data / "clef-ehealth-2015" / "runs", data / "clef-ehealth-2015" / "qrels.txt", run_name="file"), ["AP", "P@10"]
    )  # fmt: skip
    result = sc.analyse(made, Splits(size=(5, 15, 30)), trials=200, seed=1)
    means = result["tau_mean"].isel(gain=0).values
    assert (np.diff(means, axis=1) > 0.03).all()
    # All that was counted is a whole number of pairs of 68 runs.
    assert np.allclose(result["tau"].values * 2278, np.rint(result["tau"].values * 2278), atol=1e-9)
    assert float(result["tau_low"].max()) < 0.8
    assert np.isnan(result["settled"].values).all()
