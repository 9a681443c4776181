"""Intervals of swap rates: they hold what they promise to hold, as often as they promise, and their parts are what formulas say."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

from scorecube.analyses import Swap
from scorecube.analyses.plan import make_plan
from scorecube.analyses.topic_samples.swap_limits import (
    n_replicates,
    random_groups,
    runs_left_out,
    topics_left_out,
)
from scorecube.collection.evaluation import cube_dataset
from scorecube.errors import BadPlan
from scorecube.kernels.random.philox import stream_key
from scorecube.names import Purpose
from scorecube.report.results import table
from scorecube.report.swap import caption
from scorecube.statistics.proportion_intervals import effective_size
from scorecube.workflow.api import analyse
from tests.analyses.topic_samples.papers import paper_swap

Array = np.ndarray[Any, Any]
ENDS = ("swap_rate_low", "swap_rate_high")


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Halvings are wanted here."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


def collections(
    seed: int, n: int, n_runs: int, n_topics: int, spread: float, uneven: float = 0.0
) -> xr.Dataset:
    """Simulate collections, each as a metric: topics of unequal difficulty, runs that differ by `spread`, topics noisier by `uneven`."""
    random = np.random.default_rng(seed)
    difficulty, noise = random.normal(size=(2, n, 1, n_topics))
    runs, own = random.normal(size=(n, n_runs, 1)), random.normal(size=(n, n_runs, n_topics))
    scores = expit(difficulty + spread * runs + np.exp(uneven * noise) * own)
    names = (
        [f"m{k:04d}" for k in range(n)],
        [f"r{k:02d}" for k in range(n_runs)],
        [f"{k:03d}" for k in range(n_topics)],
    )
    return cube_dataset(scores[:, np.newaxis], names[0], ["auto"], *names[1:])


def collection(seed: int, n_runs: int, n_topics: int, spread: float) -> xr.Dataset:
    return collections(seed, 1, n_runs, n_topics, spread)


def held(result: xr.Dataset, truth: Array) -> Array:
    """Tell in which bins an interval holds the truth, (collection, bin); missing where there is no comparison."""
    low, high, count = (
        result[name].values.reshape(-1, result.sizes["bin"]) for name in (*ENDS, "count")
    )
    found: Array = np.where(count > 0, (low <= truth) & (truth <= high), np.nan)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spread", "trials", "options"),
    [
        (0.0, 50, {}), (0.3, 50, {}), (0.3, 400, {}), (0.3, 200, {"sampling": "replacement", "rule": "s1"}),
        (0.3, 200, {"symmetric": True}), (0.3, 50, {"share": "none"}),
    ],
)  # fmt: skip
def test_intervals_over_trials_hold_the_rate_of_very_many_trials(
    spread: float, trials: int, options: dict[str, Any]
) -> None:
    """200 runs of two collections: the mean coverage of all bins in 93 to 100 %, of no bin below 88 % (5 standard errors of 95 %: 7.7)."""
    coverage = []
    for seed in (1, 2):
        cube = collection(seed, 10, 40, spread)
        many = 20_000 if options.get("share") == "none" else 200_000
        truth = analyse(cube, paper_swap(**options), trials=many, seed=999, workers=1)[
            "swap_rate"
        ].values.ravel()
        results = [
            analyse(cube, paper_swap(**options), trials=trials, seed=k, workers=1)
            for k in range(200)
        ]
        coverage.append(np.nanmean([held(result, truth)[0] for result in results], axis=0))
    assert 0.93 <= float(np.nanmean(coverage)) <= 1
    assert float(np.nanmin(coverage)) >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n_runs", "n_topics", "spread", "uneven", "options"),
    [
        (10, 40, 0.0, 0.0, {}), (10, 40, 0.3, 0.0, {}), (10, 40, 0.3, 1.0, {}), (20, 40, 0.3, 0.0, {"size": 10}),
        (10, 50, 0.4, 0.0, {"sampling": "replacement"}),
    ],
    ids=["exchangeable runs", "different runs", "few topics count", "a quarter of the topics", "replacement"],
)  # fmt: skip
def test_intervals_about_the_population_hold_the_mean_rate_of_collections(
    n_runs: int, n_topics: int, spread: float, uneven: float, options: dict[str, Any]
) -> None:
    """200 collections; bins with 2 % of the comparisons or more, without the open one. At 95 % a bin falls below 88 % once in 60,000 times."""
    others = collections(0, 1500, n_runs, n_topics, spread, uneven)
    result = analyse(others, paper_swap(**options), trials=20, seed=1, workers=1)
    count, swaps = (result[name].values.reshape(-1, 21).sum(axis=0) for name in ("count", "swaps"))
    truth = swaps / count if spread else np.full(21, 0.5)
    cube = collections(1, 200, n_runs, n_topics, spread, uneven)
    enough = (count >= 0.02 * count.sum()) & (np.arange(21) < 20)
    covered = {
        interval: np.nanmean(
            held(
                analyse(
                    cube, paper_swap(interval=interval, **options), trials=300, seed=1, workers=1
                ),
                truth,
            ),
            axis=0,
        )[enough]
        for interval in ("population", "trials")
    }
    assert float(covered["population"].min()) >= 0.88
    assert float(covered["population"].mean()) >= 0.93
    # They are about other things: the interval over trials does not know that other collections differ.
    assert float(covered["trials"].mean()) < 0.85


def integers(products: list[list[int]]) -> Array:
    return np.array(products, dtype=object)


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(1, 30), st.floats(0, 1)), min_size=2, max_size=40))
def test_the_design_effect_is_that_of_the_textbook(drawn: list[tuple[int, float]]) -> None:
    count = np.array([each for each, _ in drawn], np.int64)
    swaps = np.array([int(part * each) for each, part in drawn], np.int64)
    products = integers([[int(count @ count)], [int(count @ swaps)], [int(swaps @ swaps)]])
    size, freedom = effective_size(
        np.array([swaps.sum()]), np.array([count.sum()]), products, len(drawn)
    )
    rate, n = swaps.sum() / count.sum(), len(drawn)
    assert freedom[0] == pytest.approx(max(count.sum() ** 2 / (count @ count) - 1, 1))
    variance = n / (n - 1) * ((swaps - rate * count) ** 2).sum() / count.sum() ** 2
    assert 0 < size[0] <= count.sum()
    if 0 < rate < 1:
        # Drawn towards full agreement within trials, the less the more trials have swaps and others.
        effect, other = variance / (rate * (1 - rate) / count.sum()), count - swaps
        clumps = min(swaps.sum() ** 2 / (swaps @ swaps), other.sum() ** 2 / (other @ other))
        exact = max(effect, 1) ** (clumps / (clumps + 1)) * ((count @ count) / count.sum()) ** (
            1 / (clumps + 1)
        )
        assert size[0] == pytest.approx(count.sum() / exact, rel=1e-6)


def test_the_design_effect_of_huge_counts_is_exact() -> None:
    # A million trials with 2**23 comparisons each, half of the trials with one swap more than the others.
    n, c, s = 10**6, 2**23, 2**20
    swaps = [s, s + 1]
    products = [[n * c * c], [n // 2 * c * sum(swaps)], [n // 2 * sum(each**2 for each in swaps)]]
    size, _ = effective_size(
        np.array([n // 2 * sum(swaps)]), np.array([n * c]), integers(products), n
    )
    # The variance is far below that of independent comparisons, which is what is given then.
    assert size[0] == pytest.approx(n * c, rel=2e-5)
    agreeing = [[n * c * c], [n // 2 * c * c], [n // 2 * c * c]]
    size, _ = effective_size(np.array([n // 2 * c]), np.array([n * c]), integers(agreeing), n)
    assert size[0] == pytest.approx(n, rel=2e-5)


def test_without_swaps_a_trial_is_worth_one_comparison() -> None:
    size, freedom = effective_size(
        np.array([0, 0]), np.array([400, 0]), integers([[16000, 0], [0, 0], [0, 0]]), 10
    )
    assert size.tolist() == [10, 0]
    assert freedom.tolist() == [9, 1]


@pytest.mark.parametrize("interval", ["trials", "population"])
@pytest.mark.parametrize(
    "options",
    [{}, {"sampling": "replacement"}, {"share": "none"}, {"signed": True}, {"size": (5, 10)}],
)
def test_intervals_are_the_same_bits_on_all_chunkings(
    interval: str, options: dict[str, Any]
) -> None:
    cube = collection(5, 7, 21, 0.3)
    swap = paper_swap(interval=interval, groups=4, **options)
    whole = analyse(cube, swap, trials=23, seed=1, workers=1)
    cut = analyse(cube, swap, trials=23, seed=1, workers=2, block_units=5)
    assert whole.attrs["interval"] == interval
    for name in ("count", "swaps", "swap_rate", *ENDS):
        np.testing.assert_array_equal(whole[name].values, cut[name].values, err_msg=name)
    rate, filled = whole["swap_rate"].values, whole["count"].values > 0
    low, high = (whole[name].values for name in ENDS)
    assert (np.isnan(low) == ~filled).all()
    assert ((low <= rate) & (rate <= high) & (low >= 0) & (high <= 1))[filled].all()


@pytest.mark.parametrize("rule", ["s0", "s1"])
def test_equal_runs_have_intervals(rule: str) -> None:
    scores = np.full((1, 1, 6, 12), 0.5)
    cube = cube_dataset(
        scores, ["AP"], ["auto"], [f"r{k}" for k in range(6)], [f"{k:02d}" for k in range(12)]
    )
    for interval in ("trials", "population"):
        result = (
            analyse(cube, paper_swap(rule=rule, interval=interval), trials=30, seed=1, workers=1)
            .isel(bin=0)
            .squeeze()
        )
        assert float(result["swap_rate"]) == (rule == "s1")
        assert 0 <= float(result["swap_rate_low"]) <= float(result["swap_rate_high"]) <= 1
        # Nothing was seen to vary: the certain end is exact, the other is not.
        assert float(result[ENDS[rule == "s1"]]) == (rule == "s1")
        assert float(result["swap_rate_high"] - result["swap_rate_low"]) > 0.05


def test_fewer_trials_have_wider_intervals_over_trials_only() -> None:
    cube = collection(3, 10, 40, 0.3)
    widths = {}
    for interval in ("trials", "population"):
        for trials in (200, 3200):
            result = analyse(
                cube, paper_swap(interval=interval), trials=trials, seed=2, workers=1
            ).isel(bin=slice(1, 8))
            widths[interval, trials] = float((result[ENDS[1]] - result[ENDS[0]]).mean())
    # A quarter with 16 times as many.
    assert 3.2 < widths["trials", 200] / widths["trials", 3200] < 5
    assert widths["population", 3200] > 0.7 * widths["population", 200] > 3 * widths["trials", 200]


def test_every_group_is_left_out_once() -> None:
    cube, swap = collection(4, 9, 25, 0.3), paper_swap(interval="population", groups=5)
    inputs = swap.inputs(swap.prepare(cube), 10, 7)
    key = stream_key(7, Purpose.SWAP_GROUPS)
    topics, runs = random_groups(key, 25, np.arange(9), (5, 5))
    assert sorted(np.bincount(topics)) == [5] * 5
    assert sorted(np.bincount(runs)) == [1, 2, 2, 2, 2]
    parts = [*topics_left_out(inputs), *runs_left_out(inputs)]
    assert len(parts) == n_replicates(5, 5) == 15
    scores = inputs["scores"]
    for k, part in enumerate(parts[:10]):
        stay, half = topics != k // 2, runs % 2 == k % 2
        np.testing.assert_array_equal(part["scores"], scores[stay][:, half])
        assert part["shape"].tolist() == [1, half.sum(), 20]
        # Two disjoint samples of 12 do not fit into 20 topics.
        assert part["sizes"].tolist() == [10]
        assert (part["key"] == inputs["key"]).all() == (k % 2 == 0)
    for k, part in enumerate(parts[10:]):
        np.testing.assert_array_equal(part["scores"], scores[:, runs != k])
        assert part["sizes"].tolist() == [12]


def test_what_an_interval_about_the_population_cannot_have_is_refused() -> None:
    cube = collection(1, 3, 20, 0.3)
    with pytest.raises(BadPlan, match="needs 4 runs"):
        analyse(cube, paper_swap(interval="population"), trials=3, seed=1)
    with pytest.raises(BadPlan, match="groups=2"):
        analyse(
            collection(1, 5, 20, 0.3), paper_swap(interval="population", groups=2), trials=3, seed=1
        )
    with pytest.raises(BadPlan, match="interval 'wald'"):
        analyse(cube, paper_swap(interval="wald"), trials=3, seed=1)


def test_groups_without_use_do_not_make_another_plan() -> None:
    assert paper_swap(groups=5) == paper_swap()
    assert paper_swap(interval="population", groups=5) != paper_swap(interval="population")


def test_blocks_without_products_are_not_read() -> None:
    """Plans of the version before had no word about intervals: their blocks lack what intervals are made of."""
    cube = collection(1, 5, 20, 0.3)
    plans = [
        make_plan(cube, paper_swap(interval=interval), trials=3, seed=1).plan
        for interval in ("trials", "population")
    ]
    assert all("interval" in plan.record()["options"] for plan in plans)
    assert "interval" not in Swap.finalize_options()
    assert plans[0].work_digest != plans[1].work_digest


@pytest.mark.parametrize(
    ("interval", "text"),
    [("trials", "infinitely many trials"), ("population", "other topics and teams")],
)
def test_tables_and_captions_say_what_intervals_are_about(interval: str, text: str) -> None:
    result = analyse(
        collection(1, 5, 20, 0.3),
        paper_swap(interval=interval, groups=4),
        trials=9,
        seed=1,
        workers=1,
    )
    assert set(table(result, "rates")["interval"]) == {interval}
    assert text in caption(result)
    del result.attrs["interval"]
    assert "too narrow" in caption(result)
