"""What is not SciPy's, as its import takes long, has the bits of SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression
from scipy.stats import false_discovery_control, rankdata

from scorecube.statistics.paired_tests import benjamini_hochberg
from scorecube.statistics.rank_sets import average_ranks
from scorecube.statistics.swap_rates import isotonic


@pytest.mark.parametrize("seed", range(200))
def test_bits_are_those_of_scipy(seed: int) -> None:
    chance = np.random.default_rng(seed)
    n = int(chance.integers(1, 60))
    weights = chance.integers(1, 1000, n).astype(float)
    rates = chance.integers(0, weights + 1) / weights
    if seed % 2:
        rates = np.sort(rates)[::-1] + chance.normal(0, 0.05, n)
    fitted = isotonic_regression(rates, weights=weights, increasing=False).x
    assert isotonic(rates, weights).tolist() == fitted.tolist()
    p = chance.random((2, n)).round(1 + seed % 16)
    assert benjamini_hochberg(p).tolist() == false_discovery_control(p, axis=-1).tolist()
    assert average_ranks(p[0]).tolist() == rankdata(p[0]).tolist()
