"""Quantiles and means of resampled values against plain Python."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from scorecube.statistics.quantiles import defined_mean, tails


def rank(share: Fraction, n: int) -> int:
    """Return share x n rounded up, at least 1."""
    return max(1, math.ceil(share * n))


@pytest.mark.parametrize("n", [1, 2, 19, 20, 21, 40, 101])
@pytest.mark.parametrize(
    "share", [Fraction(1, 20), Fraction(1, 40), Fraction(1, 3), Fraction(1, 2)]
)
@pytest.mark.parametrize("n_missing", [0, 1, 7])
def test_tails_are_order_statistics_of_the_values_that_exist(
    n: int, share: Fraction, n_missing: int
) -> None:
    chance = np.random.default_rng(n)
    values = chance.permutation(
        np.concatenate([chance.integers(0, 50, n) / 7, np.full(n_missing, np.nan)])
    )
    known = sorted(float(each) for each in values if not math.isnan(each))
    low, high = tails(np.stack([values, values + 1]), share)
    k = rank(share, n)
    assert [float(low[0]), float(high[0])] == [known[k - 1], known[n - k]]
    assert [float(low[1]), float(high[1])] == [known[k - 1] + 1, known[n - k] + 1]


def test_nothing_has_no_quantiles() -> None:
    nothing = np.full((1, 3), np.nan)
    assert all(math.isnan(float(each[0])) for each in tails(nothing, Fraction(1, 20)))


def test_means_leave_missing_values_out() -> None:
    values = np.array(
        [[1.0, np.nan, 4.0], [np.nan, np.nan, np.nan], [2.0, 2.0, 5.0], [np.inf, 1.0, 2.0]]
    )
    assert defined_mean(values)[[0, 2, 3]].tolist() == [2.5, 3.0, 1.5]
    assert math.isnan(defined_mean(values)[1])
