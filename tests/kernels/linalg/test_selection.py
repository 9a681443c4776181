"""Counting and ranking without sorting, against sorting."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from scorecube.kernels.linalg import selection
from scorecube.kernels.linalg.selection import FEW, MANY, STRIDE

Floats = np.ndarray[Any, np.dtype[np.float64]]
bracket, count_from, first_equal = (selection.bracket, selection.count_from, selection.first_equal)
gather, narrow, nth_largest = (selection.gather, selection.narrow, selection.nth_largest)
BOUNDS = st.sampled_from([-math.inf, math.inf, 0.0, -1.0, 1.0]) | st.floats(-20, 20)


@st.composite
def values(draw: st.DrawFn, most: int = 300) -> Floats:
    """Draw statistics as replicates have them: ties, signs, -inf for those without t, heavy tails."""
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    n = draw(st.integers(1, most))
    kind = draw(
        st.sampled_from(["ties", "normal", "cauchy", "chi-square", "one value", "tiny", "huge"])
    )
    if kind == "ties":
        found = chance.integers(-2, draw(st.integers(0, 9)), n).astype(float)
    elif kind == "one value":
        found = np.full(n, draw(st.sampled_from([0.0, -3.0, 7.0])))
    else:
        make: dict[str, Callable[[int], Floats]] = {
            "normal": chance.standard_normal, "cauchy": chance.standard_cauchy, "chi-square": lambda size: chance.chisquare(1, size),
            "tiny": lambda size: 1e-300 * chance.random(size), "huge": lambda size: 1e300 * chance.standard_normal(size),
        }  # fmt: skip
        found = make[kind](n)
    share = draw(st.sampled_from([0.0, 0.0, 0.3, 1.0]))
    found[chance.random(n) < share] = -math.inf
    return np.ascontiguousarray(found)


def gathered(given_values: Floats, low: float, high: float) -> tuple[list[float], list[int]]:
    """Return what `gather` writes, with a proof that it writes nothing else."""
    kept, places = np.full(len(given_values), 123.0), np.full(len(given_values), -9, np.int64)
    n = gather(given_values, low, high, kept, places)
    assert (kept[n:] == 123.0).all()
    assert (places[n:] == -9).all()
    return kept[:n].tolist(), places[:n].tolist()


@given(found=values(), threshold=BOUNDS)
def test_counts_are_those_of_plain_comparison(found: Floats, threshold: float) -> None:
    assert count_from(found, threshold) == sum(value >= threshold for value in found.tolist())


@given(found=values(), low=BOUNDS, high=BOUNDS)
def test_gathering_keeps_values_and_places_in_order(found: Floats, low: float, high: float) -> None:
    expected = [(value, place) for place, value in enumerate(found.tolist()) if low <= value < high]
    kept, places = gathered(found, low, high)
    assert list(zip(kept, places, strict=True)) == expected


@given(found=values(4 * FEW), data=st.data())
def test_the_nth_largest_is_that_of_sorting(found: Floats, data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, len(found)))
    before = found.copy()
    assert nth_largest(found, rank) == sorted(found.tolist(), reverse=True)[rank - 1]
    np.testing.assert_array_equal(found, before)


@settings(max_examples=400)
@given(
    found=values(2000), data=st.data(),
    guess=st.sampled_from([0.0, -1.0, 1e-300, 1e300, -1e300, math.inf, -math.inf, math.nan, 1.0]) | st.floats(-100, 100),
)  # fmt: skip
def test_the_bracket_holds_the_wanted_value_whatever_the_guess(
    found: Floats, guess: float, data: st.DataObject
) -> None:
    rank = data.draw(st.integers(1, len(found)))
    low, high, above = bracket(found, rank, guess)
    assert above == sum(value >= high for value in found.tolist())
    kept, _ = gathered(found, low, high)
    wanted = sorted(found.tolist(), reverse=True)[rank - 1]
    assert low <= wanted < high
    assert 1 <= rank - above <= len(kept)
    assert nth_largest(np.array(kept), rank - above) == wanted


def padded(found: Floats) -> Floats:
    """Return values with -inf behind them, up to a multiple of `STRIDE`."""
    whole = np.full(-(-len(found) // STRIDE) * STRIDE, -math.inf)
    whole[: len(found)] = found
    return whole


@settings(max_examples=400)
@given(
    found=values(MANY + 50), data=st.data(), more=st.sampled_from([1.0, 1e-9, 1e6]),
    guess=st.sampled_from([0.0, -1.0, 1e-300, 1e300, math.inf, -math.inf, math.nan]) | st.floats(0.5, 2.0),
)  # fmt: skip
def test_narrowing_keeps_the_wanted_value(
    found: Floats, more: float, guess: float, data: st.DataObject
) -> None:
    finite = found[np.isfinite(found)]
    if not len(finite):
        return
    rank = data.draw(st.integers(1, len(finite)))
    size, wanted = float(np.abs(finite).max()), sorted(found.tolist(), reverse=True)[rank - 1]
    guess = guess * wanted if 0.5 <= guess <= 2.0 else guess
    bottom, top = float(finite.min()) - more * size, float(finite.max()) + more * size + 1e-300
    low, high, above = narrow(padded(found)[: len(found)], rank, guess, bottom, top)
    assert low <= wanted < high
    assert above == sum(value >= high for value in found.tolist())


def test_few_values_are_left_where_the_guess_is_good() -> None:
    chance = np.random.default_rng(1)
    for n, rank in ((60, 50), (80, 50), (90, 10), (MANY + 100, 200)):
        for _ in range(20):
            found = padded(3.0 + chance.exponential(2.0, n))
            wanted = float(np.sort(found)[-rank])
            for guess in (wanted, 0.85 * wanted, 1.15 * wanted, 0.1 * wanted, 9.0 * wanted):
                low, high, above = narrow(found[:n], rank, guess, 2.0, 100.0)
                assert low <= wanted < high
                assert count_from(found, low) - above <= FEW


def test_what_is_kept_is_in_order() -> None:
    keep = selection.keep_from
    chance = np.random.default_rng(2)
    for n in (1, STRIDE - 1, STRIDE, STRIDE + 1, 1000):
        for low in (-1.0, 0.0, 0.7, 5.0):
            found = padded(chance.standard_normal(n))
            found[chance.random(len(found)) < 0.1] = -math.inf
            kept, places = (
                np.full(len(found) + STRIDE, 9.0),
                np.full(len(found) + STRIDE, -9, np.int32),
            )
            n_kept, expected = keep(found, low, kept, places), np.flatnonzero(found >= low)
            assert places[:n_kept].tolist() == expected.tolist()
            assert kept[: n_kept + STRIDE].tolist() == [
                *found[expected].tolist(),
                *[-math.inf] * STRIDE,
            ]


def test_the_bracket_is_narrow_for_statistics_as_they_occur() -> None:
    chance = np.random.default_rng(1)
    for n, rank in ((1000, 50), (1000, 10), (10_000, 500), (10_000, 1), (100, 7)):
        for _ in range(20):
            found = chance.standard_t(49, n) ** 2
            wanted = float(np.sort(found)[n - rank])
            for guess in (wanted, 0.8 * wanted, 1.3 * wanted):
                low, _, above = bracket(found, rank, guess)
                assert count_from(found, low) - above <= FEW


@given(found=values(2 * FEW), data=st.data())
def test_the_first_of_equal_values_is_chosen(found: Floats, data: st.DataObject) -> None:
    rank = data.draw(st.integers(1, len(found)))
    places = np.arange(5, 5 + len(found), dtype=np.int64)
    wanted = sorted(found.tolist(), reverse=True)[rank - 1]
    assert first_equal(found, places, rank, 0.0) == 5 + found.tolist().index(wanted)


def test_values_within_the_tolerance_are_equal() -> None:
    found, places = np.array([1.0, 2.0 - 1e-13, 2.0, 2.0 + 1e-13, 2.0 + 1e-9]), np.arange(5)
    assert [first_equal(found, places, rank, 1e-12) for rank in (1, 2, 3, 4, 5)] == [4, 1, 1, 1, 0]
    assert [first_equal(-found, places, rank, 1e-12) for rank in (1, 2, 3, 4, 5)] == [0, 1, 1, 1, 4]


def test_the_last_values_are_not_passed_over() -> None:
    for n in (1, STRIDE - 1, STRIDE, STRIDE + 1, 3 * STRIDE + 7):
        found = np.zeros(n)
        found[-1] = 1.0
        assert gathered(found, 0.5, math.inf) == ([1.0], [n - 1])
