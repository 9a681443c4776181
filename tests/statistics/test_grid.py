"""The grid: sums and second moments of scores are integers, the same in any order, split and product."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scorecube.errors import BadInput
from scorecube.statistics.grid import (
    MOST_TOPICS,
    UNITS,
    Grid,
    check_differences,
    check_range,
    make_grid,
    tightest_range,
)

EXACT = [Fraction(k, 10_000) for k in range(0, 10_001, 37)] + [
    Fraction(k, n) for n in (*range(1, 11), 12, 14, 15, 16, 20, 30) for k in range(n + 1)
]


def test_printed_scores_precisions_and_reciprocal_ranks_are_exact() -> None:
    units = Grid(0.0, 1.0).to_units(np.array(EXACT, float))
    assert units.tolist() == [score * UNITS for score in EXACT]


def test_largest_second_moment_is_exact_in_float64() -> None:
    assert MOST_TOPICS * UNITS**2 < 2**53 < (MOST_TOPICS + 20) * UNITS**2


@pytest.mark.parametrize(
    ("scores", "expected"),
    [([-3.2, 17.0], (-10, 20)), ([0.25, 0.75], (0.2, 0.8)), ([0.0, 100.0], (0, 100)), ([54.3, 61.8], (54, 62)), ([0.003, 0.0071], (0.003, 0.008)), ([5.0, 5.0], (4.5, 5.5))],
)  # fmt: skip
def test_ranges_that_nobody_declared_are_tight_multiples_of_a_power_of_ten(
    scores: list[float], expected: tuple[float, float]
) -> None:
    assert tightest_range(np.array(scores)) == expected


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20))
def test_no_difference_exceeds_the_units_of_the_range(scores: list[float]) -> None:
    grid = make_grid(np.array(scores))
    units = grid.to_units(np.array(scores))
    assert np.ptp(units) <= UNITS
    moved = np.abs(grid.low + units * grid.unit - np.array(scores))
    assert moved.max() <= 0.5000001 * grid.unit + 1e-6


@pytest.mark.parametrize("scores", [[0.5, 1.1], [-0.1, 0.5]])
def test_scores_outside_a_declared_range_are_refused(scores: list[float]) -> None:
    with pytest.raises(BadInput, match="0 to 1"):
        check_range(np.array(scores), 0.0, 1.0)


def test_scores_too_close_for_the_grid_are_refused_and_equal_ones_are_not() -> None:
    with pytest.raises(BadInput, match="0 to 1;"):
        check_differences(np.array([[0.5], [0.500001]]), (0.0, 1.0))
    check_differences(np.array([[0.5], [0.5]]), (0.0, 1.0))
    check_differences(np.array([[0.5, 0.2], [0.500001, 0.3]]), (0.0, 1.0))  # apart on one topic
