"""All ways to count swaps give the same counts, and those of plain integers."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.kernels.swap.dispatch import (
    BY_TRIAL_RUNS,
    LEAST_TRIALS,
    MOST_TRIALS,
    Kernel,
    Tally,
    add_trials,
    choose_kernel,
    trials_at_once,
)
from scorecube.kernels.swap.pairwise import count_swaps
from scorecube.kernels.swap.sorted_runs import FEW, MOST_RUNS, fits

Array = np.ndarray[Any, Any]
BIN = 2.0**42
TOLERANCE = 100.0
FIELDS = ("count", "swap", "both_zero", "products", "largest", "widest")


def tally(kernel: Kernel, sums: Array, n_bins: int, widths: Array) -> Tally:
    """Count swaps of given sums (half, trial, cell, run)."""
    result = Tally.empty(sums.shape[2], n_bins)
    by_run = np.ascontiguousarray(sums.transpose(2, 3, 0, 1))
    add_trials(kernel, by_run, widths, TOLERANCE, result)
    return result


def plain(sums: Array, n_bins: int, widths: Array) -> Tally:
    """Count with Python's integers."""
    _, n_trials, n_cells, n_runs = sums.shape
    result = Tally.empty(n_cells, n_bins)
    tolerance = int(TOLERANCE)
    for cell in range(n_cells):
        for trial in range(n_trials):
            a, b = ([int(each) for each in sums[half, trial, cell]] for half in (0, 1))
            result.largest[cell] = max(int(result.largest[cell]), *a, *b)
            result.widest[cell] = max(int(result.widest[cell]), max(a) - min(a), max(b) - min(b))
            count, swap, both_zero = [0] * n_bins, [0] * n_bins, 0
            for x, y in combinations(range(n_runs), 2):
                d, e = a[x] - a[y], b[x] - b[y]
                place = min((abs(d) + tolerance) // int(widths[cell]), n_bins - 1)
                signs = [(each > tolerance) - (each < -tolerance) for each in (d, e)]
                place = place if any(signs) else 0
                count[place] += 1
                swap[place] += signs[0] != signs[1]
                both_zero += signs == [0, 0]
            result.count[cell] += count
            result.swap[cell] += swap
            result.both_zero[cell] += both_zero
            for place, (c, s) in enumerate(
                zip([*count, count[0]], [*swap, swap[0] + both_zero], strict=True)
            ):
                for k, product in enumerate((c * c, c * s, s * s)):
                    result.products[cell, k, :, place] += [product % 2**32, product // 2**32]
    return result


def assert_same(found: Tally, expected: Tally) -> None:
    for field in FIELDS:
        np.testing.assert_array_equal(
            getattr(found, field), getattr(expected, field), err_msg=field
        )


@st.composite
def sums_of_runs(draw: st.DrawFn) -> Array:
    """Draw sums (half, trial, cell, run): continuous, on few levels with rounding around them, in chains of ties, all equal."""
    n_trials, n_cells, n_runs = (
        draw(st.integers(1, 4)),
        draw(st.integers(1, 2)),
        draw(st.integers(2, 70)),
    )
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = (2, n_trials, n_cells, n_runs)
    kind = draw(st.sampled_from(["continuous", "levels", "chains", "equal", "negative", "edges"]))
    if kind == "continuous":
        sums = random.integers(0, int(BIN) * draw(st.sampled_from([1, 3, 30, 100])), shape)
    elif kind == "levels":
        sums = random.integers(0, draw(st.integers(1, 12)), shape) * (
            int(BIN) // 5
        ) + random.integers(-50, 51, shape)
    elif kind == "chains":
        sums = random.integers(0, draw(st.sampled_from([5, 40, 200])), shape) * draw(
            st.sampled_from([1, 50, 100, 101])
        )
    elif kind == "equal":
        sums = np.zeros(shape, np.int64) + draw(st.integers(0, 3)) * int(BIN)
    elif kind == "negative":
        sums = random.integers(-int(BIN) * 40, int(BIN) * 40, shape)
    else:
        sums = random.integers(0, 30, shape) * int(BIN) + random.choice(
            [0, 0, 99, 100, 101, -99, -100, -101], shape
        )
    return sums.astype(np.float64)


@settings(max_examples=200)
@given(sums=sums_of_runs(), n_bins=st.sampled_from([2, 3, 21, 50]))
def test_all_kernels_agree(sums: Array, n_bins: int) -> None:
    widths = np.array([BIN, BIN / 4])[: sums.shape[2]]
    expected = tally(Kernel.BY_RUN, sums, n_bins, widths)
    for kernel in Kernel:
        assert_same(tally(kernel, sums, n_bins, widths), expected)


@settings(max_examples=40)
@given(sums=sums_of_runs(), n_bins=st.sampled_from([2, 21]))
def test_counts_are_those_of_plain_integers(sums: Array, n_bins: int) -> None:
    sums = sums[..., :12]
    widths = np.array([BIN, BIN / 4])[: sums.shape[2]]
    for kernel in Kernel:
        assert_same(tally(kernel, sums, n_bins, widths), plain(sums, n_bins, widths))


@pytest.mark.parametrize("n_runs", [FEW, FEW + 1, 500, 2500])
@pytest.mark.parametrize("kind", ["continuous", "tied", "equal", "two values"])
def test_many_runs(n_runs: int, kind: str) -> None:
    random = np.random.default_rng(n_runs)
    sums = random.integers(0, int(BIN) * 40, (2, 2, 1, n_runs))
    if kind == "tied":
        sums = sums // int(BIN / 3) * int(BIN / 3) + random.integers(-20, 21, sums.shape)
    elif kind == "equal":
        sums = random.integers(-50, 51, sums.shape)
    elif kind == "two values":
        sums = sums % 2 * int(BIN) * 10 + random.integers(-20, 21, sums.shape)
    widths = np.array([BIN])
    expected = tally(Kernel.BY_RUN, sums.astype(float), 21, widths)
    assert_same(tally(Kernel.SORTED, sums.astype(float), 21, widths), expected)
    assert int(expected.count.sum()) == n_runs * (n_runs - 1)


@pytest.mark.slow
def test_9000_runs() -> None:
    sums = np.random.default_rng(1).integers(0, int(BIN) * 100, (2, 1, 1, 9000)).astype(float)
    widths = np.array([BIN])
    assert choose_kernel(9000, 21, float(sums.max()), widths, TOLERANCE) is Kernel.SORTED
    assert_same(tally(Kernel.SORTED, sums, 21, widths), tally(Kernel.BY_RUN, sums, 21, widths))


def test_the_kernel_is_chosen_by_runs_and_bins() -> None:
    widths = np.array([BIN])

    def chosen(n_runs: int, n_bins: int = 21, largest: float = 100 * BIN) -> Kernel:
        return choose_kernel(n_runs, n_bins, largest, widths, TOLERANCE)

    assert [chosen(n) for n in (2, BY_TRIAL_RUNS, BY_TRIAL_RUNS + 1, 125, 126)] == [
        Kernel.BY_TRIAL, Kernel.BY_TRIAL, Kernel.BY_RUN, Kernel.BY_RUN, Kernel.SORTED,
    ]  # fmt: skip
    assert chosen(1000, 1000) is Kernel.BY_RUN
    assert chosen(200, 5) is Kernel.SORTED


def test_what_does_not_fit_into_keys_is_compared_pair_by_pair() -> None:
    widths = np.array([BIN])
    assert fits(16384, 99 * BIN, widths, TOLERANCE)
    assert not fits(16385, 99 * BIN, widths, TOLERANCE)
    assert fits(2048, 2.0**51, widths, TOLERANCE)
    assert not fits(8193, 2.0**51, widths, TOLERANCE)
    assert not fits(MOST_RUNS + 1, 1.0, widths, TOLERANCE)
    assert not fits(300, 1.0, np.array([2 * TOLERANCE]), TOLERANCE)
    assert fits(300, 2.0**40, np.array([2.0**30]), TOLERANCE)
    assert not fits(300, 2.0**40, np.array([2.0**27]), TOLERANCE)
    assert choose_kernel(8193, 21, 2.0**51, widths, TOLERANCE) is Kernel.BY_RUN


def test_bins_narrower_than_ties_are_alike_in_the_kernels_that_may_meet_them() -> None:
    sums = np.random.default_rng(5).integers(0, 2000, (2, 3, 1, 40)).astype(float)
    widths = np.array([64.0])
    expected = plain(sums, 21, widths)
    for kernel in (Kernel.BY_TRIAL, Kernel.BY_RUN):
        assert_same(tally(kernel, sums, 21, widths), expected)


@pytest.mark.parametrize("columns", [1, 100, 10**4, 10**7])
def test_trials_at_once_are_within_bounds(columns: int) -> None:
    assert LEAST_TRIALS <= trials_at_once(columns) <= MOST_TRIALS


def test_counts_are_added_to_what_is_there() -> None:
    sums = np.random.default_rng(6).integers(0, int(BIN) * 30, (2, 2, 1, 9)).astype(float)
    widths = np.array([BIN])
    expected = tally(Kernel.SORTED, sums, 21, widths)
    found = Tally.empty(1, 21)
    for _ in range(2):
        counted = found.counted(2)
        count_swaps(sums[0], sums[1], widths, TOLERANCE, counted)
        found.add(counted)
    for field in ("count", "swap", "both_zero", "products"):
        np.testing.assert_array_equal(
            getattr(found, field), 2 * getattr(expected, field), err_msg=field
        )


def test_squares_of_large_counts_do_not_overflow() -> None:
    # 2**30 pairs in each of 2**5 trials: the sum of squares is 2**65.
    found = Tally.empty(1, 2)
    counted = found.counted(2**5)
    counted[..., 0] = 2**30
    found.add(counted)
    low, high = found.products[0, 0, :, 0].tolist()
    assert low + (high << 32) == 2**65
