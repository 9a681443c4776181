"""Trials that may be the rank-th largest are all found, also beyond the bracket that was searched."""

from __future__ import annotations

import math

import numpy as np
import pytest

from scorecube.kernels.pairs.tiled_tail import candidates

TIE = 1e-3
find = candidates


@pytest.mark.parametrize("seed", range(40))
def test_candidates_are_all_trials_near_the_value_of_the_rank(seed: int) -> None:
    chance = np.random.default_rng(seed)
    # Many values are nearly equal, and the bracket ends between any two of them.
    values = np.round(chance.uniform(0.5, 1.5, 200), 2) * (
        1 + TIE / 3 * chance.integers(-1, 2, 200)
    )
    values[chance.random(200) < 0.1] = -math.inf
    ordered, rank = np.sort(values)[::-1], int(chance.integers(10, 100))
    value = ordered[rank - 1]
    low = ordered[rank - 1 + int(chance.integers(0, 4))]
    high = np.nextafter(ordered[max(rank - 1 - int(chance.integers(0, 4)), 0)], math.inf)
    limits = (low, high, int((values >= high).sum()))
    kept, places = np.empty(200), np.empty(200, np.int64)
    found, n, rank_among = find(values, rank, -1.0, limits, TIE, kept, places)
    assert found == value
    near = np.abs(values - value) <= value * TIE
    assert sorted(places[:n].tolist()) == np.flatnonzero(near).tolist()
    assert kept[:n].tolist() == values[places[:n]].tolist()
    assert rank_among == rank - (values > value * (1 + TIE)).sum()


def test_a_replicate_without_t_has_no_candidates() -> None:
    values = np.array([0.3, -math.inf, -math.inf, 0.9])
    kept, places = np.empty(4), np.empty(4, np.int64)
    assert find(values, 3, 0.7, (-math.inf, math.inf, 0), TIE, kept, places) == (0.7, 0, 0)
