"""Comparisons by group of runs equal plain Python, also beyond the last bin and at ties."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from scorecube.kernels.swap.by_group import count_by_group, n_places

N_BINS, UNITS, TOLERANCE = 4, 8, 0.5


def plain(sums: np.ndarray, groups: list[int]) -> np.ndarray:
    """Return the counts (group of one or all, place) of one cell, pair by pair."""
    counted = np.zeros((1 + max(groups) + 1, n_places(N_BINS)), np.int64)
    n_runs, _, n_trials = sums.shape
    for x, y in itertools.combinations(range(n_runs), 2):
        for trial in range(n_trials):
            d, e = (sums[x, half, trial] - sums[y, half, trial] for half in (0, 1))
            place = min(int((abs(d) + TOLERANCE) / UNITS), N_BINS - 1)
            if d == 0 and e == 0:
                place = 3 * N_BINS
            elif d == 0 or e == 0:
                place += 2 * N_BINS
            elif (d > 0) != (e > 0):
                place += N_BINS
            for row in {0, 1 + groups[x], 1 + groups[y]}:
                counted[row, place] += 1
    return counted


@pytest.mark.parametrize("seed", range(5))
def test_counts_equal_plain_python(seed: int) -> None:
    chance = np.random.default_rng(seed)
    # Whole units: ties are exact, and a tenth of the differences lie beyond the last bin.
    sums = chance.integers(0, 45, (2, 6, 2, 30)).astype(float)
    sums[:, 1] = sums[:, 0]
    sums[:, 2, 0] = sums[:, 0, 0]
    groups = [0, 1, 1, 2, 0, 2]
    counted = np.zeros((2, 4, n_places(N_BINS)), np.int64)
    count_by_group(sums, np.array(groups), np.full(2, float(UNITS)), TOLERANCE, counted)
    for cell in range(2):
        np.testing.assert_array_equal(counted[cell], plain(sums[cell], groups))
    assert counted[:, 0].sum() == 2 * 15 * 30
