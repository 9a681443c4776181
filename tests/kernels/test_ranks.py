"""Correlations of rankings against fractions, SciPy and ircor's published values."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from scorecube.kernels import ranks
from tests.oracles import correlation as oracle

small = st.integers(2, 5).flatmap(
    lambda n: st.tuples(*(st.lists(st.integers(-2, 3), min_size=n, max_size=n) for _ in range(2)))
)
# Vectors with and without ties of ircor's own tests, and its README.
X1, Y1 = [.897, .372, .908, .898, .661, .062, .177, .384, .498, .992], [.82, .406, .817, .953, .673, .073, .364, .547, .589, .988]  # fmt: skip
X2, Y2 = [.266, .573, .202, .945, .629, .206, .687, .77, .718, .38], [.263, .843, .728, .928, .08, .114, .467, .641, .973, .644]  # fmt: skip
X3, Y3 = [.185, .573, .944, .129, .468, .553, .761, .405, .976, .445], [.845, .272, .275, .924, .605, .334, .162, .872, .018, .25]  # fmt: skip
X4, Y4 = [0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94], [0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94]  # fmt: skip


def above(a: Any, b: Any, tolerance: float = 0.0) -> Any:
    return ranks.ranks_above(np.array([a, b], float), tolerance)


@settings(max_examples=100)
@given(small)
def test_everything_equals_the_oracle(vectors: tuple[list[int], list[int]]) -> None:
    a, b = vectors
    of_runs = above(a, b)
    found, expected = ranks.concordance(of_runs), oracle.count(a, b)
    assert found.difference[0, 1] == expected.difference
    assert found.untied[0, 1] == expected.concordant + expected.discordant
    assert found.tied.tolist() == [expected.tied_a, expected.tied_b]
    coefficients = {
        oracle.tau_a: found.tau_a()[0, 1],
        oracle.tau_b: found.tau_b()[0, 1],
        oracle.spearman: ranks.spearman(of_runs)[0, 1],
        oracle.ap_accuracy: ranks.tau_ap(*of_runs),
    }
    for function, value in coefficients.items():
        assert value == pytest.approx(function(a, b), abs=1e-12, nan_ok=True), function.__name__


@pytest.mark.parametrize("n", [64, 1000])
def test_long_rankings_equal_scipy(n: int) -> None:
    """More pairs than are compared at a time, too."""
    for seed, levels in enumerate((n, 7, 1)):
        values = np.random.default_rng(seed).integers(0, levels, (2, n)).astype(float)
        of_runs = above(*values)
        b, rho = ranks.concordance(of_runs).tau_b()[0, 1], ranks.spearman(of_runs)[0, 1]
        if levels == 1:
            assert math.isnan(b)
            assert math.isnan(rho)
            continue
        assert b == pytest.approx(kendalltau(*values, variant="b").statistic, abs=1e-12)
        assert rho == pytest.approx(spearmanr(*values).statistic, abs=1e-12)


@pytest.mark.parametrize(
    ("x", "y", "expected"),
    [
        (X1, Y1, (.9111, .8519, .8889, .7454, .9398)),
        (X2, Y2, (.2889, .2504, .3333, .2692, .3765)),
        (X3, Y3, (-.6889, -.6971, -.6222, -.5558, -.6510)),
    ],
)  # fmt: skip
def test_ircor_gives_the_same(x: Any, y: Any, expected: tuple[float, ...]) -> None:
    coarse_x, coarse_y = np.round(x, 1), np.round(y, 1)
    plain, truth, both = above(x, y), above(x, coarse_y), above(coarse_x, coarse_y)
    found = (
        ranks.concordance(plain).tau_a()[0, 1], ranks.tau_ap(*plain),
        ranks.concordance(truth).tau_a()[0, 1], ranks.tau_ap(*truth),
        ranks.concordance(both).tau_b()[0, 1],
    )  # fmt: skip
    assert found == pytest.approx(expected, abs=5.1e-5)


def test_the_example_of_ircor() -> None:
    plain = above(X4, Y4)
    assert ranks.concordance(plain).tau_a()[0, 1] == pytest.approx(0.7777778, abs=5e-8)
    assert ranks.tau_ap(*plain) == pytest.approx(0.7491182, abs=5e-8)
    fifths = np.round(np.multiply(Y4, 5)) / 5
    assert ranks.tau_ap(*above(X4, fifths)) == pytest.approx(0.6074515, abs=5e-8)


@pytest.mark.parametrize("n", [2, 1000])
def test_equal_and_reversed_rankings_are_one_and_minus_one_exactly(n: int) -> None:
    a = np.random.default_rng(n).permutation(n).astype(float)
    for b, expected in ((a, 1.0), (-a, -1.0)):
        of_runs = above(a, b)
        found = ranks.concordance(of_runs)
        assert found.tau_a()[0, 1] == found.tau_b()[0, 1] == expected
        assert ranks.spearman(of_runs)[0, 1] == expected


def test_a_tolerance_ties_neighbours() -> None:
    found = ranks.concordance(above([10, 11, 13, 20], [4, 3, 2, 1], tolerance=1.0))
    assert found.tied.tolist() == [1, 6]
    # In a chain all are tied, so that being tied is transitive.
    assert ranks.ranks_above(np.array([1.0, 2.0, 4.0, 3.0, 9.0]), 1.0).tolist() == [1, 1, 1, 1, 0]
