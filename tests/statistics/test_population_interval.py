"""The interval of a rate over collections against its formula, written out for one bin at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

from scorecube.statistics.replicate_limits import population_interval

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


def jackknife(one: list[float], other: list[float]) -> float:
    """Return the covariance of delete-a-group replicates."""
    n = len(one)
    mean_one, mean_other = sum(one) / n, sum(other) / n
    products = [(a - mean_one) * (b - mean_other) for a, b in zip(one, other, strict=True)]
    return sum(products) * (n - 1) / n


def wilson(rate: float, size: float, freedom: float) -> tuple[float, float]:
    """Return the score interval of a rate of `size` comparisons, with a t quantile."""
    z = float(stats.t.ppf(0.975, freedom))
    centre = (rate + z * z / (2 * size)) / (1 + z * z / size)
    half = z * math.sqrt(rate * (1 - rate) / size + z * z / (4 * size * size)) / (1 + z * z / size)
    return (0.0 if rate == 0 else centre - half), (1.0 if rate == 1 else centre + half)


def expected(
    rate: FloatArray, count: Any, sizes: FloatArray, replicates: FloatArray, n_by_runs: int
) -> list[tuple[float, float]]:
    """Return the interval of each bin: size and freedom of bins without both outcomes from the nearest bin that has."""
    found: list[tuple[float, float] | None] = []
    for k, share in enumerate(rate):
        by_runs = [float(each) for each in replicates[-n_by_runs:, k]]
        by_runs = [(0.0 if share > 0.5 else 1.0) if math.isnan(each) else each for each in by_runs]
        by_topics = [float(each) for each in replicates[:-n_by_runs, k]]
        topics = (
            0.0
            if any(map(math.isnan, by_topics))
            else max(jackknife(by_topics[::2], by_topics[1::2]), 0.0)
        )
        runs = jackknife(by_runs, by_runs)
        between = share * (1 - share)
        if not count[k] or not between > 0:
            found.append(None)
            continue
        total = runs + topics + between / sizes[k]
        spread = runs**2 / (n_by_runs - 1) + topics**2 / (len(by_topics) // 2 - 1)
        freedom = total**2 / spread if spread > 0 else math.inf
        found.append((between / total / count[k], freedom))
    intervals = []
    for k, share in enumerate(rate):
        before = [each for each in found[k::-1] if each]
        nearest = next(iter(before or [each for each in found[k:] if each]), None)
        # Without any bin with both outcomes there is one comparison at least.
        size, freedom = (nearest[0] * count[k], nearest[1]) if nearest else (1.0, 1.0)
        size, freedom = min(size, count[k]), min(max(freedom, 1.0), 1e9)
        intervals.append(wilson(float(share), size, freedom) if count[k] else (math.nan, math.nan))
    return intervals


@pytest.mark.parametrize("seed", range(40))
def test_intervals_are_those_of_the_formula(seed: int) -> None:
    chance = np.random.default_rng(seed)
    n_bins, groups = int(chance.integers(1, 6)), int(chance.integers(2, 5))
    rate = chance.choice([0.0, 0.1, 0.25, 0.5, 0.75, 1.0], n_bins)
    count = chance.integers(0, 3, n_bins) * 40
    rate = np.where(count > 0, rate, np.nan)
    sizes = np.where(count > 0, count * chance.uniform(0.2, 1.0, n_bins), 0.0)
    replicates = np.clip(
        np.nan_to_num(rate, nan=0.3) + chance.normal(0, 0.1, (3 * groups, n_bins)), 0, 1
    )
    replicates[chance.random(replicates.shape) < 0.1] = np.nan
    low, high = population_interval(rate, count, sizes, replicates, groups)
    wanted = expected(rate, count, sizes, replicates, groups)
    np.testing.assert_allclose(
        np.stack([low, high], axis=1), np.array(wanted), rtol=1e-9, atol=1e-12
    )


def test_fewer_runs_than_groups_have_a_replicate_each() -> None:
    replicates = np.random.default_rng(3).uniform(0.1, 0.4, (2 * 5 + 3, 1))
    arguments = np.array([0.25]), np.array([100]), np.array([50.0]), replicates
    found = population_interval(*arguments, 5)
    (wanted,) = expected(*arguments, 3)
    np.testing.assert_allclose([float(each[0]) for each in found], wanted, rtol=1e-9)
