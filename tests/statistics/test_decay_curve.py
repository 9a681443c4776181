"""Exponential decay against exact curves, and sums of squares of other curves."""

from __future__ import annotations

import numpy as np
import pytest

from scorecube.statistics.decay_curve import fit_decay, sizes_beyond

SIZES = np.array([5.0, 10.0, 20.0, 25.0])


@pytest.mark.parametrize("decay", [2e-5, 0.003, 0.0417, 0.3, 2.0])
def test_exact_curves_are_found(decay: float) -> None:
    heights, decays = fit_decay(
        SIZES, np.array([0.45 * np.exp(-decay * SIZES), 0.2 * np.exp(-decay * SIZES)])
    )
    np.testing.assert_allclose(decays, decay, rtol=1e-4)
    np.testing.assert_allclose(heights, [0.45, 0.2], rtol=1e-3)


def test_constant_rates_do_not_decay_and_rising_ones_neither() -> None:
    heights, decays = fit_decay(SIZES, np.array([[0.25] * 4, [0.1, 0.2, 0.3, 0.4]]))
    np.testing.assert_allclose(
        decays, [0.0, 0.0], atol=1e-8
    )  # the explained sums of squares differ by rounding only
    np.testing.assert_allclose(heights, [0.25, 0.25], rtol=1e-6)


@pytest.mark.parametrize("seed", range(6))
def test_no_curve_nearby_has_a_smaller_sum_of_squares(seed: int) -> None:
    chance = np.random.default_rng(seed)
    rates = (
        chance.uniform(0.05, 0.5)
        * np.exp(-chance.uniform(0.0, 0.2) * SIZES)
        * chance.uniform(0.8, 1.2, 4)
    )
    rates[chance.integers(4)] = np.nan
    height, decay = (float(each) for each in fit_decay(SIZES, rates))

    def squares(a: float, b: float) -> float:
        return float(np.nansum((rates - a * np.exp(-b * SIZES)) ** 2))

    for a in (0.999, 1.0, 1.001):
        for b in (decay * 0.999, decay, decay * 1.001, decay + 1e-5):
            assert squares(height, decay) <= squares(a * height, b) + 1e-15


def test_sizes_beyond_reach_twice_the_largest() -> None:
    assert sizes_beyond(np.array([10.0, 20.0, 25.0])).tolist() == [30.0, 35.0, 40.0, 45.0, 50.0]
    assert sizes_beyond(np.array([10.0, 20.0])).tolist() == []
