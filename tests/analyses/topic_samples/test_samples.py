"""Samples of topics: samplings, sizes, summaries, bags, the range of scores, and limits over topics and trials."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import scorecube as sc
from scorecube import Stability, Swap
from scorecube.analyses import jackknife
from scorecube.analyses.preparation import make_table
from scorecube.statistics.swap_rates import rate_limits, share_beyond
from scorecube.testing import simulate_cube
from tests.analyses.topic_samples.test_swap_closed_form import opposed
from tests.analyses.topic_samples.test_swap_oracle import paper_swap
from tests.attributes import without_attrs

SAMPLINGS: Any = ("disjoint", "replacement", "independent")


@pytest.fixture(scope="module")
def cube() -> xr.Dataset:
    return simulate_cube(n_runs=8, metrics=("AP", "P@10"), seed=4)


@pytest.mark.parametrize("analysis", [Swap, paper_swap, Stability])
def test_every_sampling_and_size_is_that_of_its_own_run(cube: xr.Dataset, analysis: Any) -> None:
    """And all are the same bits in blocks of any length."""
    sizes = (3, 10, 25)
    several = analysis(sampling=SAMPLINGS, size=sizes)
    result = sc.analyse(cube, several, trials=40, seed=8, workers=1, block_units=7)
    assert result["sampling"].values.tolist() == [*SAMPLINGS]
    drawn = sc.samples(cube, several, trials=5, seed=8)["topic_sample"]
    for sampling, size in product(SAMPLINGS, sizes):
        one = analysis(sampling=sampling, size=size)
        alone = sc.analyse(cube, one, trials=40, seed=8, workers=1)
        part = result.sel(sampling=sampling, size=[size], drop=True)
        if "bin" in alone.dims:
            assert not part["count"].sel(bin=slice(alone.sizes["bin"], None)).any()
            part = part.isel(bin=slice(alone.sizes["bin"]))
        xr.testing.assert_identical(without_attrs(part), without_attrs(alone))
        own = sc.samples(cube, one, trials=5, seed=8)["topic_sample"]
        np.testing.assert_array_equal(drawn.sel(sampling=sampling).isel(draw=slice(size)), own)


@pytest.mark.parametrize(("sampling", "size"), [*zip(SAMPLINGS, (3, 7, 3), strict=True)])
def test_default_size(sampling: Any, size: int) -> None:
    cube = opposed(7, 3)
    assert sc.analyse(cube, Swap(sampling=sampling), trials=3)["size"].values.tolist() == [size]
    half = Swap(sampling=(sampling, "disjoint"))
    assert sc.analyse(cube, half, trials=3)["size"].values.tolist() == [3]


def mean(row: Sequence[float]) -> float:
    return math.fsum(row) / len(row)


def area(row: Sequence[float]) -> float:
    """Mean over X = 1 .. n / 4 of the mean of the X worst scores."""
    worst = sorted(row)[: max(1, len(row) // 4)]
    return mean([mean(worst[:x]) for x in range(1, len(worst) + 1)])


SUMMARIES = {
    "mean": mean,
    "geo": lambda row: math.exp(mean([math.log(score) for score in row])),
    "area": area,
}


def sign(x: float) -> int:
    return 0 if abs(x) < 1e-10 else 1 if x > 0 else -1


@pytest.mark.parametrize("summary", SUMMARIES)
@pytest.mark.parametrize("size", [2, 9])
@pytest.mark.parametrize("largest", [1.0, 6.0])
def test_comparisons_are_those_of_plain_python(summary: Any, size: int, largest: float) -> None:
    table = np.random.default_rng(size).choice([0.1, 0.2, 0.4, 0.8, 1.0], (7, 18)) * largest
    table[1], table[2] = table[0][::-1], table[0]
    cube = sc.cube_from_scores({"AP": pd.DataFrame(table / 6)})
    scores = cube["score"].isel(metric=0, gain=0).values.tolist()
    swap = Swap(size=size, summary=summary)
    count: dict[int, int] = {}
    swaps: dict[int, int] = {}
    better, concordant = [0, 0], 0
    for halves in sc.samples(cube, swap, trials=80, seed=3)["topic_sample"].values:
        first, second = (
            [SUMMARIES[summary]([row[topic] for topic in half]) for row in scores]
            for half in halves
        )
        for x, y in combinations(range(7), 2):
            d, e = sign(first[x] - first[y]), sign(second[x] - second[y])
            place = int((abs(first[x] - first[y]) + 1e-7) / 0.01)
            count[place] = count.get(place, 0) + 1
            swaps[place] = swaps.get(place, 0) + (d != e)
            better[0] += d > 0
            better[1] += d < 0
            concordant += d * e
    result = sc.analyse(cube, swap, trials=80, seed=3).squeeze()
    for name, expected in (("count", count), ("swaps", swaps)):
        found = result[name].values
        assert {k: int(found[k]) for k in np.flatnonzero(result["count"].values)} == expected, name
    assert float(result["tau"]) == pytest.approx(concordant / (21 * 80))
    stability = Stability(size=size, fuzziness=(0.0,), summary=summary)
    orders = sc.analyse(cube, stability, trials=80, seed=3)
    assert [int(orders[f"{k}_better"].sum()) for k in ("first", "second")] == better


@pytest.mark.parametrize("sampling", ["disjoint", "replacement"])
def test_bags_are_drawn_whole_and_weighted_by_their_topics(sampling: Any) -> None:
    chance, n_runs = np.random.default_rng(3), 4
    scores = np.round(chance.beta(1.2, 2, (n_runs, 1500)), 4) * 0.9
    scores += 0.01 * np.arange(n_runs)[:, np.newaxis]
    topics = [f"{k:05d}" for k in range(1500)]
    cube = sc.cube_from_scores({"AP": pd.DataFrame(scores, list("abcd"), topics)})
    swap = Swap(size=600, sampling=sampling)
    result = sc.analyse(cube, swap, trials=60, seed=2)
    assert result["size"].values.tolist() == [600]
    samples = sc.samples(cube, swap, trials=60, seed=2)
    bag = samples["unit_of_topic"].values
    n_topics = np.bincount(bag)
    assert set(n_topics) == {1, 2}
    words = np.random.Philox(key=np.array([1, 54], np.uint64)).random_raw(1500).tolist()
    order = sorted(range(1500), key=words.__getitem__)
    assert all(bag[topic] == place * 1000 // 1500 for place, topic in enumerate(order))
    sums = np.zeros((n_runs, len(n_topics)))
    np.add.at(sums.T, bag, scores.T)
    middle = scores.mean(axis=1, keepdims=True)
    # The mean of draws of these values is the linear form of a ratio: topics weigh the same.
    values = middle + n_topics / n_topics.mean() * (sums / n_topics - middle)
    n_bins = result.sizes["bin"]
    count, swaps = np.zeros((2, n_bins), int)
    for halves in samples["topic_sample"].values:
        one, other = (values[:, half].mean(axis=1) for half in halves)
        for a, b in combinations(range(n_runs), 2):
            place = min(int(abs(one[a] - one[b]) / 0.01), n_bins - 1)
            count[place] += 1
            swaps[place] += (one[a] - one[b]) * (other[a] - other[b]) < 0
    np.testing.assert_array_equal(result["count"].values.squeeze(), count)
    np.testing.assert_array_equal(result["swaps"].values.squeeze(), swaps)


def run_scores(scale: float) -> Any:
    return np.random.default_rng(1).random((6, 60)) * scale


def result_of(analysis: Any, scores: Any) -> xr.Dataset:
    cube = sc.cube_from_scores({"M": pd.DataFrame(scores, index=list("abcdef"))})
    return sc.analyse(cube, analysis, trials=40, seed=1, workers=1)


def test_bins_are_wider_by_powers_of_ten_where_there_would_be_too_many() -> None:
    usual = result_of(Swap(size=20), run_scores(1.0))
    percent = result_of(Swap(size=20), run_scores(100.0))
    assert usual["lower"].values[0, 0, :2].tolist() == [0.0, 0.01]
    assert percent["lower"].values[0, 0, :2].tolist() == [0.0, 1.0 / 10]
    high = result_of(Swap(size=20), run_scores(1e5))
    assert high["lower"].values[0, 0, :2].tolist() == [0.0, 100.0]
    by_ten = percent["count"].values.squeeze()
    by_ten = np.pad(by_ten, (0, -len(by_ten) % 10)).reshape(-1, 10).sum(axis=1)
    np.testing.assert_array_equal(by_ten, usual["count"].values.squeeze()[: len(by_ten)])
    for name in ("max_performance", "required_suffix"):
        np.testing.assert_allclose(percent[name] / 100, usual[name], atol=0.01, err_msg=name)


def test_limits_are_those_of_analyses_without_groups_of_topics(cube: xr.Dataset) -> None:
    whole = sc.analyse(cube, Swap(size=20), trials=300, seed=5)
    table = make_table(cube)
    smooth, share, tau = [], [], []
    for part in table.tables_left_out:
        places = [
            k
            for k in range(50)
            if any((table.scores[:, :, k] == part.scores[:, :, j]).all() for j in range(45))
        ]
        assert len(places) == 45
        without = sc.analyse(cube.isel(topic=places), Swap(size=18), trials=30, seed=5)
        smooth.append(without["required_difference_smooth"].values)
        share.append(share_beyond(without["count"].values, smooth[-1] / 0.01))
        tau.append(without["tau"].values)
    required = whole["required_difference"].values
    of_all = whole["required_difference_smooth"].values
    low, high = jackknife.limits(of_all, np.array(smooth), "log")
    np.testing.assert_allclose(whole["required_low"], np.minimum(low, required), rtol=1e-9)
    np.testing.assert_allclose(whole["required_high"], np.clip(high, required, 1.0), rtol=1e-9)
    low, high = jackknife.limits(whole["tau"].values, np.array(tau), "atanh")
    np.testing.assert_allclose(whole["tau_low"], low, rtol=1e-9)
    np.testing.assert_allclose(whole["tau_high"], high, rtol=1e-9)


NAMES = ("required", "share", "share_behind", "tau")


def test_limits_hold_their_estimates_and_are_missing_where_they_say_nothing(
    cube: xr.Dataset,
) -> None:
    result = sc.analyse(cube, Swap(sampling=SAMPLINGS), trials=200, seed=1)
    for name, estimate in zip(NAMES, ("required_difference", *NAMES[1:]), strict=True):
        low, high = (result[f"{name}_{end}"].fillna(result[estimate]) for end in ("low", "high"))
        assert (low <= result[estimate]).all(), name
        assert (result[estimate] <= high).all(), name
    best = result["share_behind_low"].isnull()
    assert (best.sum("metric") == 1).all()
    assert (result["share_behind"].where(best, 0) == 0).all()
    suffix = sc.analyse(cube, Swap(required="suffix"), trials=100, seed=1)
    few = sc.analyse(cube.isel(topic=slice(0, 4)), Swap(), trials=100, seed=1)
    for name in NAMES:
        assert few[f"{name}_low"].isnull().all()
        assert suffix[f"{name}_low"].isnull().all() == (name != "tau")


def test_limits_behind_the_most_sensitive_metric_are_of_all_pairs_of_metrics() -> None:
    cube = simulate_cube(n_runs=8, metrics=("AP", "P@10", "RR"), seed=4)
    swap = Swap(confidence=(0.9,))
    share = sc.analyse(cube, swap, trials=200, seed=1)["share"].squeeze()
    two = share["metric"].values[np.argsort(-share.values)[:2]]
    pair, three = (
        sc.analyse(part, swap, trials=200, seed=1).sel(metric=two[1]).squeeze()
        for part in (cube.sel(metric=np.isin(cube["metric"], two)), cube)
    )
    assert three["share_behind"] == pair["share_behind"] > 0
    widths = [float(of["share_behind_high"] - of["share_behind_low"]) for of in (three, pair)]
    ratio = scipy.stats.t.ppf(1 - 0.025 / 3, 9) / scipy.stats.t.ppf(1 - 0.025, 9)
    assert widths[0] / widths[1] == pytest.approx(ratio)


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1)), min_size=20, max_size=20))
def test_limits_over_trials_are_those_of_the_textbook(drawn: list[tuple[int, float]]) -> None:
    count = np.array([number for number, _ in drawn], np.int64)
    swaps = np.array([int(part * number) for number, part in drawn], np.int64)
    low, high = rate_limits(count, swaps, np.array(count.sum()))
    if not count.sum():
        assert np.isnan([low, high]).all()
        return
    rate = swaps.sum() / count.sum()
    assert 0 <= low <= rate <= high <= 1
    if 0 < rate < 1:
        variance = 20 / 19 * ((swaps - rate * count) ** 2).sum() / count.sum() ** 2
        n = min(rate * (1 - rate) / variance if variance else np.inf, count.sum())
        # Wilson's limits are the rates that lie t standard errors from the one that was seen.
        for end in (low, high):
            errors = abs(rate - end) / np.sqrt(end * (1 - end) / n)
            assert errors == pytest.approx(2.093, rel=1e-3)
