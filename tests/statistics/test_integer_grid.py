"""Scores on the integer grid: exact sums, the tolerance as a bound, exact bins."""

from __future__ import annotations

from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from scorecube.kernels.swap.pairwise import count_swaps
from scorecube.statistics.integer_scores import MAX_BITS, Grid, make_grid

HUNDREDTH = Fraction(1, 100)
sizes = st.integers(1, 60) | st.sampled_from([1, 2, 195, 1000])
widths = st.sampled_from(
    [HUNDREDTH, Fraction(1, 20), Fraction("0.003"), Fraction(1), Fraction(1, 7)]
)
# Decimal texts: inside [0, 1] with few and many digits, and far outside.
decimals = st.builds(
    lambda number, digits, scale: str(Fraction(number, 10**digits) * scale),
    st.integers(-(10**12), 10**12),
    st.sampled_from([12, 13, 16]),
    st.sampled_from([1, 1000]),
) | st.sampled_from(["0", "1", "1/10", "3/10", "-1/2", "1048576", "10485759/1000", "-123456789"])
settings_ = settings(deadline=None, max_examples=200)


def floats(exact: list[Fraction]) -> NDArray[np.float64]:
    """Return the nearest float64 numbers as one cell."""
    return np.array([[float(value) for value in exact]])


def units_of(exact: list[Fraction], grid: Grid) -> list[Fraction]:
    """Return the units of one cell."""
    return [Fraction(unit) for unit in grid.to_units(floats(exact))[0].tolist()]


def scale_of(grid: Grid) -> Fraction:
    """Exact units of a score of 1."""
    return Fraction(2) ** grid.bits[0] / (grid.width * grid.size)


@pytest.mark.parametrize("size", [1, 7, 50, 195])
@pytest.mark.parametrize("largest", [1.0, 0.001, 37.5, 1e9])
def test_sums_are_exact_in_any_order(size: int, largest: float) -> None:
    random = np.random.default_rng(size)
    scores = random.uniform(-largest, largest, (1, size))
    units = make_grid(size, HUNDREDTH, scores).to_units(scores)[0]
    exact = sum(int(unit) for unit in units)
    assert units.tolist() == [int(unit) for unit in units]
    for _ in range(50):
        shuffled = random.permutation(units)
        cut = random.integers(0, size + 1)
        assert sum(shuffled.tolist()) == exact
        assert np.sum(shuffled[:cut]) + np.sum(shuffled[cut:]) == exact
        assert np.add.reduce(shuffled) == exact
        assert shuffled @ np.ones(size) == exact


def test_float_scores_would_not_do() -> None:
    scores = [0.1, 0.2, 0.3]
    # Not `sum`, which corrects the rounding of floats since Python 3.12.
    assert reduce(add, scores) != reduce(add, reversed(scores))
    units = make_grid(3, HUNDREDTH, np.array([scores])).to_units(np.array([scores]))[0].tolist()
    assert sum(units) == sum(reversed(units))


@settings_
@given(values=st.lists(decimals, min_size=1, max_size=8), size=sizes, width=widths)
def test_every_sum_stays_below_2_to_the_53(values: list[str], size: int, width: Fraction) -> None:
    exact = [Fraction(value) for value in values]
    grid = make_grid(size, width, floats(exact))
    largest = max(abs(unit) for unit in units_of(exact, grid))
    assert size * largest + int(grid.tolerance) < 2**53
    # With both bounds in reach: no bit is given away for nothing.
    spread = max(Fraction(1), *(abs(value) for value in exact)) / width
    assert grid.bits[0] == MAX_BITS or spread * 2 ** grid.bits[0] > 2**49


@settings_
@given(values=st.lists(decimals, min_size=1, max_size=6), size=sizes, width=widths)
def test_rounding_moves_a_score_by_at_most_one_unit(
    values: list[str], size: int, width: Fraction
) -> None:
    exact = [Fraction(value) for value in values]
    grid = make_grid(size, width, floats(exact))
    for value, unit in zip(exact, units_of(exact, grid), strict=True):
        assert abs(unit - value * scale_of(grid)) <= 1


@settings_
@given(data=st.data(), size=st.integers(1, 12) | st.just(1), width=widths)
def test_difference_of_means_lies_within_the_tolerance(
    data: st.DataObject, size: int, width: Fraction
) -> None:
    samples = [
        [Fraction(v) for v in data.draw(st.lists(decimals, min_size=size, max_size=size))]
        for _ in range(2)
    ]
    grid = make_grid(size, width, floats(samples[0] + samples[1]))
    first, second = (sum(units_of(sample, grid), Fraction(0)) for sample in samples)
    means = [sum(sample, Fraction(0)) / size for sample in samples]
    in_units = (means[0] - means[1]) * Fraction(2) ** grid.bits[0] / width
    assert abs(first - second - in_units) <= int(grid.tolerance)


@pytest.mark.parametrize("size", [1, 2, 3, 50])
def test_equal_means_of_other_scores_are_ties(size: int) -> None:
    random = np.random.default_rng(size)
    for _ in range(300):
        tenths = random.integers(0, 11, (2, size))
        tenths[1] = random.permutation(tenths[0])
        moved = min(int(tenths[1, 0]), 10 - int(tenths[1, -1]))
        if size > 1:
            tenths[1, 0], tenths[1, -1] = tenths[1, 0] - moved, tenths[1, -1] + moved
        scores = tenths / 10
        grid = make_grid(size, HUNDREDTH, scores.reshape(1, -1))
        first, second = grid.to_units(scores[np.newaxis])[0].sum(axis=1)
        assert abs(first - second) <= grid.tolerance


