"""Concordance counts against fractions, SciPy and ircor's published values; tau by chance against all orders."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from scorecube.kernels.rank.concordance import (
    Concordance,
    compare,
    pairs_of,
    spearman,
    tau_a,
    tau_b,
)
from tests.oracles import correlation as oracle

Floats = np.ndarray[Any, np.dtype[np.float64]]
ONE = np.array([0]), np.array([1])
small = st.integers(2, 5).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(-2, 3), min_size=n, max_size=n) for _ in range(2)))
)
longer = st.tuples(st.integers(2, 200), st.integers(1, 300), st.integers(0, 2**32 - 1))
# Vectors with and without ties of ircor's own tests, and its README.
X1, Y1 = [.897, .372, .908, .898, .661, .062, .177, .384, .498, .992], [.82, .406, .817, .953, .673, .073, .364, .547, .589, .988]  # fmt: skip
X2, Y2 = [.266, .573, .202, .945, .629, .206, .687, .77, .718, .38], [.263, .843, .728, .928, .08, .114, .467, .641, .973, .644]  # fmt: skip
X3, Y3 = [.185, .573, .944, .129, .468, .553, .761, .405, .976, .445], [.845, .272, .275, .924, .605, .334, .162, .872, .018, .25]  # fmt: skip
X4, Y4 = (
    [0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94],
    [0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94],
)


def counts_of(a: Any, b: Any, tolerance: float = 0.0) -> Concordance:
    return compare(np.array([[a, b]], float), np.full(2, tolerance), *ONE)


def single(array: Any) -> Any:
    """The one value of one trial and one comparison."""
    (value,) = np.ravel(array)
    return value


@settings(max_examples=100)
@given(small)
def test_everything_equals_the_oracle(vectors: tuple[list[int], list[int]]) -> None:
    a, b = vectors
    found, n = counts_of(a, b), len(a)
    expected = oracle.count(a, b)
    assert [single(found.concordant), single(found.discordant), *found.tied[0], single(found.tied_both)] == [
        expected.concordant, expected.discordant, expected.tied_a, expected.tied_b, expected.tied_both,
    ]  # fmt: skip
    tied = found.tied[0]
    coefficients = {
        oracle.tau_a: tau_a(found.concordant, found.discordant, pairs_of(n)),
        oracle.tau_b: tau_b(found.concordant, found.discordant, pairs_of(n), *tied),
        oracle.spearman: spearman(found.rank_products, *found.rank_squares[0]),
        oracle.ap_accuracy: found.ap_accuracy, oracle.ap_agreement: found.ap_agreement,
    }  # fmt: skip
    for function, value in coefficients.items():
        assert single(value) == pytest.approx(function(a, b), abs=1e-12, nan_ok=True), (
            function.__name__
        )


@settings(max_examples=100)
@given(longer)
def test_long_rankings_equal_scipy(sizes: tuple[int, int, int]) -> None:
    n, levels, seed = sizes
    values = np.random.default_rng(seed).integers(0, levels, (2, n)).astype(float)
    found = counts_of(*values)
    tied = found.tied[0]
    b = single(tau_b(found.concordant, found.discordant, pairs_of(n), *tied))
    rho = single(spearman(found.rank_products, *found.rank_squares[0]))
    if min(map(np.ptp, values)) == 0:
        assert math.isnan(b)
        assert math.isnan(rho)
        return
    assert b == pytest.approx(kendalltau(*values, variant="b").statistic, abs=1e-12)
    assert rho == pytest.approx(spearmanr(*values).statistic, abs=1e-12)


@pytest.mark.parametrize("n", [63, 64, 65, 127, 128, 129, 1000])
def test_words_have_no_seams(n: int) -> None:
    random = np.random.default_rng(n)
    a, b = random.permutation(n).astype(float), random.integers(0, n // 2, n).astype(float)
    found, expected = counts_of(a, b), oracle.count(a.tolist(), b.tolist())
    assert (single(found.concordant), single(found.discordant)) == (
        expected.concordant,
        expected.discordant,
    )
    agreed = oracle.ap_agreement(a.tolist(), b.tolist())
    assert single(found.ap_agreement) == pytest.approx(agreed, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "rounded_y", "rounded_x", "expected"),
    [
        (X1, Y1, 1, 1, (.9111, .8519, .8333, .8889, .7454, .9398, .7321)),
        (X2, Y2, 1, 1, (.2889, .2504, .2880, .3333, .2692, .3765, .2970)),
        (X3, Y3, 1, 1, (-.6889, -.6971, -.6680, -.6222, -.5558, -.6510, -.7047)),
    ],
)  # fmt: skip
def test_ircor_gives_the_same(
    x: Any, y: Any, rounded_y: int, rounded_x: int, expected: tuple[float, ...]
) -> None:
    coarse_x, coarse_y = np.round(x, rounded_x), np.round(y, rounded_y)
    plain, truth, both = counts_of(x, y), counts_of(x, coarse_y), counts_of(coarse_x, coarse_y)
    pairs = pairs_of(len(x))
    found = (
        tau_a(plain.concordant, plain.discordant, pairs), plain.ap_accuracy, plain.ap_agreement,
        tau_a(truth.concordant, truth.discordant, pairs), truth.ap_accuracy,
        tau_b(both.concordant, both.discordant, pairs, *both.tied[0]), both.ap_agreement,
    )  # fmt: skip
    assert [single(each) for each in found] == pytest.approx(expected, abs=5.1e-5)


def test_the_example_of_ircor() -> None:
    plain = counts_of(X4, Y4)
    assert single(tau_a(plain.concordant, plain.discordant, 45)) == pytest.approx(
        0.7777778, abs=5e-8
    )
    assert single(plain.ap_accuracy) == pytest.approx(0.7491182, abs=5e-8)
    fifths_x, fifths_y = np.round(np.multiply(X4, 5)) / 5, np.round(np.multiply(Y4, 5)) / 5
    assert single(counts_of(X4, fifths_y).ap_accuracy) == pytest.approx(0.6074515, abs=5e-8)
    agreed = counts_of(fifths_x, fifths_y)
    assert single(agreed.ap_agreement) == pytest.approx(0.6269841, abs=5e-8)
    assert single(
        tau_b(agreed.concordant, agreed.discordant, 45, *agreed.tied[0])
    ) == pytest.approx(0.75)


def test_equal_and_reversed_rankings_are_one_and_minus_one_exactly() -> None:
    for n in (2, 3, 30, 130, 1000):
        a = np.random.default_rng(n).permutation(n).astype(float)
        for b, expected in ((a, 1.0), (-a, -1.0)):
            found = counts_of(a, b)
            assert single(tau_a(found.concordant, found.discordant, pairs_of(n))) == expected
            assert single(tau_b(found.concordant, found.discordant, pairs_of(n), 0, 0)) == expected
            assert single(spearman(found.rank_products, *found.rank_squares[0])) == expected
            assert single(found.ap_agreement) == pytest.approx(expected, abs=1e-12)


def test_a_tolerance_ties_neighbours() -> None:
    found = counts_of([10, 11, 13, 20], [4, 3, 2, 1], tolerance=1.0)
    assert found.tied.tolist() == [[1, 6]]
    # In a chain all are tied, so that being tied is transitive.
    assert counts_of([1, 2, 3, 9], [1, 2, 4, 9], tolerance=1.0).tied.tolist() == [[3, 1]]


@pytest.mark.parametrize("scale", [1.0, 0.1, 2.0**60])
def test_fractions_and_huge_numbers_are_ranked_alike(scale: float) -> None:
    random = np.random.default_rng(5)
    values = random.integers(0, 40, (3, 5, 33)).astype(float)
    first, second = np.triu_indices(5, 1)
    expected = compare(values, np.zeros(5), first, second)
    for found, wanted in zip(
        compare(values * scale, np.zeros(5), first, second), expected, strict=True
    ):
        np.testing.assert_array_equal(found, wanted)
    # With a tolerance, too: steps of 3 and tolerances below.
    for found, wanted in zip(
        compare(values * 3 * scale, np.full(5, 2.5 * scale), first, second), expected, strict=True
    ):
        np.testing.assert_array_equal(found, wanted)


def test_trials_and_comparisons_do_not_mix() -> None:
    values = np.random.default_rng(2).integers(0, 20, (7, 4, 50)).astype(float)
    first, second = np.array([0, 3, 1, 2]), np.array([1, 2, 1, 0])
    whole = compare(values, np.zeros(4), first, second)
    for trial in range(7):
        for k in range(4):
            pair = compare(values[trial][np.newaxis, [first[k], second[k]]], np.zeros(2), *ONE)
            for name in Concordance._fields[:6]:
                assert getattr(whole, name)[trial, k] == single(getattr(pair, name)), name
