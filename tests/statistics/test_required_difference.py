"""Required differences against plain Python, with fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from scorecube.methods.swap.curves import curve_of, curves_of
from scorecube.statistics.swap_rates import required_differences, share_beyond


def plain(count: list[int], swaps: list[int], level: str) -> int:
    """Return the first bin but the lowest from which on no rate is too high; -1 for none."""
    accepted = 1 - Fraction(level)
    good = [s <= c * accepted for c, s in zip(count, swaps, strict=True)]
    filled = [k for k, c in enumerate(count) if c > 0]
    return next((k for k in filled if k >= 1 and all(good[j] for j in filled if j >= k)), -1)


@pytest.mark.parametrize("seed", range(20))
def test_bins_are_those_of_the_definition(seed: int) -> None:
    chance = np.random.default_rng(seed)
    count = chance.choice([0, 1, 20, 40, 60], (3, 6))
    # Rates of 5 % and 10 % exactly, among others; single comparisons are swaps or not.
    swaps = (count * chance.choice([0, 1, 2, 3, 9, 20], (3, 6))) // 20
    levels = ["0.95", "0.9", "0.7"]
    suffix = required_differences(count, swaps, [float(level) for level in levels], 6).suffix
    for row in range(3):
        for k, level in enumerate(levels):
            assert int(suffix[row, k]) == plain(count[row].tolist(), swaps[row].tolist(), level)


def test_an_open_bin_is_no_answer_of_the_isotonic_rule() -> None:
    found = required_differences(np.array([10, 10]), np.array([5, 0]), [0.95], 1)
    assert (found.suffix.tolist(), found.isotonic.tolist()) == ([1], [-1])


def pooled(count: list[int], swaps: list[int]) -> list[Fraction | None]:
    """Return the non-increasing weighted least-squares fit: neighbours in the wrong order are pooled until none is."""
    blocks: list[list[int]] = []  # comparisons, swaps, bins
    for c, s in zip(count, swaps, strict=True):
        if c == 0:
            continue
        blocks.append([c, s, 1])
        while len(blocks) > 1 and blocks[-2][1] * blocks[-1][0] < blocks[-1][1] * blocks[-2][0]:
            last = blocks.pop()
            blocks[-1] = [a + b for a, b in zip(blocks[-1], last, strict=True)]
    fits = iter([Fraction(s, c) for c, s, n in blocks for _ in range(n)])
    return [next(fits) if c else None for c in count]


@pytest.mark.parametrize("seed", range(40))
def test_the_isotonic_rule_is_that_of_the_pooled_fit(seed: int) -> None:
    chance = np.random.default_rng(seed)
    count = chance.choice([0, 1, 20, 40, 60], (4, 8))
    swaps = (count * np.sort(chance.choice([0, 1, 2, 3, 9, 20], (4, 8)))[:, ::-1]) // 20
    swaps = np.minimum(swaps + chance.integers(0, 3, swaps.shape), count)
    levels = ["0.95", "0.9", "0.7"]
    numbers = [float(level) for level in levels]
    found_by_fit = required_differences(count, swaps, numbers, 8)
    fits, bins, widths = found_by_fit.fitted, found_by_fit.isotonic, found_by_fit.smooth
    for row in range(4):
        fit = pooled(count[row].tolist(), swaps[row].tolist())
        expected = [np.nan if rate is None else float(rate) for rate in fit]
        np.testing.assert_allclose(fits[row], expected, rtol=1e-12)
        filled = [(k, rate) for k, rate in enumerate(fit) if rate is not None]
        for j, level in enumerate(levels):
            accepted = 1 - Fraction(level)
            found = next((k for k, rate in filled if k >= 1 and rate <= accepted), -1)
            assert int(bins[row, j]) == found
            below = [(k, rate) for k, rate in filled if k < found]
            if found < 0:
                assert np.isnan(widths[row, j])
            elif below and below[-1][1] > accepted:
                (k, high), low = below[-1], dict(filled)[found]
                exact = k + Fraction(1, 2) + (high - accepted) / (high - low) * (found - k)
                assert widths[row, j] == pytest.approx(float(exact), rel=1e-12)
            else:
                assert widths[row, j] == found


def test_shares_are_linear_within_a_bin() -> None:
    count = np.array([[6, 2, 2], [0, 0, 0]])
    widths = np.array([[0.5, 3.0, np.nan], [1.0, 2.0, np.nan]])
    assert share_beyond(count, widths).tolist() == [[0.7, 0.0, 0.0], [0.0, 0.0, 0.0]]
    one = share_beyond(np.array([0, 1]), np.array([0.5, 1.0, 1.25]))
    assert one.tolist() == [1.0, 1.0, 0.75]


def test_curves_that_are_made_together_are_those_of_each() -> None:
    chance = np.random.default_rng(3)
    shapes = (9, 13, 9, 13, 13)
    blocks = [chance.integers(0, 9, (2, 1, 2, 4, 3 * n + 1)) for n in shapes]
    how = (0.95, 0.7), True, True
    for counts, found in zip(blocks, curves_of(blocks, *how), strict=True):
        np.testing.assert_equal(found, curve_of(counts, *how))
