"""Scores between cuts: the same as of numpy.searchsorted, for cuts anywhere."""

from __future__ import annotations

import numpy as np
import pytest

from scorecube.kernels.quantiles import quantiles


@pytest.mark.parametrize("spread", [1e-9, 1.0, 1e6])
@pytest.mark.parametrize("count", [1, 10, 50_000])
def test_searches_are_those_of_numpy(spread: float, count: int) -> None:
    random = np.random.default_rng(count)
    cuts = np.sort(random.normal(size=count)) * spread
    cuts[: count // 5], cuts[count - count // 10 :] = -np.inf, np.inf
    scores = random.random(count + 1)
    numbers = np.concatenate([random.normal(size=2000) * spread, random.normal(size=2000), cuts])
    found = np.empty(len(numbers))
    quantiles(cuts, scores, -6.0, 6.0).find(numbers, found)
    np.testing.assert_array_equal(found, scores[np.searchsorted(cuts, numbers)])