def test_scores_within_one_have_one_grid() -> None:
    scores = np.array([[0.1, 0.2], [0.0, 1.0], [-1.0, 0.5], [1e-9, 0.0]])
    assert make_grid(50, HUNDREDTH, scores).bits == (MAX_BITS,) * 4
    assert make_grid(50, HUNDREDTH, scores).units_per_bin.tolist() == [2.0**MAX_BITS] * 4


def test_tolerance_is_2e_13_of_a_mean_of_50() -> None:
    grid = make_grid(50, HUNDREDTH, np.ones((1, 1)))
    assert grid.tolerance == 100
    assert grid.to_mean(np.array([grid.tolerance]))[0] == pytest.approx(2.27e-13, rel=0.01)


@settings_
@given(values=st.lists(decimals, min_size=2, max_size=6), size=sizes, data=st.data())
def test_dropping_a_cell_leaves_the_others_alone(
    values: list[str], size: int, data: st.DataObject
) -> None:
    cells = np.array([[float(Fraction(value)), 0.5, 0.25] for value in values])
    kept = data.draw(st.lists(st.integers(0, len(cells) - 1), min_size=1, unique=True))
    whole, part = make_grid(size, HUNDREDTH, cells), make_grid(size, HUNDREDTH, cells[kept])
    np.testing.assert_array_equal(part.to_units(cells[kept]), whole.to_units(cells)[kept])
    np.testing.assert_array_equal(part.units_per_bin, whole.units_per_bin[kept])
    assert part.tolerance == whole.tolerance


def test_scale_belongs_to_the_cell_whatever_the_dims_behind() -> None:
    scores = np.random.default_rng(0).uniform(0, 1, (2, 3, 4)) * np.array([1.0, 5000.0]).reshape(
        2, 1, 1
    )
    grid = make_grid(4, HUNDREDTH, scores)
    assert grid.bits[0] != grid.bits[1]
    for cell in range(2):
        for run in range(3):
            alone = Grid(4, HUNDREDTH, (grid.bits[cell],)).to_units(scores[cell : cell + 1, run])
            np.testing.assert_array_equal(grid.to_units(scores)[cell, run], alone[0])


@settings_
@given(values=st.lists(decimals, min_size=1, max_size=12), width=widths)
def test_mean_comes_back(values: list[str], width: Fraction) -> None:
    exact = [Fraction(value) for value in values]
    grid = make_grid(len(exact), width, floats(exact))
    found = grid.to_mean(grid.to_units(floats(exact)).sum(axis=1))[0]
    largest = max(1.0, *(abs(float(value)) for value in exact))
    assert found == pytest.approx(float(sum(exact) / len(exact)), rel=1e-12, abs=1e-12 * largest)


def bin_of(
    first: NDArray[np.float64], second: NDArray[np.float64], width: Fraction, n_bins: int
) -> tuple[int, bool]:
    """Return the bin of the difference in mean of two runs' scores, and whether it is a tie."""
    scores = np.stack([first, second])[np.newaxis]
    grid = make_grid(len(first), width, scores)
    sums = grid.to_units(scores).sum(axis=2)[np.newaxis]
    counted = np.zeros((1, 1, 2 * n_bins + 1), np.int32)
    count_swaps(sums, sums, grid.units_per_bin, grid.tolerance, counted)
    assert counted.sum() == 1
    place = int(np.flatnonzero(counted[0, 0])[0])
    tied = place == 2 * n_bins
    return 0 if tied else place, tied


@pytest.mark.parametrize("size", [1, 3, 7, 20, 42, 50])
@pytest.mark.parametrize("width", [HUNDREDTH, Fraction(1, 20), Fraction(1, 7)])
def test_difference_of_exactly_k_widths_opens_bin_k(size: int, width: Fraction) -> None:
    random = np.random.default_rng(size)
    n_bins = 21
    for k in range(26):
        low = [Fraction(int(n), 10_000) for n in random.integers(0, 5000, size)]
        shifts = [Fraction(int(n), 10_000) for n in random.integers(-500, 500, size)]
        shifts[-1] -= sum(shifts)
        high = [value + shift + k * width for value, shift in zip(low, shifts, strict=True)]
        x, y = np.array([float(v) for v in high]), np.array([float(v) for v in low])
        assert (
            bin_of(x, y, width, n_bins)
            == bin_of(y, x, width, n_bins)
            == (min(k, n_bins - 1), k == 0)
        )
        if k > 0:
            nudge = np.zeros(size)
            nudge[0] = -size * 1e-9
            assert bin_of(x + nudge, y, width, n_bins) == (min(k - 1, n_bins - 1), False)


def test_float_differences_would_miss_those_edges() -> None:
    missed = [k for k in range(1, 21) if int(((0.3 + k / 100) - 0.3) / 0.01) != k]
    assert missed
    for k in missed:
        assert bin_of(np.array([0.3 + k / 100]), np.array([0.3]), HUNDREDTH, 21) == (k, False)
