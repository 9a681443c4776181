"""The order of pairs in blocks: every pair once, by squares of runs, and its place in results."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from scorecube.kernels.pairs.pair_order import (
    PAIRS_AT_ONCE,
    SIDE,
    label_order,
    pair_order,
    pair_place,
)


@pytest.mark.parametrize("n_runs", [2, SIDE, SIDE + 1, 3 * SIDE - 7, 800])
def test_pairs_are_listed_by_squares_and_have_their_places(n_runs: int) -> None:
    first, second = pair_order(n_runs)
    expected = list(itertools.combinations(range(n_runs), 2))
    if n_runs > SIDE:
        expected.sort(key=lambda pair: (pair[0] // SIDE, pair[1] // SIDE, *pair))
    assert list(zip(first.tolist(), second.tolist(), strict=True)) == expected
    assert {first.dtype, second.dtype} == {np.dtype(np.int32)}
    places = pair_place(first, second, n_runs)
    by_label = np.empty((2, len(places)), np.int64)
    by_label[:, places] = first, second
    np.testing.assert_array_equal(by_label, label_order(n_runs))
    assert n_runs < 800 or len(places) > PAIRS_AT_ONCE
