"""Intervals of swap rates: they hold what they promise to hold, as often as they promise, and their parts are what formulas say."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from scorecube.collection.evaluation import cube_dataset
from scorecube.statistics.batches import rate_limits
from scorecube.workflow.api import analyse
from tests.analyses.topic_samples.papers import paper_swap

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


@given(st.lists(st.tuples(st.integers(0, 30), st.floats(0, 1)), min_size=20, max_size=20))
def test_the_effective_number_is_that_of_the_textbook(drawn: list[tuple[int, float]]) -> None:
    count = np.array([each for each, _ in drawn], np.int64)
    swaps = np.array([int(part * each) for each, part in drawn], np.int64)
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


@pytest.mark.parametrize(
    "options", [{}, {"sampling": "replacement"}, {"share": "none"}, {"size": (5, 10)}]
)
def test_intervals_are_the_same_bits_on_all_chunkings(options: dict[str, Any]) -> None:
    cube = collection(5, 7, 21, 0.3)
    swap = paper_swap(**options)
    whole = analyse(cube, swap, trials=23, seed=1, workers=1)
    cut = analyse(cube, swap, trials=23, seed=1, workers=2, block_units=5)
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
    result = (
        analyse(cube, paper_swap(rule=rule), trials=30, seed=1, workers=1).isel(bin=0).squeeze()
    )
    assert float(result["swap_rate"]) == (rule == "s1")
    assert 0 <= float(result["swap_rate_low"]) <= float(result["swap_rate_high"]) <= 1
    # Nothing was seen to vary: the certain end is exact, the other is not.
    assert float(result[ENDS[rule == "s1"]]) == (rule == "s1")
    assert float(result["swap_rate_high"] - result["swap_rate_low"]) > 0.05
