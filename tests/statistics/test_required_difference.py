"""Required differences against plain Python, with fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from scorecube.statistics.required_difference import required_bins


def plain(count: list[int], swaps: list[int], level: str, lowest: int) -> tuple[int, int]:
    """Return the first bin with an accepted rate, and the first from which on no rate is too high; -1 for none."""
    accepted = 1 - Fraction(level)
    good = [s <= c * accepted for c, s in zip(count, swaps, strict=True)]
    filled = [k for k, c in enumerate(count) if c > 0]
    first = next((k for k in filled if k >= lowest and good[k]), -1)
    suffix = next((k for k in filled if k >= lowest and all(good[j] for j in filled if j >= k)), -1)
    return first, suffix


@pytest.mark.parametrize("lowest", [0, 1, 2])
@pytest.mark.parametrize("seed", range(20))
def test_bins_are_those_of_the_definition(seed: int, lowest: int) -> None:
    chance = np.random.default_rng(seed)
    count = chance.choice([0, 1, 20, 40, 60], (3, 6))
    # Rates of 5 % and 10 % exactly, among others; single comparisons are swaps or not.
    swaps = (count * chance.choice([0, 1, 2, 3, 9, 20], (3, 6))) // 20
    levels = ["0.95", "0.9", "0.7"]
    first, suffix = required_bins(count, swaps, [float(level) for level in levels], lowest=lowest)
    for row in range(3):
        for k, level in enumerate(levels):
            expected = plain(count[row].tolist(), swaps[row].tolist(), level, lowest)
            assert (int(first[row, k]), int(suffix[row, k])) == expected


def test_the_first_bin_is_left_out_by_default() -> None:
    first, suffix = required_bins(np.array([10, 10]), np.array([0, 0]), [0.95])
    assert (first.tolist(), suffix.tolist()) == ([1], [1])
