"""Do the intervals hold the true correlation as often as they say? On simulated runs and topics whose truth is known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import xarray as xr

from scorecube.analyses import Correlation
from scorecube.kernels.rank.concordance import compare, pairs_of, tau_a
from scorecube.workflow.api import analyse, cube_from_scores

pytestmark = pytest.mark.slow
REPEATS, TRIALS = 200, 300
Floats = np.ndarray[Any, np.dtype[np.float64]]


def cube_of(a: Floats, b: Floats) -> xr.Dataset:
    import pandas as pd

    runs, topics = [f"r{k:03d}" for k in range(len(a))], [f"{k:03d}" for k in range(a.shape[1])]
    return cube_from_scores(
        {"AP": pd.DataFrame(a, runs, topics), "RR": pd.DataFrame(b, runs, topics)}
    )


def tau_of(a: Floats, b: Floats) -> float:
    found = compare(np.array([[a, b]]), np.zeros(2), np.array([0]), np.array([1]))
    return float(tau_a(found.concordant, found.discordant, pairs_of(len(a)))[0, 0])


def coverage(draw: Any, truth: float) -> tuple[float, float, float]:
    """Return the share of intervals that hold the truth, and the shares that lie below and above it."""
    below = above = 0
    for repeat in range(REPEATS):
        random = np.random.default_rng([7, repeat])
        result = analyse(
            cube_of(*draw(random)), Correlation(), trials=TRIALS, seed=repeat, workers=1
        )
        at = result.sel(statistic="tau", resampled="topics").isel(comparison=0)
        below += float(at["high"]) < truth
        above += float(at["low"]) > truth
    return 1 - (below + above) / REPEATS, below / REPEATS, above / REPEATS


def test_intervals_over_topics_hold_the_population_of_topics() -> None:
    # Fixed runs; topics add noise that is small against the differences of the runs, as in a large collection.
    quality = np.random.default_rng(3).multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=30)
    truth = tau_of(quality[:, 0], quality[:, 1])

    def draw(random: np.random.Generator) -> tuple[Floats, Floats]:
        noise = random.standard_normal((2, 30, 50))
        return quality[:, :1] + noise[0], quality[:, 1:] + noise[1]

    covered, below, above = coverage(draw, truth)
    assert covered >= 0.80, (covered, below, above)
    # What is missed is missed on the lower side: drawing topics anew adds noise, and noise lowers tau.
    assert below >= above


def test_the_interval_by_the_null_variance_holds_unrelated_rankings() -> None:
    inside = 0
    for repeat in range(1000):
        random = np.random.default_rng([9, repeat])
        a, b = random.standard_normal((2, 30))
        result = analyse(
            cube_of(np.tile(a[:, None], 2), np.tile(b[:, None], 2)),
            Correlation(),
            trials=2,
            seed=1,
            workers=1,
        )
        inside += bool(result["tau_low"][0] <= 0 <= result["tau_high"][0])
    assert abs(inside / 1000 - 0.95) < 4 * (0.95 * 0.05 / 1000) ** 0.5
