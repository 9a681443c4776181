"""Centred integer units: decimals stay what they are, sums are exact, there is room for all of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from scorecube.statistics.integer_scores import DENOMINATORS, ROOM, SNAP, Units
from tests.units import centred_units

Floats = np.ndarray[Any, np.dtype[np.float64]]
SCALES = st.sampled_from([1.0, 10.0, 1e3, 1e6, -250.0, 1e-3])


def is_whole(values: Floats) -> bool:
    """Whether all values are integers."""
    return bool((values == np.rint(values)).all())


@settings(max_examples=200)
@given(
    decimals=st.integers(0, 5), n_runs=st.integers(1, 6), n_topics=st.integers(1, 1153), seed=st.integers(0, 2**32),
    largest=st.sampled_from([1, 10, 1000]),
)  # fmt: skip
def test_decimals_stay_integral(
    decimals: int, n_runs: int, n_topics: int, seed: int, largest: int
) -> None:
    chance = np.random.default_rng(seed)
    numerators = chance.integers(
        -largest * 10**decimals, largest * 10**decimals, (n_runs, n_topics), endpoint=True
    )
    units = centred_units(numerators / 10**decimals)
    assert not units.rounded
    assert units.snap == units.snap_sum == 0.0
    denominator = int(units.per_score)
    assert denominator == units.per_score
    assert denominator in DENOMINATORS
    assert 10**decimals % denominator == 0
    whole = numerators // (10**decimals // denominator)
    expected = n_topics * whole - whole.sum(axis=1, keepdims=True)
    assert units.values.tolist() == expected.tolist()
    assert units.sums.tolist() == whole.sum(axis=1).tolist()
    assert units.whole.tolist() == whole.tolist()


@pytest.mark.parametrize(
    ("numbers", "per_score"),
    [
        ([0.0, 1.0, 7.0], 1), ([0.1, 0.7], 10), ([0.25, 0.5], 100), ([0.0001, 0.9999], 10_000), ([1 / 3, 2 / 3], 15), ([1 / 30, 0.5], 30),
        ([1 / 7, 1 / 9, 1 / 8], 2520), ([1 / 11, 1 / 12], 27_720), ([1 / 13, 1 / 14], 360_360), ([0.123456789, 0.5], 10**9),
    ],
)  # fmt: skip
def test_fractions_of_the_field_are_not_rounded(numbers: list[float], per_score: int) -> None:
    units = centred_units(np.array([numbers]))
    assert (units.per_score, units.rounded) == (per_score, False)


@pytest.mark.parametrize("number", [1 / 17, math.pi, 0.1 + 0.2, 1e-10, 0.5 + 2.0**-40])
def test_other_numbers_are_rounded_to_a_binary_fraction(number: float) -> None:
    units = centred_units(np.array([[number, 1.0]]))
    assert units.rounded
    assert math.log2(units.per_score).is_integer()


@st.composite
def any_scores(draw: st.DrawFn) -> Floats:
    """Draw scores of any kind and size."""
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 40) | st.sampled_from([249, 1000, 1153]))
    kind = draw(st.sampled_from(["uniform", "normal", "ranks", "sizes", "constant"]))
    make: dict[str, Callable[[], Floats]] = {
        "uniform": lambda: chance.random(shape), "normal": lambda: chance.standard_normal(shape),
        "ranks": lambda: 1 / chance.integers(1, 1000, shape), "sizes": lambda: chance.random(shape) * 10.0 ** chance.integers(-9, 9, shape),
        "constant": lambda: np.full(shape, chance.random()),
    }  # fmt: skip
    return np.asarray(make[kind]() * draw(SCALES))


def units_of(scores: Floats) -> Units:
    """Reject scores that are refused."""
    try:
        return centred_units(scores)
    except OverflowError:
        reject()


@settings(max_examples=200)
@given(scores=any_scores())
def test_there_is_room_for_every_sum(scores: Floats) -> None:
    units = units_of(scores)
    n = scores.shape[1]
    assert is_whole(units.values)
    assert is_whole(units.sums)
    # Any resample of n topics, and the difference of two such sums, is below 2**53: every order of addition is exact.
    assert 2 * n * np.abs(units.values).max() <= 2 * ROOM
    assert n * np.abs(units.sums).max() <= ROOM
    # Of means that are rounded, half a unit is left on each topic.
    assert np.abs(units.values.sum(axis=1)).max() <= (n / 2 if units.snap == SNAP + 1 else 0)
    assert is_whole(units.whole)
    assert n * np.abs(units.whole).max() <= ROOM


@settings(max_examples=60)
@given(scores=any_scores(), seed=st.integers(0, 2**32))
def test_sums_of_resamples_are_exact_in_any_order(scores: Floats, seed: int) -> None:
    units, chance = units_of(scores), np.random.default_rng(seed)
    n = scores.shape[1]
    worst = np.argsort(-np.abs(units.values[0]))[: max(1, n // 10)]
    for sample in (chance.integers(n, size=n), chance.choice(worst, n), np.full(n, worst[0])):
        drawn = units.values[:, sample]
        exact = [sum(map(int, row)) for row in drawn.tolist()]
        assert drawn.sum(axis=1).tolist() == exact
        assert np.cumsum(drawn[:, chance.permutation(n)], axis=1)[:, -1].tolist() == exact
        counts = np.bincount(sample, minlength=n).astype(float)
        assert (units.values @ counts).tolist() == exact
        first, last = exact[0], exact[-1]
        assert drawn[0].sum() - drawn[-1].sum() == first - last


@settings(max_examples=100)
@given(scores=any_scores())
def test_rounding_is_bounded_by_snap(scores: Floats) -> None:
    units, n = units_of(scores), scores.shape[1]
    per_score = Fraction(units.per_score)
    rows, part = (
        [[Fraction(score) for score in row] for row in scores.tolist()],
        range(0, n, max(1, n // 7)),
    )
    sums = [sum(row) for row in rows]
    for (x, sum_x, found_x), (y, sum_y, found_y) in zip(
        zip(rows, sums, units.values.tolist(), strict=True), zip(rows[1:], sums[1:], units.values[1:].tolist(), strict=True), strict=False
    ):  # fmt: skip
        errors = []
        for topic in part:
            exact = (n * (x[topic] - y[topic]) - (sum_x - sum_y)) * per_score
            errors.append(abs(Fraction(found_x[topic] - found_y[topic]) - exact))
        # The nearest double of a decimal is itself up to half a unit in its last place away from it.
        inexact = 0 if units.rounded else 4 * n * max(map(abs, [*x, *y])) * per_score / 2**53
        assert max(errors) <= units.snap + inexact


@settings(max_examples=100)
@given(
    n_topics=st.integers(2, 300),
    seed=st.integers(0, 2**32),
    denominator=st.sampled_from([7 * 17, 3 * 19, 1000 * 3]),
)
def test_differences_that_are_zero_in_truth_stay_below_snap(
    n_topics: int, seed: int, denominator: int
) -> None:
    chance = np.random.default_rng(seed)
    first = chance.integers(0, denominator, n_topics)
    shift = int(chance.integers(0, denominator))
    # The same differences on all topics: all centred differences are zero, though the doubles say otherwise.
    scores = np.stack([first / denominator, (first + shift) / denominator])
    units = centred_units(scores)
    assert np.abs(units.values[0] - units.values[1]).max() <= units.snap
    # And a difference of one step on one topic is far above it.
    scores[1, 0] += 1 / denominator
    units = centred_units(scores)
    assert np.abs(units.values[0] - units.values[1]).max() > 1000 * units.snap


def test_to_mean_turns_a_sum_into_a_mean_score() -> None:
    scores = np.array([[0.1, 0.4, 0.7], [0.2, 0.2, 0.5]])
    units = centred_units(scores)
    sample = [0, 0, 2]
    total = units.values[0, sample].sum() - units.values[1, sample].sum()
    centred = (scores[0] - scores[1]) - (scores[0] - scores[1]).mean()
    assert total * units.to_mean == pytest.approx(centred[sample].mean(), rel=1e-14)


def test_scores_that_are_all_zero_are_no_trouble() -> None:
    units = centred_units(np.zeros((3, 4)))
    assert not units.values.any()
    assert not units.sums.any()
    assert math.isfinite(units.per_score)
    assert not units.rounded
