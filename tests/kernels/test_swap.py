"""Counts of the swap kernel against plain integers, pair by pair and trial by trial."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.kernels.swap import CLASSES, count_and_swaps, count_orders, orders

TOLERANCE, WIDTH = 2, 16


def plain(sums: np.ndarray, n_bins: int) -> np.ndarray:
    """Count as the papers say."""
    n_runs, _, n_trials = sums.shape
    counted = np.zeros((n_trials, CLASSES * n_bins + 1), int)
    for trial in range(n_trials):
        for x, y in combinations(range(n_runs), 2):
            d, e = (int(sums[x, half, trial] - sums[y, half, trial]) for half in range(2))
            a, b = (0 if abs(each) <= TOLERANCE else (1 if each > 0 else -1) for each in (d, e))
            place = min((abs(d) + TOLERANCE) // WIDTH, n_bins - 1) if a else 0
            kind = 0 if a == b else 2 if a * b < 0 else 1
            code = CLASSES * n_bins if a == b == 0 else kind * n_bins + place
            counted[trial, code] += 1
    return counted


def kernel(sums: np.ndarray, n_bins: int) -> np.ndarray:
    counted = np.zeros((sums.shape[2], CLASSES * n_bins + 1), np.int32)
    count_orders(sums.astype(float), float(WIDTH), float(TOLERANCE), counted)
    return counted


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.integers(1, 70), st.integers(2, 30))
def test_counts_are_those_of_plain_integers(
    seed: int, n_runs: int, n_trials: int, n_bins: int
) -> None:
    sums = np.random.default_rng(seed).integers(0, 60, (n_runs, 2, n_trials))
    n_trials = min(n_trials, 9) if n_runs > 20 else n_trials
    sums = np.ascontiguousarray(sums[..., :n_trials])
    np.testing.assert_array_equal(kernel(sums, n_bins), plain(sums, n_bins))


@pytest.mark.parametrize(("n_runs", "n_trials"), [(2, 600), (300, 3), (700, 1)])
def test_trials_together_are_trials_alone(n_runs: int, n_trials: int) -> None:
    sums = np.random.default_rng(n_runs).integers(0, 500, (n_runs, 2, n_trials))
    alone = [kernel(np.ascontiguousarray(sums[..., k : k + 1]), 21)[0] for k in range(n_trials)]
    found = kernel(sums, 21)
    np.testing.assert_array_equal(found, alone)
    assert (found.sum(axis=1) == n_runs * (n_runs - 1) // 2).all()


def test_parts_make_comparisons_and_swaps() -> None:
    counted = np.array([5, 6, 1, 2, 3, 4, 9])
    parts = orders(counted)
    assert [part.tolist() for part in parts] == [[5, 6], [1, 2], [3, 4], 9]
    assert [part.tolist() for part in count_and_swaps(counted, False)] == [[18, 12], [4, 6]]
    assert [part.tolist() for part in count_and_swaps(counted, True)] == [[18, 12], [13, 6]]
