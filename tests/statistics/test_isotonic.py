"""Isotonic regression and Kendall's tau have SciPy's bits, which need not be imported for them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import isotonic_regression

from scorecube.statistics.required_difference import non_increasing


@pytest.mark.parametrize("seed", range(40))
def test_isotonic_regression_has_the_bits_of_scipy(seed: int) -> None:
    random = np.random.default_rng(seed)
    length = int(random.integers(1, 60))
    weights = random.integers(1, 10 ** int(random.integers(1, 7)), length).astype(np.float64)
    trend = np.linspace(0.5, 0.0, length) if seed % 2 else 0.3
    values = np.round(random.binomial(weights.astype(np.int64), trend) / weights, 1 + seed % 16)
    expected = isotonic_regression(values, weights=weights, increasing=False).x
    fitted = non_increasing(values, weights)
    assert fitted.tobytes() == expected.tobytes()
    assert (np.diff(fitted) <= 0).all()


def test_isotonic_regression_of_nothing_and_of_a_decreasing_sequence() -> None:
    assert non_increasing(np.empty(0), np.empty(0)).tolist() == []
    values = np.array([0.5, 0.2, 0.1])
    assert non_increasing(values, np.ones(3)).tolist() == values.tolist()
